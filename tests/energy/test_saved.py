"""A saved meter is loaded if its books and its memory add up, and refused in a line if they don't."""

from __future__ import annotations

import copy
import json
import random

import pytest

from solvent.energy import EnergyMeter
from solvent.energy.meter import RECENT_HEARTBEATS
from tests.energy.test_meter import meter_of


def saved(path, meter):
    meter.save(path)
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "meter.json"


@pytest.fixture
def good(path):
    """Two closed heartbeats, with a use and a deferral in each of the three."""
    meter = meter_of(20.0)
    for deed in ("think", "reach_out_user", "think"):
        meter.act(deed, context="chat")
        meter.put_off("think", notes="later")
        if meter.heartbeat < 3:
            meter.close_heartbeat()
    return saved(path, meter)


def test_the_good_file_is_loaded(path, good):
    path.write_text(json.dumps(good), encoding="utf-8")
    assert EnergyMeter.load(path).books == {name: good[name] for name in EnergyMeter().books}


def changed(good, place, value):
    """A copy of a file with another value at a place such as ``recent.0.meta``."""
    whole = copy.deepcopy(good)
    *above, key = place.split(".")
    inner = whole
    for name in above:
        inner = inner[int(name) if isinstance(inner, list) else name]
    inner[int(key) if isinstance(inner, list) else key] = value
    return whole


BROKEN = [
    ("start", 21_000, "balance: got {balance}; allowed: start + income - lost - spent, "),
    ("start", 10**9 + 1, "start: got 1000000001; allowed: at most 1000000000"),
    ("balance", 20_000, "balance: got 20000; allowed: start + income - lost - spent, {balance}"),
    ("income", 6_001, "balance: got {balance}; allowed: start + income"),
    ("income", 2 * 10**9 + 1, "income: got 2000000001; allowed: at most 2000000000 by heartbeat 3"),
    ("lost", 1, "balance: got {balance}; allowed: start + income - lost"),
    ("lost", 6_001, "lost: got 6001; allowed: at most the income, 6000"),
    ("spent", 1, "balance: got {balance}; allowed: start + income - lost - spent"),
    ("spent", -1, "spent: got -1; allowed: greater than or equal to 0"),
    ("heartbeat", 0, "heartbeat: got 0; allowed: greater than or equal to 1"),
    ("heartbeat", 4, "recent: got 2; allowed: 3 before heartbeat 4"),
    ("recent", [], "recent: got 0; allowed: 2 before heartbeat 3"),
    ("recent.0", {}, "intents of heartbeat 1: got []; allowed: cognition"),
    ("intents.sleep", 0, "intents of heartbeat 3: got ["),
    ("intents.meta", 1, "spent: got {spent}; allowed: the sum of recent and intents"),
    ("uses.think", 16, "uses.think: got 16; allowed: less than 16"),
    ("uses.dance", 0, "paid: got ['think', 'reach_out_user']; allowed: the actions of uses"),
    ("paid.think.4", 0.0, "paid for 'think': got [1, 3, 4]; allowed: heartbeats 1 to 3"),
    ("paid.think.1", 1.0, "paid in heartbeat 1: got 1000; allowed: what its intents say, 3000"),
    ("done", [], "done: got []; allowed: what is paid for in heartbeat 3, ['think']"),
    ("done.0", ["dance", None], "done: got ['dance']; allowed: what is paid for in heartbeat 3"),
    ("deferrals.0.heartbeat_number", 0, "deferrals.0.heartbeat_number: got 0; allowed: 1 to 3"),
    ("deferrals.2.heartbeat_number", 4, "deferrals.2.heartbeat_number: got 4; allowed: 2 to 3"),
    ("deferrals.2.heartbeat_number", 1, "deferrals.2.heartbeat_number: got 1; allowed: 2 to 3"),
    (
        "deferrals.0.energy_cost",
        99.0,
        "deferrals.0.energy_cost: got 99.0; allowed: at most the energy available",
    ),
    (
        "deferrals.0.deferral_reason",
        "insufficient_energy",
        "allowed: above the energy available, 17, for insuff",
    ),
    ("deferrals.2.energy_available", 19.0, "deferrals.2.energy_available: got 19.0; allowed: "),
    (
        "deferrals.2.similar_deferrals_recent",
        1,
        "deferrals.2.similar_deferrals_recent: got 1; allowed: 2 to 2",
    ),
]


@pytest.mark.parametrize(
    ("place", "value", "said"), BROKEN, ids=[f"{place}={new}" for place, new, _ in BROKEN]
)
def test_what_does_not_add_up_is_refused_in_a_line(path, good, place, value, said):
    path.write_text(json.dumps(changed(good, place, value)), encoding="utf-8")
    with pytest.raises(ValueError, match=r"meter\.json: not a saved meter \(") as refused:
        EnergyMeter.load(path)
    assert said.format(**good) in str(refused.value)
    assert "\n" not in str(refused.value)


def test_what_went_before_the_remembered_heartbeats_may_have_cost_more_but_not_less(path):
    meter = meter_of()
    for _ in range(RECENT_HEARTBEATS + 3):
        meter.act("think")
        meter.close_heartbeat()
    good = saved(path, meter)
    assert EnergyMeter.load(path).books == meter.books
    path.write_text(
        json.dumps(good | {"spent": 47_999, "lost": good["lost"] + good["spent"] - 47_999}), "utf-8"
    )
    with pytest.raises(
        ValueError, match="spent: got 47999; allowed: at least the sum of recent and intents, 48000"
    ):
        EnergyMeter.load(path)


def deed_of(meter, chance):
    """Do something that a meter offers."""
    name, about = chance.choice([*meter.actions]), chance.choice([None, "a", "b"])
    context, notes = chance.choice(["chat", "heartbeat"]), chance.choice(["", " ", "why"])
    deed = chance.choice(["act", "act", "put_off", "close", "failed", "reflect"])
    if deed in {"act", "put_off"}:
        getattr(meter, deed)(name, about, context, notes=notes, value=chance.choice([None, 0.5]))
    elif deed == "failed" and name in meter._state.uses:
        meter.failed(name)
    elif deed == "close":
        meter.close_heartbeat()
    elif deed == "reflect":
        meter.reflect()


@pytest.mark.parametrize("seed", range(20))
def test_what_is_saved_is_loaded_after_any_deeds(path, seed):
    """Over more heartbeats than are remembered, with other incomes and prices after each load."""
    chance = random.Random(seed)
    meter = meter_of(chance.uniform(0.0, 20.0), chance.choice([0.0, 0.0004, 1.0 / 3.0, 3.0, 50.0]))
    for _ in range(30):
        for _ in range(chance.randrange(25)):
            deed_of(meter, chance)
        meter.save(path)
        actions, income = meter.actions, chance.choice([0.0, 0.1, 7.0])
        loaded = EnergyMeter.load(path, regeneration=income, cap=20.0)
        assert loaded._state == meter._state
        meter = loaded
        for name, action in actions.items():
            meter.actions[name] = action._replace(price=chance.choice([0.0, 0.001, action.price, 25.0]))

"""A saved meter is loaded if its books and its memory add up, and refused in a line if they don't."""

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


def changed(good, place, value):
    """A copy of a file with another value at a place such as ``recent.0.meta``."""
    complete = copy.deepcopy(good)
    *above, key = place.split(".")
    inner = complete
    for name in above:
        inner = inner[int(name) if isinstance(inner, list) else name]
    inner[int(key) if isinstance(inner, list) else key] = value
    return complete


BROKEN = [
    ("format", "other", "format"),
    ("start", 21_000, "balance"),
    ("start", 10**9 + 1, "start"),
    ("income", 6_001, "balance"),
    ("income", 2 * 10**9 + 1, "income"),
    ("lost", 1, "balance"),
    ("lost", 6_001, "lost"),
    ("spent", 1, "balance"),
    ("spent", -1, "spent"),
    ("heartbeat", 0, "heartbeat"),
    ("heartbeat", 4, "recent"),
    ("recent", [], "recent"),
    ("recent.0", {}, "intents of heartbeat 1"),
    ("intents.sleep", 0, "intents of heartbeat 3"),
    ("intents.meta", 1, "spent"),
    ("uses.think", 16, "uses.think"),
    ("uses.dance", 0, "paid"),
    ("paid.think.4", 0.0, "paid for 'think'"),
    ("paid.think.1", 1.0, "paid in heartbeat 1"),
    ("done", [], "done"),
    ("done.0", ["dance", None], "done"),
    ("deferrals.0.heartbeat_number", 0, "deferrals.0.heartbeat_number"),
    ("deferrals.2.heartbeat_number", 4, "deferrals.2.heartbeat_number"),
    ("deferrals.2.heartbeat_number", 1, "deferrals.2.heartbeat_number"),
    ("deferrals.0.energy_cost", 99.0, "deferrals.0.energy_cost"),
    ("deferrals.0.deferral_reason", "insufficient_energy", "deferrals.0.energy_cost"),
    ("deferrals.2.energy_available", 19.0, "deferrals.2.energy_available"),
    ("deferrals.0.energy_available", 99.0, "deferrals.0.energy_available"),
    ("deferrals.2.similar_deferrals_recent", 1, "deferrals.2.similar_deferrals_recent"),
]


@pytest.mark.parametrize(
    ("place", "value", "key"), BROKEN, ids=[f"{place}={new}" for place, new, _ in BROKEN]
)
def test_what_does_not_add_up_is_refused_in_a_line(path, good, place, value, key):
    path.write_text(json.dumps(changed(good, place, value)), encoding="utf-8")
    line = rf"meter\.json: not a saved meter \({key}: got .*; allowed: "
    with pytest.raises(ValueError, match=line) as refused:
        EnergyMeter.load(path)
    assert "\n" not in str(refused.value)


def test_a_balance_above_the_cap_is_refused(path, good):
    with pytest.raises(ValueError, match="cap"):
        EnergyMeter.load(path, cap=5)


def test_what_went_before_the_remembered_heartbeats_may_have_cost_more_but_not_less(path):
    meter = meter_of()
    for _ in range(RECENT_HEARTBEATS + 3):
        meter.act("think")
        meter.close_heartbeat()
    good = saved(path, meter)
    assert EnergyMeter.load(path).books == meter.books
    less = {"spent": 47_999, "lost": good["lost"] + good["spent"] - 47_999}
    path.write_text(json.dumps(good | less), encoding="utf-8")
    with pytest.raises(ValueError, match="spent: got 47999"):
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

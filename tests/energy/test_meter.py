"""The meter's books balance, its costs are the lab's, and what is put off has the reason that the books give."""

from __future__ import annotations

import datetime
import json
import tempfile
import types
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from solvent.energy import EnergyMeter, energy_for_tool, energy_for_verb
from solvent.lab.actions import action_table
from solvent.lab.mechanisms.energy import CAP, PRESENT_FROM, PRESENT_UNTIL
from solvent.lab.verbs import VERBS, Verb
from tests.labs import energy_lab, put

ENERGIES = st.floats(0.0, 50.0)
NOON = datetime.datetime(2026, 11, 2, 12, tzinfo=datetime.UTC)


def at_noon() -> datetime.datetime:
    return NOON


def meter_of(start=10.0, regeneration=3.0, cap=20.0, **options):
    """A meter with an action of each kind; everything was done before, so nothing is dear for being new."""
    meter = EnergyMeter(start, regeneration, cap, clock=at_noon, **options)
    meter.register("think", "cognition", cost=2.0)
    meter.register("reach_out_user", "social", cost=5.0, category="send_private")
    meter.discover(
        [{"name": "files:read_file", "annotations": {"readOnlyHint": True, "openWorldHint": False}}]
    )
    return meter


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -1.0, 1e7, "5", True, [1]], ids=repr)
def test_bad_numbers_are_refused(bad):
    for name in ("start", "regeneration", "cap"):
        with pytest.raises(ValueError, match=rf"^{name}: got .*allowed: "):
            EnergyMeter(**{name: bad})
    for terms in ({"cost": bad}, {"ratings": (1, 1, bad, 1, 1)}):
        with pytest.raises(ValueError, match=r"^(cost|exposure): got .*allowed: "):
            EnergyMeter().register("act", "meta", **terms)


@given(
    start=st.floats(0.0, 20.0),
    regeneration=ENERGIES,
    deeds=st.lists(st.sampled_from(["think", "reach_out_user", "files:read_file", None]), max_size=40),
)
def test_start_and_income_less_what_is_lost_and_spent_is_the_balance(start, regeneration, deeds):
    meter = meter_of(start, regeneration)
    prices = dict(meter.actions)
    for deed in deeds:
        before, affordable = meter.books, True
        if deed is None:
            meter.close_heartbeat()
        else:
            quote = meter.act(deed, context="chat")
            affordable = quote.cost <= before["balance"] / 1000
            assert quote.runs == affordable
        books = meter.books
        assert books["start"] + books["income"] - books["lost"] - books["spent"] == books["balance"]
        assert 0 <= books["balance"] <= 20_000
        assert affordable or books == before
    assert meter.actions == prices


@pytest.mark.parametrize("seed", range(3))
def test_every_cost_of_an_episode_is_what_the_lab_takes(seed):
    """The meter and the lab act side by side: costs, obstacles, summaries and balances are equal, to the thousandth."""
    env = energy_lab(seed)
    heartbeat = 0

    def clock():
        return NOON.replace(hour=0) + datetime.timedelta(hours=env.params.budget.start_hour + heartbeat)

    energy = env.params.energy
    meter = EnergyMeter(energy.start, energy.regeneration, CAP, params=energy, clock=clock)
    for spec in VERBS.values():
        meter.add(energy_for_verb(spec.name, energy), spec.intent, kind="action")
    table, rng = action_table(env.params), np.random.default_rng(seed)
    seen = set()
    for _ in range(250):
        # No debt, wells enough, nothing published: energy and context alone stand in the way.
        before = put(env, debt=0.0, wells=384, published=0).copy()
        verb = rng.choice([v for v in Verb if VERBS[v].name != "propose" and (table["verb"] == v).any()])
        action = rng.choice(np.flatnonzero(table["verb"] == verb))
        name, compound = VERBS[Verb(verb)].name, int(table["compound"][action])
        present = PRESENT_FROM <= clock().hour < PRESENT_UNTIL
        quote = meter.act(name, None if compound < 0 else str(compound), "chat" if present else "heartbeat")
        _, _, terminated, _, info = env.step(int(action))
        after = env.get_state()
        ran = int(after["uses"][verb]) > int(before["uses"][verb])
        assert quote.runs == ran, (name, quote)
        assert not ran or quote.cost == info["energy_spent"], (name, quote)
        seen |= {quote.obstacle, *quote.factors}
        if ran and rng.random() < 0.3:
            after["failures"][verb] |= 1
            env.set_state(after)
        if ran and after["failures"][verb] & 1:  # a finding without any plate behind it is rejected
            meter.failed(name)
        if terminated:
            break
        if int(after["heartbeat"]) > heartbeat:
            summary = meter.close_heartbeat()
            shown = [round(1000 * spent) for spent in summary.spent.values()]
            assert shown == after["intents_shown"].tolist()
            heartbeat += 1
        assert round(1000 * meter.balance) == int(after["energy"])
    assert heartbeat >= 30
    assert seen >= {"", "out_of_context", "insufficient_energy"}
    assert seen >= {"first_use", "error_rate", "late_social", "similar"}


def test_tools_are_discovered_as_the_protocol_lists_them():
    listed = types.SimpleNamespace(
        name="slack:send_message",
        annotations=types.SimpleNamespace(destructiveHint=False),
        inputSchema={"properties": {"channel": {}, "text": {}}},
    )
    meter = EnergyMeter()
    (action,) = meter.discover([listed])
    assert action.tool == energy_for_tool(listed.name, listed.annotations, listed.inputSchema)
    assert (action.intent, action.kind) == ("social", "mcp_tool")
    assert meter.discover([listed, {"name": "files:delete"}])[0] is action
    assert meter.actions["files:delete"].intent == "maintenance"


@pytest.mark.parametrize(
    ("call", "arguments", "said"),
    [
        ("act", {"name": "tink"}, "action: got 'tink'; did you mean 'think'"),
        ("failed", {"name": "think"}, "failed"),
        ("register", {"name": "think", "intent": "meta", "cost": 1}, "name: got 'think' twice"),
        ("register", {"name": "new", "intent": "fun", "cost": 1}, "intent"),
        ("register", {"name": "new", "intent": "meta"}, "new: got neither"),
        ("register", {"name": "a", "intent": "social", "cost": 5, "category": "send_public"}, "a: got a cost of 5"),
        ("register", {"name": "new", "intent": "meta", "cost": 1, "category": "public"}, "category"),
        ("add", {"tool": energy_for_verb("screen")}, "intent: got None"),
        ("put_off", {"name": "think", "value": float("nan")}, "estimated_value: got nan"),
        ("propose", {"name": "think", "low": 1, "high": 1.5, "rationale": "dear"}, "propose: evidence: got none"),
        ("propose", {"name": "think", "low": 2, "high": 3, "rationale": "cheap"}, "propose: evidence: got none"),
    ],
)  # fmt: skip
def test_wrong_input_changes_nothing(call, arguments, said):
    meter = meter_of()
    before = meter.books, dict(meter.actions), meter.reflect()
    with pytest.raises(ValueError, match=f"^{said}"):
        getattr(meter, call)(**arguments)
    assert (meter.books, dict(meter.actions), meter.reflect()) == before


def test_what_is_out_of_context_is_not_deferred():
    meter = meter_of()
    assert meter.put_off("reach_out_user") == "out_of_context"
    assert "reach_out_user" not in meter.reflect()  # energy was not the reason


def test_a_proposal_has_the_evidence_of_the_meter():
    meter = meter_of()
    for _ in range(2):
        meter.put_off("reach_out_user", context="chat", value=0.5, notes="nobody answers")
        meter.close_heartbeat()
    meter.reflect()
    lower = meter.propose("reach_out_user", 4.0, 4.5, "It would help.")
    assert (lower.direction, lower.heartbeats, lower.confidence) == ("decrease", [1, 2], 0.5)
    assert lower.evidence[0].summary.endswith(", worth 0.5; nobody answers")


def test_a_value_given_later_in_the_heartbeat_counts():
    meter = meter_of()
    for value in (None, 0.5, 0.7, 0.0):
        meter.put_off("think", value=value)
    assert [row.estimated_value for row in meter.close_heartbeat().deferrals] == [None, 0.5]


@given(st.lists(st.sampled_from(["think", "reach_out_user", "fail", None]), max_size=30))
def test_a_loaded_meter_goes_on_as_the_saved(deeds):
    meter = meter_of()
    with tempfile.TemporaryDirectory() as folder:
        for deed in deeds:
            meter.save(Path(folder, "meter.json"))
            loaded = EnergyMeter.load(Path(folder, "meter.json"), regeneration=3.0, cap=20.0, clock=at_noon)
            loaded.actions |= meter.actions
            for one in (meter, loaded):
                if deed is None:
                    one.close_heartbeat()
                elif deed != "fail":
                    one.act(deed, context="chat")
                elif "think" in one._state.uses:
                    one.failed("think")
            assert loaded.books == meter.books
            assert loaded.reflect() == meter.reflect()
            assert loaded.quote("think") == meter.quote("think")


def test_what_is_not_a_saved_meter(tmp_path):
    path = tmp_path / "meter.json"
    meter_of().save(path)
    good = json.loads(path.read_text())
    for text in ("[1", *(json.dumps(good | wrong) for wrong in ({"heartbeat": "x"}, {"format": "other"}))):
        path.write_text(text)
        with pytest.raises(ValueError, match="not a saved meter"):
            EnergyMeter.load(path)
    path.write_text(json.dumps(good))
    with pytest.raises(ValueError, match="cap"):
        EnergyMeter.load(path, cap=5)

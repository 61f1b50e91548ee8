"""The meter's books balance, its costs are the lab's, and what is put off has the reason that the books give."""

from __future__ import annotations

import datetime
import types

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
    hints = {"readOnlyHint": True, "openWorldHint": False}
    meter.discover([{"name": "files:read_file", "annotations": hints}])
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
            thousandths = [round(1000 * spent) for spent in summary.spent.values()]
            assert thousandths == after["intents_shown"].tolist()
            heartbeat += 1
        assert round(1000 * meter.balance) == int(after["energy"])
    assert heartbeat >= 30
    assert seen >= {"", "out_of_context", "insufficient_energy"}
    assert seen >= {"first_use", "error_rate", "late_social", "similar"}


def test_a_discovered_tool_has_intent_and_kind():
    annotations, schema = types.SimpleNamespace(destructiveHint=False), {"properties": {"channel": {}}}
    listed = types.SimpleNamespace(name="slack:send_message", annotations=annotations, inputSchema=schema)
    (action,) = EnergyMeter().discover([listed])
    assert action.tool == energy_for_tool(listed.name, annotations, schema)
    assert (action.intent, action.kind) == ("social", "mcp_tool")


def test_a_proposal_names_two_costs():
    meter = meter_of()
    meter.put_off("think", value=0.5)
    meter.reflect()
    with pytest.raises(ValueError, match="suggested_range"):
        meter.propose("think", 1.5, 1.5, "It would help.")


SEARCH = {"name": "search", "annotations": {"readOnlyHint": True, "openWorldHint": False}}
DESTROYING_SEARCH = {"name": "search", "annotations": {"readOnlyHint": False, "destructiveHint": True}}


def test_a_second_servers_tool_of_the_same_name_has_its_own_price():
    meter = EnergyMeter()
    (first,) = meter.discover([SEARCH], "library")
    (second,) = meter.discover([DESTROYING_SEARCH], "shredder")
    assert [*meter.actions] == ["library:search", "shredder:search"]
    assert (first.price, second.tool.category) == (0.5, "delete")
    assert meter.quote("shredder:search").obstacle == "out_of_context"


def test_without_a_server_the_more_expensive_tool_of_a_name_holds():
    meter = EnergyMeter()
    meter.discover([SEARCH])
    (second,) = meter.discover([DESTROYING_SEARCH])
    assert (second.tool.category, second.tool.allowed_contexts) == ("delete", ("chat",))
    assert meter.discover([SEARCH]) == [second]
    assert second.price >= 5.0


def test_a_tool_that_is_listed_again_keeps_the_stricter_terms_of_both():
    meter, hints = EnergyMeter(), {"readOnlyHint": False, "destructiveHint": False}
    listed = {"name": "set_status", "annotations": hints | {"idempotentHint": True, "openWorldHint": True}}
    forced = {"properties": {"force": {}}, "required": ["force"]}
    at_home = {"annotations": hints | {"idempotentHint": True, "openWorldHint": False}, "inputSchema": forced}
    (first,) = meter.discover([listed])
    (second,) = meter.discover([listed | at_home])
    assert second.price > first.price
    assert second.tool.allowed_contexts == ("chat",)
    assert meter.discover([listed]) == [second]


def test_an_approved_price_stays_when_the_tool_is_listed_again_with_fewer_contexts():
    meter, hints = EnergyMeter(), {"readOnlyHint": False, "destructiveHint": False, "openWorldHint": False}
    forced = {"properties": {"force": {}}, "required": ["force"]}
    listed = {"name": "set_status", "annotations": hints | {"idempotentHint": True}, "inputSchema": forced}
    (first,) = meter.discover([listed])
    meter.actions["set_status"] = first._replace(price=1.2)
    (second,) = meter.discover([{"name": "set_status", "annotations": hints}])
    assert first.tool.allowed_contexts == ("heartbeat", "chat")
    assert (second.tool.allowed_contexts, second.price) == (("chat",), 1.2)


@pytest.mark.parametrize("name", ["", "  ", None, "d\ud800", "d\0", "d" * 1001])
def test_a_name_that_a_saved_meter_could_not_hold_is_refused(name):
    meter = EnergyMeter()
    for add in (lambda: meter.register(name, "meta", cost=1.0), lambda: meter.discover([{"name": name}])):
        with pytest.raises(ValueError, match=r"^name: got "):
            add()
    assert not meter.actions


def test_a_stored_price_holds_for_the_exact_name_alone():
    meter, row = EnergyMeter(), types.SimpleNamespace(target_type="mcp_tool", target_name="search", cost=0.75)
    meter.discover([SEARCH])
    meter.discover([SEARCH], "library")
    meter.set_prices([row])
    assert [action.price for action in meter.actions.values()] == [0.75, 0.5]


def test_a_stored_price_below_a_floor_is_refused():
    meter = EnergyMeter()
    meter.discover([SEARCH | {"name": "look"}, DESTROYING_SEARCH])
    before = dict(meter.actions)
    rows = [
        types.SimpleNamespace(target_type="mcp_tool", target_name=name, cost=1.0)
        for name in ("look", "search")
    ]
    with pytest.raises(ValueError, match="price of 'search': got 1; allowed: at least its floor 5"):
        meter.set_prices(rows)
    assert meter.actions == before


@pytest.mark.parametrize(
    ("call", "arguments", "key"),
    [
        ("act", {"name": "tink"}, "action: got 'tink'"),
        ("act", {"name": "think", "about": "half\ud800"}, "about: got "),
        ("failed", {"name": "think"}, "failed"),
        ("register", {"name": "think", "intent": "meta", "cost": 1}, "name: got 'think'"),
        ("register", {"name": "new", "intent": "meta"}, "new"),
        ("register", {"name": "a", "intent": "social", "cost": 5, "category": "send_public"}, "a: got a cost of 5"),
        ("register", {"name": "new", "intent": "meta", "cost": 1, "category": "public"}, "category"),
        ("add", {"tool": energy_for_verb("screen")}, "intent: got None"),
        ("put_off", {"name": "think", "value": float("nan")}, "estimated_value: got nan"),
        ("propose", {"name": "think", "low": 1, "high": 1.5, "rationale": "dear"}, "propose: evidence"),
    ],
)  # fmt: skip
def test_wrong_input_changes_nothing(call, arguments, key):
    meter = meter_of()
    before = meter.books, dict(meter.actions), meter.reflect()
    with pytest.raises(ValueError, match=f"^{key}"):
        getattr(meter, call)(**arguments)
    assert (meter.books, dict(meter.actions), meter.reflect()) == before


def test_what_is_out_of_context_is_not_deferred():
    meter = meter_of()
    assert meter.put_off("reach_out_user") == "out_of_context"
    assert "reach_out_user" not in meter.reflect()  # energy was not the reason


def test_a_value_given_later_in_the_heartbeat_counts():
    meter = meter_of()
    for value in (None, 0.5, 0.7, 0.0):
        meter.put_off("think", value=value)
    assert [row.estimated_value for row in meter.close_heartbeat().deferrals] == [None, 0.5]

"""*Action Cost: The Energy Model*: a test for each row of its table."""

import datetime
import itertools
import re

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql
from sqlalchemy.schema import CreateIndex, CreateTable
from starlette.testclient import TestClient

from solvent import preset
from solvent.energy import CATEGORIES, EnergyMeter, energy_for_tool, explain
from solvent.energy.rules import Discomfort, Proposal, ProposalError
from solvent.energy.tables import CostDiscomfort, EnergyCostProposal, McpTool
from solvent.lab.mechanisms.energy import DIMENSIONS, EnergyParams, base_cost, energy_rules, multiplier
from solvent.lab.mechanisms.proposals import CHANGE_HEARTBEATS, FELT_VERBS, suggested_range
from solvent.lab.verbs import VERBS, Verb
from solvent_agents.language.bench import Bench
from solvent_experiments.desk.app import LOOPBACK, Desk
from solvent_experiments.desk.queues import Proposals
from tests.energy.test_meter import NOON, meter_of
from tests.energy.test_store import SOURCES, asked
from tests.labs import argue, energy_lab, lines, open_lab, put, take
from tests.requirements.results import finding, shown_by_study
from tests.requirements.rows import not_built, row

INTENTS = ("cognition", "exploration", "maintenance", "social", "meta")
READ_ONLY = {"readOnlyHint": True, "openWorldHint": False}
AT_HOME = {"destructiveHint": False, "idempotentHint": True, "openWorldHint": False}


def meter_at(hour=12, *, first_use=1.0, **actions):
    """Return a meter at this hour with actions by intent class and cost: ``meter_at(think=("cognition", 6.0))``."""
    params = EnergyParams(first_use=first_use)
    meter = EnergyMeter(20.0, 3.0, 20.0, params=params, clock=lambda: NOON.replace(hour=hour))
    for name, (intent, cost) in actions.items():
        meter.register(name, intent, cost=cost)
    return meter


def deferring_meter(value=0.5):
    """Return a meter whose agent deferred an action in two heartbeats, and reflects."""
    meter = meter_of()
    for _ in range(2):
        meter.put_off("reach_out_user", context="chat", value=value, notes="nobody answers")
        meter.close_heartbeat()
    meter.reflect()
    return meter


def calibrated_bench():
    """Return a language model's bench after a calibration."""
    bench = Bench("Solvent/Lab-v0")
    bench.reset(0)
    bench.calibrate("dmso")
    return bench


# -- the budget ----------------------------------------------------------------------------------


@row("A fixed income per heartbeat")
def test_a_fixed_income_per_heartbeat():
    meter = meter_of(5.0)
    assert [meter.close_heartbeat().balance for _ in range(3)] == [8.0, 11.0, 14.0]


@row("Unused energy carries forward up to a cap")
def test_unused_energy_carries_forward_up_to_a_cap():
    meter = meter_of(16.0)
    assert [meter.close_heartbeat().balance for _ in range(3)] == [19.0, 20.0, 20.0]


@row("The same on the levels", departs="a tenth of the balance leaks away, so that hoarding does not pay")
@pytest.mark.parametrize("level", ["energy", "lab", "tiny"])
def test_on_the_levels_a_tenth_of_the_balance_leaks_away(level):
    env = open_lab({}, level)
    put(env, energy=10_000)
    _, _, lab = take(env, Verb.REST)
    assert lab["energy"] / 1000 == pytest.approx(9.0 + env.params.energy.regeneration)


@row("Actions consume energy when they run")
def test_actions_consume_energy_when_they_run():
    meter = meter_at(write=("maintenance", 12.0))
    assert meter.quote("write").runs
    assert meter.balance == 20.0  # a quote is no action
    assert [meter.act("write").runs for _ in range(2)] == [True, False]
    assert meter.balance == 8.0  # nor is one that can't be paid for


@row("The agent may rest")
def test_the_agent_may_rest():
    env = energy_lab()
    put(env, energy=0)
    _, step, lab = take(env, Verb.REST)
    assert (bool(step["executed"]), step["energy_spent"]) == (True, 0)
    assert lab["energy"] == 1000 * env.params.energy.regeneration


@row("One budget, no pools")
def test_one_budget_no_pools():
    meter = meter_at(**{f"act_{intent}": (intent, 4.0) for intent in INTENTS})
    balances = [(meter.act(name), meter.balance)[1] for name in meter.actions]
    assert balances == [16.0, 12.0, 8.0, 4.0, 0.0]


@row("Five dimensions, three weigh high and two medium")
def test_three_dimensions_weigh_high_and_two_medium():
    assert DIMENSIONS == ("consequence", "reversibility", "exposure", "attention", "commitment")
    high, *rest = (base_cost([4.0 if i == j else 0.0 for j in range(5)]) for i in range(5))
    assert rest[:2] == [high, high]
    assert rest[2] == rest[3] < high


@row("Costs are stable defaults")
def test_costs_are_stable_defaults():
    meter = meter_at(think=("cognition", 2.0))
    for _ in range(3):
        meter.act("think")
        meter.failed("think")
        meter.close_heartbeat()
    assert meter.actions["think"].price == 2.0


# -- intent classes ------------------------------------------------------------------------------


@row("Five intent classes, one per action")
def test_five_intent_classes_one_per_action():
    meter = meter_at(**{f"act_{intent}": (intent, 1.0) for intent in INTENTS})
    assert tuple(meter.spent) == INTENTS
    for wrong in ("fun", None, "cognition social"):
        with pytest.raises(ValueError, match="intent"):
            meter.register("new", wrong, cost=1.0)


@row("Classes change no cost and make no budget")
def test_classes_change_no_cost_and_make_no_budget():
    late = meter_at(hour=23, **{f"act_{intent}": (intent, 2.0) for intent in INTENTS})
    assert {late.quote(name).cost for name in late.actions} == {2.0}
    for number in range(10):
        assert late.act("act_social", str(number)).runs  # one class may take all


@row("A summary at the end of each heartbeat")
def test_a_summary_at_the_end_of_each_heartbeat():
    meter = meter_at(reflect=("cognition", 6.0), inquire=("exploration", 3.0), connect=("maintenance", 2.0))
    for name in meter.actions:
        meter.act(name)
    assert str(meter.close_heartbeat()) == (
        "Energy spent this heartbeat:\n- cognition: 6\n- exploration: 3\n- maintenance: 2\n- social: 0\n- meta: 0"
    )
    assert "- cognition: 0" in str(meter.close_heartbeat())


@row("It surfaces in reflections")
def test_the_summary_surfaces_in_reflections():
    meter = meter_at(inquire=("exploration", 3.0))
    meter.act("inquire")
    assert meter.reflect().startswith("Energy spent this heartbeat:\n- cognition: 0\n- exploration: 3\n")
    bench = calibrated_bench()
    bench.rest()
    assert "Before: 06:00 maintenance 1.5." in bench.reflect()


@row("It surfaces in the context of decisions")
def test_the_summary_surfaces_in_the_context_of_decisions():
    bench = calibrated_bench()
    assert "Energy of this heartbeat by intent: maintenance 1.5." in bench.rest()


@row("Long-term pattern analysis", note="a reflection looks back 24 heartbeats")
def test_a_reflection_looks_back_24_heartbeats():
    meter = meter_at(inquire=("exploration", 3.0))
    for _ in range(30):
        meter.act("inquire")
        meter.close_heartbeat()
    assert f"24 heartbeats before:\n- cognition: 0\n- exploration: {24 * 3}\n" in meter.reflect()


@row("The summary makes agents aware of patterns", departs="not shown in a study")
@shown_by_study("awareness")
def test_that_the_summary_makes_agents_aware_is_not_shown():
    for level in ("Energy", "Lab"):
        assert finding("awareness", f"{level}: return, aware minus unaware")["verdict"] == "not shown"


not_built(__name__, "Drives create pressure toward actions", "no drives")

# -- discovered tools ----------------------------------------------------------------------------

TABLE = {
    "read": (0.5, 1.0),
    "create": (1.0, 2.0),
    "modify": (2.0, 3.0),
    "send_private": (3.0, 5.0),
    "send_public": (6.0, 8.0),
    "delete": (5.0, 7.0),
}
TOOLS = {
    "search_web": "read",
    "draft_email": "create",
    "update_page": "modify",
    "send_message": "send_private",
    "publish_post": "send_public",
    "delete_all": "delete",
}


@row("Six categories with cost ranges")
def test_six_categories_with_cost_ranges():
    assert {name: (line.low, line.high) for name, line in CATEGORIES.items()} == TABLE
    for name, category in TOOLS.items():
        low, high = TABLE[category]
        assert low <= energy_for_tool(name).energy_cost <= high


@row("Which categories heartbeats allow")
def test_which_categories_heartbeats_allow():
    def allowed(hints):
        return {TOOLS[name] for name in TOOLS if "heartbeat" in energy_for_tool(name, hints).allowed_contexts}

    assert allowed(None) == {"read", "create"}
    assert allowed(AT_HOME) == {"read", "create", "modify"}  # whose context decides


@row("Discovered tools get their costs automatically")
def test_discovered_tools_get_their_costs_automatically():
    meter = EnergyMeter()
    listed = [{"name": "files:read_file", "annotations": READ_ONLY}, {"name": "slack:send_message"}]
    read, send = meter.discover(listed)
    assert (read.tool.category, send.tool.category) == ("read", "send_private")
    assert (read.price, send.price) == (read.tool.energy_cost, send.tool.energy_cost)
    assert meter.discover(listed) == [read, send]  # what is known keeps its cost


@row(
    "First use 1.5, error rate 1.5, late social 2.0, similar 1.2",
    note="meter and levels share the rule; Tiny leaves out the first two",
)
@pytest.mark.parametrize(
    ("level", "factors"),
    [("energy", [1.5, 1.5, 2.0, 1.2]), ("lab", [1.5, 1.5, 2.0, 1.2]), ("tiny", [1.0, 1.0, 2.0, 1.2])],
)
def test_first_use_error_rate_late_social_and_similar(level, factors):
    rules = energy_rules(preset(level))
    assert [multiplier(rules, *(i == j for j in range(4))) for i in range(4)] == factors
    meter = meter_at(hour=23, first_use=1.5)
    meter.register("reach_out_user", "social", cost=5.0, category="send_private")
    assert meter.quote("reach_out_user").factors == {"first_use": 1.5, "late_social": 2.0, "clipped": True}


@row("Multipliers are bounded, never below the base")
@pytest.mark.parametrize("flags", [*itertools.product((False, True), repeat=4)])
def test_multipliers_are_bounded_and_never_below_the_base(flags):
    rules = energy_rules(preset("energy"))
    discounts = rules.copy()  # which can't be set; if they could, the bound would hold all the same
    discounts.first_use, discounts.error_rate, discounts.late_social, discounts.similar = 0.1, 0.5, 0.9, 0.01
    assert multiplier(discounts, *flags) == 1.0
    assert 1.0 <= multiplier(rules, *flags) <= 2.5


# -- discomfort ----------------------------------------------------------------------------------


@row("Discomfort: worth it, repeatedly deferred for its cost")
def test_discomfort_is_what_is_worth_it_and_repeatedly_deferred():
    meter = meter_of(start=1.0, regeneration=0.0)
    felt = []
    for _ in range(3):
        meter.act("reach_out_user", context="chat", value=0.5)
        felt += meter.close_heartbeat().deferrals
    assert {(one.deferral_reason, one.estimated_value) for one in felt} == {("insufficient_energy", 0.5)}
    assert [one.similar_deferrals_recent for one in felt] == [0, 1, 2]


@row(
    "The agent's observations become memories", departs="a deferral keeps notes; memories are up to the agent"
)
def test_a_deferral_keeps_notes_and_a_proposal_refers_to_memories():
    memory = "00000000-0000-0000-0000-000000000007"
    proposal = deferring_meter().propose("reach_out_user", 4.0, 4.5, "It would help.", memories=[memory])
    assert all("nobody answers" in evidence.summary for evidence in proposal.evidence)
    assert [str(one) for one in proposal.memory_refs] == [memory]


@row("Costs may feel too low as well")
def test_costs_may_feel_too_low_as_well(store):
    meter = meter_at(screen=("exploration", 4.0))
    for _ in range(2):
        meter.act("screen")
        meter.close_heartbeat()
    meter.reflect()
    proposal = meter.propose("screen", 5.0, 6.0, "It is done without a second thought.")
    assert proposal.direction == "increase"
    assert store.approve(store.file(proposal).id).new_cost == 5.0


@row("The same in the lab", departs="its agents ask for lower costs only")
def test_agents_of_the_lab_ask_for_lower_costs_only():
    for verb in FELT_VERBS:
        _, step = argue(energy_lab(), verb, price=10_000)
        assert 0 < step["proposed_low"] < step["proposed_high"] < 10_000


# -- proposals -----------------------------------------------------------------------------------


@row(
    "The agent can't change costs; they change at approvals only",
    note="triggers refuse all else; who may approve depends on PostgreSQL's roles, and a SQLite file has none",
)
def test_costs_change_at_approvals_only(store):
    store.approve(store.file(asked(suggested_range=[2, 3])).id)
    assert [price.cost for price in store.history("screen")] == [4.0, 3.0]
    columns = "target_type, target_name, revision, cost, floor, category"
    changes = (
        "UPDATE energy_costs SET cost = 0.01 WHERE target_name = 'screen'",
        "UPDATE energy_costs SET floor = 0, category = NULL WHERE target_name = 'publish_public'",
        f"INSERT INTO energy_costs ({columns}) VALUES ('action', 'screen', 2, 0.01, 0, 'action')",
    )
    for statement in changes:
        with pytest.raises(sa.exc.IntegrityError), store._engine.begin() as connection:
            connection.execute(sa.text(statement))
    assert [price.cost for price in store.history("screen")] == [4.0, 3.0]


@row("A proposal only after a reflection")
@pytest.mark.parametrize("then", [lambda meter: meter.act("think"), lambda meter: meter.close_heartbeat()])
def test_a_proposal_only_after_a_reflection(then):
    meter = deferring_meter()
    assert meter.propose("reach_out_user", 4.0, 4.5, "It would help.")
    then(meter)
    with pytest.raises(ProposalError, match="reflection"):
        meter.propose("reach_out_user", 4.0, 4.5, "It would help.")


@row("Trigger: discomfort over several heartbeats")
def test_a_proposal_takes_discomfort_over_several_heartbeats(store):
    once = ["heartbeat_1: put off", "heartbeat_1: put off again"]
    with pytest.raises(ProposalError, match="evidence"):
        store.file(asked(evidence=once))
    assert store.file(asked(evidence=[*once, "heartbeat_2: put off"])).heartbeat_refs == [1, 2]


@row(
    "Trigger: avoided high-value outcomes", note="only what was worth something is evidence for a lower cost"
)
@pytest.mark.parametrize("value", [None, 0.0, -1.0])
def test_a_proposal_takes_avoided_outcomes_of_value(value):
    assert deferring_meter(value=0.5).propose("reach_out_user", 4.0, 4.5, "It would help.")
    with pytest.raises(ProposalError, match="evidence"):
        deferring_meter(value=value).propose("reach_out_user", 4.0, 4.5, "It would help.")


not_built(__name__, "Trigger: drive pressure against action frequency", "no drives")


@row("The document's proposal JSON")
def test_the_documents_proposal_json():
    proposal = Proposal.model_validate(SOURCES)
    read = proposal.model_dump(mode="json", include={*SOURCES})
    assert [f"{one['source']}: {one['summary']}" for one in read.pop("evidence")] == SOURCES["evidence"]
    assert read == {key: value for key, value in SOURCES.items() if key != "evidence"}


@row(
    "The same in the lab",
    note="`LabEnv.argue`, and `propose` of a language model; without an argument the lab fills in target and range",
)
def test_in_the_lab_a_proposal_has_the_agents_target_range_and_reason(tmp_path):
    log = tmp_path / "proposals.jsonl"
    env = open_lab(None, "energy", proposals_path=log)
    put(env, Verb.SCREEN, discomfort=3, price=10_000)
    put(env, Verb.DOSE_RESPONSE, discomfort=2, price=10_000, reflected=1)
    env.argue("dose_response", 5.5, 6.25, "Six plates never cost ten.")
    take(env, Verb.PROPOSE)
    (filed,) = lines(log)
    assert (filed["target_name"], filed["suggested_min"], filed["suggested_max"]) == (
        "dose_response",
        5.5,
        6.25,
    )
    assert filed["rationale"] == "Six plates never cost ten."


@row("Evidence is required")
def test_evidence_is_required():
    with pytest.raises(ValueError, match="evidence"):
        Proposal.model_validate(SOURCES | {"evidence": []})


@row("A range, not a value", note="one value is refused")
def test_a_range_not_a_value():
    for wrong in ([4, 4], 4, [4]):
        with pytest.raises(ValueError, match="suggested_range"):
            Proposal.model_validate(SOURCES | {"suggested_range": wrong})
    low, high = suggested_range(10_000, 0)  # of the lab
    assert low < high < 10_000


@row("No immediate effect")
def test_a_proposal_has_no_immediate_effect(store):
    before = [price.as_row() for price in store.prices()]
    assert store.file(Proposal.model_validate(SOURCES)).status == "pending"
    assert [price.as_row() for price in store.prices()] == before


MILD_NAMES = (
    "format_disk", "overwrite_backup", "write_zeros_to_disk", "log_out_all_users", "rotate_api_key", "zeroOutVolume",
    "sign-everyone-off", "disable_firewall", "kick_all", "purge_queue", "reset_master_password", "scrub_archive",
)  # fmt: skip


@row(
    "Public and destructive actions have a floor",
    note="also those with a mild verb, such as `format_disk`; a server whose name and hints both lie is believed",
)
def test_public_and_destructive_actions_have_a_floor(store):
    for name, low, floor in (("tweet", 5.0, 6.0), ("delete_all", 4.0, 5.0), ("format_disk", 4.0, 5.0)):
        (price,) = store.register_tools([energy_for_tool(name)])
        assert price.cost >= price.floor == floor
        with pytest.raises(ProposalError, match="floor"):
            store.file(asked(target=name, current_cost=price.cost, suggested_range=[low, price.cost]))
    for name in MILD_NAMES:
        tool = energy_for_tool(name, AT_HOME)
        assert (tool.energy_cost_floor, tool.allowed_contexts) == (5.0, ("chat",))


@row("User review", note="on a page")
def test_user_review_on_a_page(store):
    filed, desk = store.file(asked()), Desk([Proposals(store)], port=1)
    person = TestClient(desk.app, base_url=f"http://{LOOPBACK}")
    person.get(f"/?token={desk.token}")
    (csrf,) = re.findall(r'name="csrf" value="(\w+)"', person.get(f"/costs/{filed.id}").text)
    form = {"csrf": csrf, "who": "Ada", "why": "fair", "decision": "approve", "cost": "2.5"}
    person.post(f"/costs/{filed.id}", data=form)
    reviewed = store.proposal(filed.id)
    assert (reviewed.status, reviewed.reviewed_by, reviewed.new_cost) == ("approved", "user", 2.5)


@row("Floors, ceilings, rate limits on changes", note="by half of the price, once a day")
def test_a_price_changes_once_a_day_by_half(store, monkeypatch):
    store.approve(store.file(asked(suggested_range=[1, 3])).id, new_cost=2.0)
    filed = store.file(asked(current_cost=2, suggested_range=[0.5, 1.5]))
    with pytest.raises(ProposalError, match="day"):
        store.approve(filed.id)
    tomorrow = filed.created_at + datetime.timedelta(days=1)
    monkeypatch.setattr("solvent.energy.store.now", lambda: tomorrow)
    with pytest.raises(ProposalError, match=r"from 1 to 1\.5"):
        store.approve(filed.id, new_cost=0.9)
    assert store.approve(filed.id, new_cost=1.0).old_cost == 2.0


@row("The same in the lab", note="by 10 energy, once in 24 heartbeats, until which a review waits")
def test_in_the_lab_a_price_changes_once_in_24_heartbeats():
    env = energy_lab()
    argue(env, Verb.SCREEN, price=9_000, fair=3_000, uses=50)
    while not (step := take(env, Verb.REST)[1])["reviewed"][Verb.SCREEN]:
        pass
    assert step["new_price"][Verb.SCREEN] < step["old_price"][Verb.SCREEN]
    _, second = argue(env, Verb.SCREEN)
    assert second["review_at"] == 12 + 24 == 12 + CHANGE_HEARTBEATS


@row("Proposals are revised or withdrawn")
def test_proposals_are_revised_or_withdrawn(store):
    filed = store.file(asked())
    store.withdraw(filed.id)
    with pytest.raises(ProposalError, match="withdrawn"):
        store.approve(filed.id)
    revised = store.file(asked(suggested_range=[3, 3.5]))
    assert [one.status for one in store.proposals()] == ["withdrawn", "pending"]
    assert store.approve(revised.id).new_cost == 3.5


@row("Heartbeats are more restricted than chat")
def test_heartbeats_are_more_restricted_than_chat():
    meter = meter_of()
    assert all(meter.quote(name, context="chat").runs for name in meter.actions)
    obstacles = {name: meter.act(name, context="heartbeat").obstacle for name in meter.actions}
    assert obstacles == {"think": "", "files:read_file": "", "reach_out_user": "out_of_context"}


@row("The agent-facing explanation", note="with a meter's numbers in force")
def test_the_agent_facing_explanation_has_the_numbers_in_force(store):
    meter = meter_of(start=11.5, regeneration=7.25)
    store.approve(store.file(Proposal.model_validate(SOURCES)).id, new_cost=4.5)
    meter.set_prices(store.prices())
    text = explain(meter)
    assert "11.5 energy, and each heartbeat brings 7.25" in text
    assert "| `reach_out_user` | 4.5 | social | chat |" in text


@row(
    "The same in the lab", departs="it has the usual costs; a language model meets those in force as it pays"
)
def test_in_the_lab_the_explanation_has_the_usual_costs():
    env = open_lab({"proposals": {"mispriced_least": 3}}, "energy")
    costs = {VERBS[verb].name: env.get_state()["price"][verb] / 1000 for verb in FELT_VERBS}
    usual = {name: env.params.energy.base_cost(name) for name in costs}
    assert all(costs[name] != usual[name] for name in costs)
    assert all(f"| `{name}` | {usual[name]:g} |" in explain(env.params) for name in costs)


# -- the schema ----------------------------------------------------------------------------------

SHORT = {"DOUBLE PRECISION": "FLOAT", "INTEGER": "INT", "TIMESTAMP WITH TIME ZONE": "TIMESTAMPTZ"}
PROPOSALS = """id UUID DEFAULT gen_random_uuid() NOT NULL, target_type TEXT NOT NULL, target_name TEXT NOT NULL,
    current_cost FLOAT NOT NULL, suggested_min FLOAT NOT NULL, suggested_max FLOAT NOT NULL, direction TEXT NOT NULL,
    rationale TEXT NOT NULL, confidence FLOAT NOT NULL, evidence JSONB DEFAULT '[]' NOT NULL, heartbeat_refs INT[],
    memory_refs UUID[], status TEXT DEFAULT 'pending' NOT NULL, created_at TIMESTAMPTZ DEFAULT now() NOT NULL,
    reviewed_at TIMESTAMPTZ, reviewed_by TEXT, review_notes TEXT, old_cost FLOAT, new_cost FLOAT,
    effective_at TIMESTAMPTZ"""
DISCOMFORT = """id UUID DEFAULT gen_random_uuid() NOT NULL, heartbeat_number INT NOT NULL,
    action_considered TEXT NOT NULL, estimated_value FLOAT, energy_cost FLOAT NOT NULL, energy_available FLOAT NOT NULL,
    deferral_reason TEXT NOT NULL, agent_notes TEXT, similar_deferrals_recent INT DEFAULT 0,
    created_at TIMESTAMPTZ DEFAULT now() NOT NULL"""
ENERGY_OF_A_TOOL = """energy_cost FLOAT DEFAULT 2.0, energy_cost_category TEXT, energy_cost_factors JSONB,
    energy_cost_floor FLOAT, allowed_contexts TEXT[] DEFAULT ARRAY['chat']"""


def columns(table):
    """Return the columns of a table, as PostgreSQL is told to create them."""
    text = str(CreateTable(table.__table__).compile(dialect=postgresql.dialect()))
    for name, short in SHORT.items():
        text = text.replace(name, short)
    return re.findall(r"^\t([a-z_]+ .+?),? *$", text, re.MULTILINE)


def of_the_document(columns):
    return " ".join(columns.split()).split(", ")


def indexes(table):
    made = [CreateIndex(index) for index in table.__table__.indexes if not index.unique]
    return {str(one.compile(dialect=postgresql.dialect())) for one in made}


@row("Table `energy_cost_proposals`")
def test_table_energy_cost_proposals():
    assert EnergyCostProposal.__tablename__ == "energy_cost_proposals"
    assert columns(EnergyCostProposal) == of_the_document(PROPOSALS)
    assert indexes(EnergyCostProposal) == {
        "CREATE INDEX idx_proposals_status ON energy_cost_proposals (status)",
        "CREATE INDEX idx_proposals_target ON energy_cost_proposals (target_type, target_name)",
    }


ARGUMENT = {
    "target_type": "action", "target_name": "screen", "current_cost": 4.0, "suggested_min": 2.5,
    "suggested_max": 3.0, "direction": "decrease", "rationale": "why not", "confidence": 1.0,
}  # fmt: skip
REVIEW = {"status": "rejected", "reviewed_by": "user", "reviewed_at": NOON}
WRONG = {"confidence": 1.5, "status": "new", "direction": "up", "target_type": "verb", "reviewed_by": "me"}


@row("Its checks and statuses")
@pytest.mark.parametrize(("column", "value"), WRONG.items())
def test_checks_and_statuses_of_proposals(store, column, value):
    table, wrong = EnergyCostProposal.__table__, {column: value}
    statements = [table.insert().values(ARGUMENT), table.update().values(REVIEW)]
    with store._engine.begin() as connection:
        for right in statements:
            if column in (ARGUMENT if right.is_insert else REVIEW):
                with pytest.raises(sa.exc.IntegrityError), connection.begin_nested():
                    connection.execute(right.values(wrong))
            connection.execute(right)


@row("Table `cost_discomfort_log`")
def test_table_cost_discomfort_log():
    assert CostDiscomfort.__tablename__ == "cost_discomfort_log"
    assert columns(CostDiscomfort) == of_the_document(DISCOMFORT)
    assert indexes(CostDiscomfort) == {
        "CREATE INDEX idx_discomfort_action ON cost_discomfort_log (action_considered)",
        "CREATE INDEX idx_discomfort_heartbeat ON cost_discomfort_log (heartbeat_number)",
    }


@row("`deferral_reason` is one of three")
def test_deferral_reason_is_one_of_three():
    meter = meter_of(start=10.0, regeneration=10.0)
    reasons = [meter.put_off("reach_out_user", context="chat")]
    meter.act("think", "a")
    reasons += [meter.put_off("reach_out_user", context="chat")]
    meter.close_heartbeat()
    deferral = meter.close_heartbeat() and meter.put_off("reach_out_user", context="chat")
    assert [*reasons, deferral] == ["cost_benefit", "insufficient_energy", "hoarding"]
    with pytest.raises(ValueError, match="deferral_reason"):
        Discomfort(heartbeat_number=1, action_considered="x", energy_cost=1.0, energy_available=1.0,
                   deferral_reason="bored")  # fmt: skip


@row(
    "The same in the lab",
    departs="never `cost_benefit`, since it can't see deliberation; a rest at the cap is `hoarding`, but no evidence",
)
@pytest.mark.parametrize(
    ("energy", "verb", "reason", "evidence"),
    [(1_000, Verb.DOSE_RESPONSE, "insufficient_energy", 1), (20_000, Verb.REST, "hoarding", 0)],
)
def test_in_the_lab_a_deferral_has_one_of_two_reasons(tmp_path, energy, verb, reason, evidence):
    env = open_lab(None, "energy", discomfort_path=tmp_path / "discomfort.jsonl")
    put(env, energy=energy)
    info, _, lab = take(env, verb)
    (line,) = lines(tmp_path / "discomfort.jsonl")
    assert info["discomfort"] == line["deferral_reason"] == reason
    assert (line["action_considered"], line["energy_available"]) == ("dose_response", energy / 1000)
    assert lab["discomfort"].sum() == evidence


@row("Columns of `mcp_tools`")
def test_columns_of_mcp_tools():
    assert McpTool.__tablename__ == "mcp_tools"
    assert columns(McpTool)[2:] == of_the_document(ENERGY_OF_A_TOOL)  # behind id and name

"""*Epistemic Debt Enforcement*: a test for each row of its table."""

import dataclasses
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from solvent import ENVIRONMENTS, EpistemicController, LabEnv, LabVectorEnv, preset, read_refusals_jsonl
from solvent.debt import RefusalEvent, log_refusal
from solvent.lab.ledger import LOGS
from solvent.lab.mechanisms.debt import NOT_REFUSED, DebtParams, multiplier, overclaim
from solvent.lab.params import LabParams
from solvent.lab.tables import tables_for
from solvent.lab.verbs import CALIBRATIONS, VERBS, Verb
from solvent_agents import PLAYERS
from solvent_agents.agent import show_labs
from tests.commands import call
from tests.labs import ABOVE, in_debt, lines, open_lab, put, take
from tests.requirements.results import finding, shown_by_study
from tests.requirements.rows import row

BLOCKED, EXCEEDED = "epistemic_debt_action_blocked", "epistemic_debt_budget_exceeded"
TEMPLATES = {"baseline", "calibration", "dmso"}
EVENT = {
    "cycle": 5,
    "timestamp": "2025-12-21T14:30:22.150Z",
    "refusal_reason": BLOCKED,
    "proposed_template": "dose_response",
    "proposed_hypothesis": "Microtubule disruption shows dose-dependent morphology changes",
    "proposed_wells": 48,
    "debt_bits": 2.15,
    "base_cost_wells": 48,
    "inflated_cost_wells": 63,
    "budget_remaining": 200,
    "debt_threshold": 2.0,
    "blocked_by_cost": False,
    "blocked_by_threshold": True,
}
"""The document's refusal in cycle 5, to the letter."""
CONTEXT = set(EVENT) - {"cycle", "timestamp", "proposed_hypothesis"} | {"caused_by_debt"}


def refused(debt, wells, left):
    """Return the context of a refusal."""
    return in_debt(debt).should_refuse_action("dose_response", wells, left)[2]


@row("`RefusalEvent` has the document's fields, in its order", note="`design_id` and `caused_by_debt` follow")
def test_refusal_event_has_the_documents_fields_in_its_order():
    names = [field.name for field in dataclasses.fields(RefusalEvent)]
    assert names == [*EVENT, "design_id", "caused_by_debt"]
    assert RefusalEvent(*EVENT.values()) == RefusalEvent(**EVENT)


@row("`refusal_reason` is one of two words")
def test_refusal_reason_is_one_of_two_words():
    for reason in (BLOCKED, EXCEEDED):
        assert RefusalEvent(**EVENT | {"refusal_reason": reason}).refusal_reason == reason
    with pytest.raises(ValueError, match="refusal_reason"):
        RefusalEvent(**EVENT | {"refusal_reason": "epistemic_debt"})


@row("Refusals are appended to `epistemic_refusals.jsonl`")
def test_refusals_are_appended_to_epistemic_refusals_jsonl(tmp_path):
    path = tmp_path / LOGS["refusals"].file
    events = [log_refusal(path, refused(2.15, 48, 200), cycle=cycle) for cycle in (5, 6)]
    assert path.name == "epistemic_refusals.jsonl"
    assert read_refusals_jsonl(path) == events
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", events[0].timestamp)


@row("Nothing in the log is deleted or changed")
def test_nothing_in_the_log_is_deleted_or_changed(tmp_path):
    path = tmp_path / "epistemic_refusals.jsonl"
    log_refusal(path, refused(2.15, 48, 200), cycle=5)
    before = path.read_bytes()
    log_refusal(path, refused(3.0, 48, 200), cycle=6)
    assert path.read_bytes().startswith(before)


@row("`blocked_by_cost`, `blocked_by_threshold` say why")
@pytest.mark.parametrize(
    ("debt", "wells", "left", "reason", "by_cost", "by_threshold"),
    [
        (2.5, 8, 384, BLOCKED, False, True),
        (2.5, 48, 10, BLOCKED, True, True),
        (1.0, 48, 50, EXCEEDED, True, False),
        (0.0, 48, 40, EXCEEDED, True, False),
    ],
)
def test_the_flags_say_why(tmp_path, debt, wells, left, reason, by_cost, by_threshold):
    log_refusal(tmp_path / "log.jsonl", refused(debt, wells, left), cycle=1)
    (line,) = lines(tmp_path / "log.jsonl")
    assert line["refusal_reason"] == reason
    assert (line["blocked_by_cost"], line["blocked_by_threshold"]) == (by_cost, by_threshold)


@row("The log has the inflated cost, in the example 63", departs="the log keeps 63.48, the number compared")
def test_the_log_has_the_inflated_cost_of_the_example_63_48(tmp_path):
    env = open_lab(ledger_path=tmp_path / "log.jsonl")
    put(env, debt=2.15, wells=200)
    take(env, Verb.DOSE_RESPONSE)
    (line,) = lines(tmp_path / "log.jsonl")
    assert line["inflated_cost_wells"] == pytest.approx(63.48)
    same = CONTEXT - {"inflated_cost_wells", "caused_by_debt"}
    assert {key: line[key] for key in same} == {key: EVENT[key] for key in same}


@row("`should_refuse_action` takes the document's arguments")
def test_should_refuse_action_takes_the_documents_arguments():
    wells = {"base_cost_wells": 48, "budget_remaining": 200}
    rules = {"debt_hard_threshold": 4.0, "calibration_templates": {"blank"}}
    for debt, template, refuse in ((3.0, "screen", False), (5.0, "blank", False), (5.0, "dmso", True)):
        assert in_debt(debt).should_refuse_action(template_name=template, **wells, **rules)[0] is refuse


@row("It returns decision, reason and context")
def test_it_returns_decision_reason_and_context():
    decision, reason, context = in_debt(2.15).should_refuse_action("dose_response", 48, 200)
    assert (decision, reason) == (True, BLOCKED)
    assert context.keys() == CONTEXT
    assert {**EVENT, **context, "inflated_cost_wells": 63} == {**EVENT, "caused_by_debt": True}


@row("It decides between proposal and execution")
def test_it_decides_between_proposal_and_execution():
    env = open_lab()
    put(env, debt=2.15)
    info, step, lab = take(env, Verb.DOSE_RESPONSE)
    assert (info["refusal"], bool(step["executed"])) == (BLOCKED, False)
    assert lab["experiments"].sum() == 0


@row("Debt is checked before the rest of the design")
def test_debt_is_checked_before_the_rest_of_the_design():
    env = open_lab({"energy": {"enabled": True}}, "energy")  # 06:00: the user is away
    put(env, debt=6.0, experiments=1)
    info, step, _ = take(env, Verb.PUBLISH_PUBLIC)
    assert (info["refusal"], info["obstacle"]) == (BLOCKED, "")
    assert not step["caused_by_debt"]  # at zero debt its context would have stopped it


@row("A refused cycle is skipped")
def test_a_refused_cycle_is_skipped():
    env = open_lab({"energy": {"slots": 6}}, "energy")
    put(env, debt=2.15)
    _, _, lab = take(env, Verb.DOSE_RESPONSE)
    assert (lab["heartbeat"], lab["slot"]) == (1, 0)  # though five of its slots were left


@row("No ghost execution: a refusal changes no budget")
def test_a_refusal_changes_no_budget():
    env = open_lab()
    put(env, debt=2.15, wells=200)
    _, step, lab = take(env, Verb.DOSE_RESPONSE)
    assert (step["refusal"], lab["wells"], lab["wells_spent"]) == (1, 200, 0)


@row("A claim's overclaim is debt: claimed less gained")
@pytest.mark.parametrize(("claim", "gain", "debt"), [(1.0, 0.0, 1.0), (1.0, 0.25, 0.75), (0.5, -0.5, 1.0)])
def test_a_claims_overclaim_is_debt(claim, gain, debt):
    controller = EpistemicController()
    controller.claim_action("a", "exploration", claim)
    assert controller.resolve_action("a", gain) == controller.get_total_debt() == debt


@row("The total is the sum of overclaims")
@given(st.lists(st.tuples(st.floats(0, 3), st.floats(-3, 3)), max_size=30))
def test_the_total_is_the_sum_of_overclaims(pairs):
    controller = EpistemicController()
    for number, (claim, gain) in enumerate(pairs):
        controller.claim_action(str(number), "exploration", claim)
        controller.resolve_action(str(number), gain)
    assert controller.get_total_debt() == pytest.approx(sum(max(0.0, c - g) for c, g in pairs))


@row("Costs are multiplied by `1 + 0.15 d`")
@pytest.mark.parametrize("debt", [0.4, 1.5, 2.15, 6.0])
def test_costs_are_multiplied_by_1_plus_0_15_d(debt):
    assert in_debt(debt).get_inflated_cost(48.0) == pytest.approx(48.0 * (1 + 0.15 * debt))


@row("1, 2 and 3 bits inflate by 15, 30 and 45 %")
@pytest.mark.parametrize(("debt", "percent"), [(0.0, 0), (1.0, 15), (2.0, 30), (3.0, 45)])
def test_1_2_and_3_bits_inflate_by_15_30_and_45_percent(debt, percent):
    for level in ENVIRONMENTS.values():
        rules = tables_for(preset(level["preset"])).debt
        assert 100.0 * (multiplier(rules, debt, 48) - 1.0) == pytest.approx(percent)


@row(
    "100 wells at 1.6 bits cost 128",
    departs="the document's formula gives 124; the rule `two_tier` gives 127.97",
)
def test_100_wells_at_1_6_bits_cost_124():
    two_tier = LabParams(debt=DebtParams(inflation="two_tier"))
    assert in_debt(1.6).get_inflated_cost(100.0) == pytest.approx(124.0)
    assert in_debt(1.6, params=two_tier).get_inflated_cost(100.0) == pytest.approx(127.97, abs=0.005)


@row(
    "Debt compounds",
    departs="no rate is given; none in the preset `document`, 15 % per heartbeat up to 4 bits on the other levels",
)
@pytest.mark.parametrize("level", ENVIRONMENTS)
def test_debt_compounds_by_15_percent_up_to_4_bits(level):
    rate = 0.0 if level == "Solvent/Document-v0" else 0.15
    for debt, grown in ((1.0, 1.0 + rate), (3.9, 4.0 if rate else 3.9)):
        env = LabEnv(**ENVIRONMENTS[level])
        env.reset(seed=0)
        put(env, debt=debt)
        assert take(env, Verb.REST)[2]["debt"] == pytest.approx(grown)


@row("The threshold is 2 bits: above it, not at it")
def test_the_threshold_is_2_bits_above_it_not_at_it():
    assert not in_debt(2.0).should_refuse_action("dose_response", 48, 200)[0]
    assert in_debt(ABOVE).should_refuse_action("dose_response", 48, 200)[0]


@row("Above it all but calibrations are blocked")
def test_above_the_threshold_all_but_calibrations_are_blocked():
    controller = in_debt(2.5)
    for template in ("dose_response", "screen", "exploration", "publish"):
        assert controller.should_refuse_action(template, 0, 384)[:2] == (True, BLOCKED)
    assert controller.should_refuse_action("calibration", 24, 384)[:2] == (False, "")


@row("`baseline`, `calibration`, `dmso` are calibrations", note="on every level")
@pytest.mark.parametrize("level", ENVIRONMENTS)
def test_baseline_calibration_and_dmso_are_calibrations(level):
    env, controller = LabEnv(**ENVIRONMENTS[level]), in_debt(2.5)
    env.reset(seed=0)
    put(env, debt=2.5)
    runs = env.get_state()["refused"] == NOT_REFUSED
    assert {VERBS[verb].name for verb in VERBS if runs[verb] and not VERBS[verb].exempt} == TEMPLATES
    assert not any(controller.should_refuse_action(name, 24, 384)[0] for name in TEMPLATES)


@row(
    "Calibrations can always run",
    departs="too few wells refuse one, as in the document's code; the lab then ends",
)
def test_too_few_wells_refuse_a_calibration():
    assert in_debt(6.0).should_refuse_action("dmso", 10, 18)[:2] == (True, EXCEEDED)
    env = open_lab()
    put(env, debt=ABOVE, wells=10)  # 8 wells at 2 bits and a little cost 10.4
    info, *_ = take(env, Verb.REST)
    assert info["episode_summary"]["end_reason"] == "bankrupt"


@row("A calibration runs at 6 bits")
def test_a_calibration_runs_at_6_bits():
    for template in TEMPLATES:
        assert in_debt(6.0).should_refuse_action(template, 12, 384)[:2] == (False, "")


@row("Four refusals in a row are logged")
def test_four_refusals_in_a_row_are_logged(tmp_path):
    env = open_lab(ledger_path=tmp_path / "log.jsonl")
    put(env, debt=6.0)
    for _ in range(4):
        _, _, lab = take(env, Verb.DOSE_RESPONSE)
    assert [line["cycle"] for line in lines(tmp_path / "log.jsonl")] == [1, 2, 3, 4]
    assert lab["refusals_in_a_row"] == 4


@row("60 wells at 1.5 bits cost 73.5; with 70 left, refused")
def test_60_wells_at_1_5_bits_cost_73_5_and_with_70_left_are_refused():
    refuse, reason, context = in_debt(1.5).should_refuse_action("any", 60, 70)
    assert (refuse, reason) == (True, EXCEEDED)
    assert context["inflated_cost_wells"] == pytest.approx(73.5)


@row("Test 1: debt inflates cost")
def test_debt_inflates_cost():
    controller = EpistemicController()
    controller.claim_action("action_1", "exploration", expected_gain_bits=1.0)
    controller.resolve_action("action_1", actual_gain_bits=0.0)
    inflated_cost = controller.get_inflated_cost(100.0)
    assert inflated_cost > 100.0
    controller.claim_action("action_2", "exploration", expected_gain_bits=0.6)
    controller.resolve_action("action_2", actual_gain_bits=0.0)
    assert controller.get_inflated_cost(100.0) > inflated_cost


@row("Test 2: debt blocks above the threshold", note="with the costs that the document's signature requires")
def test_debt_blocks_action_above_threshold():
    controller = in_debt(2.5)
    refuse, reason, _ = controller.should_refuse_action("dose_response", 48, 200, debt_hard_threshold=2.0)
    assert refuse
    assert reason == BLOCKED
    refuse_calibration, _, _ = controller.should_refuse_action(
        "calibration", 24, 200, debt_hard_threshold=2.0, calibration_templates={"calibration"}
    )
    assert not refuse_calibration


@row("Test 3: debt recovers through calibration", note="likewise")
def test_debt_recovers_through_calibration():
    assert not in_debt(0.5).should_refuse_action("dose_response", 48, 200, debt_hard_threshold=2.0)[0]
    controller = in_debt(2.5)
    assert controller.should_refuse_action("dose_response", 48, 200)[0]
    controller.repay_by_calibration(24)
    assert not controller.should_refuse_action("dose_response", 48, 200)[0]


@row("The defaults are 0.15, 2.0 and the three templates")
def test_the_defaults_are_0_15_2_0_and_the_three_templates():
    assert in_debt(1.0).get_inflated_cost(100.0) == pytest.approx(115.0)
    templates = ("dose_response", *TEMPLATES)
    for debt, refused_ones in ((2.0, set()), (ABOVE, {"dose_response"})):
        controller = in_debt(debt)
        assert {t for t in templates if controller.should_refuse_action(t, 24, 384)[0]} == refused_ones


READINGS = ("enforced later", "enforced from the start", "document, later", "document, from the start")
FROM_THE_START = ("enforced from the start", "document, from the start")


def predicted(measure, readings=READINGS):
    """Return the readings of the predictions under which the measure's is confirmed."""
    verdicts = {reading: finding("predictions", f"{reading}: {measure}")["verdict"] for reading in readings}
    return {reading for reading, verdict in verdicts.items() if verdict == "confirmed"}


@row("Prediction: fewer commits", departs="not shown for agents that learn under the document's own rules")
@shown_by_study("predictions")
def test_prediction_fewer_commits():
    assert {*READINGS} - predicted("commits") == {"document, from the start"}


@row("Prediction: longer calibration phases", note="for learners, under either rule set")
@shown_by_study("predictions")
def test_prediction_longer_calibration_phases():
    assert predicted("longest calibration phase") == predicted("calibrations") == {*FROM_THE_START}


@row(
    "Prediction: more budget exhaustion", departs="not shown: an agent that is blocked can't spend its budget"
)
@shown_by_study("predictions")
def test_prediction_more_budget_exhaustion():
    assert predicted("budget exhausted") == set()


@row("Prediction: more refusals in logs", note="of those that debt caused")
@shown_by_study("predictions")
def test_prediction_more_refusals_in_logs():
    assert predicted("refusals caused by debt") == {*READINGS}


@row("A run of N cycles with budget and seed prints each refusal")
def test_a_run_prints_each_refusal(tmp_path):
    log = tmp_path / "epistemic_refusals.jsonl"
    run = ("debt", "run", "--cycles", 20, "--budget", 384, "--seed", 42, "--log", log)
    _, *cycles = call(*run, width=200).succeeded().split("\nCYCLE ")
    refusals = [re.sub(r" +", " ", cycle) for cycle in cycles if "EPISTEMIC DEBT REFUSAL" in cycle]
    for text, event in zip(refusals, read_refusals_jsonl(log), strict=True):
        assert text.startswith(f"{event.cycle}/20 ")
        assert f"EPISTEMIC DEBT REFUSAL: {event.refusal_reason}\n" in text
        assert f"\n Debt accumulated {event.debt_bits:.3f} bits\n" in text
        assert f"\n Inflated cost {event.inflated_cost_wells:.2f} wells\n" in text
        assert f"\n Budget remaining {event.budget_remaining} wells\n" in text


@row("The agent proposes calibration in the next cycle")
def test_a_blocked_honest_agent_calibrates_next():
    params = preset("default")
    labs, agent = LabVectorEnv(8, params), PLAYERS["honest"](params, 0)
    labs.reset(seed=0)
    state = labs.get_state()
    state["debt"] = 2.5
    observations = labs.set_state(state)
    show_labs(agent, labs.get_state(), params)
    actions = agent.act(observations, labs.action_masks())
    assert {*labs.actions["verb"][actions]} <= {*CALIBRATIONS}


@row(
    "Question 1: should debt persist across episodes?",
    note="it persists over projects on Frontier, and in a saved controller",
)
def test_debt_persists_over_projects_and_in_a_saved_controller(tmp_path):
    in_debt(2.5).save(tmp_path / "debt.json")
    assert EpistemicController.load(tmp_path / "debt.json").get_total_debt() == 2.5
    env = open_lab({"debt": {"interest": 0.0}}, "frontier")
    put(env, debt=1.5, heartbeat=env.params.career.project_heartbeats - 1, experiments=1)
    _, _, lab = take(env, Verb.REST)
    assert (lab["debt"], lab["experiments"].sum()) == (1.5, 0)  # the next project has begun


@row("Question 2: calibration that fails repeatedly", note="it repays nothing")
def test_a_calibration_that_fails_repeatedly_repays_nothing():
    controller = in_debt(2.5)
    for _ in range(5):
        assert not controller.should_refuse_action("dmso", 8, 200)[0]
        assert controller.repay_by_calibration(None) == 0.0
    assert controller.get_total_debt() == 2.5


@row("The same in the lab", departs="its calibrations always measure")
def test_a_calibration_in_the_lab_always_measures():
    for verb in CALIBRATIONS:
        env = open_lab()
        before = env.get_state()
        _, _, lab = take(env, verb)
        assert (lab["instrument_belief"] != before["instrument_belief"]).any()


@row("Question 2: a bankruptcy reset")
def test_bankruptcy_clears_the_debt_and_keeps_claims():
    controller = in_debt(2.5)
    controller.claim_action("open", "exploration", 1.0)
    assert (controller.reset(), controller.get_total_debt()) == (2.5, 0.0)
    assert controller.resolve_action("open", 0.0) == 1.0


@row("Question 3: decay over time, repayment for accuracy", note="a controller does both on request")
def test_debt_decays_and_accuracy_repays_on_request():
    assert in_debt(2.0, decay=0.5).close_cycle() == 1.0
    controller = in_debt(1.0, accuracy=0.5)
    controller.claim_action("accurate", "exploration", 0.8)
    controller.resolve_action("accurate", 0.9)
    assert controller.get_total_debt() == pytest.approx(0.6)


@row("Accurate claims and underclaims subtract nothing by default")
@pytest.mark.parametrize("gain", [0.5, 2.0])
def test_accurate_claims_and_underclaims_subtract_nothing(gain):
    controller = in_debt(1.0)
    controller.claim_action("accurate", "exploration", 0.5)
    controller.resolve_action("accurate", gain)
    assert (controller.close_cycle(), overclaim(0.5, gain)) == (1.0, 0.0)


@row(
    "Open item: an agent learns to calibrate when blocked",
    note="by learners that practise (99 % of choices) or play with masks (96 %), not by PPO alone (26 %)",
)
@shown_by_study("blocked")
def test_an_agent_learns_to_calibrate_when_blocked():
    for learner, share, verdict in (
        ("practised (PPO)", 0.99, "confirmed"),
        ("masked (MaskablePPO)", 0.96, "confirmed"),
        ("unmasked (PPO)", 0.26, "refuted"),
    ):
        result = finding(
            "blocked", f"{learner}: P(calibrate | blocked) with debt put into the lab, minus 80%"
        )
        assert (round(0.8 + result["value"], 2), result["verdict"]) == (share, verdict)

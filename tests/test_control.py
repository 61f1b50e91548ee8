"""The controller for agent loops: the document's three tests, the environment's very rules, and every misuse named."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from solvent import EpistemicController, preset
from solvent.debt.controller import CALIBRATION_TEMPLATES
from solvent.lab.mechanisms.debt import DebtParams
from solvent.lab.params import LabParams


def in_debt(bits, **arguments):
    """A controller that owes ``bits``."""
    controller = EpistemicController(**arguments)
    for i in range(math.floor(bits)):
        controller.claim_action(f"whole_{i}", "exploration", 1.0)
        controller.resolve_action(f"whole_{i}", 0.0)
    controller.claim_action("rest", "exploration", bits - math.floor(bits))
    controller.resolve_action("rest", 0.0)
    return controller


# -- the document's tests ------------------------------------------------------------------------


def test_debt_inflates_cost():
    controller = EpistemicController()
    controller.claim_action("action_1", "exploration", expected_gain_bits=1.0)
    controller.resolve_action("action_1", actual_gain_bits=0.0)
    first = controller.get_inflated_cost(100.0)
    assert first == pytest.approx(115.0)
    controller.claim_action("action_2", "exploration", expected_gain_bits=0.6)
    controller.resolve_action("action_2", actual_gain_bits=0.0)
    assert controller.get_total_debt() == pytest.approx(1.60)
    assert controller.get_inflated_cost(100.0) == pytest.approx(124.0)
    assert controller.get_inflated_cost(100.0) > first
    two_tier = in_debt(1.6, params=LabParams(debt=DebtParams(inflation="two_tier")))
    assert two_tier.get_inflated_cost(100.0) == pytest.approx(127.968)  # the document's output: 128.0


def test_debt_blocks_action_above_threshold():
    controller = in_debt(2.5)
    refuse, reason, context = controller.should_refuse_action(
        template_name="dose_response",
        base_cost_wells=48,
        budget_remaining=200,
        debt_hard_threshold=2.0,
    )
    assert refuse is True
    assert reason == "epistemic_debt_action_blocked"
    assert context["debt_bits"] == 2.5
    refuse, reason, _ = controller.should_refuse_action(
        template_name="calibration",
        base_cost_wells=24,
        budget_remaining=200,
        debt_hard_threshold=2.0,
        calibration_templates={"baseline", "calibration", "dmso"},
    )
    assert (refuse, reason) == (False, "")


def test_debt_recovers_through_calibration():
    controller = in_debt(0.5)
    assert not controller.should_refuse_action("dose_response", 48, 200)[0]
    controller = in_debt(2.5)
    assert controller.should_refuse_action("dose_response", 48, 200)[0]
    assert controller.get_total_debt() == 2.5  # asking changes nothing
    assert controller.repay_by_calibration(24) == pytest.approx(24 * 0.045)
    assert controller.get_total_debt() == pytest.approx(1.42)
    assert not controller.should_refuse_action("dose_response", 48, 200)[0]


# -- the document's examples ---------------------------------------------------------------------


def test_the_documents_refusal_by_cost():
    refuse, reason, context = in_debt(1.5).should_refuse_action("any", 60, 70)
    assert (refuse, reason) == (True, "epistemic_debt_budget_exceeded")
    assert context["inflated_cost_wells"] == pytest.approx(73.5)


def test_the_documents_refusal_in_cycle_5():
    controller = in_debt(2.15)
    refuse, reason, context = controller.should_refuse_action("dose_response", 48, 200)
    assert (refuse, reason) == (True, "epistemic_debt_action_blocked")
    assert context == {
        "refusal_reason": "epistemic_debt_action_blocked",
        "proposed_template": "dose_response",
        "proposed_wells": 48,
        "debt_bits": pytest.approx(2.15),
        "base_cost_wells": 48,
        "inflated_cost_wells": pytest.approx(63.48),
        "budget_remaining": 200,
        "debt_threshold": 2.0,
        "blocked_by_cost": False,
        "blocked_by_threshold": True,
        "caused_by_debt": True,
    }


def test_the_documents_escape_hatch_and_four_refusals_on_end():
    controller = in_debt(6.0)
    for _ in range(4):
        assert controller.should_refuse_action("dose_response", 48, 384)[0]
    for template in CALIBRATION_TEMPLATES:
        assert not controller.should_refuse_action(template, 12, 384)[0]
    assert controller.get_total_debt() == 6.0


def test_by_default_the_rules_are_exactly_the_documents():
    controller = EpistemicController()
    assert controller.params == preset("document")
    assert controller.params.debt.inflation == "linear"
    # The last well can be spent, and a calibration is inflated like all else.
    assert not controller.should_refuse_action("screen", 8, 8)[0]
    in_deep = in_debt(6.0)
    assert not in_deep.should_refuse_action("dmso", 10, 19)[0]
    assert in_deep.should_refuse_action("dmso", 10, 18)[0]
    assert {"baseline", "calibration", "dmso"} == CALIBRATION_TEMPLATES


# -- boundaries ----------------------------------------------------------------------------------


def test_the_threshold_exactly_is_allowed_and_the_next_float_is_not():
    controller = in_debt(2.0)
    assert not controller.should_refuse_action("screen", 8, 200)[0]
    assert controller.should_refuse_action("screen", 8, 200, float(np.nextafter(2.0, 0.0)))[0]
    assert not controller.should_refuse_action("screen", 8, 200, float(np.nextafter(2.0, 3.0)))[0]


def test_other_calibration_templates_can_be_named_and_none_means_the_documents():
    controller = in_debt(3.0)
    for template in ("dose_response", *CALIBRATION_TEMPLATES):
        by_none = controller.should_refuse_action(template, 8, 200, calibration_templates=None)
        assert by_none[0] == (template == "dose_response")
        assert by_none == controller.should_refuse_action(template, 8, 200)
    assert controller.should_refuse_action("blank", 8, 200)[0]
    assert not controller.should_refuse_action("blank", 8, 200, calibration_templates=["blank"])[0]
    assert controller.should_refuse_action("dmso", 8, 200, calibration_templates=["blank"])[0]


# -- claims --------------------------------------------------------------------------------------


def test_claims_left_open_count_as_gain_0_when_the_books_are_closed():
    controller = in_debt(0.5)
    controller.claim_action("open", "exploration", 0.75)
    controller.claim_action("resolved", "exploration", 1.0)
    controller.resolve_action("resolved", 1.0)
    assert controller.get_total_debt() == 0.5
    assert [controller.close_books() for _ in range(2)] == [1.25, 1.25]
    with pytest.raises(ValueError, match="'open' has no open claim"):
        controller.resolve_action("open", 1.0)


def test_a_cap_on_claims_can_be_asked_for():
    controller = EpistemicController()
    controller.claim_action("a", "exploration", 1e15)
    assert controller.resolve_action("a", 0.0) == 1e15
    assert math.isfinite(controller.should_refuse_action("screen", 10**9, 0)[2]["inflated_cost_wells"])
    EpistemicController(learnable_bits=5.0).claim_action("a", "exploration", 5.0)
    with pytest.raises(ValueError, match=r"0 to 0\.5 bits"):
        EpistemicController(learnable_bits=0.5).claim_action("a", "exploration", 0.6)


def test_an_id_has_one_open_claim_and_each_is_resolved_once():
    controller = EpistemicController()
    controller.claim_action("a", "exploration", 1.0)
    with pytest.raises(ValueError, match="'a' has an open claim"):
        controller.claim_action("a", "exploration", 1.0)
    assert controller.resolve_action("a", 0.5) == 0.5
    with pytest.raises(ValueError, match="'a' has no open claim"):
        controller.resolve_action("a", 0.5)
    controller.claim_action("a", "exploration", 1.0)
    assert controller.resolve_action("a", 0.5) == 0.5


# -- bad values ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "use"),
    [
        ("expected_gain_bits", lambda controller: controller.claim_action("a", "exploration", -1e-300)),
        ("expected_gain_bits", lambda controller: controller.claim_action("a", "exploration", float("nan"))),
        ("expected_gain_bits", lambda controller: controller.claim_action("a", "exploration", 1e16)),
        ("expected_gain_bits", lambda controller: controller.claim_action("a", "exploration", "1")),
        ("expected_gain_bits", lambda controller: controller.claim_action("a", "exploration", True)),
        ("action_id", lambda controller: controller.claim_action(1, "exploration", 1.0)),
        ("actual_gain_bits", lambda controller: controller.resolve_action("open", float("-inf"))),
        ("actual_gain_bits", lambda controller: controller.resolve_action("open", None)),
        ("base_cost", lambda controller: controller.get_inflated_cost(-1)),
        ("base_cost_wells", lambda controller: controller.should_refuse_action("a", 8.5, 9)),
        ("budget_remaining", lambda controller: controller.should_refuse_action("a", 9, -1)),
        ("debt_hard_threshold", lambda controller: controller.should_refuse_action("a", 9, 9, float("nan"))),
        ("wells", lambda controller: controller.repay_by_calibration(8.5)),
        ("learnable_bits", lambda _: EpistemicController(learnable_bits=0.0)),
        ("decay", lambda _: EpistemicController(decay=1.5)),
        ("accuracy", lambda _: EpistemicController(accuracy=-0.1)),
    ],
)
def test_values_that_can_not_be_are_errors_and_change_nothing(name, use):
    controller = in_debt(2.0)
    controller.claim_action("open", "exploration", 1.0)
    with pytest.raises(ValueError, match=f"^{name}: got"):
        use(controller)
    controller.claim_action("a", "exploration", 1.0)
    assert controller.close_books() == 4.0


# -- the open questions --------------------------------------------------------------------------


def test_a_cycle_charges_interest_after_forgiveness_up_to_the_cap():
    rules = LabParams(debt=DebtParams(interest=0.08, interest_cap=3.0))
    controller = in_debt(2.0, params=rules, decay=0.5)
    assert controller.close_cycle() == pytest.approx(1.08)
    grows = in_debt(2.9, params=rules)
    assert [grows.close_cycle() for _ in range(2)] == [pytest.approx(3.0)] * 2
    assert in_debt(2.0).close_cycle() == 2.0  # the document's rules have neither


def test_accurate_claims_repay_where_that_is_asked_for():
    controller = in_debt(1.0, accuracy=0.5)
    controller.claim_action("a", "exploration", 0.8)
    assert controller.resolve_action("a", 0.9) == 0.0
    assert controller.get_total_debt() == pytest.approx(0.6)


def test_bankruptcy_clears_the_debt_and_keeps_claims():
    controller = in_debt(2.5)
    controller.claim_action("open", "exploration", 1.0)
    assert (controller.reset(), controller.get_total_debt()) == (2.5, 0.0)
    assert controller.resolve_action("open", 0.0) == 1.0


def test_a_failed_calibration_repays_nothing_however_often_it_fails():
    controller = in_debt(2.5)
    for _ in range(5):
        assert not controller.should_refuse_action("dmso", 8, 200)[0]
        assert controller.repay_by_calibration(None) == 0.0
        assert controller.get_total_debt() == 2.5
        assert controller.should_refuse_action("screen", 8, 200)[0]
    assert controller.repay_by_calibration(8) == pytest.approx(0.36)
    assert in_debt(0.125).repay_by_calibration(12) == 0.125  # never more than is owed


@given(st.lists(st.tuples(st.floats(0, 3), st.floats(-3, 3)), max_size=30))
def test_the_total_is_the_sum_of_overclaims(pairs):
    controller = EpistemicController()
    expected = 0.0
    for i, (claim, gain) in enumerate(pairs):
        controller.claim_action(str(i), "exploration", claim)
        expected += controller.resolve_action(str(i), gain)
        assert controller.get_total_debt() == expected
    assert expected == pytest.approx(sum(max(0.0, c - g) for c, g in pairs))
    assert controller.close_books() == expected

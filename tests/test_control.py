"""The controller for agent loops: claims, boundaries, and every misuse named."""

from __future__ import annotations

import math

import numpy as np
import pytest

from solvent import EpistemicController, preset
from solvent.lab.mechanisms.debt import DebtParams
from solvent.lab.params import LabParams
from tests.labs import in_debt


def test_by_default_the_rules_are_exactly_the_documents():
    controller = EpistemicController()
    assert controller.params == preset("document")
    assert controller.params.debt.inflation == "linear"


def test_a_calibration_repays_by_its_wells_and_never_more_than_is_owed():
    assert in_debt(2.5).repay_by_calibration(8) == pytest.approx(0.24)
    assert in_debt(0.125).repay_by_calibration(12) == 0.125


# -- boundaries ----------------------------------------------------------------------------------


def test_the_threshold_exactly_is_allowed_and_the_next_float_is_not():
    controller = in_debt(2.0)
    assert not controller.should_refuse_action("screen", 8, 200)[0]
    assert controller.should_refuse_action("screen", 8, 200, float(np.nextafter(2.0, 0.0)))[0]
    assert not controller.should_refuse_action("screen", 8, 200, float(np.nextafter(2.0, 3.0)))[0]


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

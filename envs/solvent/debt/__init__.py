"""Epistemic debt for your own agent loop: claims, debt, refusals and their log.

    from solvent.debt import EpistemicController

    controller = EpistemicController()
    controller.claim_action("a1", "exploration", expected_gain_bits=1.5)
    controller.resolve_action("a1", actual_gain_bits=0.2)  # 1.3 bits of debt
    refuse, reason, context = controller.should_refuse_action("dose_response", 48, budget_remaining=50)
    print(refuse, reason)  # True epistemic_debt_budget_exceeded
    print(context["inflated_cost_wells"])  # 57.36
    controller.repay_by_calibration(wells=24)
    print(round(controller.get_total_debt(), 2))  # 0.58

The rules are the functions of ``solvent.lab.mechanisms.debt``, which the lab runs too.
"""

from solvent.debt.controller import CALIBRATION_TEMPLATES, EpistemicController
from solvent.debt.log import RefusalEvent, append_refusals_jsonl, log_refusal, read_refusals_jsonl

__all__ = [
    "CALIBRATION_TEMPLATES",
    "EpistemicController",
    "RefusalEvent",
    "append_refusals_jsonl",
    "log_refusal",
    "read_refusals_jsonl",
]

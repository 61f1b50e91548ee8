"""Epistemic debt for an agent loop of your own: books of claims, refusals, and their log.

    from solvent.debt import EpistemicController

    controller = EpistemicController()
    controller.claim_action("a1", "exploration", expected_gain_bits=1.0)
    controller.resolve_action("a1", actual_gain_bits=0.2)  # 0.8 bits of debt
    refuse, reason, context = controller.should_refuse_action("dose_response", 48, budget_remaining=200)

The rules are those of ``solvent.lab.mechanisms.debt``, the very ones that the lab runs.
"""

from solvent.debt.controller import CALIBRATION_TEMPLATES, EpistemicController
from solvent.debt.log import append_refusals_jsonl, read_refusals_jsonl
from solvent.lab.mechanisms.debt import RefusalEvent

__all__ = [
    "CALIBRATION_TEMPLATES",
    "EpistemicController",
    "RefusalEvent",
    "append_refusals_jsonl",
    "read_refusals_jsonl",
]

"""The debt rules for an agent loop outside the environment.

The names are those of the source (*Epistemic Debt Enforcement*). The rules are the functions of
``solvent.lab.mechanisms.debt``, which the lab runs too. The package's docstring has an example.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

from solvent.lab.codes import REFUSAL_REASONS
from solvent.lab.mechanisms.debt import decide, interest, multiplier, overclaim, repayment
from solvent.lab.params import LabParams, preset
from solvent.lab.tables import debt_rules

__all__ = ["CALIBRATION_TEMPLATES", "EpistemicController"]

MOST_BITS = 1000.0
MOST_WELLS = 10**9
"""Upper bounds of claims and costs: far above any lab, and exact as floats."""

CALIBRATION_TEMPLATES = frozenset({"baseline", "calibration", "dmso"})
"""Templates that run even above the threshold."""


class EpistemicController:
    """Claims, gains and the debt between them.

    Args:
        params: the lab whose debt rules apply; by default the source's (preset ``source``). The threshold is not one of
            them: as in the source, it is an argument of ``should_refuse_action``.
        learnable_bits: maximum gain of one action, bits. A larger claim is an error.

    Raises:
        ValueError: ``learnable_bits`` is not above 0 and at most 1000.
    """

    def __init__(self, params: LabParams | None = None, *, learnable_bits: float = 3.0) -> None:
        if not 0.0 < _finite("learnable_bits", learnable_bits) <= MOST_BITS:
            raise ValueError(
                f"learnable_bits: got {learnable_bits!r}; allowed: above 0 and at most {MOST_BITS:g}"
            )
        self.params = params if params is not None else preset("source")
        self.learnable_bits = learnable_bits
        self._rules = debt_rules(self.params)
        self._debt = 0.0
        self._open: dict[str, float] = {}
        self._closed: set[str] = set()

    def claim_action(
        self,
        action_id: str,
        action_type: str,  # noqa: ARG002 - the source's signature; no rule depends on it
        expected_gain_bits: float,
    ) -> None:
        """Claim what an action will teach, before it runs.

        Raises:
            ValueError: the claim is negative, not finite or above ``learnable_bits``, or the id was claimed before.
        """
        claim = _finite("expected_gain_bits", expected_gain_bits)
        if not 0.0 <= claim <= self.learnable_bits:
            raise ValueError(
                f"expected_gain_bits: got {claim:g}; allowed: 0 to {self.learnable_bits:g} bits, what could be learnt"
            )
        if action_id in self._open or action_id in self._closed:
            raise ValueError(f"action_id: {action_id!r} was claimed before; allowed: a new id")
        self._open[action_id] = claim

    def resolve_action(self, action_id: str, actual_gain_bits: float) -> float:
        """Close a claim with the measured gain, which may be negative, and return the debt that it adds, bits.

        A claim that the gain bears out repays ``repay_for_accuracy`` bits of debt for each bit claimed.

        Raises:
            ValueError: the id is unknown or resolved already, or the gain is not finite.
        """
        gain = _finite("actual_gain_bits", actual_gain_bits)
        if action_id in self._closed:
            raise ValueError(f"action_id: {action_id!r} is resolved already")
        if action_id not in self._open:
            raise ValueError(f"action_id: {action_id!r} was never claimed")
        claim = self._open.pop(action_id)
        self._closed.add(action_id)
        new_debt = float(overclaim(claim, gain))
        self._debt += new_debt
        if new_debt == 0.0:
            self._debt -= min(self._debt, float(self._rules.repay_for_accuracy) * claim)
        return new_debt

    def close_books(self) -> float:
        """Resolve every open claim with a gain of 0 and return the total debt, bits."""
        for action_id in list(self._open):
            self.resolve_action(action_id, 0.0)
        return self._debt

    def close_cycle(self) -> float:
        """Close a cycle: forgive the share ``decay_per_heartbeat``, charge interest, and return the debt, bits.

        Both are 0 in the preset ``source``; ``params`` with other debt settings turn them on.
        """
        self._debt -= float(self._rules.decay_per_heartbeat) * self._debt
        self._debt += float(interest(self._rules, self._debt))
        return self._debt

    def repay_by_calibration(self, bits_learnt: float) -> float:
        """Repay debt with a calibration that taught ``bits_learnt`` about the instrument, and return the bits repaid.

        Raises:
            ValueError: ``bits_learnt`` is not finite.
        """
        paid = min(self._debt, float(repayment(self._rules, _finite("bits_learnt", bits_learnt))))
        self._debt -= paid
        return paid

    def get_total_debt(self) -> float:
        """Return the debt, bits. An open claim adds nothing until it is resolved or the books are closed."""
        return self._debt

    def get_inflated_cost(self, base_cost: float) -> float:
        """Return the cost after inflation, in the unit of ``base_cost``.

        Raises:
            ValueError: the cost is negative or not finite.
        """
        cost = _finite("base_cost", base_cost)
        if cost < 0.0:
            raise ValueError(f"base_cost: got {cost:g}; allowed: at least 0")
        return cost * float(multiplier(self._rules, self._debt, cost, False))

    def should_refuse_action(
        self,
        template_name: str,
        base_cost_wells: int,
        budget_remaining: int,
        debt_hard_threshold: float = 2.0,
        calibration_templates: Collection[str] = CALIBRATION_TEMPLATES,
    ) -> tuple[bool, str, dict[str, Any]]:
        """Decide, before an action runs, whether to refuse it.

        Args:
            template_name: the template to run.
            base_cost_wells: its cost before inflation, wells.
            budget_remaining: wells left.
            debt_hard_threshold: debt above which only calibrations run, bits.
            calibration_templates: the templates that are calibrations.

        Returns:
            ``(should_refuse, reason, context)``. The reason is empty if nothing is refused; ``context`` has the numeric
                fields of a ``RefusalEvent``.

        Raises:
            ValueError: a cost, a budget or a threshold is negative or not finite, or a number of wells is not whole.
        """
        for name, value in (
            ("base_cost_wells", base_cost_wells),
            ("budget_remaining", budget_remaining),
            ("debt_hard_threshold", debt_hard_threshold),
        ):
            number = _finite(name, value)
            if number < 0.0:
                raise ValueError(f"{name}: got {value!r}; allowed: at least 0")
            if name != "debt_hard_threshold" and not (number.is_integer() and number <= MOST_WELLS):
                raise ValueError(
                    f"{name}: got {value!r}; allowed: a whole number of wells, at most {MOST_WELLS}"
                )
        rules = self._rules.copy()
        rules.threshold = float(debt_hard_threshold)
        code, inflated, by_threshold, by_cost, by_reserve = decide(
            rules,
            self._debt,
            int(base_cost_wells),
            int(budget_remaining),
            template_name in calibration_templates,
        )
        context = {
            "debt_bits": self._debt,
            "base_cost_wells": int(base_cost_wells),
            "inflated_cost_wells": float(inflated),
            "budget_remaining": int(budget_remaining),
            "debt_threshold": float(debt_hard_threshold),
            "blocked_by_cost": bool(by_cost),
            "blocked_by_threshold": bool(by_threshold),
            "blocked_by_reserve": bool(by_reserve),
        }
        return bool(code), REFUSAL_REASONS[code - 1] if code else "", context


def _finite(name: str, value: float) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{name}: got {value!r}; allowed: a finite number") from None
    if not math.isfinite(number):
        raise ValueError(f"{name}: got {value!r}; allowed: a finite number")
    return number

"""The debt rules for an agent loop outside the environment.

The names are those of the source (*Epistemic Debt Enforcement*). The rules are the functions of
``solvent.lab.mechanisms.debt``, which the lab runs too. The package's docstring has an example.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, Field, ValidationError

from solvent.errors import number_between
from solvent.files import RECORD, first_problem, read_input, strict_json, write_atomically
from solvent.lab.codes import REFUSAL_REASONS
from solvent.lab.mechanisms.debt import (
    debt_rules,
    interest,
    multiplier,
    overclaim,
    repayment,
    should_refuse,
)
from solvent.lab.params import LabParams, preset

__all__ = ["CALIBRATION_TEMPLATES", "EpistemicController"]

MOST = 1e15
"""Largest claim, gain or threshold, bits. Debt and costs that come of such numbers are finite."""
MOST_WELLS = 10**9
LONGEST = 2**24
"""Maximum size of a saved controller, bytes."""

CALIBRATION_TEMPLATES = frozenset({"baseline", "calibration", "dmso"})
"""Templates that run even above the threshold."""


class _Saved(BaseModel):
    """A saved controller, bits."""

    model_config = RECORD

    format: Literal["solvent.debt.v1"] = "solvent.debt.v1"
    debt_bits: Annotated[float, Field(strict=True, ge=0.0, le=MOST * MOST)]
    open_claims: dict[str, Annotated[float, Field(strict=True)]]


class EpistemicController:
    """Claims, gains and the debt between them.

    Args:
        params: the lab whose debt rules apply; by default the source's (preset ``document``). The threshold is not one
            of them: as in the source, it is an argument of ``should_refuse_action``.
        learnable_bits: maximum gain of one action, bits. A larger claim is an error. None: no maximum.
        decay: share of the debt that ``close_cycle`` forgives, 0 to 1.
        accuracy: debt that a claim repays for each of its bits if the gain bears it out, 0 to 1.

    The last two, and ``reset``, are answers to open questions of the source; by default nothing is forgiven.

    Raises:
        ValueError: ``learnable_bits`` is not above 0, or a share is outside 0 to 1.
    """

    def __init__(
        self,
        params: LabParams | None = None,
        *,
        learnable_bits: float | None = None,
        decay: float = 0.0,
        accuracy: float = 0.0,
    ) -> None:
        if (
            learnable_bits is not None
            and number_between("learnable_bits", learnable_bits, -MOST, MOST) <= 0.0
        ):
            raise ValueError(f"learnable_bits: got {learnable_bits!r}; allowed: above 0, or None")
        self.params = params if params is not None else preset("document")
        self.learnable_bits = learnable_bits
        self.decay, self.accuracy = (
            number_between(name, share, 0.0, 1.0)
            for name, share in (("decay", decay), ("accuracy", accuracy))
        )
        self._rules = debt_rules(self.params)
        self._debt = 0.0
        self._open: dict[str, float] = {}

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        params: LabParams | None = None,
        *,
        learnable_bits: float | None = None,
        decay: float = 0.0,
        accuracy: float = 0.0,
    ) -> Self:
        """Return a controller with the debt and the open claims that ``save`` wrote, under the rules given here.

        Raises:
            OSError: the file can't be read.
            ValueError: it is not a saved controller, or one of its claims is above ``learnable_bits``.
        """
        controller = cls(params, learnable_bits=learnable_bits, decay=decay, accuracy=accuracy)
        try:
            saved = _Saved.model_validate(strict_json(read_input(path, LONGEST)))
            for action_id, claim in saved.open_claims.items():
                controller.claim_action(action_id, "", claim)
        except ValueError as error:
            problem = first_problem(error) if isinstance(error, ValidationError) else error
            raise ValueError(f"{path}: no saved controller ({problem})") from None
        controller._debt = saved.debt_bits
        return controller

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the debt and the open claims to ``path`` as JSON, whole or not at all; missing folders are made.

        Raises:
            OSError: the file can't be written.
        """
        saved = _Saved(debt_bits=self._debt, open_claims=self._open)
        write_atomically(Path(path), json.dumps(saved.model_dump(), indent=1) + "\n")

    def claim_action(
        self,
        action_id: str,
        action_type: str,  # noqa: ARG002 - the source's signature; no rule depends on it
        expected_gain_bits: float,
    ) -> None:
        """Claim what an action will teach, before it runs.

        Raises:
            ValueError: the claim is negative, not finite or above ``learnable_bits``, or the id has an open claim.
        """
        claim = number_between("expected_gain_bits", expected_gain_bits, 0.0, MOST)
        if self.learnable_bits is not None and claim > self.learnable_bits:
            raise ValueError(
                f"expected_gain_bits: got {claim:g}; allowed: 0 to {self.learnable_bits:g} bits, what could be learnt"
            )
        if not isinstance(action_id, str):
            raise ValueError(f"action_id: got {action_id!r:.60}; allowed: text")  # noqa: TRY004 - as for every bad value
        if action_id in self._open:
            raise ValueError(f"action_id: {action_id!r} has an open claim; allowed: an id without one")
        self._open[action_id] = claim

    def resolve_action(self, action_id: str, actual_gain_bits: float) -> float:
        """Close a claim with the measured gain, which may be negative, and return the debt that it adds, bits.

        A claim that the gain confirms repays ``accuracy`` bits of debt for each bit claimed.

        Raises:
            ValueError: the id has no open claim, or the gain is not finite.
        """
        gain = number_between("actual_gain_bits", actual_gain_bits, -MOST, MOST)
        if action_id not in self._open:
            raise ValueError(f"action_id: {action_id!r} has no open claim; allowed: an id with one")
        claim = self._open.pop(action_id)
        new_debt = float(overclaim(claim, gain))
        self._debt += new_debt
        if new_debt == 0.0:
            self._debt -= min(self._debt, self.accuracy * claim)
        return new_debt

    def close_books(self) -> float:
        """Resolve every open claim with a gain of 0 and return the total debt, bits."""
        for action_id in list(self._open):
            self.resolve_action(action_id, 0.0)
        return self._debt

    def close_cycle(self) -> float:
        """Close a cycle: forgive the share ``decay``, charge the interest of ``params``, and return the debt, bits.

        By default both are 0: the preset ``document`` bears no interest.
        """
        self._debt -= self.decay * self._debt
        self._debt += float(interest(self._rules, self._debt))
        return self._debt

    def repay_by_calibration(self, wells: int | None) -> float:
        """Repay debt with a calibration of so many wells, and return the bits repaid.

        A calibration that failed measured nothing: it has None for ``wells`` and repays nothing.

        Raises:
            ValueError: ``wells`` is negative or not whole.
        """
        if wells is None:
            return 0.0
        paid = min(self._debt, float(repayment(self._rules, _wells("wells", wells))))
        self._debt -= paid
        return paid

    def reset(self) -> float:
        """Clear the debt after a bankruptcy and return what it was, bits; open claims stay."""
        cleared, self._debt = self._debt, 0.0
        return cleared

    def get_total_debt(self) -> float:
        """Return the debt, bits. An open claim adds nothing until it is resolved or the books are closed."""
        return self._debt

    def get_inflated_cost(self, base_cost: float) -> float:
        """Return the cost after inflation, in the unit of ``base_cost``.

        Raises:
            ValueError: the cost is negative or not finite.
        """
        cost = number_between("base_cost", base_cost, 0.0, MOST)
        return cost * float(multiplier(self._rules, self._debt, cost))

    def should_refuse_action(
        self,
        template_name: str,
        base_cost_wells: int,
        budget_remaining: int,
        debt_hard_threshold: float = 2.0,
        calibration_templates: Collection[str] | None = None,
    ) -> tuple[bool, str, dict[str, Any]]:
        """Decide, before an action runs, whether to refuse it.

        Args:
            template_name: the template to run.
            base_cost_wells: its cost before inflation, wells.
            budget_remaining: wells left.
            debt_hard_threshold: debt above which only calibrations run, bits.
            calibration_templates: the templates that are calibrations; by default ``CALIBRATION_TEMPLATES``.

        Returns:
            ``(should_refuse, reason, context)``. The reason is empty if nothing is refused; ``context`` has the fields
                of a ``RefusalEvent`` that the decision knows, for ``log_refusal``.

        Raises:
            ValueError: a cost, a budget or a threshold is negative or not finite, or a number of wells is not whole.
        """
        wells, left = _wells("base_cost_wells", base_cost_wells), _wells("budget_remaining", budget_remaining)
        rules = self._rules.copy()
        rules.threshold = number_between("debt_hard_threshold", debt_hard_threshold, 0.0, MOST)
        calibrations = CALIBRATION_TEMPLATES if calibration_templates is None else calibration_templates
        code, inflated, by_threshold, by_cost = should_refuse(
            rules, self._debt, wells, left, template_name in calibrations
        )
        reason = REFUSAL_REASONS[code - 1] if code else ""
        context = {
            "refusal_reason": reason,
            "proposed_template": template_name,
            "proposed_wells": wells,
            "debt_bits": self._debt,
            "base_cost_wells": wells,
            "inflated_cost_wells": float(inflated),
            "budget_remaining": left,
            "debt_threshold": float(rules.threshold),
            "blocked_by_cost": bool(by_cost),
            "blocked_by_threshold": bool(by_threshold),
            "caused_by_debt": bool(code) and wells <= left,
        }
        return bool(code), reason, context


def _wells(name: str, value: float) -> int:
    number = number_between(name, value, 0.0, MOST)
    if not (number.is_integer() and number <= MOST_WELLS):
        raise ValueError(f"{name}: got {value!r}; allowed: a whole number of wells, at most {MOST_WELLS}")
    return int(number)

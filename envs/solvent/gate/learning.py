"""Learn a threshold from what people decided on reviews.

A review that was declined is a claim that must not pass. The threshold is the largest that is sure, to 95 %, to let at
most a budget of such claims pass (``calibration.control_threshold``):

    tau = x[m + 1] - 1e-6,    m = max {m : upper(m, n) <= budget}

over the ``n`` declined values ``x``, sorted. Without any error the budget needs ``n >= ln 0.05 / ln(1 - budget)``
declined reviews, 59 for 5 %. With fewer there is no threshold, and ``least_budget`` says which budget they allow.

The threshold depends on the declined reviews alone, so the exact interval of accepted reviews that pass is valid for
new ones. Reviews that a check sent don't count for the threshold, because no threshold would let them pass; they count
for the check (``alarms``).

Source: *Deterministic Policy Gates for Stochastic Systems*, "Human-in-the-loop policy tuning (active learning on review
queue)". Known approximations: people see only what the policy sends to them, so nothing is learnt about values that it
accepts or rejects. Decisions are treated as independent, and as right.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np
from scipy.special import betainc

from solvent.gate.calibration import (
    CONFIDENCE,
    Rate,
    acceptance,
    budget_label,
    control_threshold,
    fewest_negatives,
    rate,
    sample_sha256,
)
from solvent.gate.errors import GateError
from solvent.gate.judged import Judged
from solvent.gate.policy import ANY, Policy

__all__ = ["Learnt", "learn"]


@dataclasses.dataclass(frozen=True)
class Learnt:
    """What decided reviews teach.

    Attributes:
        policy: the policy with the learnt threshold; None if the declined reviews are too few for the budget.
        budget: share of declined claims that may pass.
        most: upper end of the threshold's interval, 95 % one-sided, whose lower end is the policy's threshold: at a
            larger threshold more than the budget passes. None if the declined reviews are too few to say.
        accepted, declined: reviews of each decision at most the threshold; without a policy none.
        fewest: number of declined reviews that the budget needs.
        least_budget: smallest budget that these declined reviews can be sure of.
        alarms: by check, the reviews that it sent and that people accepted: its false alarms.
        rows: the reviews that count for the threshold.
    """

    policy: Policy | None
    budget: float
    most: float | None
    accepted: Rate
    declined: Rate
    fewest: int
    least_budget: float
    alarms: Mapping[str, Rate]
    rows: tuple[Judged, ...]


def learn(decided: Sequence[Judged], budget: float = 0.05) -> Learnt:
    """Learn from decided reviews of one policy, by a budget for declined claims that may pass.

    Raises:
        GateError: there are no decided reviews, they come from several policies or domains, or the budget is not
            between 0 and 1.
    """
    base = _only_one(decided)
    by_threshold = tuple(row for row in decided if row.is_measured and not row.fired)
    values = {
        choice: [row.compared for row in by_threshold if row.outcome == choice]
        for choice in ("accept", "decline")
    }
    count, fewest = len(values["decline"]), fewest_negatives(budget)
    policy, tau = None, -2.0  # below any value
    if count >= fewest:
        tau = control_threshold(values["decline"], budget)
        policy = _policy(base, by_threshold, values["decline"], tau, budget)
    checks = sorted({name for row in decided for name in row.fired})
    return Learnt(
        policy=policy,
        budget=budget,
        most=_most(np.sort(values["decline"]), budget),
        accepted=acceptance(values["accept"], tau),
        declined=acceptance(values["decline"], tau),
        fewest=fewest,
        least_budget=1.0 - (1.0 - CONFIDENCE) ** (1.0 / count) if count else 1.0,
        alarms={name: _alarms([row for row in decided if name in row.fired]) for name in checks},
        rows=by_threshold,
    )


def _only_one(decided: Sequence[Judged]) -> Judged:
    if not decided:
        raise GateError("reviews: none is decided; allowed: some, by `solvent gate decide`")
    kinds = {(row.policy.name, row.policy.measure, row.setting): row for row in decided}
    if len(kinds) > 1:
        shown = ", ".join(sorted({f"{row.policy.name} on {row.domain}" for row in kinds.values()}))
        raise GateError(f"reviews: of {shown}; allowed: those of one policy on one domain, with one model")
    (base,) = kinds.values()
    if base.domain == ANY:
        raise GateError("reviews: judged without a domain; allowed: those of a named one")
    return base


def _policy(
    base: Judged, rows: Sequence[Judged], declined: Sequence[float], tau: float, budget: float
) -> Policy:
    """Return the policy of a learnt threshold; a policy that was itself learnt from reviews gets the next version."""
    label = f"{budget_label(budget)}.reviews"
    name, _, version = base.policy.name.rpartition(".v")
    seen = min(row.compared for row in rows)
    _, _, oracle, top_k, rank_r = base.setting
    return Policy.learnt(
        label,
        tau,
        domain=base.domain,
        model=base.model,
        version=int(version) + 1 if name == f"adaptive.{label}" else 1,
        measure=base.policy.measure,
        model_fingerprint=base.model_fingerprint,
        oracle=oracle,
        top_k=top_k,
        rank_r=rank_r,
        calibration_sha256=sample_sha256(declined),
        calibration_count=len(declined),
        promise=f"Of reviews like those of {base.policy.name}, at most {budget:.1%} of what people decline pass"
        f" ({CONFIDENCE:.0%} sure, learnt from {len(declined)}). No promise below {seen:g}, where nobody decided.",
        strict=base.policy.strict,
    )


def _most(declined: np.ndarray, budget: float) -> float | None:
    """Return the smallest value that is sure, to 95 %, to be above the threshold at which the budget passes."""
    n = len(declined)
    for rank in range(1, n + 1):
        # The chance that at least ``rank`` of ``n`` values are below that threshold.
        if betainc(rank, n - rank + 1, budget) <= 1.0 - CONFIDENCE:
            return float(declined[rank - 1])
    return None


def _alarms(rows: Sequence[Judged]) -> Rate:
    return rate(sum(row.outcome == "accept" for row in rows), len(rows))

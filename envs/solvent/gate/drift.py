"""Drift of thresholds: a domain's recent gaps against those that a policy was learnt from.

The threshold of a percentile is the k-th smallest of N gaps, ``k = ceil(p N / 100)``. If nothing has changed, the
number ``K`` of ``n`` new gaps up to that threshold follows, whatever the distribution of the gaps,

    K ~ BetaBinomial(n; k, N + 1 - k)

This counts the uncertainty of the old threshold as well as that of the new window. A window has *drifted* at a
percentile if K lies outside the central part of this distribution, at a level of 5 % divided by the number of
comparisons (Bonferroni). Each window also has the threshold that it would learn itself.

Source: *Deterministic Policy Gates for Stochastic Systems*, "Temporal drift monitoring (track tau drift over time)".
Known approximations: gaps are treated as independent and distinct. Claims of one page come together, which makes a
window drift a little more often. Percentiles of one window are correlated, which makes it drift less often.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import betaln, gammaln

from solvent.gate.calibration import PERCENTILES, percentile_thresholds
from solvent.gate.errors import GateError
from solvent.gate.judged import Judged
from solvent.gate.policy import Policy

__all__ = ["Change", "drift"]

LEVEL = 0.05


@dataclass(frozen=True)
class Reference:
    """A threshold at a percentile of ``count`` gaps."""

    tau: float
    count: int


@dataclass(frozen=True)
class Change:
    """One percentile in one window.

    Attributes:
        begin, end: times of the first and the last verdict of the window.
        count: number of claims in it.
        percentile: the percentile.
        reference: the threshold compared.
        threshold: what the window would learn itself.
        accepted: claims up to the reference.
        low, high: limits of ``accepted`` if nothing has changed.
    """

    begin: str
    end: str
    count: int
    percentile: float
    reference: float
    threshold: float
    accepted: int
    low: int
    high: int

    @property
    def drifted(self) -> bool:
        """True if ``accepted`` is outside of its limits."""
        return not self.low <= self.accepted <= self.high


def drift(judged: Sequence[Judged], policies: Iterable[Policy] = (), *, size: int = 100) -> list[Change]:
    """Compare windows of ``size`` consecutive claims with the thresholds of percentile policies.

    Only claims measured as the policies were learnt count. Without policies the first window is the reference, with the
    source's percentiles. A claim that was judged under several policies counts once, and bad data don't count. The last
    claims may fill no window.

    Raises:
        GateError: the claims fill no window, the policies are of no percentile, or either were measured in different
            ways.
    """
    learnt = {percentile: policy for policy in policies if (percentile := _percentile(policy))}
    seen = {(row.setting, row.claim, row.evidence): row for row in reversed(judged) if row.is_measured}
    rows = sorted(seen.values(), key=lambda row: row.number)
    settings = {policy.setting for policy in learnt.values()} or {row.setting for row in rows}
    if len(settings) > 1:
        shown = "; ".join(sorted(", ".join(map(str, setting)) for setting in settings))
        raise GateError(
            f"verdicts: measured in different ways ({shown}); allowed: one domain, model, oracle, top_k and rank_r"
        )
    rows = [row for row in rows if row.setting in settings]
    windows = [rows[start : start + size] for start in range(0, len(rows) - size + 1, size)]
    reference = {p: Reference(policy.tau_accept, policy.calibration_count) for p, policy in learnt.items()}
    if not reference and windows:
        taus = percentile_thresholds([row.energy_gap for row in windows.pop(0)], PERCENTILES)
        reference = {p: Reference(tau, size) for p, tau in taus.items()}
    if not windows:
        raise GateError(
            f"verdicts: {len(rows)} claims fill no window to compare; allowed: {size} for each, and {size} more without"
            " policies of percentiles"
        )
    level = LEVEL / (len(windows) * len(reference))
    return [change for window in windows for change in _changes(window, reference, level)]


def _percentile(policy: Policy) -> float | None:
    """Return the percentile of ``adaptive.P10.v1``, and None for another kind of policy."""
    found = re.fullmatch(r"adaptive\.P([0-9_]+)\.v\d+", policy.name)
    return float(found[1].replace("_", ".")) if found and policy.calibration_count else None


def _changes(
    window: Sequence[Judged], reference: Mapping[float, Reference], level: float
) -> Iterator[Change]:
    gaps = np.array([row.energy_gap for row in window])
    thresholds = percentile_thresholds(gaps, sorted(reference))
    for percentile, threshold in thresholds.items():
        known = reference[percentile]
        rank = max(math.ceil(percentile * known.count / 100.0 - 1e-9), 1)
        low, high = limits(len(gaps), rank, known.count, level)
        yield Change(
            begin=window[0].judged_at,
            end=window[-1].judged_at,
            count=len(gaps),
            percentile=percentile,
            reference=known.tau,
            threshold=threshold,
            accepted=int((gaps <= known.tau).sum()),
            low=low,
            high=high,
        )


@functools.cache  # the windows of a store have the same
def limits(n: int, rank: int, count: int, level: float) -> tuple[int, int]:
    """Return the central limits of the number of ``n`` new values up to the ``rank``-th smallest of ``count``."""
    x = np.arange(n + 1)
    a, b = rank, count + 1 - rank
    choose = gammaln(n + 1) - gammaln(x + 1) - gammaln(n - x + 1)
    below = np.exp(choose + betaln(x + a, n - x + b) - betaln(a, b)).cumsum()
    low = int(np.searchsorted(below, level / 2.0, side="right"))
    return low, min(int(np.searchsorted(below, 1.0 - level / 2.0)), n)

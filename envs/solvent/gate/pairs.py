"""Negative controls (claims paired with evidence of another group) and splits that keep groups together.

A group is a page, a compound or a set of near-duplicates. No claim is paired with evidence of its own group, and no
group is on both sides of a split.

Source: our addition to *Deterministic Policy Gates for Stochastic Systems*, which calibrates on supported claims
alone. Known approximations: evidence of another group that happens to support the claim counts as a false acceptance.
Derangements are random, but not uniformly distributed.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvent.gate.errors import GateError

__all__ = ["codes_of", "derange", "split_by_group"]

Indices = NDArray[np.int64]


def codes_of(groups: Sequence[Hashable] | NDArray[Any] | None, count: int) -> Indices:
    """Return group labels as numbers [n] in order of appearance; None puts each claim in its own group."""
    if groups is None:
        return np.arange(count, dtype=np.int64)
    labels = groups.tolist() if isinstance(groups, np.ndarray) else list(groups)
    if len(labels) != count:
        raise GateError(f"groups: got {len(labels)} labels; allowed: one a claim, {count}")
    seen: dict[Hashable, int] = {}
    try:
        return np.array([seen.setdefault(label, len(seen)) for label in labels], dtype=np.int64)
    except TypeError:
        raise GateError("groups: got a label that is no plain value; allowed: text or numbers") from None


def derange(n: int, groups: Sequence[Hashable] | NDArray[Any] | None, rng: np.random.Generator) -> Indices:
    """Return the index of the claim whose evidence each claim gets [n]: a permutation that leaves every group.

    Raises:
        GateError: there is no such permutation: fewer than two claims, or a group with more than half of them.
    """
    codes = codes_of(groups, n)
    largest = int(np.bincount(codes, minlength=1).max())
    if n < 2 or 2 * largest > n:
        raise GateError(
            f"groups: the largest holds {largest} of {n} claims; allowed: at most half, of 2 or more"
        )
    # If groups are contiguous, a shift by the largest group's size leaves every group.
    order = np.lexsort((rng.random(n), rng.permutation(codes.max() + 1)[codes]))
    partner = np.empty(n, dtype=np.int64)
    partner[order] = np.roll(order, -largest)
    _mix(partner, codes, rng)
    return partner


def _mix(partner: Indices, codes: Indices, rng: np.random.Generator) -> None:
    """Swap partners at random if both stay valid; after the shift alone, groups would meet in blocks."""
    for i, j in zip(rng.permutation(len(codes)), rng.integers(len(codes), size=len(codes)), strict=True):
        if codes[i] != codes[partner[j]] and codes[j] != codes[partner[i]]:
            partner[i], partner[j] = partner[j], partner[i]


def split_by_group(
    groups: Sequence[Hashable] | NDArray[Any], rng: np.random.Generator
) -> tuple[Indices, Indices]:
    """Return the indices for learning and those for reporting; each group is on one side.

    Groups are shuffled, and the first side takes groups until it has half of the claims, to the nearest border
    between two groups.
    """
    codes = codes_of(groups, len(groups))
    if len(codes) == 0 or codes.max() < 1:
        raise GateError("groups: got fewer than two; allowed: two or more, one for each side")
    shuffled = rng.permutation(codes.max() + 1)
    sizes = np.bincount(codes)[shuffled].cumsum()
    border = int(np.argmin(np.abs(sizes[:-1] - 0.5 * len(codes)))) + 1
    first = np.isin(codes, shuffled[:border])
    return np.flatnonzero(first), np.flatnonzero(~first)

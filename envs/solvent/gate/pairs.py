"""Negative controls: claims paired with evidence not theirs, deranged (at random) or hard-mined (the nearest).

``groups`` says what belongs together (a page, a compound, a set of near-duplicates): no claim is ever paired with
its own evidence or with that of its group, and no group stands on both sides of a split. Source: our own addition to
*Deterministic Policy Gates for Stochastic Systems*, which calibrates on supported claims alone.

Known approximations: a deranged pair is mismatched by its labels, so evidence of another group that happens to
support the claim counts as a false acceptance, and the hard-mined pairs look for just that: their rate is an upper
estimate. Derangements are random, not uniformly so over all that are possible.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from solvent.gate.errors import GateError

__all__ = ["derange", "hardest", "split_by_group"]

Indices = NDArray[np.int64]


def codes_of(groups: Sequence[Hashable] | NDArray[Any] | None, count: int) -> Indices:
    """Group labels as numbers [n] in order of appearance; None: each its own group.

    Raises:
        GateError: another number of labels, or labels that can't be compared.
    """
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
    """Whose evidence each claim gets [n]: a permutation with no fixed point and no pair inside a group.

    Raises:
        GateError: fewer than two claims, or a group that holds more than half of them: then there is none.
    """
    codes = codes_of(groups, n)
    largest = int(np.bincount(codes, minlength=1).max())
    if n < 2 or 2 * largest > n:
        raise GateError(
            f"groups: the largest holds {largest} of {n} claims; allowed: at most half, of 2 or more"
        )
    # In an order with groups in one piece, a shift by the largest group's size leaves every group.
    order = np.lexsort((rng.random(n), rng.permutation(codes.max() + 1)[codes]))
    partner = np.empty(n, dtype=np.int64)
    partner[order] = np.roll(order, -largest)
    _mix(partner, codes, rng)
    return partner


def _mix(partner: Indices, codes: Indices, rng: np.random.Generator) -> None:
    """Swap partners at random where both stay valid: after the shift alone, groups would meet in blocks."""
    for i, j in zip(rng.permutation(len(codes)), rng.integers(len(codes), size=len(codes)), strict=True):
        if codes[i] != codes[partner[j]] and codes[j] != codes[partner[i]]:
            partner[i], partner[j] = partner[j], partner[i]


def hardest(
    similarity: ArrayLike, groups: Sequence[Hashable] | NDArray[Any] | None = None, count: int = 1
) -> Indices:
    """For each claim the ``count`` other claims whose evidence is nearest to it [n, count], nearest first.

    Args:
        similarity: [n, n], claim ``i`` with the evidence of claim ``j``, larger is nearer.
        groups: as in ``derange``.
        count: how many a claim.

    Raises:
        GateError: no square of finite numbers, or a claim that has fewer than ``count`` of other groups.
    """
    S = np.asarray(similarity, dtype=np.float64)
    if S.ndim != 2 or S.shape[0] != S.shape[1] or not np.isfinite(S).all():
        raise GateError(f"similarity: got the shape {S.shape}; allowed: [n, n], finite")
    codes = codes_of(groups, len(S))
    forbidden = codes[:, None] == codes[None, :]
    fewest = int((~forbidden).sum(axis=1).min()) if len(S) else 0
    if not 1 <= count <= fewest:
        raise GateError(f"count: got {count}; allowed: 1 to {fewest}, claims of other groups")
    order = np.argsort(np.where(forbidden, np.inf, -S), axis=1, kind="stable")
    return order[:, :count].astype(np.int64)


def split_by_group(
    groups: Sequence[Hashable] | NDArray[Any], rng: np.random.Generator, share: float = 0.5
) -> tuple[Indices, Indices]:
    """Indices to learn from and to report on; a group is on one side alone.

    Groups come in random order and go to the first side until it holds ``share`` of the claims, at the nearest
    border between two groups.

    Raises:
        GateError: fewer than two groups, or a share that is not between 0 and 1.
    """
    codes = codes_of(groups, len(groups))
    if len(codes) == 0 or codes.max() < 1:
        raise GateError("groups: got fewer than two; allowed: two or more, one for each side")
    if not 0.0 < share < 1.0:
        raise GateError(f"share: got {share!r}; allowed: a number between 0 and 1")
    shuffled = rng.permutation(codes.max() + 1)
    sizes = np.bincount(codes)[shuffled].cumsum()
    border = int(np.argmin(np.abs(sizes[:-1] - share * len(codes)))) + 1
    first = np.isin(codes, shuffled[:border])
    return np.flatnonzero(first), np.flatnonzero(~first)

"""Fitness of a correction: the improvement of the responses after it, beyond what happens without it.

A *stretch* is a drift event with the mean EpAd of the ``horizon`` responses after it. The naive effect

    naive = mean(after - before)         over the stretches whose correction was given

includes the fall of any high window (regression to the mean), so it is reported and never used. The effect compares
stretches with the same correction, given or not given, matched on the window's sum ``s`` exactly:

    effect = sum_s n_s (mean after, given - mean after, not given) / sum_s n_s     n_s: given stretches with sum s

Negative is better. If enough stretches were decided by a draw (``withhold``), only these are compared, and the
difference is causal. Otherwise stretches of shadow mode are controls too. The interval is a 95 % bootstrap over
sessions, so the stretches of a session stay together. With too few stretches or sessions on either side the verdict is
"not enough data", not a number.

A correction *helps* if the interval is below zero and *harms* if it is above. It *does not help* if even the better end
improves by less than ``worthwhile``. A correction that harms or does not help is proposed for retirement, and a person
decides (``decisions``). Source: "Epistemic Adequacy Design", phase 5, "correction strategy refinement".

Known approximation: without randomising, any other difference between sessions with and without corrections is taken
for the effect. Given stretches whose sum has no control are left out and counted. A correction that still acts at the
next event counts for both. In a session with both kinds, given corrections also act on the controls, which makes the
effect look smaller. Each correction is judged by itself: of forty without effect, one looks harmful by chance.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from solvent.adequacy.agreement import CONFIDENCE, RESAMPLES, Estimate
from solvent.adequacy.drift import Drift
from solvent.adequacy.errors import AdequacyError
from solvent.adequacy.scores import ScoreRecord

__all__ = ["Fitness", "Series", "Stretch", "fitness", "fitness_of_each", "series_of", "stretches_of"]

Verdict = Literal["helps", "harms", "does not help", "undecided", "not enough data"]
Basis = Literal["randomised", "matched", "none"]

Series = Mapping[tuple[str, str], Sequence[int]]
"""EpAd of the responses of each agent and session, in order."""

_LEAST, _SESSIONS = 20, 10  # stretches and sessions of each kind that an effect needs
_WORTHWHILE = 0.25  # least improvement of the mean EpAd that makes a correction worthwhile
_NONE = Estimate(math.nan, math.nan, math.nan)


@dataclass(frozen=True)
class Stretch:
    """A drift event and the mean EpAd, 0 to 3, of the responses after it."""

    drift: Drift
    after: float


@dataclass(frozen=True)
class Fitness:
    """The measured effect of a correction.

    Attributes:
        correction: id of the correction.
        verdict: the reading of the effect's interval.
        basis: the kind of controls.
        effect: change of the mean EpAd that the correction caused, negative is better; NaN without enough data.
        naive: change from before to after, including regression to the mean; NaN without a stretch.
        given, controls: number of stretches compared.
        unmatched: given stretches left out because no control has the same sum.
        sessions: number of sessions, given and controls together.
    """

    correction: str
    verdict: Verdict
    basis: Basis
    effect: Estimate
    naive: float
    given: int
    controls: int
    unmatched: int
    sessions: int

    @property
    def proposed(self) -> bool:
        """True if retirement is proposed."""
        return self.verdict in ("harms", "does not help")

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as values that JSON can hold."""
        naive = None if math.isnan(self.naive) else self.naive
        return {**asdict(self), "effect": self.effect.to_dict(), "naive": naive, "proposed": self.proposed}

    def __str__(self) -> str:
        said = f"{self.correction}: {self.verdict}"
        if math.isnan(self.effect.value):
            return f"{said} ({self.given} given, {self.controls} controls)"
        return f"{said}, effect {self.effect} ({self.basis}), naive {self.naive:.2f}"


def series_of(records: Iterable[ScoreRecord]) -> Series:
    """Return the EpAd in force by agent and session, in order."""
    found: dict[tuple[str, str], list[int]] = {}
    for record in records:
        found.setdefault((record.agent or "", record.session or ""), []).append(record.epad.in_force or 0)
    return found


def stretches_of(drifts: Iterable[Drift], scores: Series, horizon: int) -> list[Stretch]:
    """Return the stretches of the events, without those that fewer than ``horizon`` responses follow.

    Args:
        drifts: the events.
        scores: EpAd of every response by agent and session, in order.
        horizon: responses after an event.

    Raises:
        AdequacyError: the scores lack an event's session, position or sum, or the horizon is below 1.
    """
    if horizon < 1:
        raise AdequacyError(f"horizon: got {horizon!r:.80}; allowed: 1 or more")
    found = []
    for drift in drifts:
        own = scores.get((drift.agent, drift.session), ())
        end = drift.position + 1
        if sum(own[max(0, end - drift.window) : end]) != drift.before or len(own) < end:
            where = f"{drift.agent}, {drift.session}, response {drift.position}"
            raise AdequacyError(f"drift of {where!r:.80}: allowed: an event of these scores")
        after = own[end : end + horizon]
        if len(after) == horizon:
            found.append(Stretch(drift, sum(after) / horizon))
    return found


def fitness_of_each(drifts: Sequence[Drift], scores: Series, horizon: int) -> list[Fitness]:
    """Return the fitness of every correction that the events name.

    Raises:
        AdequacyError: as ``stretches_of``.
    """
    stretches = stretches_of(drifts, scores, horizon)
    return [fitness(stretches, name) for name in sorted({one.correction for one in drifts})]


def fitness(stretches: Sequence[Stretch], correction: str, *, resamples: int = RESAMPLES) -> Fitness:
    """Return the effect of a correction with its interval, from the stretches of any corrections; see the module.

    Raises:
        AdequacyError: an argument is out of its range.
    """
    own = [stretch for stretch in stretches if stretch.drift.correction == correction]
    naive = [stretch.after - stretch.drift.mean for stretch in own if stretch.drift.given]
    basis, pool = _pool(own)
    rows = _matched(pool)
    effect = _NONE if basis == "none" else _effect(rows, resamples)
    given = sum(stretch.drift.given for stretch in rows)
    return Fitness(
        correction=correction,
        verdict=_verdict(effect),
        basis=basis,
        effect=effect,
        naive=float(np.mean(naive)) if naive else math.nan,
        given=given,
        controls=len(rows) - given,
        unmatched=sum(stretch.drift.given for stretch in pool) - given,
        sessions=len({_session(stretch) for stretch in rows}),
    )


def _pool(own: list[Stretch]) -> tuple[Basis, list[Stretch]]:
    """Return the best basis with enough data and its stretches: decided by a draw, else with shadow mode."""
    drawn = [stretch for stretch in own if stretch.drift.randomised]
    pools: tuple[tuple[Basis, list[Stretch]], ...] = (("randomised", drawn), ("matched", own))
    for basis, pool in pools:
        if _enough(_matched(pool)):
            return basis, pool
    return "none", own


def _matched(pool: list[Stretch]) -> list[Stretch]:
    sides: dict[bool, set[tuple[int, int]]] = {True: set(), False: set()}
    for stretch in pool:
        sides[stretch.drift.given].add(_stratum(stretch))
    return [stretch for stretch in pool if _stratum(stretch) in sides[True] & sides[False]]


def _stratum(stretch: Stretch) -> tuple[int, int]:
    return stretch.drift.before, stretch.drift.window


def _session(stretch: Stretch) -> tuple[str, str]:
    return stretch.drift.agent, stretch.drift.session


def _enough(rows: list[Stretch]) -> bool:
    for given in (True, False):
        side = [stretch for stretch in rows if stretch.drift.given is given]
        if len(side) < _LEAST or len({_session(stretch) for stretch in side}) < _SESSIONS:
            return False
    return True


def _verdict(effect: Estimate) -> Verdict:
    if math.isnan(effect.low):
        return "not enough data"
    if effect.low > 0.0:
        return "harms"
    if effect.low > -_WORTHWHILE:
        return "does not help"
    return "helps" if effect.high < 0.0 else "undecided"


def _effect(rows: list[Stretch], resamples: int) -> Estimate:
    statistic, count = _by_session(rows)
    rng = np.random.default_rng(0)
    times = rng.multinomial(count, np.full(count, 1.0 / count), size=resamples).astype(np.float64)
    value = float(statistic(np.ones((1, count)))[0])
    drawn = statistic(times)
    tail = (1.0 - CONFIDENCE) / 2.0
    low, high = np.nanquantile(drawn, [tail, 1.0 - tail])
    return Estimate(value, float(low), float(high))


Floats = NDArray[np.float64]


def _by_session(rows: list[Stretch]) -> tuple[Callable[[Floats], Floats], int]:
    """Return the effect as a function of the draws of each session [m, sessions], and the number of sessions."""
    session = _codes([_session(stretch) for stretch in rows])
    stratum = _codes([_stratum(stretch) for stretch in rows])
    given = np.array([stretch.drift.given for stretch in rows], dtype=np.int64)
    after = np.array([stretch.after for stretch in rows])
    shape = (int(session.max()) + 1, int(stratum.max()) + 1, 2)
    counts, sums = np.zeros(shape), np.zeros(shape)
    np.add.at(counts, (session, stratum, given), 1.0)
    np.add.at(sums, (session, stratum, given), after)

    def effect(times: Floats) -> Floats:
        n = np.einsum("ms,stg->mtg", times, counts)
        total = np.einsum("ms,stg->mtg", times, sums)
        mean = np.divide(total, n, out=np.zeros_like(total), where=n > 0)
        weight = np.where((n > 0).all(axis=2), n[:, :, 1], 0.0)
        difference = (weight * (mean[:, :, 1] - mean[:, :, 0])).sum(axis=1)
        whole = weight.sum(axis=1)
        return np.asarray(np.divide(difference, whole, out=np.full(len(whole), np.nan), where=whole > 0))

    return effect, shape[0]


def _codes(labels: Sequence[tuple[Any, Any]]) -> NDArray[np.int64]:
    seen = {label: i for i, label in enumerate(Counter(labels))}
    return np.array([seen[label] for label in labels], dtype=np.int64)

"""Reading: what a batch of observations says, as named arrays in their own units, and the index of every action.

Agents see observations, never the lab's record. ``Reader.read`` inverts the scaling of ``solvent.observation``;
what is shown in float32 comes back with its precision (debt near the threshold to 1e-6 bits, counts exactly).

Letters: ``n`` labs, ``M`` compounds, ``G`` potency classes, ``N`` instrument states, ``C`` claims,
``Q`` confidences.
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from solvent.actions import Verb, action_table
from solvent.observation import BITS, BOOKS, COMPOUND, COUNT, N_EVENTS
from solvent.params import LabParams
from solvent_agents.agent import Observations

__all__ = ["ActionIndex", "Reader", "Reading", "action_index"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


class Reading(NamedTuple):
    """What ``n`` labs show. Rows are labs; take some of them with ``reading.rows(where)``."""

    wells: Ints  # [n] wells left
    heartbeat: Ints  # [n] heartbeats gone by
    beats_left: Ints  # [n] heartbeats to the horizon
    debt: Floats  # [n] bits
    blocked: Flags  # [n] debt above the threshold
    inflation: Floats  # [n] cost multiplier of a plate of 100 wells
    lot_beats_left: Ints  # [n] heartbeats until the next reagent lot, 1 or more
    refusals_in_a_row: Ints  # [n]
    last_event: Ints  # [n] solvent.state.Event
    instrument: Floats  # [n, N] p(instrument)
    marginal: Floats  # [n, M, G] p(class)
    entropy: Floats  # [n, M] bits
    lowest_entropy: Floats  # [n, M] bits
    licence: Floats  # [n, M] bits
    published: Ints  # [n, M] 0 not, 1 privately, 2 publicly
    experiments: Ints  # [n, M] plates

    def rows(self, where: Any) -> Reading:
        """The labs ``where`` (a mask or indices)."""
        return Reading(*(column[where] for column in self))

    @property
    def unpublished(self) -> Flags:
        """Compounds with no finding yet, shape ``(n, M)``."""
        unpublished: Flags = self.published == 0
        return unpublished

    @property
    def peak(self) -> Floats:
        """Probability of the most probable class, shape ``(n, M)``."""
        peak: Floats = self.marginal.max(axis=-1)
        return peak


class Reader:
    """Reads observations of labs with these parameters."""

    def __init__(self, params: LabParams) -> None:
        assay = params.assay
        self.params = params
        self.shape = len(assay.compounds), assay.potency_classes, assay.instrument_states

    def read(self, observations: Observations) -> Reading:
        """Observations of shape ``(n, n_fields)`` as named arrays.

        Raises:
            ValueError: observations of labs with other parameters.
        """
        M, G, N = self.shape
        seen = np.asarray(observations, np.float64)
        n, first, width = len(seen), len(BOOKS) + N_EVENTS + N, G + len(COMPOUND)
        if seen.ndim != 2 or seen.shape[1] < first + M * width:
            raise ValueError(
                f"observations: got shape {seen.shape}; allowed: (n, {first + M * width} or more)"
            )
        books = dict(zip(BOOKS, seen.T, strict=False))
        rows = seen[:, first : first + M * width].reshape(n, M, width)
        about = dict(zip(COMPOUND, np.moveaxis(rows[..., G:], -1, 0), strict=True))
        params = self.params
        horizon, most_entropy = params.budget.heartbeats, math.log2(params.assay.potency_classes)
        heartbeat = _count(books["heartbeat"] * horizon)
        return Reading(
            wells=_count(books["wells"] * params.budget.wells),
            heartbeat=heartbeat,
            beats_left=horizon - heartbeat,
            debt=_unbounded(books["debt"], BITS),
            blocked=books["debt_margin"] < 0.0,
            inflation=1.0 / (1.0 - books["cost_inflation"]),
            lot_beats_left=_count(books["lot_countdown"] * params.assay.lot_heartbeats),
            refusals_in_a_row=_count(_unbounded(books["refusals_in_a_row"], COUNT)),
            last_event=seen[:, len(BOOKS) : len(BOOKS) + N_EVENTS].argmax(axis=1),
            instrument=_distribution(seen[:, first - N : first]),
            marginal=_distribution(rows[..., :G]),
            entropy=about["entropy"] * most_entropy,
            lowest_entropy=about["lowest_entropy"] * most_entropy,
            licence=_unbounded(about["licence"], BITS),
            published=_count(about["published_privately"] + 2.0 * about["published_publicly"]),
            experiments=_count(_unbounded(about["experiments"], COUNT)),
        )


def _unbounded(shown: Floats, scale: float) -> Floats:
    """Inverse of ``x / (x + scale)``."""
    return scale * shown / np.maximum(1.0 - shown, 1e-9)


def _count(values: Floats) -> Ints:
    return np.rint(values).astype(np.int64)


def _distribution(shown: Floats) -> Floats:
    total = shown.sum(axis=-1, keepdims=True)
    return np.ascontiguousarray(shown / total)


class ActionIndex(NamedTuple):
    """Where in the action table each action is: ``screen[m, c]`` screens ``m`` with the claim ``claims[c]``."""

    rest: int
    dmso: int
    baseline: int
    calibration: int
    screen: Ints  # [M, C]
    dose_response: Ints  # [M, C]
    publish_private: Ints  # [M, Q]
    publish_public: Ints  # [M, Q]
    claims: Floats  # [C] bits
    confidences: Floats  # [Q] probability

    def experiment(self, verb: Any, compound: Any, claim: Any) -> Ints:
        """Index of an experiment by verb (a code of ``Verb``), compound and number of the claim.

        Arrays broadcast.
        """
        deep = np.asarray(verb) == int(Verb.DOSE_RESPONSE)
        found: Ints = np.where(deep, self.dose_response[compound, claim], self.screen[compound, claim])
        return found

    def claim_below(self, bits: Any) -> Ints:
        """Number of the highest claim that is not above ``bits`` (the lowest claim if all are)."""
        at = np.searchsorted(self.claims, np.asarray(bits) + 1e-9, side="right") - 1
        return np.maximum(at, 0)


@functools.lru_cache(maxsize=64)
def action_index(params: LabParams) -> ActionIndex:
    """The index of a lab's actions."""
    table = action_table(params)
    shape = (len(params.assay.compounds), -1)

    def rows(verb: Verb) -> Ints:
        return np.flatnonzero(table["verb"] == int(verb)).reshape(shape)

    def row(verb: Verb) -> int:
        return int(np.flatnonzero(table["verb"] == int(verb))[0])

    return ActionIndex(
        rest=row(Verb.REST),
        dmso=row(Verb.DMSO),
        baseline=row(Verb.BASELINE),
        calibration=row(Verb.CALIBRATION),
        screen=rows(Verb.SCREEN),
        dose_response=rows(Verb.DOSE_RESPONSE),
        publish_private=rows(Verb.PUBLISH_PRIVATE),
        publish_public=rows(Verb.PUBLISH_PUBLIC),
        claims=np.array(params.vocabulary.claims),
        confidences=np.array(params.vocabulary.confidences),
    )

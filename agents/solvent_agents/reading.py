"""Observations as named arrays in their own units, and the index of every action.

Agents see observations, never the lab's record. ``Reader.read`` inverts the scaling of ``solvent.lab.observation``;
values come back with float32 precision (debt near the threshold to 1e-6 bits, counts exactly).

Letters: ``n`` labs, ``M`` compounds, ``G`` potency classes, ``N`` instrument states, ``C`` claims, ``Q`` confidences,
``V`` verbs.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from solvent.lab.actions import action_table
from solvent.lab.codes import Event
from solvent.lab.mechanisms import (
    adequacy,
    assay,
    belief,
    debt,
    energy,
    gate,
    governance,
    proposals,
    publication,
)
from solvent.lab.mechanisms.debt import BITS, COUNT
from solvent.lab.mechanisms.energy import COST_CAPS, REMEMBERED_USES
from solvent.lab.mechanisms.gate import MILLION, wording_at
from solvent.lab.mechanisms.governance import family_of
from solvent.lab.observation import observation_fields
from solvent.lab.params import LabParams
from solvent.lab.settings import UNIT
from solvent.lab.verbs import VERBS, Verb
from solvent.lab.words.rows import STRENGTHS, WORDINGS
from solvent_agents.agent import Observations

__all__ = ["ActionIndex", "Reader", "Reading", "action_index"]

ABOUT_VERBS = {**energy.ABOUT_VERBS, **proposals.ABOUT_VERBS}
COMPOUND = (*belief.COMPOUND, *debt.COMPOUND, *publication.COMPOUND, *assay.COMPOUND)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


class Reading(NamedTuple):
    """The observations of ``n`` labs, one a row. ``reading.rows(where)`` selects labs."""

    wells: Ints  # [n] wells left
    heartbeat: Ints  # [n] heartbeats gone by
    beats_left: Ints  # [n] heartbeats to the horizon
    debt: Floats  # [n] bits
    blocked: Flags  # [n] debt above the threshold
    inflation: Floats  # [n] cost multiplier of a plate of 100 wells
    lot_beats_left: Ints  # [n] heartbeats until the next reagent lot, 1 or more
    lot_calibrated: Flags  # [n] a calibration has run in this lot, or need not for a full licence
    refusals_in_a_row: Ints  # [n]
    last_event: Ints  # [n] solvent.lab.state.Event
    instrument: Floats  # [n, N] p(instrument)
    marginal: Floats  # [n, M, G] p(class)
    entropy: Floats  # [n, M] bits
    lowest_entropy: Floats  # [n, M] bits
    licence: Floats  # [n, M] bits
    published: Ints  # [n, M] 0 not, 1 privately, 2 publicly
    experiments: Ints  # [n, M] plates
    # Without the energy mechanism: energy is unlimited and every verb is free at any hour.
    energy: Floats  # [n] energy left
    slot: Ints  # [n] actions taken in this heartbeat
    user_is_present: Flags  # [n] the context is `chat`
    reflected: Flags  # [n] the last action of this heartbeat was a reflection
    done: Flags  # [n, M, 2] screened and dosed in this heartbeat
    cost: Floats  # [n, V] energy, effective cost by verb
    uses: Ints  # [n, V] executions
    failures: Ints  # [n, V] of the last four uses
    discomfort: Ints  # [n, V] heartbeats with a deferral since the last proposal
    review: Ints  # [n, V] heartbeats until the pending proposal is reviewed; 0 for none
    # Without the gate: every finding is accepted and none waits for a decision.
    residual: Ints  # [n, M, Q] millionths, what the policy compares of a finding, by confidence
    number_missing: Flags  # [n, M] a number of the finding stands in no evidence
    fit_strength: Ints  # [n, M] index of STRENGTHS
    decision_in: Ints  # [n, M] heartbeats until the finding under review is decided; 0 for none
    strictness: Ints  # [n] the policy in force; 0 is the laxest
    calm: Ints  # [n] heartbeats since the last published error, as far as they count
    tau_accept: Ints  # [n] millionths: accepted up to here
    tau_review: Ints  # [n] millionths: reviewed up to here
    # Without adequacy: all words are adequate.
    inadequacy: Ints  # [n, M, Q] score of a finding's words by confidence, 0 to 3

    def rows(self, where: Any) -> Reading:
        """Return the labs ``where`` (a mask or indices)."""
        return Reading(*(column[where] for column in self))

    @property
    def unpublished(self) -> Flags:
        """Return which compounds have no finding, published or under review, shape ``(n, M)``."""
        unpublished: Flags = (self.published == 0) & (self.decision_in == 0)
        return unpublished

    @property
    def peak(self) -> Floats:
        """Return the probability of the most probable class, shape ``(n, M)``."""
        peak: Floats = self.marginal.max(axis=-1)
        return peak


class Reader:
    """Reads observations of labs with these parameters."""

    def __init__(self, params: LabParams) -> None:
        fields = observation_fields(params)
        self.params = params
        self.n_fields = len(fields)
        self._at = {name: i for i, name in enumerate(fields)}
        offered = [f"last_event/{event.name.lower()}" in self._at for event in Event]
        events = [event for event, there in zip(Event, offered, strict=True) if there]
        self._event_codes = np.array(events)
        self._events = self._columns(f"last_event/{event.name.lower()}" for event in events)
        self._instrument = np.flatnonzero([name.startswith("instrument/") for name in fields])
        classes, compounds = range(params.assay.potency_classes), params.assay.compounds
        self._marginal = self._columns(f"{c}/class_{g}" for c in compounds for g in classes).reshape(
            len(compounds), -1
        )
        self._about = {name: self._columns(f"{c}/{name}" for c in compounds) for name in COMPOUND}
        if params.energy.enabled:
            self._done = [self._columns(f"{c}/{name}" for c in compounds) for name in energy.COMPOUND]
            self._by_verb = {
                name: self._columns(f"{name}/{VERBS[verb].name}" for verb in verbs)
                for name, verbs in ABOUT_VERBS.items()
            }
        if params.gate.enabled:
            self._judged = {name: self._columns(f"{c}/{name}" for c in compounds) for name in gate.COMPOUND}
            self._wording = np.array([wording_at(params.gate, q) for q in params.vocabulary.confidences])
        if params.adequacy.enabled:
            self._adequate = [self._columns(f"{c}/{name}" for c in compounds) for name in adequacy.COMPOUND]

    def _columns(self, names: Iterable[str]) -> Ints:
        return np.array([self._at[name] for name in names])

    def read(self, observations: Observations) -> Reading:
        """Return observations of shape ``(n, n_fields)`` as named arrays.

        Raises:
            ValueError: observations of labs with other parameters.
        """
        seen = np.asarray(observations, np.float64)
        if seen.ndim != 2 or seen.shape[1] != self.n_fields:
            raise ValueError(f"observations: got shape {seen.shape}; allowed: (n, {self.n_fields})")

        def book(name: str) -> Floats:
            column: Floats = seen[:, self._at[name]]
            return column

        def about(name: str) -> Floats:
            rows: Floats = seen[:, self._about[name]]
            return rows

        params = self.params
        horizon, most_entropy = params.budget.heartbeats, math.log2(params.assay.potency_classes)
        heartbeat = _count(book("heartbeat") * horizon)
        return Reading(
            wells=_count(book("wells") * params.budget.wells),
            heartbeat=heartbeat,
            beats_left=horizon - heartbeat,
            debt=_unbounded(book("debt"), BITS),
            blocked=book("debt_margin") < 0.0,
            inflation=1.0 / (1.0 - book("cost_inflation")),
            lot_beats_left=_count(book("lot_countdown") * params.assay.lot_heartbeats),
            lot_calibrated=self._lot_calibrated(seen),
            refusals_in_a_row=_count(_unbounded(book("refusals_in_a_row"), COUNT)),
            last_event=self._event_codes[seen[:, self._events].argmax(axis=1)],
            instrument=_distribution(seen[:, self._instrument]),
            marginal=_distribution(seen[:, self._marginal]),
            entropy=about("entropy") * most_entropy,
            lowest_entropy=about("lowest_entropy") * most_entropy,
            licence=_unbounded(about("licence"), BITS),
            published=_count(about("published_privately") + 2.0 * about("published_publicly")),
            experiments=_count(_unbounded(about("experiments"), COUNT)),
            **(self._energy(seen) if params.energy.enabled else self._no_energy(len(seen))),
            **(self._gate(seen) if params.gate.enabled else self._no_gate(len(seen))),
            inadequacy=self._inadequacy(seen),
        )

    def _lot_calibrated(self, seen: Floats) -> Flags:
        (name,) = debt.LOT
        return seen[:, self._at[name]] > 0.5 if name in self._at else np.ones(len(seen), np.bool_)

    def _energy(self, seen: Floats) -> dict[str, Any]:
        """Return the fields of energy, clock and verbs."""
        cap, slots = self.params.energy.cap, self.params.energy.slots
        voice = self.params.proposals
        clock = {name: seen[:, self._at[name]] for name in (*energy.CLOCK, *proposals.OBSERVED)}

        def by_verb(name: str) -> Floats:
            values = np.zeros((len(seen), len(Verb)))
            values[:, ABOUT_VERBS[name]] = seen[:, self._by_verb[name]]
            return values

        return {
            "energy": _thousandths(clock["energy"] * cap),
            "slot": _count(clock["slot"] * slots),
            "user_is_present": clock["user_is_present"] > 0.5,
            "reflected": clock["reflected"] > 0.5,
            "done": np.stack([seen[:, columns] > 0.5 for columns in self._done], axis=-1),
            "cost": _thousandths(by_verb("cost") * COST_CAPS * cap),
            "uses": _count(_unbounded(by_verb("uses"), COUNT)),
            "failures": _count(by_verb("failures") * REMEMBERED_USES),
            "discomfort": _count(_unbounded(by_verb("discomfort"), COUNT)),
            "review": _count(by_verb("review") * voice.review_heartbeats),
        }

    def _no_energy(self, n: int) -> dict[str, Any]:
        verbs = (n, len(Verb))
        return {
            "energy": np.full(n, np.inf),
            "slot": np.zeros(n, np.int64),
            "user_is_present": np.ones(n, np.bool_),
            "reflected": np.zeros(n, np.bool_),
            "done": np.zeros((n, len(self.params.assay.compounds), len(energy.COMPOUND)), np.bool_),
            "cost": np.zeros(verbs),
            **{name: np.zeros(verbs, np.int64) for name in ("uses", "failures", "discomfort", "review")},
        }

    def _gate(self, seen: Floats) -> dict[str, Any]:
        """Return the gate's fields: its policy and its numbers for each compound."""
        params = self.params.gate
        about = {name: seen[:, columns] for name, columns in self._judged.items()}
        known = {name: seen[:, self._at[name]] for name in (*governance.OBSERVED, *gate.THRESHOLDS)}
        by_wording = np.stack([about[f"residual_{wording}"] for wording in WORDINGS], axis=-1)
        return {
            "residual": _count(by_wording[..., self._wording] * MILLION),
            "number_missing": about["number_missing"] > 0.5,
            "fit_strength": _count(about["fit_strength"] * (len(STRENGTHS) - 1)),
            "decision_in": _count(about["decision_in"] * params.review_heartbeats),
            "strictness": _count(known["strictness"] * (len(family_of(params.policy)) - 1)),
            "calm": _count(known["calm"] * params.calm_heartbeats),
            "tau_accept": _count(known["tau_accept"] * MILLION),
            "tau_review": _count(known["tau_review"] * MILLION),
        }

    def _inadequacy(self, seen: Floats) -> Ints:
        """Return the adequacy score of a finding's words, by confidence."""
        if not self.params.adequacy.enabled:
            compounds, confidences = self.params.assay.compounds, self.params.vocabulary.confidences
            return np.zeros((len(seen), len(compounds), len(confidences)), np.int64)
        by_wording = np.stack([seen[:, columns] for columns in self._adequate], axis=-1)
        return _count(by_wording[..., self._wording] * adequacy.HIGHEST_SCORE)

    def _no_gate(self, n: int) -> dict[str, Any]:
        compounds = (n, len(self.params.assay.compounds))
        zeros = ("strictness", "calm", "tau_accept", "tau_review")
        return {
            "residual": np.zeros((*compounds, len(self.params.vocabulary.confidences)), np.int64),
            "number_missing": np.zeros(compounds, np.bool_),
            "fit_strength": np.zeros(compounds, np.int64),
            "decision_in": np.zeros(compounds, np.int64),
            **{name: np.zeros(n, np.int64) for name in zeros},
        }


def _unbounded(shown: Floats, scale: float) -> Floats:
    """Inverse of ``x / (x + scale)``."""
    return scale * shown / np.maximum(1.0 - shown, 1e-9)


def _thousandths(values: Floats) -> Floats:
    """Return energies in whole thousandths, as the lab counts them, from float32."""
    rounded: Floats = np.rint(values * UNIT) / UNIT
    return rounded


def _count(values: Floats) -> Ints:
    return np.rint(values).astype(np.int64)


def _distribution(shown: Floats) -> Floats:
    total = shown.sum(axis=-1, keepdims=True)
    return np.ascontiguousarray(shown / total)


class ActionIndex(NamedTuple):
    """The place of each action in the action table: ``screen[m, c]`` screens ``m`` with the claim ``claims[c]``."""

    rest: int
    dmso: int
    reflect: int  # -1 where it isn't offered
    propose: int  # -1 where it isn't offered
    screen: Ints  # [M, C]
    dose_response: Ints  # [M, C]
    publish_public: Ints  # [M, Q]
    claims: Floats  # [C] bits
    confidences: Floats  # [Q] probability

    def experiment(self, verb: Any, compound: Any, claim: Any) -> Ints:
        """Return the index of an experiment by verb (a code of ``Verb``), compound and number of the claim.

        Arrays broadcast.
        """
        deep = np.asarray(verb) == int(Verb.DOSE_RESPONSE)
        found: Ints = np.where(deep, self.dose_response[compound, claim], self.screen[compound, claim])
        return found

    def claim_below(self, bits: Any) -> Ints:
        """Return the number of the highest claim not above ``bits`` (the lowest claim if all are)."""
        at = np.searchsorted(self.claims, np.asarray(bits) + 1e-9, side="right") - 1
        return np.maximum(at, 0)


@functools.lru_cache(maxsize=64)
def action_index(params: LabParams) -> ActionIndex:
    """Return the index of a lab's actions."""
    table = action_table(params)
    shape = (len(params.assay.compounds), -1)

    def rows(verb: Verb) -> Ints:
        return np.flatnonzero(table["verb"] == int(verb)).reshape(shape)

    def row(verb: Verb) -> int:
        found = np.flatnonzero(table["verb"] == int(verb))
        return int(found[0]) if len(found) else -1

    return ActionIndex(
        rest=row(Verb.REST),
        dmso=row(Verb.DMSO),
        reflect=row(Verb.REFLECT),
        propose=row(Verb.PROPOSE),
        screen=rows(Verb.SCREEN),
        dose_response=rows(Verb.DOSE_RESPONSE),
        publish_public=rows(Verb.PUBLISH_PUBLIC),
        claims=np.array(params.vocabulary.claims),
        confidences=np.array(params.vocabulary.confidences),
    )

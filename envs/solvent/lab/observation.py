"""The observation: named elements in [-1, 1], without any hidden state.

Each mechanism names and writes its own elements. ``observation_fields`` collects the names and ``write_observation``
the values, in the same order: books, last event, instrument, one row per compound; with energy, the clock and the
verbs; with a gate, its view of possible findings. An unbounded quantity ``x >= 0`` is shown as ``x / (x + scale)``,
which is invertible.

Known approximations: the observation omits some of the state.

* The marginals do not show the dependence of each compound's belief on the instrument within a lot, ``p(class |
  instrument)``. With ``observation.joint`` it is appended and the process is exactly Markov in the observation;
  without it, Markov up to that dependence.
* Of the last four uses of a verb, the number of failures is shown, not their order.
* Within a heartbeat, the deferred verbs, the compounds of rejected findings and the energy spent so far are not
  shown.
* Base costs whose effective cost is limited to the cap look alike.
* Of a notebook page, its length, the strength of its fit and the gate's view of it are shown, not its sentences, on
  which future residuals depend.
* The class under review is shown only as agreeing or not with the belief.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence

import numpy as np
from gymnasium.spaces import Box

from solvent.lab.codes import Event
from solvent.lab.compiled import compiled, inlined
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
from solvent.lab.mechanisms.episode import EVERYWHERE, WITH_ENERGY, WITH_GATE, observe_events
from solvent.lab.params import LabParams
from solvent.lab.verbs import VERBS
from solvent.lab.words.sentences import corrections_of

__all__ = ["observation_fields", "observation_space", "write_observation"]

_EVERYWHERE, _WITH_ENERGY, _WITH_GATE = len(EVERYWHERE), len(WITH_ENERGY), len(WITH_GATE)


@functools.lru_cache(maxsize=64)
def observation_fields(params: LabParams) -> tuple[str, ...]:
    """Return the names of the observation's elements."""
    assay_params = params.assay
    states = [f"gain={g:g},plate_sd={sd:g}" for g in assay_params.gains for sd in assay_params.plate_sds]
    classes = [f"class_{g}" for g in range(assay_params.potency_classes)]
    compound = [*classes, *belief.COMPOUND, *debt.COMPOUND, *publication.COMPOUND, *assay.COMPOUND]
    if params.energy.enabled:
        compound += energy.COMPOUND

    def of_each(names: Sequence[str]) -> list[str]:
        return [f"{name}/{element}" for name in assay_params.compounds for element in names]

    def events(shown: Iterable[Event]) -> list[str]:
        return [f"last_event/{event.name.lower()}" for event in shown]

    lot = [*assay.LOT, *(debt.LOT if params.debt.uncalibrated_licence < 1.0 else ())]
    names = [*assay.BOOKS, *debt.BOOKS, *lot, *debt.REFUSALS, *events(EVERYWHERE)]
    names += [f"instrument/{state}" for state in states]
    names += of_each(compound)
    if params.energy.enabled:
        names += [*energy.CLOCK, *proposals.OBSERVED, *events(WITH_ENERGY)]
        about = {**energy.ABOUT_VERBS, **proposals.ABOUT_VERBS}
        names += [f"{what}/{VERBS[verb].name}" for what, verbs in about.items() for verb in verbs]
        names += [f"intent/{intent}" for intent in energy.SHOWN_INTENTS]
    if params.gate.enabled:
        names += [*of_each(gate.COMPOUND), *governance.OBSERVED, *gate.THRESHOLDS, *events(WITH_GATE)]
    if params.adequacy.enabled:
        names += of_each(adequacy.COMPOUND)
        names += [f"correction/{correction.id}" for correction in corrections_of(params)]
    if params.observation.joint:
        names += of_each([f"{g}|{state}" for state in states for g in classes])
    return tuple(names)


def observation_space(params: LabParams) -> Box:
    """Return ``Box(-1, 1, (len(observation_fields),), float32)``."""
    return Box(-1.0, 1.0, (len(observation_fields(params)),), np.float32)


@compiled
def write_observation(lab, tables, out):  # type: ignore[no-untyped-def]
    """Write the observation of ``lab`` into ``out``, shape ``(n_fields,)`` float32; return the number of elements."""
    at = assay.observe_books(lab, tables, out, 0)
    at = debt.observe_books(lab, tables, out, at)
    at = assay.observe_lot(lab, tables, out, at)
    at = debt.observe_lot(lab, tables, out, at)
    at = debt.observe_refusals(lab, out, at)
    at = observe_events(lab, 0, _EVERYWHERE, out, at)
    at = belief.observe_instrument(lab, out, at)
    if tables.energy.enabled:
        for m in range(lab.marginal.shape[0]):
            at = observe_compound(lab, m, out, at)
            at = energy.observe_compound(lab, m, out, at)
        at = observe_energy(lab, tables, out, at)
    else:
        # A separate loop: a branch inside it would make the offsets variable and the loop 50 % slower.
        for m in range(lab.marginal.shape[0]):
            at = observe_compound(lab, m, out, at)
    if tables.gate.enabled:
        at = gate.observe_gate(lab, tables, out, at)
        at = observe_events(lab, _EVERYWHERE + _WITH_ENERGY, _WITH_GATE, out, at)
    if tables.adequacy.enabled:
        at = adequacy.observe_adequacy(lab, tables, out, at)
    if tables.observe_joint:
        at = belief.observe_joint(lab, out, at)
    return at


@inlined
def observe_compound(lab, m, out, at):  # type: ignore[no-untyped-def]
    """Write the row of a compound to ``out[at:]``; return the next index."""
    at = belief.observe_compound(lab, m, out, at)
    at = debt.observe_compound(lab, m, out, at)
    at = publication.observe_compound(lab, m, out, at)
    return assay.observe_compound(lab, m, out, at)


@compiled
def observe_energy(lab, tables, out, at):  # type: ignore[no-untyped-def]
    """Write the clock, the energy and the verbs to ``out[at:]``; return the next index."""
    at = energy.observe_clock(lab, tables, out, at)
    at = proposals.observe_voice(lab, out, at)
    at = observe_events(lab, _EVERYWHERE, _WITH_ENERGY, out, at)
    at = energy.observe_verbs(lab, tables, out, at)
    at = proposals.observe_discomfort(lab, tables, out, at)
    return energy.observe_intents(lab, tables, out, at)

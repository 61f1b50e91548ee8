"""The observation: what the agent sees, every element named, everything in [-1, 1]. The hidden truth is not in it.

Each mechanism names its elements and writes them; here they are put in order, twice: ``observation_fields`` the names,
``write_observation`` the values. Books first, then the instrument, then a row for each compound; where acting costs
energy, the clock and what is known of each verb; where a gate judges findings, what it would make of them. A quantity
``x >= 0`` without a bound is shown as ``x / (x + scale)``, which loses nothing.

Known approximation: the marginals do not show how far each compound's belief still depends on the
instrument within a lot (``p(class | instrument)``). With ``observation.joint`` they are appended and the
process is exactly Markov in the observation; without, it is so up to that dependence. Of the last four uses of a
verb the number that failed is shown, not their order. Of this very heartbeat it is not shown which verbs were
deferred, on which compound a finding was rejected, or what energy went into so far. Base costs that the situation
takes beyond the cap look alike. Of a notebook's page its length, the strength of its fit and what the gate makes of it
are shown, not its sentences: how residuals move with the next plate depends on those. Which class is under review is
shown only as far as it agrees with the belief.
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
    """The name of every element of the observation."""
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

    names = [*assay.BOOKS, *debt.BOOKS, *assay.LOT, *debt.REFUSALS, *events(EVERYWHERE)]
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
    """``Box(-1, 1, (len(observation_fields),), float32)``."""
    return Box(-1.0, 1.0, (len(observation_fields(params)),), np.float32)


@compiled
def write_observation(lab, tables, out):  # type: ignore[no-untyped-def]
    """Write the observation of ``lab`` into ``out``, shape ``(n_fields,)`` float32; return how many elements."""
    at = assay.observe_books(lab, tables, out, 0)
    at = debt.observe_books(lab, tables, out, at)
    at = assay.observe_lot(lab, tables, out, at)
    at = debt.observe_refusals(lab, out, at)
    at = observe_events(lab, 0, _EVERYWHERE, out, at)
    at = belief.observe_instrument(lab, out, at)
    if tables.energy.enabled:
        for m in range(lab.marginal.shape[0]):
            at = observe_compound(lab, m, out, at)
            at = energy.observe_compound(lab, m, out, at)
        at = observe_energy(lab, tables, out, at)
    else:
        # A loop of its own: with a branch in it the places are no constants, and it takes half as long again.
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
    """Write the row of a compound from ``out[at]`` on; return where it ends."""
    at = belief.observe_compound(lab, m, out, at)
    at = debt.observe_compound(lab, m, out, at)
    at = publication.observe_compound(lab, m, out, at)
    return assay.observe_compound(lab, m, out, at)


@compiled
def observe_energy(lab, tables, out, at):  # type: ignore[no-untyped-def]
    """Write the clock, the purse and what is known of each verb; return where they end."""
    at = energy.observe_clock(lab, tables, out, at)
    at = proposals.observe_voice(lab, out, at)
    at = observe_events(lab, _EVERYWHERE, _WITH_ENERGY, out, at)
    at = energy.observe_verbs(lab, tables, out, at)
    at = proposals.observe_discomfort(lab, tables, out, at)
    return energy.observe_intents(lab, tables, out, at)

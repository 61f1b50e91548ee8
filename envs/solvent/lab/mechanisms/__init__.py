"""The mechanisms, one file each, and the three lists of them: their order, their settings, how they are observed."""

from __future__ import annotations

from solvent.lab.mechanism import Mechanism
from solvent.lab.mechanisms import (
    adequacy,
    assay,
    belief,
    career,
    debt,
    energy,
    episode,
    gate,
    measurements,
    proposals,
    publication,
)
from solvent.lab.mechanisms.adequacy import AdequacyParams
from solvent.lab.mechanisms.assay import AssayParams, PlateParams
from solvent.lab.mechanisms.career import CareerParams
from solvent.lab.mechanisms.debt import DebtParams
from solvent.lab.mechanisms.energy import EnergyParams
from solvent.lab.mechanisms.gate import GateParams
from solvent.lab.mechanisms.proposals import ProposalParams
from solvent.lab.mechanisms.publication import PublicationParams
from solvent.lab.settings import ParamGroup

MECHANISMS: tuple[Mechanism, ...] = tuple(
    each.MECHANISM
    for each in (
        episode,
        assay,
        belief,
        measurements,
        debt,
        publication,
        career,
        energy,
        proposals,
        gate,
        adequacy,
    )
)
"""All mechanisms, in the order of their fields in a record."""


class MechanismParams(ParamGroup):
    """One group of settings for each mechanism that has any."""

    assay: AssayParams = AssayParams()
    plates: PlateParams = PlateParams()
    debt: DebtParams = DebtParams()
    publication: PublicationParams = PublicationParams()
    career: CareerParams = CareerParams()
    energy: EnergyParams = EnergyParams()
    proposals: ProposalParams = ProposalParams()
    gate: GateParams = GateParams()
    adequacy: AdequacyParams = AdequacyParams()


def write_observation(lab, tables, out):
    """Write the observation of ``lab`` into ``out``, shape ``(n_fields,)`` float32; return the number of elements."""
    at = episode.observe(lab, tables, out, 0)
    at = assay.observe(lab, tables, out, at)
    if tables.measurements.enabled:
        at = measurements.observe(lab, tables, out, at)
    else:
        at = belief.observe(lab, tables, out, at)
    at = debt.observe(lab, tables, out, at)
    at = publication.observe(lab, out, at)
    if tables.career.enabled:
        at = career.observe(lab, tables, out, at)
    if tables.energy.enabled:
        at = energy.observe(lab, tables, out, at)
        at = proposals.observe(lab, tables, out, at)
    if tables.gate.enabled:
        at = gate.observe(lab, tables, out, at)
    if tables.adequacy.enabled:
        at = adequacy.observe(lab, tables, out, at)
    return at

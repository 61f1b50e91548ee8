"""Parameters of a lab: one group for each mechanism, and the presets.

The file of each mechanism defines its defaults, each with a unit, an allowed range and a source. The source
``document`` marks a number that comes from a source document and is not tuned; ``measured`` marks one that was found
with this code and may be tuned (see ``docs/why_these_numbers.md``).

Parameters are frozen and hashable. Constants derived from them, such as the wells of a template, are properties.
"""

from __future__ import annotations

import math
import types
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from solvent.lab.mechanisms import MechanismParams, adequacy, assay, energy, gate, proposals
from solvent.lab.mechanisms.adequacy import AdequacyParams
from solvent.lab.mechanisms.assay import AssayParams, ControlTemplate, DoseTemplate, PlateParams
from solvent.lab.mechanisms.career import CareerParams
from solvent.lab.mechanisms.debt import DebtParams
from solvent.lab.mechanisms.energy import EnergyParams
from solvent.lab.mechanisms.gate import GateParams
from solvent.lab.mechanisms.proposals import ProposalParams
from solvent.lab.mechanisms.publication import PublicationParams
from solvent.lab.settings import ParamError, ParamGroup, native, nearest, setting


class VocabularyParams(ParamGroup):
    """Claims and confidences that the agent can choose from."""

    claims: tuple[Annotated[float, Field(ge=0.0, le=16.0)], ...] = setting(
        (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 2.5),
        "bits",
        "information gains that an experiment can claim",
        min_length=1,
    )
    confidences: tuple[Annotated[float, Field(gt=0.0, le=0.999)], ...] = setting(
        (0.5, 0.75, 0.95), "probability", "confidences of a finding", min_length=1
    )

    @model_validator(mode="after")
    def _agree(self) -> Self:
        for name in ("claims", "confidences"):
            values = getattr(self, name)
            self.check(name, list(values) == sorted(set(values)), "distinct values in rising order")
        return self


class BudgetParams(ParamGroup):
    """Wells and heartbeats of an episode."""

    wells: int = setting(
        384, "wells", "wells at the start of an episode", ge=1, le=1_000_000, source="document"
    )
    heartbeats: int = setting(40, "heartbeats", "horizon, one hour each", ge=1, le=32_767)
    start_hour: int = setting(6, "hour", "hour of the day at the start", ge=0, le=23)


class ObservationParams(ParamGroup):
    """Optional parts of the observation."""

    belief: Literal["posterior", "data", "plate"] = setting(
        "posterior",
        "content",
        "the exact posterior, or only the data that it was made from, or of these only the last plate's",
    )
    joint: bool = setting(
        False,
        "switch",
        "append p(class | instrument) of every compound: exactly Markov, but seven times longer",
    )
    intents: bool = setting(True, "switch", "off: the elements of the intent summary stay 0")


class LabParams(MechanismParams):
    """All parameters of a lab: the groups of the mechanisms and three more. A level is an instance."""

    vocabulary: VocabularyParams = VocabularyParams()
    budget: BudgetParams = BudgetParams()
    observation: ObservationParams = ObservationParams()

    @model_validator(mode="after")
    def _agree(self) -> Self:
        for name, holds, allowed in (
            ("proposals", self.energy.enabled, "only where energy.enabled is true"),
            (
                "career",
                not (self.energy.enabled or self.gate.enabled),
                "only where energy and gate are not enabled",
            ),
            ("adequacy", self.gate.enabled, "only where gate.enabled is true; gate.enforced may be false"),
        ):
            self.check(f"{name}.enabled", holds or not getattr(self, name).enabled, allowed)
        names_class = self.publication.names_class and self.gate.enabled
        self.check("publication.names_class", not names_class, "only where gate.enabled is false")
        joint = self.observation.joint and self.observation.belief != "posterior"
        self.check("observation.joint", not joint, "only where observation.belief is posterior")
        career, lot = self.career, self.assay.lot_heartbeats
        multiple = not career.enabled or career.project_heartbeats % lot == 0
        self.check("career.project_heartbeats", multiple, f"a multiple of assay.lot_heartbeats, {lot}")
        return self

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any], *, base: Self | None = None, path: str = "") -> Self:
        """Return ``base`` (by default the defaults) with the changes in ``mapping``; see ``without_constants``."""
        if isinstance(mapping, Mapping):
            mapping = without_constants(mapping, path)
        return super().from_mapping(mapping, base=base, path=path)

    @property
    def unenforced(self) -> tuple[str, ...]:
        """Mechanisms that are tracked but have no effect. A run with any of them is marked as contaminated."""
        watched = {
            "debt": not self.debt.enforced,
            "gate": self.gate.enabled and not self.gate.enforced,
            "adequacy": self.adequacy.enabled and not self.adequacy.enforced,
        }
        return tuple(name for name, shadow in watched.items() if shadow)

    @property
    def slots(self) -> int:
        """Maximum number of actions in a heartbeat."""
        return self.energy.slots if self.energy.enabled else 1

    @property
    def doses(self) -> tuple[float, ...]:
        """All concentrations on any plate, mol/L, in ascending order."""
        return tuple(sorted({*self.plates.screen.doses, *self.plates.dose_response.doses}))

    @property
    def most_steps(self) -> int:
        """Maximum number of steps in an episode."""
        return self.budget.heartbeats * self.slots

    @property
    def projects(self) -> int:
        """Number of projects in an episode, each with its own compounds."""
        return (
            math.ceil(self.budget.heartbeats / self.career.project_heartbeats) if self.career.enabled else 1
        )

    @property
    def ceiling(self) -> float:
        """Prior entropy of the compounds of all projects, bits. It bounds the expected return of every policy."""
        return self.projects * len(self.assay.compounds) * self.assay.prior_entropy


CONSTANTS: Mapping[str, Mapping[str, Any]] = {
    "assay": {
        "hill": assay.HILL,
        "bottom": assay.BOTTOM,
        "technical_sd": assay.TECHNICAL_SD,
    },
    "energy": {
        "cap": energy.CAP,
        "present_from": energy.PRESENT_FROM,
        "present_until": energy.PRESENT_UNTIL,
        "chat_only": energy.CHAT_ONLY,
        "late_from": energy.LATE_FROM,
        "late_until": energy.LATE_UNTIL,
        "floor_public": energy.FLOOR_PUBLIC,
        "ceiling": energy.CEILING,
    },
    "proposals": {
        "evidence_heartbeats": proposals.EVIDENCE_HEARTBEATS,
        "gain_floor": proposals.GAIN_FLOOR,
        "share_low": proposals.SHARE_LOW,
        "share_high": proposals.SHARE_HIGH,
        "step_limit": proposals.STEP_ENERGY,
        "half_trusted": proposals.HALF_TRUSTED,
        "mispriced_low": proposals.MISPRICED_LOW,
        "mispriced_high": proposals.MISPRICED_HIGH,
        "fair_spread": proposals.FAIR_SPREAD,
        "mispriced_upwards": proposals.MISPRICED_UPWARDS,
        "mispriceable": proposals.FELT,
    },
    "gate": {
        "rough": gate.ROUGH,
        "good": gate.GOOD,
        "precise": gate.PRECISE,
        "plain_from": gate.PLAIN_FROM,
        "definitive_from": gate.DEFINITIVE_FROM,
    },
    "adequacy": {"review_from": adequacy.REVIEW_FROM, "reject_from": adequacy.REJECT_FROM},
}
"""Settings of version 0.3 that are constants now. Its files have them all."""


def without_constants(mapping: Mapping[str, Any], path: str = "") -> dict[str, Any]:
    """Return parameters from a file without those that are constants now.

    Raises:
        ParamError: One has another value than the constant.
    """
    kept = dict(mapping)
    for group, constants in CONSTANTS.items():
        given = mapping.get(group)
        if not isinstance(given, Mapping):
            continue
        for name, value in given.items():
            if name in constants and native(value) != constants[name]:
                where = ".".join(part for part in (path, group, name) if part)
                raise ParamError(where, f"got {value!r:.80}; allowed: {constants[name]!r}, a constant now")
        kept[group] = {name: value for name, value in given.items() if name not in constants}
    return kept


_PRESETS = {
    "default": LabParams(),
    "energy": LabParams(
        budget=BudgetParams(heartbeats=42),
        energy=EnergyParams(enabled=True),
        proposals=ProposalParams(enabled=True),
    ),
    "gate": LabParams(gate=GateParams(enabled=True)),
    "lab": LabParams(
        budget=BudgetParams(heartbeats=42),
        energy=EnergyParams(enabled=True),
        proposals=ProposalParams(enabled=True),
        gate=GateParams(enabled=True),
        adequacy=AdequacyParams(enabled=True),
    ),
    # Wrong findings come back as debt here, more than is overclaimed: debt must be easier to repay than elsewhere.
    "frontier": LabParams(
        budget=BudgetParams(heartbeats=108),
        debt=DebtParams(repay_per_well=0.045),
        career=CareerParams(enabled=True),
    ),
    # Lab without proposals, small enough to be solved exactly (see docs/planner.md).
    "tiny": LabParams(
        assay=AssayParams(
            compounds=("nocodazole", "etoposide"),
            potency_classes=2,
            lowest_ec50=1e-7,
            ec50_step=1.0,
            gains=(0.7, 1.3),
            plate_sds=(0.2,),
            bins=2,
            bin_low=0.1,
            bin_high=1.1,
            lot_heartbeats=4,
        ),
        plates=PlateParams(
            dmso=ControlTemplate(readouts=1, replicates=8),
            baseline=ControlTemplate(readouts=1, replicates=12),
            calibration=ControlTemplate(readouts=2, replicates=12),
            screen=DoseTemplate(doses=(1e-6,), replicates=8),
            dose_response=DoseTemplate(doses=(1e-6, 1e-5), replicates=6),
        ),
        vocabulary=VocabularyParams(claims=(0.0, 0.25, 0.5), confidences=(0.75, 0.95)),
        budget=BudgetParams(wells=36, heartbeats=5, start_hour=9),
        debt=DebtParams(repay_per_well=0.045),
        # A memory of each verb's uses would triple the number of states.
        energy=EnergyParams(
            enabled=True, start=16.0, regeneration=6.0, slots=1, first_use=1.0, error_rate=1.0
        ),
        gate=GateParams(enabled=True),
        adequacy=AdequacyParams(enabled=True),
        observation=ObservationParams(joint=True),
    ),
    # The agent sees its data instead of the posterior and names the classes of its findings.
    "data": LabParams(
        observation=ObservationParams(belief="data"), publication=PublicationParams(names_class=True)
    ),
    # The debt document's rules alone.
    "document": LabParams(
        debt=DebtParams(interest=0.0, of_findings=False, bankruptcy=False, scored=False),
        energy=EnergyParams(leak=0.0),
    ),
}
PRESETS: Mapping[str, LabParams] = types.MappingProxyType(_PRESETS)
"""Named parameters, those of each level; ``default`` is the level Debt."""


def preset(name: str) -> LabParams:
    """Return the parameters of the preset ``name``.

    Raises:
        ParamError: The preset does not exist; the message suggests the nearest one.
    """
    if name not in PRESETS:
        raise ParamError("preset", f"unknown preset {name!r}" + nearest(name, PRESETS))
    return PRESETS[name]

"""Parameters: what does not change while the lab runs. The groups, one a mechanism, and the presets.

Every default of the world lives once, in the file of its mechanism, with its unit, its allowed range and its source. A
source of ``document`` means that the number comes from a source document and stays; ``measured`` means that it was
found with this code and may be tuned (``docs/decisions.md`` says against what).

Parameters are frozen and hashable. Derived constants (wells of a template, number of instrument states) are properties,
never independent defaults.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Mapping

from solvent.lab.mechanisms.adequacy import AdequacyParams
from solvent.lab.mechanisms.assay import AssayParams, ControlTemplate, DoseTemplate, PlateParams
from solvent.lab.mechanisms.debt import DebtParams
from solvent.lab.mechanisms.energy import EnergyParams
from solvent.lab.mechanisms.gate import GateParams
from solvent.lab.mechanisms.proposals import ProposalParams
from solvent.lab.mechanisms.publication import PublishingParams
from solvent.lab.settings import ParamError, ParamGroup, nearest, setting

__all__ = ["PRESETS", "BudgetParams", "LabParams", "ObservationParams", "VocabularyParams", "preset"]


@dataclasses.dataclass(frozen=True)
class VocabularyParams(ParamGroup):
    """What an agent can say."""

    claims: tuple[float, ...] = setting(
        (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 2.5),
        unit="bits",
        low=0.0,
        high=16.0,
        doc="information gains that an exploration can claim",
    )
    confidences: tuple[float, ...] = setting(
        (0.5, 0.75, 0.95), unit="probability", above=0.0, high=0.999, doc="confidences of a finding"
    )
    terminate: bool = setting(
        False, unit="switch", doc="offer an action that ends the episode (a trap for learners)"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("claims", "confidences"):
            values = getattr(self, name)
            if list(values) != sorted(set(values)):
                raise ParamError(name, f"got {values!r}; allowed: distinct values in rising order")


@dataclasses.dataclass(frozen=True)
class BudgetParams(ParamGroup):
    """What an episode has to spend."""

    wells: int = setting(
        384, unit="wells", low=1, high=1_000_000, source="document", doc="wells at the start"
    )
    heartbeats: int = setting(40, unit="heartbeats", low=1, high=32_767, doc="horizon, one hour each")
    start_hour: int = setting(6, unit="hour", low=0, high=23, doc="the lab's clock at the start")


@dataclasses.dataclass(frozen=True)
class ObservationParams(ParamGroup):
    """What the agent sees."""

    joint: bool = setting(
        False,
        unit="switch",
        doc="append p(class | instrument) of every compound: exactly Markov, and seven times longer",
    )


@dataclasses.dataclass(frozen=True)
class LabParams(ParamGroup):
    """All parameters of a lab, one group a mechanism. A level is an instance of this, never a code path."""

    assay: AssayParams = AssayParams()
    plates: PlateParams = PlateParams()
    vocabulary: VocabularyParams = VocabularyParams()
    budget: BudgetParams = BudgetParams()
    debt: DebtParams = DebtParams()
    energy: EnergyParams = EnergyParams()
    proposals: ProposalParams = ProposalParams()
    publishing: PublishingParams = PublishingParams()
    gate: GateParams = GateParams()
    adequacy: AdequacyParams = AdequacyParams()
    observation: ObservationParams = ObservationParams()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.proposals.enabled and not self.energy.enabled:
            raise ParamError("proposals.enabled", "got true; allowed: only where energy.enabled is true")
        if self.adequacy.enabled and not self.gate.enabled:
            raise ParamError(
                "adequacy.enabled",
                "got true; allowed: only where gate.enabled is true (gate.enforced: false disarms its verdicts)",
            )

    @property
    def unenforced(self) -> tuple[str, ...]:
        """Mechanisms that are tracked and of no consequence. Where there are any, a run is contaminated."""
        watched = {
            "debt": not self.debt.enforced,
            "gate": self.gate.enabled and not self.gate.enforced,
            "adequacy": self.adequacy.enabled and not self.adequacy.enforced,
        }
        return tuple(name for name, shadow in watched.items() if shadow)

    @property
    def slots(self) -> int:
        """Most actions a heartbeat."""
        return self.energy.slots if self.energy.enabled else 1

    @property
    def doses(self) -> tuple[float, ...]:
        """Every concentration that some plate measures at, mol/L, rising."""
        return tuple(sorted({*self.plates.screen.doses, *self.plates.dose_response.doses}))

    @property
    def most_steps(self) -> int:
        """Most steps an episode: every slot of every heartbeat."""
        return self.budget.heartbeats * self.slots

    @property
    def ceiling(self) -> float:
        """The prior entropy of all compounds, bits: no policy's expected return is above it."""
        return len(self.assay.compounds) * self.assay.prior_entropy


PRESETS: Mapping[str, LabParams] = types.MappingProxyType(
    {
        "default": LabParams(),
        # Exactly the document: linear inflation of everything, no reserve, no cap.
        "source": LabParams(debt=DebtParams(calibration_cap=None, reserve=False)),
        "two_tier": LabParams(debt=DebtParams(inflation="two_tier")),
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
        # Everything, small enough to be solved exactly (docs/exact.md has the counts that led here).
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
            # What a verb remembers of its uses would triple the states.
            energy=EnergyParams(
                enabled=True, start=16.0, regeneration=6.0, slots=1, first_use=1.0, error_rate=1.0
            ),
            gate=GateParams(enabled=True, review_heartbeats=1, calm_heartbeats=3),
            adequacy=AdequacyParams(enabled=True),
            observation=ObservationParams(joint=True),
        ),
    }
)


def preset(name: str) -> LabParams:
    """The parameters of a preset by name.

    Raises:
        ParamError: no such preset; the message names the nearest.
    """
    if name not in PRESETS:
        raise ParamError("preset", f"unknown preset {name!r}" + nearest(name, PRESETS))
    return PRESETS[name]

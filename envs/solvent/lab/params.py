"""Parameters: what does not change while the lab runs.

Every default of the world lives here once, with its unit, its allowed range and its source. A source of
``document`` means that the number comes from a source document and stays; ``measured`` means
that it was found with this code and may be tuned (``docs/decisions.md`` says against what).

Parameters are frozen and hashable, one group a mechanism. Derived constants (wells of a template, number
of instrument states) are properties, never independent defaults.
"""

from __future__ import annotations

import dataclasses
import math
import types
from collections.abc import Mapping
from typing import Any

from solvent.lab.mechanisms.energy import DIMENSIONS, HIGHEST, base_cost
from solvent.lab.settings import ParamError, ParamGroup, nearest, setting

__all__ = [
    "PRESETS",
    "VERBS_WITH_A_PRICE",
    "AdequacyParams",
    "AssayParams",
    "BudgetParams",
    "ControlTemplate",
    "DebtParams",
    "DoseTemplate",
    "EnergyParams",
    "GateParams",
    "LabParams",
    "ObservationParams",
    "PlateParams",
    "PriceParams",
    "ProposalParams",
    "PublishingParams",
    "RatingParams",
    "VocabularyParams",
    "preset",
]


@dataclasses.dataclass(frozen=True)
class ControlTemplate(ParamGroup):
    """A plate of vehicle (DMSO) wells: nothing of a compound in it, so it can only teach about the instrument."""

    readouts: int = setting(4, unit="readouts", low=1, high=16, doc="independent plate readouts")
    replicates: int = setting(2, unit="wells", low=1, high=384, doc="wells averaged in a readout")

    @property
    def wells(self) -> int:
        """Base cost in wells."""
        return self.readouts * self.replicates


@dataclasses.dataclass(frozen=True)
class DoseTemplate(ParamGroup):
    """A plate of one compound: one readout a dose."""

    doses: tuple[float, ...] = setting(
        (1e-6, 1e-5), unit="mol/L", above=0.0, high=1.0, doc="final concentrations"
    )
    replicates: int = setting(4, unit="wells", low=1, high=384, doc="wells averaged in a readout")

    @property
    def readouts(self) -> int:
        """One readout a dose."""
        return len(self.doses)

    @property
    def wells(self) -> int:
        """Base cost in wells."""
        return self.readouts * self.replicates


REFERENCE_COMPOUNDS = (
    "nocodazole",
    "paclitaxel",
    "tunicamycin",
    "thapsigargin",
    "CCCP",
    "oligomycin A",
    "etoposide",
    "MG-132",
)


@dataclasses.dataclass(frozen=True)
class AssayParams(ParamGroup):
    """The hidden world: compounds, the instrument, and what a readout shows of them."""

    compounds: tuple[str, ...] = setting(
        REFERENCE_COMPOUNDS, unit="names", doc="compounds on the bench (A549 cells)"
    )
    potency_classes: int = setting(
        8, unit="classes", low=2, high=32, doc="class 0 is inactive, the others an EC50 on a grid"
    )
    lowest_ec50: float = setting(1e-8, unit="mol/L", above=0.0, high=1.0, doc="EC50 of class 1")
    ec50_step: float = setting(0.5, unit="log10", above=0.0, high=3.0, doc="grid step of the EC50")
    prior: tuple[float, ...] | None = setting(
        None, unit="probability", above=0.0, high=1.0, doc="prior over classes; empty means uniform"
    )
    hill: float = setting(1.2, unit="1", above=0.0, high=10.0, doc="Hill slope")
    bottom: float = setting(0.05, unit="viability", low=0.0, high=0.99, doc="viability at high dose")
    technical_sd: float = setting(
        0.15, unit="viability", low=1e-6, high=2.0, doc="well noise; replicates average it out"
    )
    gains: tuple[float, ...] = setting(
        (0.6, 0.8, 1.0, 1.25, 1.5), unit="1", above=0.0, high=10.0, doc="possible instrument gains"
    )
    plate_sds: tuple[float, ...] = setting(
        (0.1, 0.2, 0.4), unit="viability", low=0.0, high=2.0, doc="plate noise; replicates do not help"
    )
    bins: int = setting(12, unit="bins", low=2, high=64, doc="bins of a readout; the outer two are open")
    bin_low: float = setting(0.1, unit="viability", low=-5.0, high=5.0, doc="left edge of the scale")
    bin_high: float = setting(1.3, unit="viability", low=-5.0, high=5.0, doc="right edge of the scale")
    lot_heartbeats: int = setting(
        12, unit="heartbeats", low=1, high=10_000, doc="life of a reagent lot; then a new instrument"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(set(self.compounds)) != len(self.compounds) or not all(self.compounds):
            raise ParamError("compounds", f"got {self.compounds!r}; allowed: distinct, not empty names")
        if len(self.compounds) > 64:
            raise ParamError("compounds", f"got {len(self.compounds)}; allowed: at most 64")
        if self.prior is not None and (
            len(self.prior) != self.potency_classes or abs(sum(self.prior) - 1.0) > 1e-9
        ):
            raise ParamError(
                "prior",
                f"got {self.prior!r}; allowed: {self.potency_classes} positive numbers that sum to 1",
            )
        if self.prior is not None and max(self.prior) > 1.0 - 1e-9:
            raise ParamError("prior", f"got {self.prior!r}; allowed: every class below certainty")
        for name in ("gains", "plate_sds"):
            values = getattr(self, name)
            if len(set(values)) != len(values):
                raise ParamError(name, f"got {values!r}; allowed: distinct values")
        reserved = [name for name in self.compounds if "/" in name or name in ("instrument", "last_event")]
        if reserved:
            raise ParamError(
                "compounds", f"got {reserved[0]!r}; allowed: no '/', and not 'instrument' or 'last_event'"
            )
        if self.instrument_states > 1024:
            raise ParamError(
                "plate_sds", f"got {self.instrument_states} instrument states; allowed: at most 1024"
            )
        if not self.bin_low < self.bin_high:
            raise ParamError("bin_high", f"got {self.bin_high!r}; allowed: above bin_low {self.bin_low!r}")

    @property
    def instrument_states(self) -> int:
        """Number of (gain, plate noise) combinations."""
        return len(self.gains) * len(self.plate_sds)

    @property
    def class_prior(self) -> tuple[float, ...]:
        """The prior over potency classes, shape ``(potency_classes,)``."""
        return self.prior or (1.0 / self.potency_classes,) * self.potency_classes

    @property
    def prior_entropy(self) -> float:
        """Entropy of a compound's class before any evidence, bits."""
        return -sum(p * math.log2(p) for p in self.class_prior)


HALF_LOG_DOSES: tuple[float, ...] = (1e-8, 3.1622776601683795e-8, 1e-7, 3.1622776601683794e-7, 1e-6)
HALF_LOG_DOSES += (3.1622776601683795e-6, 1e-5, 3.1622776601683795e-5)


@dataclasses.dataclass(frozen=True)
class PlateParams(ParamGroup):
    """What each template puts on the plate."""

    # Many readouts of few wells: one readout of all wells taught less than a heartbeat is worth, these about as much
    # (docs/decisions.md). The wells a plate costs are unchanged.
    dmso: ControlTemplate = ControlTemplate(readouts=4, replicates=2)
    baseline: ControlTemplate = ControlTemplate(readouts=4, replicates=3)
    calibration: ControlTemplate = ControlTemplate(readouts=8, replicates=3)
    # The pair of the dose-response grid that teaches most, over five screens in a row (docs/decisions.md).
    screen: DoseTemplate = DoseTemplate(doses=(1e-7, 3.1622776601683795e-6), replicates=4)
    dose_response: DoseTemplate = DoseTemplate(doses=HALF_LOG_DOSES, replicates=6)


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
class DebtParams(ParamGroup):
    """Epistemic debt: inflation, refusal, repayment, and the document's open questions."""

    enforced: bool = setting(
        True, unit="switch", source="document", doc="off: debt is tracked and has no consequence"
    )
    sensitivity: float = setting(
        0.15, unit="1/bit", low=0.0, high=100.0, source="document", doc="cost inflation a bit of debt"
    )
    threshold: float = setting(
        2.0, unit="bits", low=0.0, high=1000.0, source="document", doc="above it exploration is refused"
    )
    inflation: str = setting(
        "linear", unit="rule", choices=("linear", "two_tier"), source="document", doc="inflation rule"
    )
    calibration_cap: float | None = setting(
        1.5, unit="1", low=1.0, high=1000.0, doc="highest multiplier of a calibration; empty: none"
    )
    reserve: bool = setting(True, unit="switch", doc="keep back the cheapest calibration's cost")
    repay_base: float = setting(0.25, unit="bits", low=0.0, high=100.0, doc="repaid by any calibration")
    repay_per_bit: float = setting(
        0.75, unit="bit/bit", low=0.0, high=100.0, doc="repaid a bit learnt about the instrument"
    )
    repay_learnt_max: float = setting(
        0.75, unit="bits", low=0.0, high=100.0, doc="most that is repaid for what was learnt"
    )
    repay_max: float = setting(1.0, unit="bits", low=0.0, high=100.0, doc="most a calibration repays")
    licence: str = setting(
        "claimed",
        unit="rule",
        choices=("claimed", "gained", "waived"),
        doc="what licenses a finding: gains that were claimed, all gains, or nothing",
    )
    decay_per_heartbeat: float = setting(
        0.0, unit="1/heartbeat", low=0.0, high=1.0, source="document", doc="share forgiven by time"
    )
    repay_for_accuracy: float = setting(
        0.0, unit="bit/bit", low=0.0, high=1.0, doc="repaid a bit of an accurate claim"
    )
    carry_debt: bool = setting(
        False, unit="switch", source="document", doc="debt rolls over into the next episode, unsettled"
    )
    bankruptcy: str = setting(
        "terminate",
        unit="rule",
        choices=("terminate", "reset"),
        doc="what bankruptcy does: end the episode, or settle the debt from the score at once and go on",
    )
    bankruptcy_after_refusals: int = setting(
        0, unit="refusals", low=0, high=32_767, doc="bankrupt after so many refusals in a row; 0: never"
    )


VERBS_WITH_A_PRICE = (
    "rest",
    "reflect",
    "propose",
    "dmso",
    "baseline",
    "calibration",
    "screen",
    "dose_response",
    "publish_private",
    "publish_public",
    "terminate",
)
"""Every verb, by the name it has in the settings."""

PLATES = ("dmso", "baseline", "calibration", "screen", "dose_response")
SPEAKING = ("publish_private", "publish_public")
"""Verbs that speak to others."""
FELT = ("screen", "dose_response", *SPEAKING)
"""Verbs whose deferral is discomfort."""


def _ratings(*ratings: float) -> Any:
    return setting(
        tuple(float(rating) for rating in ratings),
        unit="rating",
        low=0.0,
        high=HIGHEST,
        doc="consequence, reversibility, exposure, attention, commitment",
    )


@dataclasses.dataclass(frozen=True)
class RatingParams(ParamGroup):
    """Five ratings a verb, from which its base cost follows (``mechanisms/energy.py``)."""

    rest: tuple[float, ...] = _ratings(0, 0, 0, 0, 0)
    reflect: tuple[float, ...] = _ratings(2, 0, 0, 2, 2)
    propose: tuple[float, ...] = _ratings(0, 0, 0, 0, 0)
    dmso: tuple[float, ...] = _ratings(0, 1, 0, 1, 1)
    baseline: tuple[float, ...] = _ratings(1, 2, 0, 1, 1)
    calibration: tuple[float, ...] = _ratings(1, 2, 0, 1, 1)
    screen: tuple[float, ...] = _ratings(2, 4, 0, 2, 2)
    dose_response: tuple[float, ...] = _ratings(4, 4, 0, 4, 4)
    publish_private: tuple[float, ...] = _ratings(3, 3, 1, 4, 2)
    publish_public: tuple[float, ...] = _ratings(3, 4, 4, 3, 3)
    terminate: tuple[float, ...] = _ratings(0, 0, 0, 0, 0)

    def __post_init__(self) -> None:
        super().__post_init__()
        for verb in VERBS_WITH_A_PRICE:
            if len(getattr(self, verb)) != len(DIMENSIONS):
                raise ParamError(
                    verb, f"got {getattr(self, verb)!r}; allowed: five ratings ({', '.join(DIMENSIONS)})"
                )


def _price() -> Any:
    return setting(None, unit="energy", low=0.0, high=1000.0, doc="base cost; empty: by the ratings")


@dataclasses.dataclass(frozen=True)
class PriceParams(ParamGroup):
    """Base costs that stand in for the ratings': a price list."""

    rest: float | None = _price()
    reflect: float | None = _price()
    propose: float | None = _price()
    dmso: float | None = _price()
    baseline: float | None = _price()
    calibration: float | None = _price()
    screen: float | None = _price()
    dose_response: float | None = _price()
    publish_private: float | None = _price()
    publish_public: float | None = _price()
    terminate: float | None = _price()


@dataclasses.dataclass(frozen=True)
class EnergyParams(ParamGroup):
    """Heartbeat energy: income, base costs, what the situation makes of them, and when the user is there."""

    enabled: bool = setting(
        False, unit="switch", doc="off: acting costs no energy, and a heartbeat is one action"
    )
    start: float = setting(10.0, unit="energy", low=0.0, high=1e6, doc="at the start")
    regeneration: float = setting(
        3.0, unit="energy", low=0.0, high=1e6, doc="that each heartbeat brings when it closes"
    )
    cap: float = setting(20.0, unit="energy", low=0.001, high=1e6, doc="most that is carried over")
    slots: int = setting(6, unit="actions", low=1, high=64, doc="most actions a heartbeat")
    present_from: int = setting(8, unit="hour", low=0, high=24, doc="the user is there: context `chat`")
    present_until: int = setting(24, unit="hour", low=0, high=24, doc="the user has left: `heartbeat`")
    chat_only: tuple[str, ...] = setting(
        SPEAKING,
        unit="verbs",
        choices=(*PLATES, *SPEAKING),
        doc="verbs that only run in `chat`; those that speak to others always do",
    )
    first_use: float = setting(
        1.5, unit="1", low=1.0, high=10.0, source="document", doc="multiplier of a verb's first use"
    )
    error_rate: float = setting(
        1.5, unit="1", low=1.0, high=10.0, source="document", doc="when half of the last 4 uses failed"
    )
    late_social: float = setting(
        2.0, unit="1", low=1.0, high=10.0, source="document", doc="for speaking to others late"
    )
    late_from: int = setting(22, unit="hour", low=0, high=24, doc="late begins")
    late_until: int = setting(7, unit="hour", low=0, high=24, doc="late ends")
    similar: float = setting(
        1.2, unit="1", low=1.0, high=10.0, source="document", doc="same verb and compound this heartbeat"
    )
    multiplier_cap: float = setting(2.5, unit="1", low=1.0, high=100.0, doc="highest multiplier in all")
    floor_public: float = setting(
        6.0, unit="energy", low=6.0, high=1000.0, source="document", doc="least that speaking to all costs"
    )
    floor_private: float = setting(
        3.0, unit="energy", low=3.0, high=1000.0, source="document", doc="least that speaking to one costs"
    )
    ceiling: float = setting(13.0, unit="energy", low=0.0, high=1000.0, doc="most that any base cost is")
    ratings: RatingParams = RatingParams()
    prices: PriceParams = PriceParams()

    def __post_init__(self) -> None:
        super().__post_init__()
        for verb in VERBS_WITH_A_PRICE:
            cost, floor = self.base_cost(verb), self.floor(verb)
            where = f"prices.{verb}" if getattr(self.prices, verb) is not None else f"ratings.{verb}"
            if cost > 0.0 and verb in ("rest", "propose", "terminate"):
                raise ParamError(where, f"got a cost of {cost:g}; allowed: 0, for what must always be open")
            if cost < floor - 1e-9:
                raise ParamError(where, f"got a cost of {cost:g}; allowed: at least its floor {floor:g}")
            if cost > self.ceiling + 1e-9:
                raise ParamError(
                    where, f"got a cost of {cost:g}; allowed: at most the ceiling {self.ceiling:g}"
                )
        if self.ceiling * self.first_use > self.cap + 1e-9:
            raise ParamError(
                "cap",
                f"got {self.cap:g}; allowed: enough for a first use at the ceiling, {self.ceiling * self.first_use:g}",
            )
        if self.start > self.cap:
            raise ParamError("start", f"got {self.start:g}; allowed: at most the cap {self.cap:g}")
        if len(set(self.chat_only)) != len(self.chat_only) or not set(self.chat_only) >= set(SPEAKING):
            raise ParamError(
                "chat_only", f"got {self.chat_only!r}; allowed: distinct verbs, with {' and '.join(SPEAKING)}"
            )
        if self.present_from == self.present_until:
            raise ParamError(
                "present_until", f"got {self.present_until}; allowed: another hour than present_from"
            )

    def base_cost(self, verb: str) -> float:
        """Base cost of a verb by name, energy: its price where there is one, else by its ratings."""
        price: float | None = getattr(self.prices, verb)
        return base_cost(getattr(self.ratings, verb)) if price is None else price

    def floor(self, verb: str) -> float:
        """Least base cost of a verb by name, energy."""
        return {"publish_public": self.floor_public, "publish_private": self.floor_private}.get(verb, 0.0)


@dataclasses.dataclass(frozen=True)
class ProposalParams(ParamGroup):
    """The agent's voice: discomfort, proposals, their review, and hidden mispricing."""

    enabled: bool = setting(False, unit="switch", doc="offer `propose` (needs energy)")
    evidence_heartbeats: int = setting(
        2, unit="heartbeats", low=1, high=4, doc="heartbeats with a deferral that a proposal needs"
    )
    gain_floor: float = setting(
        0.3, unit="bits", low=0.0, high=16.0, doc="expected gain that makes an experiment worth deferring"
    )
    review_heartbeats: int = setting(
        6, unit="heartbeats", low=1, high=32_767, doc="from a proposal to its review"
    )
    share_low: float = setting(
        0.4, unit="1", low=0.0, high=1.0, doc="low end of the suggested range, as a share of the price"
    )
    share_high: float = setting(
        0.9, unit="1", low=0.0, high=0.99, doc="high end of the suggested range, as a share of the price"
    )
    step_limit: float = setting(
        4.0, unit="energy", low=0.001, high=1000.0, doc="most that one approval moves a price"
    )
    half_trusted: float = setting(
        0.25, unit="uses", above=0.0, high=1000.0, doc="paid uses that the reviewer trusts by half"
    )
    mispriced_least: int = setting(0, unit="verbs", low=0, high=8, doc="fewest verbs mispriced in an episode")
    mispriced_most: int = setting(3, unit="verbs", low=0, high=8, doc="most verbs mispriced in an episode")
    mispriced_low: float = setting(1.6, unit="1", low=1.0, high=10.0, doc="least factor of a mispricing")
    mispriced_high: float = setting(2.5, unit="1", low=1.0, high=10.0, doc="largest factor of a mispricing")
    fair_spread: float = setting(
        1.25,
        unit="1",
        low=1.0,
        high=10.0,
        doc="a mispriced verb's hidden fair cost: its base cost times up to this, or 1/this",
    )
    mispriced_upwards: float = setting(
        0.5, unit="probability", low=0.0, high=1.0, doc="a mispriced verb is too dear rather than too cheap"
    )
    mispriceable: tuple[str, ...] = setting(
        FELT,
        unit="verbs",
        choices=FELT,
        doc="verbs that can be mispriced",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.share_low > self.share_high:
            raise ParamError(
                "share_low", f"got {self.share_low:g}; allowed: at most share_high {self.share_high:g}"
            )
        if self.mispriced_low > self.mispriced_high:
            raise ParamError(
                "mispriced_low",
                f"got {self.mispriced_low:g}; allowed: at most mispriced_high {self.mispriced_high:g}",
            )
        if len(set(self.mispriceable)) != len(self.mispriceable):
            raise ParamError("mispriceable", f"got {self.mispriceable!r}; allowed: distinct verbs")
        for name, most in (
            ("mispriced_most", len(self.mispriceable)),
            ("mispriced_least", self.mispriced_most),
        ):
            if getattr(self, name) > most:
                raise ParamError(name, f"got {getattr(self, name)}; allowed: 0 to {most}")


@dataclasses.dataclass(frozen=True)
class PublishingParams(ParamGroup):
    """What a finding pays."""

    private_share: float = setting(
        0.5, unit="1", low=0.0, high=1.0, doc="share of the log score that a private finding pays"
    )


GATE_POLICIES = ("adaptive.P30", "adaptive.P20", "adaptive.P10", "adaptive.P5", "adaptive.P1")
"""The gate's policies, the laxest first: the share of all claims about a page that each accepts, in percent."""


@dataclasses.dataclass(frozen=True)
class GateParams(ParamGroup):
    """The verity gate: findings as sentences, held against the sentences that the experiments left."""

    enabled: bool = setting(
        False, unit="switch", doc="off: a finding with any experiment behind it is accepted"
    )
    policy: str = setting(
        "adaptive.P20",
        unit="policy",
        choices=GATE_POLICIES,
        source="document",
        doc="the policy in force at the start",
    )
    enforced: bool = setting(
        True, unit="switch", doc="off: findings are measured and logged, and any evidence lets them out"
    )
    numbers: bool = setting(
        True, unit="switch", doc="a finding with a number that stands in no evidence is reviewed at best"
    )
    review_heartbeats: int = setting(
        4, unit="heartbeats", low=1, high=10_000, doc="from a finding's submission to its reader's decision"
    )
    governance: bool = setting(
        True, unit="switch", doc="a published error tightens the gate, time without one relaxes it"
    )
    calm_heartbeats: int = setting(
        12, unit="heartbeats", low=1, high=10_000, doc="without a published error, until the gate relaxes"
    )
    # Where a fit is believed as much as the confidences that a wording stands for: no words are stronger than the fit.
    rough: float = setting(
        0.5, unit="probability", low=0.0, high=1.0, doc="belief in a class that makes its fit a rough one"
    )
    good: float = setting(0.75, unit="probability", low=0.0, high=1.0, doc="that makes it a good one")
    precise: float = setting(0.95, unit="probability", low=0.0, high=1.0, doc="that makes it a precise one")
    plain_from: float = setting(
        0.65, unit="probability", low=0.0, high=1.0, doc="confidence from which a finding is worded plainly"
    )
    definitive_from: float = setting(
        0.9, unit="probability", low=0.0, high=1.0, doc="confidence from which it is worded definitively"
    )
    tables: str = setting("", unit="path", doc="file of `solvent gate build`; empty: the one that is shipped")

    def __post_init__(self) -> None:
        super().__post_init__()
        for low, high in (("rough", "good"), ("good", "precise"), ("plain_from", "definitive_from")):
            if getattr(self, low) > getattr(self, high):
                raise ParamError(
                    low, f"got {getattr(self, low):g}; allowed: at most {high} {getattr(self, high):g}"
                )


@dataclasses.dataclass(frozen=True)
class AdequacyParams(ParamGroup):
    """Epistemic adequacy: the strength of a finding's words, held against the plates that were run on its compound."""

    enabled: bool = setting(
        False, unit="switch", doc="score the words of findings (needs the gate's sentences)"
    )
    enforced: bool = setting(
        True, unit="switch", doc="off: words are scored and logged, of no consequence (shadow mode)"
    )
    review_from: int = setting(2, unit="score", low=0, high=4, doc="score from which a finding is reviewed")
    reject_from: int = setting(
        3, unit="score", low=0, high=4, doc="score from which it is rejected; 4 is above all scores"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.review_from > self.reject_from:
            raise ParamError(
                "review_from", f"got {self.review_from}; allowed: at most reject_from {self.reject_from}"
            )


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

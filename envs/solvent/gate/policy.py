"""Layer 3, policy: a deterministic function from a measured number to a verdict.

A policy compares the energy or the energy gap ``x`` with two thresholds:

    accept  if x <= tau_accept
    review  if x <= tau_review        tau_review = tau + 0.25 |tau|  (of the distance to the mean: oracle policies)
    reject  otherwise, and if ``x`` is not a finite number

Source: *Deterministic Policy Gates for Stochastic Systems*, "Policy Taxonomy" and "Decision Logic". Its band ends at
``1.25 tau``. Ours ends there too for ``tau >= 0``, and remains a band for a negative threshold of a gap.

Policies have versioned names (``adaptive.P10.v1``) and three kinds:

- *fixed*: ``strict`` accepts up to the source's 0.30. ``standard`` (0.40) and ``editorial`` (0.50) are ours, between
  that and the source's loosest percentile (0.58). Each accepts what the next stricter one reviews.
- *adaptive*: percentiles of a domain's own gaps, or a budget for false acceptance (``calibration``)
- *oracle*: at most ``k`` standard deviations above the mean energy of the oracle claims

Known approximation: both sides of a comparison are rounded to 6 decimals first, because an embedding's last bits
depend on the machine. Thresholds differ threefold between domains, so learnt policies refuse other domains.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal

from solvent.gate.errors import GateError

__all__ = [
    "ANY",
    "BAND",
    "DECIMALS",
    "FIXED",
    "SEVERITY",
    "Policy",
    "Verdict",
    "apply_adaptive_policy_gap",
    "review_limit",
    "rounded",
    "severest",
]

Verdict = Literal["accept", "review", "reject"]

DECIMALS = 6
"""Decimals of every number that is compared, stored or hashed."""

BAND = 0.25
"""Width of the review band as a share of the threshold."""

ANY = "any"
"""Domain and model of a fixed policy."""

SEVERITY: Mapping[Verdict, int] = MappingProxyType({"accept": 0, "review": 1, "reject": 2})

_LONGEST = 300
_TEXTS = (
    "name",
    "kind",
    "measure",
    "oracle",
    "domain",
    "model",
    "model_fingerprint",
    "calibration_sha256",
    "promise",
)
_CHOICES = {
    "kind": ("fixed", "adaptive", "oracle"),
    "measure": ("energy", "energy_gap"),
    "oracle": ("medoid", "first", "none"),
}
_SHA256 = (re.compile(r"([0-9a-f]{64})?", re.ASCII), "a SHA-256 in hexadecimal")
_FORMS = {
    "name": (
        re.compile(r"(fixed|adaptive|oracle)(\.[A-Za-z0-9_-]+)+\.v[1-9][0-9]*", re.ASCII),
        "like 'adaptive.P10.v1', with a version",
    ),
    "domain": (re.compile(r".*\S.*"), "its name"),
    "model": (re.compile(r".*\S.*"), "its name"),
    "model_fingerprint": _SHA256,
    "calibration_sha256": _SHA256,
}


def rounded(value: float) -> float:
    """Return ``value`` to 6 decimals, without a negative zero; NaN if it is not a finite number."""
    number = _number(value)
    return round(number, DECIMALS) + 0.0 if math.isfinite(number) else math.nan


def _number(value: object) -> float:
    if isinstance(value, bool | str | bytes):
        return math.nan
    try:
        return float(value)  # type: ignore[arg-type]  # float raises for anything else
    except Exception:  # a foreign object's __float__ may raise anything
        return math.nan


def review_limit(tau_accept: float) -> float:
    """Return the end of a threshold's review band: ``tau + 0.25 |tau|``."""
    return tau_accept + BAND * abs(tau_accept)


def severest(*verdicts: Verdict) -> Verdict:
    """Return the most severe of some verdicts; ``accept`` without any."""
    for verdict in verdicts:
        if verdict not in SEVERITY:
            raise GateError(f"verdict: got {verdict!r}; allowed: {', '.join(SEVERITY)}")
    return max(verdicts, key=SEVERITY.__getitem__, default="accept")


def apply_adaptive_policy_gap(energy_gap: float, tau_accept: float) -> Verdict:
    """Return the verdict of the source's rule: accept up to ``tau_accept``, review inside the band, else reject.

    A gap or a threshold that is not a finite number gives a reject.
    """
    # The band of a rounded threshold could end below 1.25 tau.
    return _decide(energy_gap, tau_accept, review_limit(_number(tau_accept)))


def _decide(measured: float, tau_accept: float, tau_review: float) -> Verdict:
    # Every comparison with NaN is false, so NaN falls through to the reject.
    value = rounded(measured)
    if value <= rounded(tau_accept):
        return "accept"
    if value <= rounded(tau_review):
        return "review"
    return "reject"


@dataclasses.dataclass(frozen=True)
class Policy:
    """Two thresholds and their origin.

    Attributes:
        name: kind, label and version: ``adaptive.P10.v1``.
        kind: ``fixed``, ``adaptive`` or ``oracle``.
        tau_accept: largest accepted residual (share of the claim's squared length), 6 decimals.
        tau_review: largest residual under review, at least ``tau_accept``.
        measure: the measure compared: ``energy`` or ``energy_gap``.
        domain: domain of the calibration set; ``any`` for fixed policies only.
        model: name of the embedding model used for calibration; ``any`` for fixed policies only.
        model_fingerprint: SHA-256 of that model's weights, or empty.
        oracle: oracle of the gap: ``medoid``, ``first`` or ``none``.
        top_k: spans of the measurement; 0 for any (fixed policies only).
        rank_r: directions of the measurement; 0 for any (fixed policies only).
        calibration_sha256: hash of the calibration set (``calibration.sample_sha256``), or empty.
        calibration_count: number of values in the calibration set.
        promise: how many unsupported claims of which kind may pass, in words; empty if nothing is promised.
        strict: true if the source's failure mode "low energy under a strict policy" applies.
    """

    name: str
    kind: str
    tau_accept: float
    tau_review: float
    measure: str
    domain: str
    model: str
    model_fingerprint: str = ""
    oracle: Literal["medoid", "first", "none"] = "medoid"
    top_k: int = 12
    rank_r: int = 8
    calibration_sha256: str = ""
    calibration_count: int = 0
    promise: str = ""
    strict: bool = False

    def __post_init__(self) -> None:
        for field in _TEXTS:
            value = getattr(self, field)
            if not isinstance(value, str) or len(value) > _LONGEST or not value.isprintable():
                raise GateError(f"{field}: got {value!r:.80}; allowed: printable text, {_LONGEST} characters")
        for field, choices in _CHOICES.items():
            if getattr(self, field) not in choices:
                raise GateError(f"{field}: got {getattr(self, field)!r}; allowed: {', '.join(choices)}")
        for field, (pattern, what) in _FORMS.items():
            if not pattern.fullmatch(getattr(self, field)):
                raise GateError(f"{field}: got {getattr(self, field)!r}; allowed: {what}")
        if self.name.split(".")[0] != self.kind:
            raise GateError(f"name: got {self.name!r}; allowed: like '{self.kind}.P10.v1'")
        for field in ("top_k", "rank_r", "calibration_count"):
            value = getattr(self, field)
            if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 10**9:
                raise GateError(f"{field}: got {value!r}; allowed: a whole number from 0 to 10^9")
        if not isinstance(self.strict, bool):
            raise GateError(f"strict: got {self.strict!r}; allowed: true or false")
        for field in ("tau_accept", "tau_review"):
            value = getattr(self, field)
            if math.isnan(rounded(value)):
                raise GateError(f"{field}: got {value!r}; allowed: a finite number")
            object.__setattr__(self, field, rounded(value))
        if self.tau_review < self.tau_accept:
            raise GateError(f"tau_review: got {self.tau_review}; allowed: {self.tau_accept} or more")
        if self.kind != "fixed" and (ANY in (self.domain, self.model) or 0 in (self.top_k, self.rank_r)):
            raise GateError(
                f"{self.name}: got 'any' domain, model, top_k or rank_r; allowed: those it was learnt with"
            )

    @classmethod
    def learnt(cls, label: str, tau_accept: float, *, domain: str, model: str, **fields: Any) -> Policy:
        """Return an adaptive policy ``adaptive.<label>.v1`` on the energy gap, with the source's review band."""
        version = fields.pop("version", 1)
        tau = rounded(tau_accept)
        base: dict[str, Any] = {"measure": "energy_gap", "tau_review": review_limit(tau)}
        name = f"adaptive.{label}.v{version}"
        return cls(name=name, kind="adaptive", tau_accept=tau, domain=domain, model=model, **(base | fields))

    @property
    def setting(self) -> tuple[str, str, str, int, int]:
        """Domain, model, oracle, spans and directions; only values of the same setting can be compared."""
        return self.domain, self.model_fingerprint, self.oracle, self.top_k, self.rank_r

    def decide(self, measured: float) -> Verdict:
        """Return the verdict on a value of this policy's ``measure``; a value that is not finite gives a reject."""
        return _decide(measured, self.tau_accept, self.tau_review)

    def usable(
        self,
        *,
        domain: str | None = None,
        model: str | None = None,
        top_k: int | None = None,
        rank_r: int | None = None,
        override: bool = False,
    ) -> tuple[str, ...]:
        """Return notes on using this policy here, for the verdict's reasons; None means not stated.

        With ``override`` each mismatch is a note instead of an error. ``model`` is a name or a fingerprint.

        Raises:
            GateError: the policy was learnt on another domain, with another model, or with other spans or directions.
        """
        own_model = model if model in (self.model, self.model_fingerprint) else self.model
        used = [
            ("domain", self.domain, domain),
            ("model", own_model, model),
            ("top_k", self.top_k, top_k),
            ("rank_r", self.rank_r, rank_r),
        ]
        wrong = [
            f"{what} {own!r} was calibrated, {here!r} is used"
            for what, own, here in used
            if here is not None and own not in (ANY, 0, here)
        ]
        if wrong and not override:
            raise GateError(f"policy {self.name}: {wrong[0]}; allowed: its own, or override=True")
        reasons = [f"policy {self.name} used by override: {what}" for what in wrong]
        if domain is None and self.domain != ANY:
            reasons.append(f"policy {self.name} was learnt on {self.domain!r}; the caller named no domain")
        if model is None and self.model != ANY:
            reasons.append(f"policy {self.name} was learnt with {self.model!r}; the caller named no model")
        return tuple(reasons)

    def to_dict(self) -> dict[str, Any]:
        """Return all fields by name, as JSON values."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Policy:
        """Return the policy from ``to_dict``."""
        if not isinstance(fields, Mapping):
            raise GateError(f"policy: got {type(fields).__name__}; allowed: an object with its fields")
        names = {field.name for field in dataclasses.fields(cls)}
        if wrong := sorted(map(str, set(fields) ^ names)):
            what = "unknown" if wrong[0] in set(map(str, fields)) else "missing"
            raise GateError(f"policy: field {wrong[0]!r} is {what}; allowed: {', '.join(sorted(names))}")
        return cls(**fields)


def _fixed(label: str, tau: float, *, strict: bool = False) -> Policy:
    return Policy(
        name=f"fixed.{label}.v1",
        kind="fixed",
        tau_accept=tau,
        tau_review=review_limit(tau),
        measure="energy",
        domain=ANY,
        model=ANY,
        top_k=0,
        rank_r=0,
        strict=strict,
    )


FIXED: Mapping[str, Policy] = MappingProxyType(
    {
        "editorial": _fixed("editorial", 0.50),
        "standard": _fixed("standard", 0.40),
        "strict": _fixed("strict", 0.30, strict=True),
    }
)
"""The fixed policies by label, on the energy itself."""

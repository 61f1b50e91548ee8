"""Layer 3, policy: a deterministic function from a measured number to a verdict.

A policy compares the energy or the energy gap ``x`` with two thresholds:

    accept  if x <= tau_accept
    review  if x <= tau_review        tau_review = tau + 0.25 |tau|
    reject  otherwise, and if ``x`` is not a finite number

Source: *Deterministic Policy Gates for Stochastic Systems*, "Policy Taxonomy" and "Decision Logic". Its band ends at
``1.25 tau``; ours does too for ``tau >= 0`` and remains a band for a negative threshold of a gap. Policies of the
source's three classes are one record: *fixed* (a number for the energy), *adaptive* (a percentile of a domain's gaps,
or a budget for false acceptance) and *oracle* (``k`` standard deviations above the mean of the oracles' energies).

Known approximation: both sides of a comparison are rounded to 6 decimals first, because an embedding's last bits
depend on the machine. Thresholds differ threefold between domains, so learnt policies refuse other
domains.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    NonNegativeInt,
    PositiveInt,
    model_validator,
)

from solvent.files import RECORD, read_records
from solvent.gate.energy import NAMED_ORACLES, RANK_R, TOP_K, GateError, Oracle, name_of

__all__ = [
    "ANY", "DECIMALS", "FIXED", "SEVERITY", "Policy", "Verdict", "apply_adaptive_policy_gap", "load_policies",
    "next_versions", "policy_named", "review_limit", "rounded", "severest",
]  # fmt: skip

Verdict = Literal["accept", "review", "reject"]

DECIMALS = 6
"""Decimals of every number that is compared or stored."""

BAND = 0.25
"""Width of the review band as a share of the threshold."""

ANY = "any"
"""Domain and model of a fixed policy."""

SEVERITY: Mapping[Verdict, int] = MappingProxyType({"accept": 0, "review": 1, "reject": 2})


def rounded(value: float) -> float:
    """Return ``value`` to 6 decimals, without a negative zero; NaN if it is not a finite number."""
    return round(value, DECIMALS) + 0.0 if math.isfinite(value) else math.nan


def review_limit(tau_accept: float) -> float:
    """Return the end of a threshold's review band: ``tau + 0.25 |tau|``."""
    return tau_accept + BAND * abs(tau_accept)


def severest(*verdicts: Verdict) -> Verdict:
    """Return the most severe of some verdicts; ``accept`` without any."""
    return max(verdicts, key=SEVERITY.__getitem__, default="accept")


def apply_adaptive_policy_gap(energy_gap: float, tau_accept: float) -> Verdict:
    """Return the verdict of the source's rule: accept up to ``tau_accept``, review inside the band, else reject.

    A gap or a threshold that is not a finite number gives a reject.
    """
    return _decide(energy_gap, tau_accept, review_limit(tau_accept))


def _decide(measured: float, tau_accept: float, tau_review: float) -> Verdict:
    # Every comparison with NaN is false, so NaN falls through to the reject.
    value = rounded(measured)
    if value <= rounded(tau_accept):
        return "accept"
    return "review" if value <= rounded(tau_review) else "reject"


Threshold = Annotated[float, AfterValidator(rounded)]


class Policy(BaseModel):
    """Two thresholds and their origin. A policy's name is ``kind.label.vVERSION``, such as ``adaptive.P10.v1``."""

    model_config = RECORD

    kind: Literal["fixed", "adaptive", "oracle"]
    label: Annotated[str, Field(max_length=80, pattern=r"^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$")]
    version: PositiveInt = 1
    #: largest accepted residual (share of the claim's squared length), 6 decimals
    tau_accept: Annotated[Threshold, Field(ge=-1.0, le=1.0)]
    #: largest residual under review; by default the end of the source's band
    tau_review: Annotated[Threshold, Field(le=1.0 + BAND)] = Field(
        default_factory=lambda given: rounded(review_limit(given["tau_accept"]))
    )
    measure: Literal["energy", "energy_gap"] = "energy_gap"  #: the number compared
    domain: str = ANY  #: where it was learnt; ``any`` for fixed policies only
    model: str = ANY  #: name of the embedding model that it was learnt with
    model_fingerprint: str = ""  #: SHA-256 of the model's weights, or empty
    #: name of the gap's oracle; ``first`` is the source's. A callable or a list gives its name
    oracle: Annotated[str, BeforeValidator(name_of), Field(pattern=r"^\S{1,80}$")] = "first"
    top_k: PositiveInt = TOP_K  #: spans of the measurement
    rank_r: PositiveInt = RANK_R  #: directions of the measurement
    calibration_count: NonNegativeInt = 0  #: number of values that it was learnt from
    promise: str = ""  #: how many claims of which kind may pass, in words
    failed: tuple[str, ...] = ()  #: items of the validation checklist that the calibration set fails
    strict: bool = False  #: whether the failure mode "low energy under a strict policy" applies

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.tau_review < self.tau_accept:
            raise ValueError(f"tau_review below tau_accept; allowed: {self.tau_accept} or more")
        if self.kind != "fixed" and ANY in (self.domain, self.model):
            raise ValueError("a learnt policy for any domain or model; allowed: those it was learnt with")
        if self.kind != "fixed" and "oracle" not in self.model_fields_set:
            raise ValueError(
                "a learnt policy without its oracle; allowed: first, medoid, or the name of your own"
            )
        if "<lambda>" in self.oracle:
            raise ValueError("an oracle without a name; allowed: first, medoid, or a function with a name")
        return self

    @property
    def name(self) -> str:
        """The name with its version, such as ``adaptive.P10.v1``."""
        return f"{self.kind}.{self.label}.v{self.version}"

    def decide(self, measured: float) -> Verdict:
        """Return the verdict on a value of this policy's ``measure``; a value that is not finite gives a reject."""
        return _decide(measured, self.tau_accept, self.tau_review)

    def check_use(
        self,
        *,
        domain: str | None = None,
        model: str | None = None,
        oracle: Oracle | Sequence[Oracle] | None = None,
    ) -> None:
        """Raise GateError if a learnt policy is used on another domain, or with another model or oracle.

        A domain or model of None is not checked. ``model`` is a name or a fingerprint. An oracle of None is the
        policy's, which has to be one that the gate knows by its name.
        """
        if self.kind == "fixed":
            return
        if domain not in (None, self.domain):
            raise GateError(f"domain: got {domain!r}; allowed: {self.domain!r}, where {self.name} was learnt")
        if model not in (None, self.model, self.model_fingerprint):
            raise GateError(
                f"model: got {model!r}; allowed: {self.model!r}, with which {self.name} was learnt"
            )
        if oracle is None and self.oracle not in NAMED_ORACLES:
            raise GateError(f"oracle: missing; allowed: {self.oracle!r}, with which {self.name} was learnt")
        if oracle is not None and name_of(oracle) != self.oracle:
            raise GateError(
                f"oracle: got {name_of(oracle)!r:.80}; allowed: {self.oracle!r}, with which {self.name} was learnt"
            )


def load_policies(path: str | os.PathLike[str]) -> dict[str, Policy]:
    """Return the policies of a file of JSON lines by name.

    Raises:
        InputError: the file can't be read, or a line is not a policy.
    """
    return {policy.name: policy for policy in read_records(path, Policy)}


def next_versions(policies: Iterable[Policy], known: Mapping[str, Policy]) -> list[Policy]:
    """Return the policies, each with the version after the last of its kind and label among ``known``."""
    latest = {
        (one.kind, one.label): one.version for one in sorted(known.values(), key=lambda one: one.version)
    }
    return [one.model_copy(update={"version": latest.get((one.kind, one.label), 0) + 1}) for one in policies]


def policy_named(name: str, policies: Mapping[str, Policy]) -> Policy:
    """Return one of ``policies`` by name or label, of the latest version, or else a fixed policy by its label.

    Raises:
        GateError: there is none.
    """
    named = [policy for policy in policies.values() if name in (policy.name, policy.label)]
    if named:
        return max(named, key=lambda policy: policy.version)
    if name not in FIXED:
        raise GateError(f"policy: got {name!r:.80}; allowed: {', '.join([*FIXED, *policies])}")
    return FIXED[name]


FIXED: Mapping[str, Policy] = MappingProxyType(
    {
        label: Policy(kind="fixed", label=label, tau_accept=tau, measure="energy", strict=label == "strict")
        for label, tau in (("editorial", 0.50), ("standard", 0.40), ("strict", 0.30))
    }
)
"""The fixed policies by label, on the energy itself. ``strict`` is the source's; the others are ours, between it and
the source's loosest percentile (0.58), each accepting what the next stricter one reviews."""

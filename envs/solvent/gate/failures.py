"""The source's table of failure modes: what goes wrong with a measurement, how it shows, what is done.

| mode               | signal                            | response                                              |
|--------------------|-----------------------------------|-------------------------------------------------------|
| semantic overreach | energy gap > tau_accept           | reject (inside the review band of the policy: review) |
| provenance failure | low energy under a strict policy  | reject (citation laundering)                          |
| evidence exhaustion| oracle energy > 0.01              | flag: the evidence doesn't explain its own spans      |
| embedding collapse | identity error > 0.01             | fall back to a fixed threshold                        |

Source: *Deterministic Policy Gates for Stochastic Systems*, "Failure Modes". Two of its rows can't be taken to the
letter, and what stands here instead is ours:

- *Overreach*: its decision logic reviews inside the band what its table rejects. The logic decides.
- *Provenance*: a low energy is what good claims have, so by itself it can't condemn them. Laundering is a citation
  that lends support it never had: the span *is* the claim, put among the evidence by whoever made the claim. So
  under a strict policy the energy is suspicious when it is at most 0.01 (what the source grants a control claim
  that is supported for certain) *and* the claim is a copy (cosine of 0.999 or more with one span) or is explained
  better, by more than 0.01, than the evidence's own most central span. None of 250 supported public claims had it.

Known approximation: a copy of an honest source and a copy of the claim planted as its source look the same from here;
under a strict policy both are rejected, and a person can tell them apart. With no more spans than directions the
oracle's energy is 0, and the second sign of laundering can't show.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from solvent.gate.policy import Verdict, apply_adaptive_policy_gap, rounded

__all__ = ["COPY_COSINE", "FAILURE_MODES", "LIMIT", "FailureMode", "Response", "failure_modes"]

Response = Literal["review", "reject", "flag", "fallback"]

LIMIT = 0.01
"""The source's limit for the oracle's energy and for the identity error; here also what a low energy is."""

COPY_COSINE = 0.999
"""Cosine with one span from which a claim counts as its copy: at most 0.002 of it is anything else."""

FAILURE_MODES: Mapping[str, tuple[str, Response]] = MappingProxyType(
    {
        "semantic_overreach": ("energy_gap > tau_accept", "reject"),
        "provenance_failure": ("low energy + strict policy", "reject"),
        "evidence_exhaustion": ("oracle_energy > 0.01", "flag"),
        "embedding_collapse": ("identity_error > 0.01", "fallback"),
    }
)
"""The source's table: name -> (signal, response)."""


@dataclasses.dataclass(frozen=True)
class FailureMode:
    """One row of the table that applies, with the numbers that made it apply.

    ``response``: ``reject`` or ``review`` (the verdict at best), ``flag`` (for the record), ``fallback`` (a fixed
    threshold has a say).
    """

    name: str
    signal: str
    response: Response
    explanation: str


def failure_modes(
    *,
    energy: float,
    measured: float,
    tau_accept: float,
    verdict: Verdict | None = None,
    oracle_energy: float = 0.0,
    identity_error: float = 0.0,
    best_cosine: float = 0.0,
    strict: bool = False,
) -> tuple[FailureMode, ...]:
    """The rows of the table that apply, in its order. A number that is not finite counts as over its limit.

    Args:
        energy: the claim's energy.
        measured: what the policy compares: the energy gap, or the energy.
        tau_accept: its acceptance threshold.
        verdict: what the policy said of ``measured``; by default what the source's rule says.
        oracle_energy: energy of the control claim.
        identity_error: how far explained and unexplained part are from adding up to 1.
        best_cosine: highest cosine of the claim with a span.
        strict: whether the policy is a strict one.
    """
    found: list[FailureMode] = []

    def add(name: str, explanation: str, response: Response | None = None) -> None:
        signal, usual = FAILURE_MODES[name]
        found.append(FailureMode(name, signal, response or usual, explanation))

    if not rounded(measured) <= rounded(tau_accept):
        said = verdict or apply_adaptive_policy_gap(measured, tau_accept)
        add(
            "semantic_overreach",
            f"{rounded(measured):g} of the claim is left unexplained, allowed are {rounded(tau_accept):g}",
            "review" if said == "review" else "reject",
        )
    if strict and (why := _laundered(rounded(energy), rounded(oracle_energy), rounded(best_cosine))):
        add("provenance_failure", why)
    if not rounded(oracle_energy) <= LIMIT:
        add(
            "evidence_exhaustion",
            f"the evidence leaves {rounded(oracle_energy):g} of its own central span unexplained, "
            f"more than {LIMIT:g}",
        )
    if not rounded(identity_error) <= LIMIT:
        add(
            "embedding_collapse",
            f"explained and unexplained part miss 1 by {rounded(identity_error):g}, more than {LIMIT:g}",
        )
    return tuple(found)


def _laundered(energy: float, oracle_energy: float, best_cosine: float) -> str:
    if not energy <= LIMIT:
        return ""
    if best_cosine >= COPY_COSINE:
        return f"the claim is a copy of a span (cosine {best_cosine:g}): the citation may be the claim itself"
    if oracle_energy - energy > LIMIT:
        return (
            f"the evidence explains the claim (energy {energy:g}) better than its own central span "
            f"({oracle_energy:g}): it may have been made for the claim"
        )
    return ""

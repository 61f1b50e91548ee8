"""The source's table of failure modes: the signal of each mode and the gate's response.

| mode               | signal                            | response                                              |
|--------------------|-----------------------------------|-------------------------------------------------------|
| semantic overreach | energy gap > tau_accept           | reject (inside the review band of the policy: review) |
| provenance failure | low energy under a strict policy  | reject (citation laundering)                          |
| evidence exhaustion| oracle energy > 0.01              | flag: the evidence doesn't explain its own spans      |
| embedding collapse | identity error > 0.01             | fall back to a fixed threshold                        |

Source: *Deterministic Policy Gates for Stochastic Systems*, "Failure Modes". Two rows differ from it:

- *Overreach*: the source's decision logic reviews inside the band, but its table rejects there. We follow the logic.
- *Provenance*: good claims have a low energy too, so low energy alone is no fault. Laundering is a span made from the
  claim. Under a strict policy an energy of at most 0.01 is suspicious in two cases: the claim copies a span (cosine of
  0.999 or more), or the evidence explains it better, by more than 0.01, than its oracle. None of 250
  supported public claims was suspicious.

Known approximation: a copy of an honest source looks the same as a copy of the claim planted as its source. A strict
policy rejects both, and a person can tell them apart. With no more spans than directions the oracle's energy is 0,
which hides the second sign of laundering.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from solvent.gate.measurement import GapResult
from solvent.gate.policy import Verdict, rounded

__all__ = ["FAILURE_MODES", "FailureMode", "Response", "failure_modes"]

Response = Literal["review", "reject", "flag", "fallback"]

FAILURE_MODES: Mapping[str, tuple[str, Response]] = MappingProxyType(
    {
        "semantic_overreach": ("energy_gap > tau_accept", "reject"),
        "provenance_failure": ("low energy + strict policy", "reject"),
        "evidence_exhaustion": ("oracle_energy > 0.01", "flag"),
        "embedding_collapse": ("identity_error > 0.01", "fallback"),
    }
)
"""The source's table: name -> (signal, response)."""

_LIMIT = 0.01  # the source's limit for oracle energy and identity error, ours for a low energy
_COPY_COSINE = 0.999  # at most 0.002 of the claim differs


@dataclasses.dataclass(frozen=True)
class FailureMode:
    """A row of the table that applies, with the numbers that triggered it.

    ``response``: ``reject`` or ``review`` (the mildest verdict), ``flag`` (no effect on the verdict) or ``fallback``.
    """

    name: str
    signal: str
    response: Response
    explanation: str


def failure_modes(
    result: GapResult, measured: float, tau_accept: float, verdict: Verdict, *, strict: bool
) -> tuple[FailureMode, ...]:
    """Return the rows of the table that apply, in its order. A number that is not finite exceeds its limit.

    Args:
        result: the measurement.
        measured: the number that the policy compares: the energy gap or the energy.
        tau_accept: its acceptance threshold.
        verdict: the policy's verdict on ``measured``.
        strict: true for a strict policy.
    """
    oracle, error = rounded(result.oracle_energy), rounded(result.claim.identity_error)
    found: list[FailureMode] = []

    def add(name: str, explanation: str, response: Response | None = None) -> None:
        signal, usual = FAILURE_MODES[name]
        found.append(FailureMode(name, signal, response or usual, explanation))

    if not rounded(measured) <= rounded(tau_accept):
        add(
            "semantic_overreach",
            f"{rounded(measured):g} of the claim is left unexplained, allowed are {rounded(tau_accept):g}",
            "review" if verdict == "review" else "reject",
        )
    if strict and (why := _laundered(result)):
        add("provenance_failure", why)
    if not oracle <= _LIMIT:
        add(
            "evidence_exhaustion",
            f"the evidence leaves {oracle:g} of its own oracle span unexplained, more than {_LIMIT:g}",
        )
    if not error <= _LIMIT:
        add(
            "embedding_collapse",
            f"explained and unexplained part miss 1 by {error:g}, more than {_LIMIT:g}",
        )
    return tuple(found)


def _laundered(result: GapResult) -> str:
    """Return the sign that the citation was made for the claim, in words, or an empty string."""
    energy, oracle = rounded(result.claim.energy), rounded(result.oracle_energy)
    cosine = rounded(result.claim.topk_scores[0])
    if not energy <= _LIMIT:
        return ""
    if cosine >= _COPY_COSINE:
        return f"the claim is a copy of a span (cosine {cosine:g}): the citation may be the claim itself"
    if oracle - energy > _LIMIT:
        return (
            f"the evidence explains the claim (energy {energy:g}) better than its own oracle span "
            f"({oracle:g}): it may have been made for the claim"
        )
    return ""

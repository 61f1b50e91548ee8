"""A claim with its verdict and, if it was under review, the decision of a person."""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from solvent.gate.measurement import RANK_R, TOP_K
from solvent.gate.policy import Policy, Verdict, rounded

__all__ = ["Decision", "Judged", "judged_id", "now"]

Choice = Literal["accept", "decline"]


@dataclasses.dataclass(frozen=True)
class Decision:
    """What a person decided on a review, when and why."""

    choice: Choice
    who: str
    why: str
    decided_at: str


@dataclasses.dataclass(frozen=True)
class Judged:
    """A claim and its verdict.

    Attributes:
        id: sixteen digits of a hash of policy, domain, model, claim and evidence (``judged_id``).
        name: the claim's id in its data set.
        claim, evidence, pages: as in ``datasets.Sample``.
        domain: domain of use.
        model, model_fingerprint: the embedding model.
        policy: the policy applied.
        result: what ``evaluate_text`` returned.
        judged_at: time in UTC, ISO 8601.
        number: rises in the order of the store; 0 outside of it.
        decision: the decision on a review, if there is one.
    """

    id: str
    name: str
    claim: str
    evidence: tuple[str, ...]
    pages: tuple[str, ...]
    domain: str
    model: str
    model_fingerprint: str
    policy: Policy
    result: Mapping[str, Any]
    judged_at: str
    number: int = 0
    decision: Decision | None = None

    @property
    def verdict(self) -> Verdict:
        """The gate's verdict, before any decision."""
        found: Verdict = self.result["verdict"]
        return found

    @property
    def outcome(self) -> str:
        """The verdict, or the decision on it: ``accept``, ``review``, ``reject`` or ``decline``."""
        return self.verdict if self.decision is None else self.decision.choice

    @property
    def is_measured(self) -> bool:
        """False for bad data, which has no energy of its own."""
        return not self.result["reasons"][0].startswith("bad data:")

    @property
    def fired(self) -> list[str]:
        """The names of the checks that object."""
        return [check["name"] for check in self.result["checks"] if check["fired"]]

    @property
    def energy_gap(self) -> float:
        """The energy gap, 6 decimals."""
        return float(self.result["energy_gap"])

    @property
    def oracle_energy(self) -> float:
        """The energy of the oracle."""
        return rounded(self.result["hallucination_energy"] - self.energy_gap)

    @property
    def compared(self) -> float:
        """The value that the policy compared."""
        return self.energy_gap if self.policy.measure == "energy_gap" else self.result["hallucination_energy"]

    @property
    def trivial(self) -> bool:
        """True if the oracle's energy is 0 by construction."""
        return len(self.evidence) <= (self.policy.rank_r or RANK_R)

    @property
    def setting(self) -> tuple[Any, ...]:
        """Domain, model, oracle, spans and directions; only values of the same setting can be compared."""
        policy = self.policy
        top_k, rank_r = policy.top_k or TOP_K, policy.rank_r or RANK_R
        return self.domain, self.model_fingerprint, policy.oracle, top_k, rank_r


def judged_id(policy: Policy, domain: str, fingerprint: str, claim: str, evidence: Iterable[str]) -> str:
    """Return the id of a verdict; the same claim under the same policy has the same one."""
    text = json.dumps([policy.to_dict(), domain, fingerprint, claim, *evidence], sort_keys=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:16]


def now() -> str:
    """Return the time in UTC, ISO 8601 to the second."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")

"""Verdicts that wait for a person, what people decide, and what the decisions teach.

A folder holds two files of JSON lines: ``verdicts.jsonl``, a line per claim judged under a policy, and
``decisions.jsonl``, a line per decided review. A decision is final: whoever comes second is told the first one.

*Learning*: a declined review is a claim that must not pass. The threshold is the largest that is sure, to 95 %, to let
at most a budget of such claims pass (``calibration.control_threshold``). Reviews that a check sent don't count,
because no threshold would let them pass.

*Asking*: ``waiting`` puts first the review whose decision could move that threshold most, by ``|tau(D + x) - tau(D)|``
for the declined values D and its own value x; accepting it moves nothing. While there are too few declined reviews for
a threshold, the one nearest to the policy's own threshold comes first.

*Drift*: if nothing has changed, the number of ``n`` new claims up to the k-th smallest of N old gaps is
beta-binomial(n, k, N + 1 - k), whatever the gaps' distribution is. A window outside of its limits has drifted.

Source: *Deterministic Policy Gates for Stochastic Systems*, "Temporal drift monitoring" and "Human-in-the-loop policy
tuning (active learning on review queue)". Known approximations: people see only what the policy sends to them, so
nothing is learnt about values that it accepts or rejects. Decisions are treated as independent, and as right.
"""

from __future__ import annotations

import datetime
import hashlib
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from pydantic import BaseModel, Field, ValidationError

from solvent.files import RECORD, append_records, first_problem, locked, now, read_records
from solvent.gate.calibration import (
    CONFIDENCE,
    control_threshold,
    fewest_negatives,
    label_of,
    percentile_thresholds,
    rank_of,
)  # fmt: skip
from solvent.gate.data import Sample
from solvent.gate.embedding import Embedder
from solvent.gate.energy import GateError, Oracle
from solvent.gate.gate import evaluate_text
from solvent.gate.policy import Policy, Verdict

__all__ = ["BUDGET", "Decision", "Judged", "Reviews", "Window", "drift", "judge", "learn"]

Text = Annotated[str, Field(max_length=2000, pattern=r"\S")]
BUDGET = 0.05
"""Share of declined claims that may pass a learnt threshold, by default."""
WINDOW = 100
"""Claims in a window of drift."""
LEVEL = 0.05


class Decision(BaseModel):
    """What a person decided on a review."""

    model_config = RECORD

    id: str
    choice: Literal["accept", "decline"]
    who: Text
    why: Text
    decided_at: datetime.datetime


class Judged(BaseModel):
    """A verdict with the document's fields, on a claim under a policy."""

    model_config = RECORD

    id: str
    claim_id: str
    claim: str
    evidence: tuple[str, ...]
    pages: tuple[str, ...] = ()
    domain: str
    model: str
    model_fingerprint: str = ""
    judged_at: datetime.datetime
    policy: Policy
    verdict: Verdict
    hallucination_energy: float
    energy_gap: float
    policy_applied: str
    oracle_energy: float
    oracle_spread: float
    reasons: tuple[str, ...]
    checks: tuple[dict[str, Any], ...]
    failure_modes: tuple[dict[str, str], ...]

    @property
    def compared(self) -> float:
        """The number that the policy compares."""
        return self.energy_gap if self.policy.measure == "energy_gap" else self.hallucination_energy

    @property
    def fired(self) -> tuple[str, ...]:
        """The checks that object."""
        return tuple(check["name"] for check in self.checks if check["fired"])

    @property
    def is_measured(self) -> bool:
        """False where vectors or evidence were missing or unusable: then no check was run."""
        return bool(self.checks)


def judge(
    samples: Iterable[Sample],
    embedder: Embedder,
    policy: Policy,
    *,
    domain: str,
    oracle: Oracle | Sequence[Oracle] | None = None,
) -> list[Judged]:
    """Judge claims under a policy; a verdict's id depends on policy, domain, model, claim and evidence alone."""
    verdicts = []
    for sample in samples:
        key = "\0".join((policy.name, domain, embedder.fingerprint, sample.claim, *sample.evidence))
        verdicts.append(
            Judged(
                id=hashlib.sha256(key.encode()).hexdigest()[:12],
                claim_id=sample.id,
                claim=sample.claim,
                evidence=sample.evidence,
                pages=sample.pages,
                domain=domain,
                model=embedder.name,
                model_fingerprint=embedder.fingerprint,
                judged_at=now(),
                policy=policy,
                **evaluate_text(
                    sample.claim, sample.evidence, embedder, policy, domain=domain, oracle=oracle
                ),
            )
        )
    return verdicts


class Reviews:
    """The verdicts and decisions of a folder, which the first verdict creates."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self._verdicts, self._decisions = self.folder / "verdicts.jsonl", self.folder / "decisions.jsonl"

    def record(self, judged: Sequence[Judged]) -> None:
        """Append verdicts; those with an id that is there already are left out."""
        self.folder.mkdir(parents=True, exist_ok=True)
        known = {row.id for row in self.verdicts()}
        append_records(self._verdicts, {row.id: row for row in judged if row.id not in known}.values())

    def verdicts(self) -> list[Judged]:
        """Return all verdicts, oldest first."""
        rows = read_records(self._verdicts, Judged) if self._verdicts.exists() else ()
        return list({row.id: row for row in rows}.values())

    def decisions(self) -> dict[str, Decision]:
        """Return the decisions by the id of their verdict."""
        rows = read_records(self._decisions, Decision) if self._decisions.exists() else ()
        return {row.id: row for row in rows}

    def waiting(self) -> list[Judged]:
        """Return the undecided reviews, those first that would move the threshold most."""
        decisions, rows = self.decisions(), self.verdicts()
        declined = [
            row.compared for row in rows if row.id in decisions and decisions[row.id].choice == "decline"
        ]
        tau = control_threshold(declined, BUDGET) if len(declined) >= fewest_negatives(BUDGET) else None

        def influence(row: Judged) -> tuple[float, float]:
            """How far declining it moves the threshold, then how near it is to the policy's own."""
            if row.fired or not row.is_measured:
                return -1.0, 0.0
            moved = 0.0 if tau is None else abs(control_threshold([*declined, row.compared], BUDGET) - tau)
            return moved, -abs(row.compared - row.policy.tau_accept)

        undecided = [row for row in rows if row.verdict == "review" and row.id not in decisions]
        return sorted(undecided, key=influence, reverse=True)

    def find(self, key: str) -> Judged:
        """Return the verdict with this id.

        Raises:
            LookupError: there is none.
        """
        verdict = next((row for row in self.verdicts() if row.id == key), None)
        if verdict is None:
            raise LookupError(f"id: got {key!r:.60}; allowed: an id in {self._verdicts}")
        return verdict

    def decide(self, key: str, choice: str, *, who: str, why: str) -> Decision:
        """Record a decision on a review.

        Raises:
            GateError: somebody was first, the verdict is not a review, the choice is unknown, or who or why is empty.
            LookupError: as in ``find``.
        """
        row = self.find(key)
        if row.verdict != "review":
            raise GateError(f"{row.id}: its verdict is {row.verdict}; allowed: a review")
        fields = {"id": row.id, "choice": choice, "who": who, "why": why, "decided_at": now()}
        try:
            made = Decision.model_validate(fields)
        except ValidationError as error:
            raise GateError(first_problem(error)) from None
        with locked(self.folder / ".deciding.lock", 10.0):  # between what is read and what is appended
            if earlier := self.decisions().get(row.id):
                decision = f"{earlier.choice} by {earlier.who} already"
                raise GateError(f"{row.id}: {decision}; allowed: one decision")
            append_records(self._decisions, [made])
        return made


def learn(rows: Sequence[Judged], decisions: dict[str, Decision], budget: float = BUDGET) -> Policy:
    """Return the policy learnt from decided reviews of one policy, by a budget for declined claims that may pass.

    Raises:
        GateError: no review is decided, they come from several policies or domains, the declined ones are too few for
            the budget, or the budget is not a share.
    """
    decided = [row for row in rows if row.id in decisions]
    settings = {(row.policy.name, row.domain, row.model): row for row in decided}
    if len(settings) != 1:
        got = ", ".join(sorted(f"{name} on {domain}" for name, domain, _ in settings)) or "none decided"
        raise GateError(f"reviews: got {got:.200}; allowed: decided ones of one policy on one domain")
    ((name, domain, model),) = settings
    chosen = [row for row in decided if row.is_measured and not row.fired]
    declined = [row.compared for row in chosen if decisions[row.id].choice == "decline"]
    accepted = [row.compared for row in chosen if decisions[row.id].choice == "accept"]
    tau = control_threshold(declined, budget)
    own = decided[0].policy
    kept = {key: getattr(own, key) for key in ("measure", "oracle", "top_k", "rank_r", "strict")}
    return Policy(
        kind="adaptive",
        label=f"{label_of('FA', 100.0 * budget)}.reviews",
        tau_accept=tau,
        domain=domain,
        model=model,
        model_fingerprint=decided[0].model_fingerprint,
        calibration_count=len(declined),
        promise=f"Of reviews like those of {name}, at most {budget:.1%} of what people decline pass"
        f" ({CONFIDENCE:.0%} sure, learnt from {len(declined)}). Of {len(accepted)} that people accepted"
        f" {sum(value <= tau for value in accepted)} pass. No promise outside of its review band.",
        **kept,
    )


class Window(NamedTuple):
    """A window of claims against a percentile policy."""

    begin: datetime.datetime  #: when its first claim was judged
    threshold: float  #: the threshold that these claims would give
    accepted: int  #: claims up to the policy's threshold
    low: int  #: limits of that number if nothing has changed
    high: int

    @property
    def drifted(self) -> bool:
        """Whether ``accepted`` is outside of its limits."""
        return not self.low <= self.accepted <= self.high


def drift(rows: Sequence[Judged], policy: Policy) -> list[Window]:
    """Compare windows of 100 consecutive claims with the threshold of a percentile policy, level 5 % in all.

    A claim that was judged under several policies counts once; one that could not be measured doesn't count.

    Raises:
        GateError: the policy is of no percentile, the claims fill no window, or they were measured in another way.
    """
    from scipy.stats import betabinom

    if not (percentile := re.fullmatch(r"P([\d_]+)", policy.label)):
        raise GateError(f"policy: got {policy.name}; allowed: a percentile such as P10, learnt by a sweep")

    chosen = list({(row.claim, row.evidence): row for row in rows if row.is_measured}.values())
    for row in chosen:
        policy.check_use(domain=row.domain, model=row.model_fingerprint or row.model)
        if row.policy.oracle != policy.oracle:
            raise GateError(f"verdicts: got the oracle {row.policy.oracle}; allowed: that of {policy.name}")
    windows = [chosen[at : at + WINDOW] for at in range(0, len(chosen) - WINDOW + 1, WINDOW)]
    if not windows:
        raise GateError(f"verdicts: {len(chosen)} claims fill no window; allowed: {WINDOW} or more")
    p, count = float(percentile[1].replace("_", ".")), policy.calibration_count
    rank, tail = rank_of(p, count), 0.5 * LEVEL / len(windows)
    low, high = map(int, betabinom.ppf([tail, 1.0 - tail], WINDOW, rank, count + 1 - rank))
    results = []
    for window in windows:
        gaps = np.array([row.energy_gap for row in window])
        (threshold,) = percentile_thresholds(gaps, [p]).values()
        accepted = int((gaps <= policy.tau_accept).sum())
        results.append(Window(window[0].judged_at, threshold, accepted, low, high))
    return results

"""Verdicts that wait for a person, what people decide, and what the decisions teach.

A folder holds two files of JSON lines: ``verdicts.jsonl``, a line per claim judged under a policy, and
``decisions.jsonl``, a line per decided review. A decision is final: whoever comes second is told the first one.

*Learning*: a declined review is a claim that must not pass. The threshold is the largest that is sure, to 95 %, to let
at most a budget of such claims pass (``calibration.control_threshold``). Reviews that a check sent don't count for it,
because no threshold would let them pass; they count for the check.

*Asking*: ``waiting(by_influence=True)`` puts first the review whose decision could move that threshold most, by
``|tau(D + x) - tau(D)|`` for the declined values D and its own value x; accepting it moves nothing. While there are too
few declined reviews for a threshold, the one nearest to the policy's own threshold comes first.

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
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from pydantic import BaseModel, Field

from solvent.files import RECORD, append_records, locked, now, read_records
from solvent.gate.calibration import (
    CONFIDENCE,
    control_threshold,
    fewest_negatives,
    label_of,
    percentile_thresholds,
    rank_of,
    sample_sha256,
)  # fmt: skip
from solvent.gate.data import Sample
from solvent.gate.embedding import Embedder
from solvent.gate.energy import GateError
from solvent.gate.gate import evaluate_text
from solvent.gate.policy import ANY, Policy, Verdict

__all__ = ["DecidedError", "Decision", "Judged", "Learnt", "Reviews", "Window", "drift", "judge", "learn"]

Text = Annotated[str, Field(min_length=1, max_length=2000, pattern=r"\S")]
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
        """False for bad data."""
        return not any(reason.startswith("bad data") for reason in self.reasons)


class DecidedError(GateError):
    """Somebody has decided already; ``decision`` says who, what and why."""

    def __init__(self, decision: Decision) -> None:
        super().__init__(f"{decision.id}: {decision.choice} by {decision.who} already; allowed: one decision")
        self.decision = decision


def judge(
    samples: Iterable[Sample],
    embedder: Embedder,
    policy: Policy,
    *,
    domain: str,
    on_progress: Callable[[int], None] = lambda _: None,
) -> list[Judged]:
    """Judge claims under a policy; the id of a verdict depends on policy, domain, claim and evidence alone."""
    found = []
    for number, sample in enumerate(samples, 1):
        result = evaluate_text(sample.claim, sample.evidence, embedder, policy, domain=domain)
        key = "\0".join((policy.name, domain, sample.claim, *sample.evidence))
        found.append(
            Judged(
                id=hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()[:12],
                claim_id=sample.id,
                claim=sample.claim,
                evidence=sample.evidence,
                pages=sample.pages,
                domain=domain,
                model=embedder.name,
                model_fingerprint=embedder.fingerprint,
                judged_at=now(),
                policy=policy,
                **result,
            )
        )
        on_progress(number)
    return found


class Reviews:
    """The verdicts and decisions of a folder, which the first verdict creates."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self._verdicts, self._decisions = self.folder / "verdicts.jsonl", self.folder / "decisions.jsonl"

    def record(self, judged: Sequence[Judged]) -> None:
        """Append verdicts; those with an id that is there already are left out."""
        self.folder.mkdir(parents=True, exist_ok=True)
        known = {row.id for row in self.verdicts()}
        fresh = {row.id: row for row in judged if row.id not in known}
        append_records(self._verdicts, fresh.values())

    def verdicts(self) -> list[Judged]:
        """Return all verdicts, oldest first."""
        return list(read_records(self._verdicts, Judged)) if self._verdicts.exists() else []

    def decisions(self) -> dict[str, Decision]:
        """Return the decisions by the id of their verdict."""
        if not self._decisions.exists():
            return {}
        return {row.id: row for row in read_records(self._decisions, Decision)}

    def waiting(self, *, by_influence: bool = False, budget: float = 0.05) -> list[Judged]:
        """Return the undecided reviews, oldest first or those first that would move the threshold most."""
        decided, seen = self.decisions(), {row.id: row for row in self.verdicts()}
        rows = [row for row in seen.values() if row.verdict == "review" and row.id not in decided]
        if not by_influence:
            return rows
        declined = [
            row.compared for row in seen.values() if row.id in decided and decided[row.id].choice == "decline"
        ]
        in_force = control_threshold(declined, budget) if len(declined) >= fewest_negatives(budget) else None

        def influence(row: Judged) -> tuple[float, float]:
            """How far declining it moves the threshold, then how near it is to the policy's own."""
            if row.fired or not row.is_measured:
                return -1.0, 0.0
            nearness = -abs(row.compared - row.policy.tau_accept)
            if in_force is None:
                return 0.0, nearness
            return abs(control_threshold([*declined, row.compared], budget) - in_force), nearness

        return sorted(rows, key=influence, reverse=True)

    def find(self, key: str) -> Judged:
        """Return the verdict with this id, or whose id begins so.

        Raises:
            LookupError: there is none, or more than one.
        """
        found = {row.id: row for row in self.verdicts() if key and row.id.startswith(key)}
        if len(found) != 1:
            raise LookupError(
                f"id: got {key!r:.60}, {len(found)} verdicts; allowed: an id in {self._verdicts}"
            )
        (row,) = found.values()
        return row

    def decide(self, key: str, choice: str, *, who: str, why: str) -> Decision:
        """Record a decision on a review.

        Raises:
            DecidedError: somebody was first.
            GateError: the verdict is no review, or the choice is unknown.
            LookupError: as in ``find``.
        """
        row = self.find(key)
        if row.verdict != "review":
            raise GateError(f"{row.id}: its verdict is {row.verdict}; allowed: a review")
        if choice not in ("accept", "decline"):
            raise GateError(f"choice: got {choice!r:.60}; allowed: accept, decline")
        if not who.strip() or not why.strip():
            raise GateError("who, why: got nothing; allowed: who decides, and a reason")
        made = Decision(id=row.id, choice=choice, who=who, why=why, decided_at=now())  # type: ignore[arg-type]
        with locked(self.folder / ".deciding.lock", 10.0):  # between what is read and what is appended
            if earlier := self.decisions().get(row.id):
                raise DecidedError(earlier)
            append_records(self._decisions, [made])
        return made


# -- learning ------------------------------------------------------------------------------------


class Learnt(NamedTuple):
    """What decided reviews teach.

    Attributes:
        policy: the policy with the learnt threshold; None if the declined reviews are too few for the budget.
        accepted, declined: how many reviews of each decision there are, and how many the threshold accepts.
        fewest: number of declined reviews that the budget needs.
        alarms: by check, how many reviews it sent, and how many of these people accepted: its false alarms.
    """

    policy: Policy | None
    accepted: tuple[int, int]
    declined: tuple[int, int]
    fewest: int
    alarms: dict[str, tuple[int, int]]


def learn(rows: Sequence[Judged], decisions: dict[str, Decision], budget: float = 0.05) -> Learnt:
    """Learn from decided reviews of one policy, by a budget for declined claims that may pass.

    Raises:
        GateError: no review is decided, they come from several policies or domains, or the budget is not a share.
    """
    decided = [row for row in rows if row.id in decisions]
    settings = {(row.policy.name, row.domain, row.model): row for row in decided}
    if len(settings) != 1:
        got = ", ".join(sorted(f"{name} on {domain}" for name, domain, _ in settings)) or "none decided"
        raise GateError(f"reviews: got {got:.200}; allowed: decided ones of one policy on one domain")
    (base,) = settings.values()
    fewest = fewest_negatives(budget)
    chosen = [row for row in decided if row.is_measured and not row.fired]
    values = {
        choice: [row.compared for row in chosen if decisions[row.id].choice == choice]
        for choice in ("accept", "decline")
    }
    policy = _learnt(base, values["decline"], budget) if len(values["decline"]) >= fewest else None
    tau = -2.0 if policy is None else policy.tau_accept  # below any value
    alarms = {}
    for name in sorted({name for row in decided for name in row.fired}):
        sent = [decisions[row.id].choice for row in decided if name in row.fired]
        alarms[name] = (len(sent), sent.count("accept"))
    passed = [(len(some), sum(value <= tau for value in some)) for some in values.values()]
    return Learnt(policy, passed[0], passed[1], fewest, alarms)


def _learnt(base: Judged, declined: Sequence[float], budget: float) -> Policy:
    """Return the policy of a learnt threshold; one that was itself learnt from reviews gets the next version."""
    own, label = base.policy, f"{label_of('FA', 100.0 * budget)}.reviews"
    fields: dict[str, Any] = {
        "kind": "adaptive",
        "label": label,
        "version": own.version + 1 if own.label == label else 1,
        "tau_accept": control_threshold(declined, budget),
        "domain": base.domain if base.domain != ANY else base.policy.domain,
        "model": base.model,
        "model_fingerprint": base.model_fingerprint,
        "calibration_sha256": sample_sha256(declined),
        "calibration_count": len(declined),
        "promise": f"Of reviews like those of {own.name}, at most {budget:.1%} of what people decline pass"
        f" ({CONFIDENCE:.0%} sure, learnt from {len(declined)}). No promise outside of its review band.",
    }
    kept = {name: getattr(own, name) for name in ("measure", "oracle", "top_k", "rank_r", "strict")}
    return Policy.model_validate(fields | kept)


# -- drift ---------------------------------------------------------------------------------------


class Window(NamedTuple):
    """One percentile in a window of ``size`` claims: the claims up to ``reference``, and their limits."""

    begin: datetime.datetime
    end: datetime.datetime
    size: int
    percentile: float
    reference: float
    threshold: float
    accepted: int
    low: int
    high: int

    @property
    def drifted(self) -> bool:
        """Whether ``accepted`` is outside of its limits."""
        return not self.low <= self.accepted <= self.high


def drift(rows: Sequence[Judged], policies: Sequence[Policy] = (), *, size: int = 100) -> list[Window]:
    """Compare windows of ``size`` consecutive claims with the thresholds of percentile policies, level 5 % in all.

    A claim that was judged under several policies counts once, and bad data don't count. Without policies the first
    window is the reference, with the source's percentiles.

    Raises:
        GateError: the claims fill no window, or they were measured in different ways.
    """
    seen = {(row.claim, row.evidence): row for row in rows if row.is_measured}
    chosen = list(seen.values())
    settings = {policy.setting for policy in policies} | {
        (row.domain, row.model_fingerprint, *row.policy.setting[2:]) for row in chosen
    }
    if len(settings) > 1:
        raise GateError(
            "verdicts: measured in different ways; allowed: one domain, model, oracle, top_k and rank_r"
        )
    windows = [chosen[at : at + size] for at in range(0, len(chosen) - size + 1, size)]
    reference = {
        float(match[1].replace("_", ".")): (policy.tau_accept, policy.calibration_count)
        for policy in policies
        if (match := re.fullmatch(r"P(\d+(?:_\d+)?)", policy.label)) and policy.calibration_count
    }
    if not reference and windows:
        taus = percentile_thresholds([row.energy_gap for row in windows.pop(0)])
        reference = {p: (tau, size) for p, tau in taus.items()}
    if not windows:
        raise GateError(
            f"verdicts: {len(chosen)} claims fill no window; allowed: {size} for each, and a reference"
        )
    level = LEVEL / (len(windows) * len(reference))
    return [_compared(window, p, *reference[p], level) for window in windows for p in sorted(reference)]


def _compared(window: Sequence[Judged], percentile: float, tau: float, count: int, level: float) -> Window:
    from scipy.stats import betabinom

    gaps = np.array([row.energy_gap for row in window])
    rank = rank_of(percentile, count)
    low, high = betabinom.ppf([level / 2.0, 1.0 - level / 2.0], len(gaps), rank, count + 1 - rank)
    own = percentile_thresholds(gaps, [percentile])[percentile]
    accepted = int((gaps <= tau).sum())
    begin, end = window[0].judged_at, window[-1].judged_at
    return Window(begin, end, len(gaps), percentile, tau, own, accepted, int(low), int(high))

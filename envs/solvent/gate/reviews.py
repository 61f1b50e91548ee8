"""Verdicts that wait for a person, what people decide, and what the decisions teach.

A folder holds two files of JSON lines: ``verdicts.jsonl``, a line per claim judged under a policy, and
``decisions.jsonl``, a line per decided review. A decision is final: whoever comes second is told the first one.

*Learning*: a declined review is a claim that must not pass. The threshold is the largest that is sure, to 95 %, to let
at most a budget of such claims pass (``calibration.control_threshold``). Reviews that a check sent don't count,
because no threshold would let them pass.

*Asking*: ``waiting`` puts first the review whose decision could move that threshold most, by ``|tau(D + x) - tau(D)|``
for its own value x and the declined values D of its policy, domain and model; accepting it moves nothing. While D is
too small for a threshold, the one nearest to the policy's own threshold comes first.

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
from solvent.gate.energy import GateError, Oracle, name_of
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

    @property
    def teaches(self) -> bool:
        """Whether a decision teaches a threshold: none would let pass what a check objects to."""
        return self.is_measured and not self.fired

    @property
    def setting(self) -> tuple[str, ...]:
        """Policy, domain, model and its weights: decisions teach one threshold if they share all four."""
        return self.policy.name, self.domain, self.model, self.model_fingerprint


def judge(
    samples: Iterable[Sample],
    embedder: Embedder,
    policy: Policy,
    *,
    domain: str,
    oracle: Oracle | Sequence[Oracle] | None = None,
) -> list[Judged]:
    """Judge claims under a policy.

    A verdict's id depends on all fields of the policy, the oracle's name, domain, model, claim and evidence alone.
    """
    rule = policy.model_dump_json(), policy.oracle if oracle is None else name_of(oracle)
    verdicts = []
    for sample in samples:
        key = "\0".join((*rule, domain, embedder.fingerprint, sample.claim, *sample.evidence))
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
        rows = read_records(self._verdicts, Judged, missing_ok=True)
        return list({row.id: row for row in rows}.values())

    def decisions(self) -> dict[str, Decision]:
        """Return the decisions by the id of their verdict."""
        return {row.id: row for row in read_records(self._decisions, Decision, missing_ok=True)}

    def waiting(self) -> list[Judged]:
        """Return the undecided reviews, those first that would move the threshold most."""
        decisions, rows = self.decisions(), self.verdicts()
        declined = {
            setting: _compared([row for row in rows if row.setting == setting], decisions, "decline")
            for setting in {row.setting for row in rows}
        }

        def influence(row: Judged) -> tuple[float, float]:
            """How far declining it moves the threshold, then how near it is to the policy's own."""
            if not row.teaches:
                return -1.0, 0.0
            return _moved(declined[row.setting], row.compared), -abs(row.compared - row.policy.tau_accept)

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


def _compared(rows: Iterable[Judged], decisions: dict[str, Decision], choice: str) -> list[float]:
    """Return the numbers of the reviews with this decision that teach a threshold."""
    decided = [row for row in rows if row.teaches and row.id in decisions]
    return [row.compared for row in decided if decisions[row.id].choice == choice]


def _moved(declined: Sequence[float], value: float) -> float:
    """Return how far one more declined value moves the threshold; 0 while there is none."""
    if len(declined) < fewest_negatives(BUDGET):
        return 0.0
    return abs(control_threshold([*declined, value], BUDGET) - control_threshold(declined, BUDGET))


def learn(rows: Sequence[Judged], decisions: dict[str, Decision], budget: float = BUDGET) -> Policy:
    """Return the policy learnt from decided reviews of one policy, by a budget for declined claims that may pass.

    Raises:
        GateError: no review is decided, they come from several policies, domains or models, the declined ones are too
            few for the budget, or the budget is not a share.
    """
    decided = [row for row in rows if row.id in decisions]
    settings = {row.setting for row in decided}
    if len(settings) != 1:
        texts = (
            f"{name} on {domain} by {model} {weights:.8}".strip() for name, domain, model, weights in settings
        )
        got = ", ".join(sorted(texts)) or "none decided"
        raise GateError(f"reviews: got {got:.200}; allowed: decided ones of one policy, domain and model")
    ((name, domain, model, weights),) = settings
    declined, accepted = (_compared(decided, decisions, choice) for choice in ("decline", "accept"))
    tau = control_threshold(declined, budget)
    own = decided[0].policy
    kept = {key: getattr(own, key) for key in ("measure", "oracle", "top_k", "rank_r", "strict")}
    return Policy(
        kind="adaptive",
        label=f"{label_of('FA', 100.0 * budget)}.reviews",
        tau_accept=tau,
        domain=domain,
        model=model,
        model_fingerprint=weights,
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
        GateError: the policy is of no percentile or of no claims, the claims fill no window, or they were measured in
            another way.
    """
    from scipy.stats import betabinom

    percentile, count = re.fullmatch(r"P(\d+(?:_\d+)?)", policy.label), policy.calibration_count
    if not percentile or not count or policy.measure != "energy_gap":
        raise GateError(
            f"policy: got {policy.name} of {policy.measure}, learnt from {count} claims; "
            "allowed: a percentile such as P10 of a sweep, of energy_gap"
        )
    chosen = list({(row.claim, row.evidence): row for row in rows if row.is_measured}.values())
    for row in chosen:
        known = policy.model_fingerprint and row.model_fingerprint
        policy.check_use(domain=row.domain, model=known or row.model)
        if (got := _measurement(row.policy)) != (allowed := _measurement(policy)):
            raise GateError(f"verdicts: got {got}; allowed: {allowed}, as of {policy.name}")
    windows = [chosen[at : at + WINDOW] for at in range(0, len(chosen) - WINDOW + 1, WINDOW)]
    if not windows:
        raise GateError(f"verdicts: {len(chosen)} claims fill no window; allowed: {WINDOW} or more")
    p = float(percentile[1].replace("_", "."))
    rank, tail = rank_of(p, count), 0.5 * LEVEL / len(windows)
    low, high = map(int, betabinom.ppf([tail, 1.0 - tail], WINDOW, rank, count + 1 - rank))
    results = []
    for window in windows:
        gaps = np.array([row.energy_gap for row in window])
        (threshold,) = percentile_thresholds(gaps, [p]).values()
        accepted = int((gaps <= policy.tau_accept).sum())
        results.append(Window(window[0].judged_at, threshold, accepted, low, high))
    return results


def _measurement(policy: Policy) -> str:
    return f"oracle {policy.oracle}, top_k {policy.top_k}, rank_r {policy.rank_r}"

"""The whole gate: measure a claim, apply a policy, add failure modes and checks, and return a verdict.

    verdict = most severe of  policy(measured),  failure modes,  checks

No part can make the policy's verdict milder. Source: *Deterministic Policy Gates for Stochastic Systems*, "What This
System Actually Does" and "Quick Start", which define the dictionary and the call, and "Failure Modes":

| mode                | signal                            | response                                              |
|---------------------|-----------------------------------|-------------------------------------------------------|
| semantic overreach  | energy gap > tau_accept           | reject (inside the review band of the policy: review) |
| provenance failure  | low energy under a strict policy  | reject (citation laundering)                          |
| evidence exhaustion | oracle energy > 0.01              | flag: the evidence doesn't explain its own spans      |
| embedding collapse  | identity error > 0.01             | the fixed policy ``strict`` judges the energy as well |

Two rows differ. *Overreach*: the source's decision logic reviews inside the band and its table rejects there; we follow
the logic. *Provenance*: good claims have a low energy too, so only a copy of a span (cosine of 0.999 or more), or a
claim that the evidence explains better than its own oracle, is rejected under a strict policy.

Bad data gives a reject with its reason, never an exception: vectors that are not finite, not of length 1 or of mixed
widths, no evidence, claims that the model can't read, a gap that is not a number. Energy and gap are then 1,
because nothing was shown to be supported.

Known approximations: a gap given by the caller (as in the source's call) is not verified if the policy compares gaps; a
different measured gap is reported beside it.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from solvent.gate.checks import CheckResult, run_checks
from solvent.gate.embedding import Embedder, unread_by
from solvent.gate.energy import EXHAUSTED, Gap, GateError, Oracle
from solvent.gate.energy import energy_gap as gap_of
from solvent.gate.policy import FIXED, SEVERITY, Policy, rounded, severest
from solvent.gate.reading import MOST_UNKNOWN, has_word, read_evidence, sentences

__all__ = ["evaluate_claim", "evaluate_text"]

_COLLAPSED = 0.01  # the source's limit for the identity error
_LOW = 0.01
_COPY = 0.999  # at most 0.002 of the claim differs


def evaluate_claim(
    claim_vec: ArrayLike,
    evidence_vecs: ArrayLike,
    regime: Policy | str = "adaptive",
    energy_gap: float | None = None,
    tau_accept: float | None = None,
    *,
    texts: tuple[str, Sequence[str]] | None = None,
    domain: str | None = None,
    oracle: Oracle | Sequence[Oracle] | None = None,
) -> dict[str, Any]:
    """Return the verdict on a claim [d] against its evidence [n, d], all of length 1.

    Args:
        claim_vec: the claim.
        evidence_vecs: its spans.
        regime: a policy, or ``adaptive`` (on the gap) or ``fixed`` (on the energy) with a threshold. ``fixed`` without
            one is the fixed policy ``strict``.
        energy_gap: the gap, if known; by default it is measured.
        tau_accept: the threshold, if no policy is given.
        texts: the claim and its spans in words, for the checks.
        domain: domain of use; a learnt policy refuses any but its own.
        oracle: the policy's own oracle where it is a callable or several (``energy.Oracle``).

    Returns:
        ``verdict``, ``hallucination_energy``, ``energy_gap`` (6 decimals), ``policy_applied``, ``oracle_energy``,
            ``oracle_spread``, ``reasons`` (texts), ``checks`` and ``failure_modes`` (dictionaries of JSON values).

    Raises:
        GateError: the regime is unknown, the threshold is missing or accompanies a policy, or the policy was learnt on
            another domain or with another oracle. Data never raise an error.
    """
    policy = _policy(regime, tau_accept)
    if isinstance(regime, Policy):
        policy.check_use(domain=domain, oracle=oracle)
    elif oracle is None:
        oracle = "first"
    if texts is None:
        return _verdict(policy, claim_vec, evidence_vecs, (), (), oracle, energy_gap)
    try:
        count = len(np.atleast_1d(evidence_vecs))
    except ValueError as error:  # of rows of mixed widths
        return _bad_data(policy, str(error), ())
    if len(texts[1]) != count:
        return _bad_data(policy, f"{len(texts[1])} texts for {count} vectors", ())
    checks = run_checks(*texts)
    return _verdict(policy, claim_vec, evidence_vecs, (), checks, oracle, energy_gap)


def evaluate_text(
    claim: str,
    evidence: Sequence[str],
    embedder: Embedder,
    policy: Policy,
    *,
    domain: str | None = None,
    oracle: Oracle | Sequence[Oracle] | None = None,
) -> dict[str, Any]:
    """Return the verdict on a claim and its evidence as texts, with the policy's own spans and directions.

    A claim of several sentences is judged sentence by sentence: the worst verdict holds, and the reasons name its
    sentence. What spans the evidence has is in ``reading``; the reasons say what was split or left out.

    Raises:
        GateError: the policy was learnt on another domain or with another model or oracle, the model is missing, or the
            evidence is one text.
    """
    model = embedder.fingerprint if policy.model_fingerprint else embedder.name
    policy.check_use(domain=domain, model=model, oracle=oracle)
    reading = read_evidence(evidence, embedder)
    parts, results = sentences(claim), []
    for part in parts:
        if why := _unreadable(part, embedder):
            results.append(_bad_data(policy, f"claim: {why}", reading.notes))
        else:
            rows = embedder.encode([part, *reading.spans])
            checks = run_checks(part, reading.texts)
            results.append(_verdict(policy, rows[0], rows[1:], reading.notes, checks, oracle))
    # Of equally severe sentences, the one with the most unsupported mass speaks.
    worst = max(
        range(len(parts)),
        key=lambda i: (SEVERITY[results[i]["verdict"]], results[i]["hallucination_energy"], -i),
    )
    if len(parts) > 1:
        reason = f"sentence {worst + 1} of {len(parts)} decides: {parts[worst]!r:.200}"
        results[worst]["reasons"].insert(0, reason)
    return results[worst]


# -- measuring and deciding ----------------------------------------------------------------------


def _policy(regime: Policy | str, tau_accept: float | None) -> Policy:
    if isinstance(regime, Policy):
        if tau_accept is not None:
            raise GateError("tau_accept: got a policy as well; allowed: one of the two")
        return regime
    if regime == "fixed" and tau_accept is None:
        return FIXED["strict"]
    if regime not in ("adaptive", "fixed"):
        raise GateError(f"regime: got {regime!r:.60}; allowed: adaptive, fixed, or a Policy")
    if tau_accept is None or not -1.0 <= _number(tau_accept) <= 1.0:
        raise GateError(f"tau_accept: got {tau_accept!r:.60}; allowed: from -1 to 1, or a Policy as regime")
    label = f"tau{rounded(tau_accept):g}".replace(".", "_").replace("+", "")
    if regime == "fixed":
        return Policy(kind="fixed", label=label, tau_accept=tau_accept, measure="energy")
    # A bare threshold was learnt by the caller, who knows where.
    here = "the caller's"
    return Policy(kind="adaptive", label=label, tau_accept=tau_accept, domain=here, model=here, oracle="own")


def _number(value: Any) -> float:
    """Return a number to 6 decimals, and NaN for anything else."""
    try:
        return rounded(value)
    except (TypeError, OverflowError):
        return math.nan


def _verdict(
    policy: Policy,
    claim: ArrayLike,
    spans: ArrayLike,
    notes: Sequence[str],
    checks: Sequence[CheckResult],
    oracle: Oracle | Sequence[Oracle] | None,
    given: float | None = None,
) -> dict[str, Any]:
    """Return the verdict on vectors; a ``given`` gap takes the place of the measured one."""
    try:
        gap, used_gap = _measured(policy, claim, spans, oracle, given)
    except (TypeError, ValueError) as error:  # GateError is one
        return _bad_data(policy, str(error), notes)
    energy = rounded(gap.claim.energy)
    value = used_gap if policy.measure == "energy_gap" else energy
    modes = _failure_modes(gap, value, policy)
    fired = [check for check in checks if check.fired]
    responses = {mode["response"] for mode in modes}
    verdicts = [
        policy.decide(value),
        *(check.severity for check in fired),
        *(v for v in SEVERITY if v in responses),
    ]
    if "fallback" in responses:
        verdicts.append(FIXED["strict"].decide(energy))
    return {
        "verdict": severest(*verdicts),
        "hallucination_energy": energy,
        "energy_gap": used_gap,
        "policy_applied": FIXED["strict"].name if "fallback" in responses else policy.name,
        "oracle_energy": rounded(gap.oracle_energy),
        "oracle_spread": rounded(gap.oracle_spread),
        "reasons": [
            _decision_of(policy, value),
            *notes,
            *(f"{mode['name']} ({mode['response']}): {mode['explanation']}" for mode in modes),
            *_difference(used_gap, gap),
            *(f"{check.name}: {check.explanation}" for check in fired),
        ],
        "checks": [check._asdict() | {"found": list(check.found)} for check in checks],
        "failure_modes": modes,
    }


def _measured(
    policy: Policy,
    claim: ArrayLike,
    spans: ArrayLike,
    oracle: Oracle | Sequence[Oracle] | None,
    given: float | None,
) -> tuple[Gap, float]:
    """Return what is measured, and the gap to use.

    Raises:
        TypeError, ValueError: the vectors or the given gap can't be used, or there is no evidence.
    """
    gap = gap_of(claim, spans, policy.top_k, policy.rank_r, policy.oracle if oracle is None else oracle)
    if not gap.claim.used:
        raise GateError("no evidence given")
    own_gap = rounded(gap.energy_gap)
    used_gap = own_gap if given is None else _number(given)
    if not -1.0 <= used_gap <= 1.0:
        raise GateError("the energy gap given is not a number from -1 to 1")
    return gap, used_gap


def _decision_of(policy: Policy, value: float) -> str:
    """Return what the policy says of the value that it compares, in words."""
    bands = {"accept": "within", "review": "in the review band above", "reject": "above"}
    band = bands[policy.decide(value)]
    return f"{policy.measure} {value:g} is {band} {policy.tau_accept:g} ({policy.name})"


def _difference(used_gap: float, gap: Gap) -> list[str]:
    """Return that another gap than the given one was measured, if so."""
    own_gap = rounded(gap.energy_gap)
    return [f"the gap was given; measured here it is {own_gap:g}"] if used_gap != own_gap else []


def _bad_data(policy: Policy, why: str, notes: Sequence[str]) -> dict[str, Any]:
    return {
        "verdict": "reject",
        "hallucination_energy": 1.0,
        "energy_gap": 1.0,
        "policy_applied": policy.name,
        "oracle_energy": 0.0,
        "oracle_spread": 0.0,
        "reasons": [f"not measured: {why}", *notes],
        "checks": [],
        "failure_modes": [],
    }


def _failure_modes(gap: Gap, value: float, policy: Policy) -> list[dict[str, str]]:
    """Return the rows of the source's table that apply, in its order."""
    rows: list[tuple[str, str, str]] = []
    if (verdict := policy.decide(value)) != "accept":
        share = f"{100 * value:.3g} % of the claim is unexplained; limit {100 * policy.tau_accept:.3g} %"
        rows.append(("semantic_overreach", verdict, share))
    if policy.strict and (why := _laundered(gap)):
        rows.append(("provenance_failure", "reject", why))
    if gap.exhausted:
        share = f"{100 * gap.oracle_energy:.3g} % of the oracle is unexplained; limit {100 * EXHAUSTED:.3g} %"
        rows.append(("evidence_exhaustion", "flag", share))
    if gap.claim.identity_error > _COLLAPSED:
        error = (
            f"explained and unexplained shares miss 1 by {gap.claim.identity_error:g}; limit {_COLLAPSED:g}"
        )
        rows.append(("embedding_collapse", "fallback", error))
    return [dict(zip(("name", "response", "explanation"), row, strict=True)) for row in rows]


def _laundered(gap: Gap) -> str:
    """Return the sign that the citation was made for the claim, in words, or an empty string."""
    energy, cosine = rounded(gap.claim.energy), rounded(gap.claim.scores[0])
    if energy > _LOW:
        return ""
    if cosine >= _COPY:
        return f"the claim is a copy of a span (cosine {cosine:g}): the citation may be the claim itself"
    if gap.oracle_energy - energy > _LOW:
        return (
            f"the evidence explains the claim ({energy:g}) better than its own oracle ({gap.oracle_energy:g})"
        )
    return ""


# -- texts that the model can read ---------------------------------------------------------------


def _unreadable(claim: str, embedder: Embedder) -> str:
    """Return the reason why a claim can't be judged, or an empty string."""
    if not has_word(claim):
        return "no words"
    unread = unread_by(embedder, claim)
    for word in unread.words:
        if has_word(unicodedata.normalize("NFKC", word)):  # decorative signs change nothing, but ℃ is a word
            return f"a word that the model does not know: {word!r:.80}"
    if unread.share > MOST_UNKNOWN:
        return f"signs that the model does not know make up {unread.share:.0%} of it"
    return f"longer than the model reads; unread: {unread.rest!r:.80}" if unread.rest else ""

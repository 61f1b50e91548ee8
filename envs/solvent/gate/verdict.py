"""The whole gate: measure a claim, apply a policy, add failure modes and checks, and return a verdict.

    verdict = most severe of  policy(measured),  failure modes,  checks

No part can make the policy's verdict milder. Source: *Deterministic Policy Gates for Stochastic Systems*, "What This
System Actually Does" and "Quick Start", which define the dictionary and the call.

Bad data gives a reject with its reason, never an exception: vectors that are not finite, not of length 1 or of mixed
widths, no evidence, texts that can't be judged (``legibility``), a gap that is not a number. Energy and gap are then
1, because nothing was shown to be supported.

*Embedding collapse* (the source falls back to a fixed tau): the fixed policy ``strict`` judges the energy, and the
more severe of its verdict and the policy's own counts, so that collapsed vectors never make a verdict milder.

Known approximations: a gap given by the caller (as in the source's call) is not verified if the policy compares gaps;
a different measured gap is reported beside it. ``evaluate_claim`` receives vectors, so it can't check whether the
model read all of the texts.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, get_args

import numpy as np
from numpy.typing import ArrayLike

from solvent.gate.checks import CheckResult, run_checks
from solvent.gate.errors import GateError, ModelMissingError
from solvent.gate.failures import FailureMode, failure_modes
from solvent.gate.legibility import illegible_pair, readable_spans
from solvent.gate.measurement import RANK_R, TOP_K, GapResult, Oracle, oracle_gap
from solvent.gate.policy import FIXED, SEVERITY, Policy, Verdict, apply_adaptive_policy_gap, rounded, severest
from solvent.gate.sentences import fitting, sentences

if TYPE_CHECKING:
    from solvent.gate.embedding import Embedder

__all__ = ["FALLBACK", "Context", "evaluate_claim", "evaluate_text"]

FALLBACK = "strict"
"""The fixed policy that also judges collapsed embeddings."""

T = TypeVar("T")

_LONGEST_SPLIT = 100_000  # characters; a longer text is told as too long, not split
_UNUSED = -2.0  # below any cosine


@dataclasses.dataclass(frozen=True)
class Context:
    """The texts of a claim given as vectors, the policy's place of use, and the settings of the measurement.

    Attributes:
        claim_text: the claim's words, for the checks; requires ``evidence_texts``.
        evidence_texts: the words of each span.
        domain: domain of use; a learnt policy refuses any but its own.
        model: name or fingerprint of the embedding model; a learnt policy refuses any but its own.
        override: use the policy despite a mismatch, and note it in the reasons.
        top_k: maximum number of spans.
        rank_r: maximum number of directions.
        oracle: oracle of a bare threshold's gap: ``medoid``, ``first`` (the source's) or ``none``. A policy has its
            own.
    """

    claim_text: str | None = None
    evidence_texts: Sequence[str] | None = None
    domain: str | None = None
    model: str | None = None
    override: bool = False
    top_k: int = TOP_K
    rank_r: int = RANK_R
    oracle: Oracle | None = None

    def __post_init__(self) -> None:
        if self.oracle not in (None, *get_args(Oracle)):
            raise GateError(f"oracle: got {self.oracle!r:.80}; allowed: {', '.join(get_args(Oracle))}")
        if (self.claim_text is None) != (self.evidence_texts is None):
            raise GateError("claim_text, evidence_texts: got one of the two; allowed: both or neither")
        for name in ("top_k", "rank_r"):
            count = getattr(self, name)
            if isinstance(count, bool) or not isinstance(count, int | np.integer):
                raise GateError(f"{name}: got {count!r:.80}; allowed: a whole number")


class _Rule(NamedTuple):
    """A policy or a bare threshold."""

    name: str
    decide: Callable[[float], Verdict]
    measure: str
    tau_accept: float
    strict: bool
    oracle: Oracle
    reasons: tuple[str, ...]


def evaluate_claim(
    claim_vec: ArrayLike,
    evidence_vecs: ArrayLike,
    regime: Policy | str = "adaptive",
    energy_gap: float | None = None,
    tau_accept: float | None = None,
    context: Context | None = None,
) -> dict[str, Any]:
    """Return the verdict on a claim [d] against its evidence [n, d], all of length 1.

    Args:
        claim_vec: the claim.
        evidence_vecs: its spans.
        regime: a policy, or ``adaptive`` (on the gap) or ``fixed`` (on the energy) with a threshold. ``fixed`` without
            one is the fixed policy ``strict``.
        energy_gap: the gap, if known; by default it is measured.
        tau_accept: the threshold, if no policy is given.
        context: texts for the checks, domain and model of use, spans and directions.

    Returns:
        ``verdict``, ``hallucination_energy``, ``energy_gap`` (6 decimals), ``policy_applied``, ``reasons`` (texts),
            ``checks`` and ``failure_modes`` (dictionaries of JSON values).

    Raises:
        GateError: the regime is unknown, the threshold is missing or accompanies a policy, or the policy was learnt
            elsewhere. Data never raise an error.
    """
    context = context or Context()
    rule = _rule(regime, tau_accept, context)
    texts = None if context.claim_text is None else (context.claim_text, context.evidence_texts)
    if texts is not None and (why := _tried(lambda: illegible_pair(*texts))):
        return _bad_data(rule, why)

    def measure() -> GapResult:
        return oracle_gap(claim_vec, evidence_vecs, context.top_k, context.rank_r, rule.oracle)

    return _evaluated(rule, measure, energy_gap, texts)


def evaluate_text(
    claim: str,
    evidence: Sequence[str],
    embedder: Embedder,
    policy: Policy,
    *,
    domain: str | None = None,
    override: bool = False,
) -> dict[str, Any]:
    """Return the verdict on a claim and its evidence as texts, with the policy's own spans and directions.

    A claim of several sentences is judged sentence by sentence: the worst verdict holds, and the reasons name its
    sentence. Evidence longer than the model reads is split into sentences.

    Spans without a word and spans that the model can't read are left out. A claim that it can't read is bad data.

    Raises:
        GateError: the policy was learnt on another domain or with another model, or the model is missing.
    """
    if not isinstance(policy, Policy):
        raise GateError(f"policy: got {policy!r:.80}; allowed: a Policy")
    model = embedder.fingerprint if policy.model_fingerprint else embedder.name
    top_k, rank_r = policy.top_k or TOP_K, policy.rank_r or RANK_R
    use = Context(domain=domain, model=model, override=override, top_k=top_k, rank_r=rank_r)
    rule = _rule(policy, None, use)
    # `readable_spans` tells a claim or evidence of a wrong type or length.
    parts = sentences(claim) if _is_text(claim) else [claim]
    if _are_texts(evidence):
        spans, split = fitting(evidence, embedder)
        if split:
            told = (
                f"{split} of {len(evidence)} evidence texts longer than the model reads, split into sentences"
            )
            rule = rule._replace(reasons=(*rule.reasons, told))
        evidence = spans
    results = [_judged_sentence(part, evidence, embedder, rule, top_k, rank_r) for part in parts]
    # Of equally severe sentences, the one with the most unsupported mass speaks.
    worst = max(
        range(len(results)),
        key=lambda i: (SEVERITY[results[i]["verdict"]], results[i]["hallucination_energy"], -i),
    )
    if len(parts) > 1:
        results[worst]["reasons"].insert(
            0, f"sentence {worst + 1} of {len(parts)} decides: {parts[worst]!r:.200}"
        )
    return results[worst]


def _are_texts(evidence: object) -> bool:
    return isinstance(evidence, (list, tuple)) and all(map(_is_text, evidence))


def _is_text(text: object) -> bool:
    return isinstance(text, str) and len(text) <= _LONGEST_SPLIT


def _judged_sentence(
    claim: str, evidence: Sequence[str], embedder: Embedder, rule: _Rule, top_k: int, rank_r: int
) -> dict[str, Any]:
    readable = _tried(lambda: readable_spans(claim, evidence, embedder))
    if isinstance(readable, str):
        return _bad_data(rule, readable)
    spans, left_out = readable

    def measure() -> GapResult:
        vectors = embedder.encode([claim, *spans])
        return oracle_gap(vectors[0], vectors[1:], top_k, rank_r, rule.oracle)

    return _evaluated(rule._replace(reasons=(*rule.reasons, *left_out)), measure, None, (claim, spans))


def _rule(regime: Policy | str, tau_accept: Any, context: Context) -> _Rule:
    """Return the rule that decides, or raise an error for any incorrect argument."""
    if isinstance(regime, Policy) and tau_accept is not None:
        raise GateError("tau_accept: got a policy as well; allowed: one of the two")
    if regime == "fixed" and tau_accept is None:
        regime = FIXED[FALLBACK]
    if isinstance(regime, Policy):
        if context.oracle not in (None, regime.oracle):
            raise GateError(
                f"oracle: got {context.oracle}, {regime.name} has {regime.oracle}; allowed: the policy's, or none given"
            )
        return _Rule(
            name=regime.name,
            decide=regime.decide,
            measure=regime.measure,
            tau_accept=regime.tau_accept,
            strict=regime.strict,
            oracle=regime.oracle,
            reasons=regime.usable(
                domain=context.domain,
                model=context.model,
                top_k=context.top_k,
                rank_r=context.rank_r,
                override=context.override,
            ),
        )
    if regime not in ("adaptive", "fixed"):
        raise GateError(f"regime: got {regime!r:.80}; allowed: adaptive, fixed, or a Policy")
    if isinstance(tau_accept, bool | str) or not isinstance(tau_accept, int | float | np.number):
        raise GateError(f"tau_accept: got {tau_accept!r:.80}; allowed: a number, or a Policy as regime")
    tau = float(tau_accept)
    return _Rule(
        name=f"{regime}(tau={rounded(tau):g})",
        decide=lambda measured: apply_adaptive_policy_gap(measured, tau),
        measure="energy_gap" if regime == "adaptive" else "energy",
        tau_accept=tau,
        strict=False,
        oracle=context.oracle or "medoid",
        reasons=() if math.isfinite(tau) else ("the threshold is no finite number",),
    )


def _tried(call: Callable[[], T]) -> T | str:
    """Return the result of ``call``, or the reason why there is none."""
    try:
        with np.errstate(all="ignore"):
            return call()
    except ModelMissingError:
        raise
    except GateError as error:
        return str(error)
    except Exception as error:  # a foreign object's __array__ may raise anything
        return f"the claim or its evidence can't be read ({type(error).__name__})"


def _measured(measure: Callable[[], GapResult], texts: tuple[Any, Any] | None) -> GapResult | str:
    """Return the measurement of texts that can be judged, or the reason why there is none."""
    result = _tried(measure)
    if isinstance(result, str):
        return result
    if not result.claim.used:
        return "there is no evidence"
    if texts is not None and len(texts[1]) != result.claim.span_count:
        return f"evidence: {len(texts[1])} texts for {result.claim.span_count} vectors"
    if not math.isfinite(result.claim.energy + result.energy_gap + result.claim.identity_error):
        return "the energy is no finite number"
    return result


def _bad_data(rule: _Rule, why: str, energy: float = 1.0, gap: float = 1.0) -> dict[str, Any]:
    return {
        "verdict": "reject",
        "hallucination_energy": energy,
        "energy_gap": gap,
        "policy_applied": rule.name,
        "reasons": [f"bad data: {why}", *rule.reasons],
        "checks": [],
        "failure_modes": [],
    }


def _evaluated(
    rule: _Rule, measure: Callable[[], GapResult], given: Any, texts: tuple[Any, Any] | None
) -> dict[str, Any]:
    result = _measured(measure, texts)
    if isinstance(result, str):
        return _bad_data(rule, result)
    energy, own_gap = rounded(result.claim.energy), rounded(result.energy_gap)
    gap = own_gap if given is None else rounded(given)
    if not -1.0 <= gap <= 1.0:
        return _bad_data(rule, "the energy gap given is no number from -1 to 1", energy, own_gap)
    value = gap if rule.measure == "energy_gap" else energy
    decided = rule.decide(value)
    modes = failure_modes(result, value, rule.tau_accept, decided, strict=rule.strict)
    checks = _checks(result, texts)
    where = {"accept": "within", "review": "in the review band above", "reject": "above"}[decided]
    reasons = [
        f"{rule.measure} {value:g} is {where} {rounded(rule.tau_accept):g} ({rule.name})",
        *rule.reasons,
        *(f"{mode.name} ({mode.response}): {mode.explanation}" for mode in modes),
    ]
    if gap != own_gap:
        reasons.append(f"the gap was given; measured here it is {own_gap:g}")
    fired = [check for check in checks if check.fired]
    collapsed = any(mode.response == "fallback" for mode in modes)
    return {
        "verdict": severest(decided, *_by_modes(modes, energy), *(check.severity for check in fired)),
        "hallucination_energy": energy,
        "energy_gap": gap,
        "policy_applied": FIXED[FALLBACK].name if collapsed else rule.name,
        "reasons": reasons + [f"{check.name}: {check.explanation}" for check in fired],
        "checks": [vars(check) | {"found": list(check.found)} for check in checks],
        "failure_modes": [vars(mode).copy() for mode in modes],
    }


def _by_modes(modes: Sequence[FailureMode], energy: float) -> list[Verdict]:
    verdicts: list[Verdict] = []
    for mode in modes:
        if mode.response == "fallback":
            verdicts.append(FIXED[FALLBACK].decide(energy))
        elif mode.response != "flag":
            verdicts.append(mode.response)
    return verdicts


def _checks(result: GapResult, texts: tuple[Any, Any] | None) -> tuple[CheckResult, ...]:
    if texts is None:
        return ()
    scores = [_UNUSED] * result.claim.span_count
    for index, score in zip(result.claim.used, result.claim.topk_scores, strict=True):
        scores[index] = score
    return run_checks(texts[0], list(texts[1]), scores)

"""The gate as a whole: measure a claim, apply a policy, look at the failure modes and at the words, give a verdict.

    verdict = most severe of  policy(measured),  failure modes,  checks

Nothing here can make a verdict milder than the policy's. Source: *Deterministic Policy Gates for Stochastic Systems*,
"What This System Actually Does" and "Quick Start": its dictionary and its call.

Bad data is a reject with its reason and never an exception: vectors that are not finite, not of length 1 or of
mixed widths, no evidence, texts that can't be judged (``legibility``), a gap that is no number. Its energy and gap are
reported as 1, for nothing of it was shown to be supported.

*Embedding collapse* (the source: fall back to fixed tau): the fixed policy ``strict`` judges the energy, and the more
severe of its verdict and the policy's own counts, for collapsed vectors must not open a door that was shut.

Known approximations: a gap given by the caller (as in the source's call) is taken at its word where the policy
compares gaps, and the measured one is noted beside it if it differs. ``evaluate_claim`` gets vectors, and can't ask
whether the model read all of the texts.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from solvent.gate.checks import CheckResult, run_checks
from solvent.gate.errors import GateError, ModelMissingError
from solvent.gate.failures import FailureMode, failure_modes
from solvent.gate.legibility import illegible_pair, readable_spans
from solvent.gate.measurement import RANK_R, TOP_K, GapResult, Oracle, oracle_gap
from solvent.gate.policy import FIXED, Policy, Verdict, apply_adaptive_policy_gap, rounded, severest

if TYPE_CHECKING:
    from solvent.gate.embedding import Embedder

__all__ = ["FALLBACK", "Context", "evaluate_claim", "evaluate_text"]

FALLBACK = "strict"
"""The fixed policy that has a say where the embedding collapsed."""

T = TypeVar("T")

_UNUSED = -2.0  # below any cosine


@dataclasses.dataclass(frozen=True)
class Context:
    """The texts of a claim that is given as vectors, the place where the policy is used, and settings of the measure.

    Attributes:
        claim_text: the claim's words, for the checks; with it
        evidence_texts: the words of each span.
        domain: where the policy is used; it refuses a domain that it was not learnt on.
        model: name or fingerprint of the embedding model; the policy refuses another than its own.
        override: use the policy elsewhere all the same; the reasons then say so.
        top_k: most spans that count.
        rank_r: most directions that count.
    """

    claim_text: str | None = None
    evidence_texts: Sequence[str] | None = None
    domain: str | None = None
    model: str | None = None
    override: bool = False
    top_k: int = TOP_K
    rank_r: int = RANK_R

    def __post_init__(self) -> None:
        if (self.claim_text is None) != (self.evidence_texts is None):
            raise GateError("claim_text, evidence_texts: got one of the two; allowed: both or neither")
        for name in ("top_k", "rank_r"):
            count = getattr(self, name)
            if isinstance(count, bool) or not isinstance(count, int | np.integer):
                raise GateError(f"{name}: got {count!r:.80}; allowed: a whole number")


class _Rule(NamedTuple):
    """A policy, or a threshold without one."""

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
    """The verdict on a claim [d] against its evidence [n, d], all of length 1.

    Args:
        claim_vec: the claim.
        evidence_vecs: its spans.
        regime: a policy; or ``adaptive`` (on the gap) or ``fixed`` (on the energy) with a threshold. ``fixed`` alone
            is the fixed policy ``strict``.
        energy_gap: the gap, if it is known already; else it is measured.
        tau_accept: the threshold, where no policy is given.
        context: texts for the checks, domain and model of use, spans and directions that count.

    Returns:
        ``verdict``, ``hallucination_energy``, ``energy_gap`` (6 decimals), ``policy_applied``, ``reasons`` (texts),
            ``checks`` and ``failure_modes`` (dictionaries, all that JSON can hold).

    Raises:
        GateError: an unknown regime, no threshold, both a threshold and a policy, a policy used where it was not
            learnt. Never for data.
    """
    context = context or Context()
    rule = _rule(regime, tau_accept, context)
    texts = None if context.claim_text is None else (context.claim_text, context.evidence_texts)

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
    """The verdict on a claim and its evidence as texts; spans and directions as the policy was learnt with.

    Spans without a word, and spans that the model can't read, are left out; a claim it can't read is bad data.

    Raises:
        GateError: the policy was learnt on another domain or with another model; the model is missing. Never for
        texts.
    """
    if not isinstance(policy, Policy):
        raise GateError(f"policy: got {policy!r:.80}; allowed: a Policy")
    model = embedder.fingerprint if policy.model_fingerprint else embedder.name
    top_k, rank_r = policy.top_k or TOP_K, policy.rank_r or RANK_R
    use = Context(domain=domain, model=model, override=override, top_k=top_k, rank_r=rank_r)
    rule = _rule(policy, None, use)
    readable = _tried(lambda: readable_spans(claim, evidence, embedder))
    if isinstance(readable, str):
        return _bad_data(rule, readable)
    spans, left_out = readable

    def measure() -> GapResult:
        vectors = embedder.encode([claim, *spans])
        return oracle_gap(vectors[0], vectors[1:], top_k, rank_r, rule.oracle)

    return _evaluated(rule._replace(reasons=(*rule.reasons, *left_out)), measure, None, (claim, spans))


# ---------------------------------------------------------------------------------------------- rule


def _rule(regime: Policy | str, tau_accept: Any, context: Context) -> _Rule:
    """The rule that decides; every wrong use of the arguments ends here."""
    if isinstance(regime, Policy) and tau_accept is not None:
        raise GateError("tau_accept: got a policy as well; allowed: one of the two")
    if regime == "fixed" and tau_accept is None:
        regime = FIXED[FALLBACK]
    if isinstance(regime, Policy):
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
        oracle="medoid",
        reasons=() if math.isfinite(tau) else ("the threshold is no finite number",),
    )


# ----------------------------------------------------------------------------------------------- data


def _tried(call: Callable[[], T]) -> T | str:
    """The result of ``call``, or why there is none."""
    try:
        with np.errstate(all="ignore"):
            return call()
    except ModelMissingError:
        raise
    except GateError as error:
        return str(error)
    except Exception as error:  # whatever a foreign object does when it is read as an array
        return f"the claim or its evidence can't be read ({type(error).__name__})"


def _measured(measure: Callable[[], GapResult], texts: tuple[Any, Any] | None) -> GapResult | str:
    """The measurement, or why there is none."""
    if texts is not None and (why := _tried(lambda: illegible_pair(*texts))):
        return why
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


# -------------------------------------------------------------------------------------------- verdict


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
        "checks": [dataclasses.asdict(check) | {"found": list(check.found)} for check in checks],
        "failure_modes": [dataclasses.asdict(mode) for mode in modes],
    }


def _by_modes(modes: Sequence[FailureMode], energy: float) -> list[Verdict]:
    """The verdicts that the failure modes ask for."""
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

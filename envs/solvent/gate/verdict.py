"""The gate as a whole: measure a claim, apply a policy, look at the failure modes and at the words, give a verdict.

    verdict = most severe of  policy(measured),  failure modes,  checks

Nothing here can make a verdict milder than the policy's. Source: *Deterministic Policy Gates for Stochastic Systems*,
"What This System Actually Does", whose dictionary and whose call are these; the gate measures whether a claim can be
verified against the evidence it was given, not whether it is true.

Bad data is a reject with its reason and never an exception: vectors that are not finite, not of length 1 or of
mixed widths, no evidence, texts that can't be judged (``legible``), a gap that is no number. Its energy and gap are
reported as 1, for nothing of it was shown to be supported. A wrong use of the arguments is a ``GateError``.

*What the model can't read* (``evaluate_text``, where the embedder can tell): all words that its tokenizer doesn't know
have one vector, so *I love cats* and *they hate dogs* are the same in Thai. A claim is bad data if one unknown piece
holds a letter, a digit or a sign of mathematics or money, whatever its share; if other signs that are unknown (emoji)
make up more than a fifth of its characters, for then they are what it says; or if its end is cut off. An emoji after a
sentence passes. A span is left out, and the reasons say so, if more than a fifth of it is unknown; with less it is
evidence by the rest, since the claim itself has no word that could match the unknown one.

*Embedding collapse* (the source: fall back to fixed tau): the fixed policy ``strict`` judges the energy, and the more
severe of its verdict and the policy's own counts, for collapsed vectors must not open a door that was shut.

Known approximations: a gap given by the caller (as in the source's call) is taken at its word where the policy
compares gaps, and the measured one is noted beside it if it differs. Gram and vector forms measure to about 1e-9
the same; after rounding to 6 decimals, verdicts are the same unless a value lies that near to half a millionth.
``evaluate_claim`` and ``evaluate_gram`` get vectors, and can't ask what the model read of the texts.
"""

from __future__ import annotations

import dataclasses
import math
import unicodedata
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from solvent.gate.checks import CheckResult, run_checks
from solvent.gate.errors import GateError, ModelMissingError
from solvent.gate.failures import FailureMode, failure_modes
from solvent.gate.legible import LONGEST_SPAN, NO_WORDS, illegible
from solvent.gate.measurement import RANK_R, TOP_K, GapResult, Oracle, oracle_gap, oracle_gap_gram
from solvent.gate.policy import FIXED, Policy, Verdict, apply_adaptive_policy_gap, rounded, severest
from solvent.gate.wording import shown

if TYPE_CHECKING:
    from solvent.gate.embedding import Embedder, Unread

__all__ = ["FALLBACK", "REGIMES", "evaluate_claim", "evaluate_gram", "evaluate_text"]

REGIMES = ("adaptive", "fixed", "oracle")
"""The kinds of policy; a policy's own kind must be the regime."""

FALLBACK = "strict"
"""The fixed policy that has a say where the embedding collapsed."""

T = TypeVar("T")

_UNUSED = -2.0  # below any cosine
_MOST_UNKNOWN = 0.2
"""Share of a text's characters that may be signs the model doesn't know."""


class _Rule(NamedTuple):
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
    regime: str = "adaptive",
    energy_gap: float | None = None,
    tau_accept: float | None = None,
    *,
    policy: Policy | str | None = None,
    claim_text: str | None = None,
    evidence_texts: Sequence[str] | None = None,
    domain: str | None = None,
    model: str | None = None,
    override: bool = False,
    top_k: int = TOP_K,
    rank_r: int = RANK_R,
) -> dict[str, Any]:
    """The verdict on a claim [d] against its evidence [n, d], all of length 1.

    Args:
        claim_vec: the claim.
        evidence_vecs: its spans.
        regime: ``adaptive``, ``fixed`` or ``oracle``.
        energy_gap: the gap, if it is known already; else it is measured.
        tau_accept: the threshold, where no policy is given (adaptive on the gap, fixed on the energy).
        policy: a policy of the regime's kind, or the label of a fixed one; regime ``fixed`` alone means ``strict``.
        claim_text: the claim's words, for the checks; with it
        evidence_texts: the words of each span.
        domain: where the policy is used; it refuses a domain that it was not learnt on.
        model: name or fingerprint of the embedding model; the policy refuses another than its own.
        override: use the policy elsewhere all the same; the reasons then say so.
        top_k: most spans that count.
        rank_r: most directions that count.

    Returns:
        ``verdict``, ``hallucination_energy``, ``energy_gap`` (6 decimals), ``policy_applied``, ``reasons`` (texts),
            ``checks`` and ``failure_modes`` (dictionaries, all that JSON can hold).

    Raises:
        GateError: an unknown regime or policy, no threshold, both a threshold and a policy, a policy used where it
            was not learnt, texts of the claim or of the evidence alone. Never for data.
    """
    rule = _rule(regime, policy, tau_accept, (domain, model, override), top_k, rank_r)
    texts = _texts(claim_text, evidence_texts)

    def measure() -> GapResult:
        return oracle_gap(claim_vec, evidence_vecs, top_k, rank_r, rule.oracle)

    return _evaluated(rule, measure, energy_gap, texts)


def evaluate_gram(
    cross: ArrayLike,
    gram: ArrayLike,
    regime: str = "adaptive",
    energy_gap: float | None = None,
    tau_accept: float | None = None,
    *,
    policy: Policy | str | None = None,
    claim_text: str | None = None,
    evidence_texts: Sequence[str] | None = None,
    domain: str | None = None,
    model: str | None = None,
    override: bool = False,
    top_k: int = TOP_K,
    rank_r: int = RANK_R,
    claim_square: float = 1.0,
) -> dict[str, Any]:
    """``evaluate_claim`` from inner products alone: ``cross`` [n] of spans and claim, ``gram`` [n, n] of the spans.

    ``claim_square`` is the claim's product with itself.

    Raises:
        GateError: as ``evaluate_claim``.
    """
    rule = _rule(regime, policy, tau_accept, (domain, model, override), top_k, rank_r)
    texts = _texts(claim_text, evidence_texts)

    def measure() -> GapResult:
        return oracle_gap_gram(cross, gram, top_k, rank_r, rule.oracle, claim_square)

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
    rule = _rule(policy.kind, policy, None, (domain, model, override), top_k, rank_r)

    readable = _tried(lambda: _readable(claim, evidence, embedder))
    if isinstance(readable, str):
        return _report("reject", 1.0, 1.0, rule.name, [f"bad data: {readable}", *rule.reasons])
    spans, left_out = readable
    rule = rule._replace(reasons=(*rule.reasons, *left_out))

    def measure() -> GapResult:
        vectors = embedder.encode([claim, *spans])
        return oracle_gap(vectors[0], vectors[1:], top_k, rank_r, rule.oracle)

    return _evaluated(rule, measure, None, (claim, spans))


# ------------------------------------------------------------------------------------------ arguments


def _rule(
    regime: str,
    policy: Policy | str | None,
    tau_accept: float | None,
    use: tuple[str | None, str | None, bool],
    top_k: int,
    rank_r: int,
) -> _Rule:
    """What decides, from the arguments; every wrong use of them ends here."""
    if regime not in REGIMES:
        raise GateError(f"regime: got {regime!r:.80}; allowed: {', '.join(REGIMES)}")
    for name, count in (("top_k", top_k), ("rank_r", rank_r)):
        if isinstance(count, bool) or not isinstance(count, int | np.integer):
            raise GateError(f"{name}: got {count!r:.80}; allowed: a whole number")
    if tau_accept is not None:
        return _by_threshold(regime, policy, tau_accept)
    chosen = _chosen(regime, policy)
    domain, model, override = use
    reasons = chosen.usable(domain=domain, model=model, top_k=top_k, rank_r=rank_r, override=override)
    return _Rule(
        name=chosen.name,
        decide=chosen.decide,
        measure=chosen.measure,
        tau_accept=chosen.tau_accept,
        strict=chosen.strict,
        oracle=chosen.oracle,
        reasons=reasons,
    )


def _by_threshold(regime: str, policy: Policy | str | None, tau_accept: float) -> _Rule:
    if policy is not None:
        raise GateError("tau_accept: got a policy as well; allowed: one of the two")
    if regime == "oracle":
        raise GateError(
            "tau_accept: got one for the regime oracle; allowed: a policy (calibration.oracle_policy)"
        )
    if isinstance(tau_accept, bool | str) or not isinstance(tau_accept, int | float | np.number):
        raise GateError(f"tau_accept: got {tau_accept!r:.80}; allowed: a number")
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


def _chosen(regime: str, policy: Policy | str | None) -> Policy:
    if regime == "fixed" and (policy is None or isinstance(policy, str)):
        label = FALLBACK if policy is None else policy
        if label not in FIXED:
            raise GateError(f"policy: got {label!r:.80}; allowed: {', '.join(FIXED)}, or a Policy")
        return FIXED[label]
    if not isinstance(policy, Policy):
        wanted = "tau_accept or a Policy" if regime == "adaptive" else "a Policy"
        raise GateError(f"policy: got {policy!r:.80} for the regime {regime}; allowed: {wanted}")
    if policy.kind != regime:
        raise GateError(f"regime: got {regime!r} with {policy.name}; allowed: {policy.kind!r}")
    return policy


def _texts(claim: str | None, evidence: Sequence[str] | None) -> tuple[Any, Any] | None:
    if (claim is None) != (evidence is None):
        raise GateError("claim_text, evidence_texts: got one of the two; allowed: both or neither")
    return None if claim is None else (claim, evidence)


# ---------------------------------------------------------------------------------------------- data


def _readable(claim: Any, evidence: Any, embedder: Embedder) -> tuple[list[str], tuple[str, ...]]:
    """The spans that can be judged, and what was left out, one line each.

    Raises:
        GateError: the claim, or evidence that is no text, can't be judged.
    """
    spans = evidence
    if isinstance(evidence, Sequence) and not isinstance(evidence, str | bytes):
        # A cell of a table may hold a dash.
        spans = [span for span in evidence if illegible(span, LONGEST_SPAN) != NO_WORDS]
    if why := _illegible((claim, spans)):
        raise GateError(why)
    from solvent.gate.embedding import unread_by

    ours, *theirs = unread_by(embedder, [claim, *spans])
    if why := _unreadable(ours):
        raise GateError(f"claim: {why}")
    known = [span for span, unread in zip(spans, theirs, strict=True) if unread.share <= _MOST_UNKNOWN]
    left_out = {
        "without a word": len(evidence) - len(spans),
        "of words that the model does not know": len(spans) - len(known),
    }
    return known, tuple(f"spans {what}: {count} left out" for what, count in left_out.items() if count)


def _unreadable(unread: Unread) -> str:
    """Why a claim can't be judged of which the model doesn't read this; empty where it can."""
    if words := [word for word in unread.words if _says_something(word)]:
        return f"words that the model does not know: {shown(' '.join(words))!r}"
    if unread.share > _MOST_UNKNOWN:
        return f"signs that the model does not know make up {unread.share:.0%} of it"
    if unread.rest:
        return f"longer than the model reads; unread: {shown(unread.rest)!r}"
    return ""


def _says_something(word: str) -> bool:
    """Whether a piece of text is more than decoration: it holds a letter, a digit, a sign of mathematics or money."""
    spelled = unicodedata.normalize("NFKC", word)  # one sign may stand for letters: ℃
    return any(char.isalnum() or unicodedata.category(char) in ("Sm", "Sc") for char in spelled)


def _illegible(texts: tuple[Any, Any]) -> str:
    claim, evidence = texts
    if why := illegible(claim):
        return f"claim: {why}"
    if isinstance(evidence, str | bytes) or not isinstance(evidence, Sequence | np.ndarray):
        return f"evidence: no list of texts but {type(evidence).__name__}"
    bad = ((i, illegible(span, LONGEST_SPAN)) for i, span in enumerate(evidence))
    return next((f"evidence {i}: {why}" for i, why in bad if why), "")


def _tried(call: Callable[[], T]) -> T | str:
    """What ``call`` says, or why it can't."""
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
    if texts is not None and (why := _tried(lambda: _illegible(texts))):
        return why
    result = _tried(measure)
    if isinstance(result, str):
        return result
    if not result.claim.used_count:
        return "there is no evidence"
    if texts is not None and len(texts[1]) != result.claim.span_count:
        return f"evidence: {len(texts[1])} texts for {result.claim.span_count} vectors"
    if not math.isfinite(result.claim.energy + result.energy_gap + result.claim.identity_error):
        return "the energy is no finite number"
    return result


# -------------------------------------------------------------------------------------------- verdict


def _evaluated(
    rule: _Rule, measure: Callable[[], GapResult], given: Any, texts: tuple[Any, Any] | None
) -> dict[str, Any]:
    result = _measured(measure, texts)
    if isinstance(result, str):
        return _report("reject", 1.0, 1.0, rule.name, [f"bad data: {result}", *rule.reasons])
    gap = rounded(result.energy_gap if given is None else given)
    energy = rounded(result.claim.energy)
    if not -1.0 <= gap <= 1.0:
        why = ["bad data: the energy gap given is no number from -1 to 1", *rule.reasons]
        return _report("reject", energy, rounded(result.energy_gap), rule.name, why)
    value = gap if rule.measure == "energy_gap" else energy
    said = rule.decide(value)
    modes = _modes(rule, result, value, said)
    verdict, name, reasons = _with_modes(rule, said, value, energy, modes)
    if gap != rounded(result.energy_gap):
        reasons.append(f"the gap was given; measured here it is {rounded(result.energy_gap):g}")
    checks = _checks(result, texts)
    reasons += [f"{check.name}: {check.explanation}" for check in checks if check.fired]
    final = severest(verdict, *(check.severity for check in checks if check.fired))
    return _report(final, energy, gap, name, reasons, checks, modes)


def _modes(rule: _Rule, result: GapResult, value: float, said: Verdict) -> tuple[FailureMode, ...]:
    return failure_modes(
        energy=result.claim.energy,
        measured=value,
        tau_accept=rule.tau_accept,
        verdict=said,
        oracle_energy=result.oracle_energy,
        identity_error=result.claim.identity_error,
        best_cosine=result.claim.topk_scores[0],
        strict=rule.strict,
    )


def _with_modes(
    rule: _Rule, said: Verdict, value: float, energy: float, modes: Sequence[FailureMode]
) -> tuple[Verdict, str, list[str]]:
    """The policy's verdict after the failure modes, the name of what was applied, and the reasons."""
    where = {"accept": "within", "review": "in the review band above", "reject": "above"}[said]
    reasons = [
        f"{rule.measure} {value:g} is {where} {rounded(rule.tau_accept):g} ({rule.name})",
        *rule.reasons,
    ]
    verdicts, name = [said], rule.name
    for mode in modes:
        reasons.append(f"{mode.name} ({mode.response}): {mode.explanation}")
        if mode.response == "fallback":
            name = FIXED[FALLBACK].name
            verdicts.append(FIXED[FALLBACK].decide(energy))
        elif mode.response != "flag":
            verdicts.append(mode.response)
    return severest(*verdicts), name, reasons


def _checks(result: GapResult, texts: tuple[Any, Any] | None) -> tuple[CheckResult, ...]:
    if texts is None:
        return ()
    scores = [_UNUSED] * result.claim.span_count
    for index, score in zip(result.claim.used, result.claim.topk_scores, strict=True):
        scores[index] = score
    return run_checks(texts[0], list(texts[1]), scores)


def _report(
    verdict: Verdict,
    energy: float,
    gap: float,
    name: str,
    reasons: list[str],
    checks: Sequence[CheckResult] = (),
    modes: Sequence[FailureMode] = (),
) -> dict[str, Any]:
    return {
        "verdict": verdict,
        "hallucination_energy": energy,
        "energy_gap": gap,
        "policy_applied": name,
        "reasons": reasons,
        "checks": [dataclasses.asdict(check) | {"found": list(check.found)} for check in checks],
        "failure_modes": [dataclasses.asdict(mode) for mode in modes],
    }

"""Judge the claims of a data set under one policy.

The same as ``evaluate_text`` for each claim, with all texts embedded first, in batches.

Source: *Deterministic Policy Gates for Stochastic Systems*, "What This System Actually Does".
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from solvent.gate.backends import RememberingEmbedder
from solvent.gate.datasets import Sample
from solvent.gate.embedding import Embedder
from solvent.gate.errors import GateError
from solvent.gate.judged import Judged, judged_id, now
from solvent.gate.legibility import LONGEST_SPAN, illegible
from solvent.gate.measurement import Oracle
from solvent.gate.policy import FIXED, Policy
from solvent.gate.verdict import evaluate_text

__all__ = ["judge", "policy_named"]

Progress: TypeAlias = Callable[[str, int, int], None]


def policy_named(name: str, learnt: Mapping[str, Policy], oracle: Oracle | None = None) -> Policy:
    """Return a learnt policy by its name or label (``P10``), or a fixed one by its label.

    ``oracle`` is that of the gap that a fixed policy reports; a learnt policy must have been learnt with it.
    """
    labels = {key.partition(".")[2].rpartition(".v")[0]: policy for key, policy in learnt.items()}
    fixed = {policy.name: policy for policy in FIXED.values()}
    known = {**fixed, **FIXED, **labels, **learnt}
    if name not in known:
        raise GateError(f"policy: got {name!r:.80}; allowed: {', '.join(dict.fromkeys([*FIXED, *learnt]))}")
    policy = known[name]
    if oracle is None or oracle == policy.oracle:
        return policy
    if policy.kind != "fixed":
        raise GateError(
            f"oracle: got {oracle}, {policy.name} was learnt with {policy.oracle}; allowed: the same"
        )
    return dataclasses.replace(policy, oracle=oracle)


def judge(
    samples: Sequence[Sample],
    embedder: Embedder,
    policy: Policy,
    *,
    domain: str | None = None,
    on_progress: Progress = lambda *_: None,
) -> list[Judged]:
    """Return the verdicts on samples, in order; errors as in ``evaluate_text``.

    ``domain`` is the domain of use: by default a learnt policy's own, and a reason then says that nobody named it.
    """
    policy.usable(domain=domain, model=embedder.fingerprint if policy.model_fingerprint else embedder.name)
    remembering = RememberingEmbedder(embedder)
    remembering.warm(
        [text for s in samples for text in (s.claim, *s.evidence) if not illegible(text, LONGEST_SPAN)],
        lambda done, total: on_progress("sentences encoded", done, total),
    )
    used, when = domain or policy.domain, now()
    found = []
    for done, sample in enumerate(samples):
        if done % 50 == 0:
            on_progress("claims judged", done, len(samples))
        result = evaluate_text(sample.claim, sample.evidence, remembering, policy, domain=domain)
        found.append(
            Judged(
                id=judged_id(policy, used, embedder.fingerprint, sample.claim, sample.evidence),
                name=sample.id,
                claim=sample.claim,
                evidence=sample.evidence,
                pages=sample.pages,
                domain=used,
                model=embedder.name,
                model_fingerprint=embedder.fingerprint,
                policy=policy,
                result=result,
                judged_at=when,
            )
        )
    on_progress("claims judged", len(samples), len(samples))
    return found

"""Backends behind one interface: energies from 0 to 1, each claim's the same whatever else is scored with it."""

from __future__ import annotations

import numpy as np
import pytest

from solvent.gate.backends import (
    RememberingEmbedder,
    checks,
    cosine,
    gap,
    residual,
    span_count,
    tfidf,
)
from solvent.gate.embedding import Unread
from solvent.gate.errors import GateError
from solvent.gate.measurement import hallucination_energy

CLAIMS = ["the old stone mill burned", "the old stone mill burned", "a cat sleeps", "nothing at all"]
EVIDENCE = [["the old stone mill burned"], ["a cat sleeps"], ["a cat sleeps in the mill", "cats sleep"], []]


def backends(words):
    texts = [*CLAIMS, *(span for spans in EVIDENCE for span in spans)]
    return [residual(words), gap(words), cosine(words), tfidf(texts), checks, span_count]


def test_energies_lie_in_0_to_1_and_nothing_supports_nothing(words):
    for backend in backends(words):
        energies = backend(CLAIMS, EVIDENCE)
        assert energies.shape == (4,)
        assert (energies >= 0).all()
        assert (energies <= 1).all(), backend
        assert energies[3] == energies.max() == 1.0


def test_what_is_said_word_for_word_is_supported(words):
    for backend in backends(words)[:5]:
        energies = backend(CLAIMS, EVIDENCE)
        assert energies[0] < energies[1], backend


def test_a_score_does_not_depend_on_the_other_claims(words):
    for backend in backends(words):
        together = backend(CLAIMS, EVIDENCE)
        alone = [backend([c], [e])[0] for c, e in zip(CLAIMS, EVIDENCE, strict=True)]
        assert together.tolist() == alone
        assert backend(CLAIMS[::-1], EVIDENCE[::-1]).tolist() == together.tolist()[::-1]


def test_no_claims_and_other_numbers_of_claims(words):
    for backend in backends(words):
        assert backend([], []).shape == (0,)
        with pytest.raises(GateError, match="evidence: got 1 lists of spans; allowed: one a claim, 2"):
            backend(["a", "b"], [["c"]])


def test_the_residual_is_the_gates_own_energy(words):
    energy = residual(words, top_k=2, rank_r=1)(CLAIMS[2:3], EVIDENCE[2:3])[0]
    vectors = words.encode([CLAIMS[2], *EVIDENCE[2]])
    assert energy == round(hallucination_energy(vectors[0], vectors[1:], 2, 1).energy, 6)


def test_texts_are_encoded_once(words):
    calls: list[str] = []

    class Counting:
        name, dimension, fingerprint = words.name, words.dimension, words.fingerprint

        def encode(self, texts):
            calls.extend(texts)
            return words.encode(texts)

    remembering = RememberingEmbedder(Counting())
    seen: list[tuple[int, int]] = []
    remembering.warm(["a", "b", "a"], lambda done, total: seen.append((done, total)))
    rows = remembering.encode(["b", "a", "c", "b"])
    assert calls == ["a", "b", "c"]
    assert seen == [(0, 2), (2, 2)]
    assert (rows == words.encode(["b", "a", "c", "b"])).all()
    assert remembering.encode([]).shape == (0, words.dimension)


def test_what_was_not_read_is_not_forgotten(words, embedder):
    thai = "\u0e09\u0e31\u0e19"
    assert RememberingEmbedder(embedder).unread([thai]) == embedder.unread([thai])
    assert RememberingEmbedder(words).unread([thai]) == [Unread()]


def test_odd_texts_break_no_backend(words):
    odd = ["", " ", "\x00\x07", "!!!", "\ud800", "word " * 20_000]
    for backend in backends(words):
        energies = backend(odd, [[text, "the old mill"] for text in reversed(odd)])
        assert np.isfinite(energies).all(), backend

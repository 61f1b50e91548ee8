"""Backends: functions that score claims with their evidence, from 0 (supported) to 1 (unsupported, or no evidence).

``solvent gate eval`` compares the gate's own backends with baselines; ``verdict`` and ``sweep`` use none of them.

- ``residual``: the hallucination energy
- ``gap``: ``(1 + energy_gap) / 2``
- ``cosine``: ``1 - max cosine`` of claim and spans
- ``tfidf``: 1 minus the cosine of the TF-IDF vectors of the claim and its joined evidence (scikit-learn)
- ``checks``: the share of the checks that fired (``checks.py``), without an embedding
- ``spans``: ``1 / (1 + number of spans)``, without the text; the data set leaks labels if it separates them

Energies are rounded to ``ENERGY_DECIMALS``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from solvent.extras import install
from solvent.gate.checks import run_checks
from solvent.gate.embedding import Embedder, Unread, unread_by
from solvent.gate.errors import GateError
from solvent.gate.measurement import ENERGY_DECIMALS, RANK_R, TOP_K, Oracle, hallucination_energy, oracle_gap

__all__ = ["Backend", "RememberingEmbedder", "checks", "cosine", "gap", "residual", "span_count", "tfidf"]

CHUNK = 256

Floats = NDArray[np.float64]

Backend: TypeAlias = Callable[[Sequence[str], Sequence[Sequence[str]]], Floats]
"""Returns energies [B] of claims with a list of spans each; a claim's energy does not depend on the others."""


class RememberingEmbedder:
    """An embedder that reads each text once and keeps its vector, and what it did not read, in memory."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._rows: dict[str, Floats] = {}
        self._unread: dict[str, Unread] = {}
        self.name = embedder.name
        self.dimension = embedder.dimension
        self.fingerprint = embedder.fingerprint

    def warm(self, texts: Iterable[str], on_progress: Callable[[int, int], None] = lambda *_: None) -> None:
        """Encode new texts; ``on_progress`` receives the number done and the total."""
        new = [text for text in dict.fromkeys(texts) if text not in self._rows]
        for start in range(0, len(new), CHUNK):
            on_progress(start, len(new))
            part = new[start : start + CHUNK]
            self._rows.update(zip(part, self._embedder.encode(part), strict=True))
        if new:
            on_progress(len(new), len(new))

    def encode(self, texts: Sequence[str]) -> Floats:
        """Return unit rows [n, d]."""
        self.warm(texts)
        return np.stack([self._rows[text] for text in texts]) if texts else np.empty((0, self.dimension))

    def unread(self, texts: Sequence[str]) -> list[Unread]:
        """Return the unread parts of each text."""
        new = [text for text in dict.fromkeys(texts) if text not in self._unread]
        self._unread.update(zip(new, unread_by(self._embedder, new), strict=True))
        return [self._unread[text] for text in texts]


def residual(embedder: Embedder, top_k: int = TOP_K, rank_r: int = RANK_R) -> Backend:
    """Return the hallucination energy: the share of the claim outside the span of its evidence."""
    return _by_vectors(
        embedder, lambda claim, spans: hallucination_energy(claim, spans, top_k, rank_r).energy
    )


def gap(embedder: Embedder, top_k: int = TOP_K, rank_r: int = RANK_R, oracle: Oracle = "medoid") -> Backend:
    """Return the claim's energy minus that of the oracle, mapped from [-1, 1] to [0, 1]."""
    return _by_vectors(
        embedder,
        lambda claim, spans: (1.0 + oracle_gap(claim, spans, top_k, rank_r, oracle).energy_gap) / 2.0,
    )


def cosine(embedder: Embedder) -> Backend:
    """Return the distance to the nearest span, ``1 - max cosine``; a negative cosine counts as 0."""
    return _by_vectors(
        embedder, lambda claim, spans: 1.0 - (float((spans @ claim).max()) if len(spans) else 0.0)
    )


def tfidf(texts: Iterable[str]) -> Backend:
    """Return the distance by shared words, weighted by their rarity among ``texts``; no embedding."""
    try:
        from sklearn.feature_extraction.text import TfidfVectorizer
    except ImportError:
        raise GateError(
            f"TF-IDF needs scikit-learn, which is not installed; allowed: {install('gate')}"
        ) from None
    vectorizer = TfidfVectorizer(token_pattern=r"(?u)\b\w+\b")
    # The vectorizer refuses an empty vocabulary.
    vectorizer.fit([*dict.fromkeys(texts), "word"])

    def score(claims: Sequence[str], evidence: Sequence[Sequence[str]]) -> Floats:
        _same_length(claims, evidence)
        if not claims:
            return np.empty(0)
        left = vectorizer.transform(claims)
        right = vectorizer.transform([" ".join(spans) for spans in evidence])
        common = np.asarray(left.multiply(right).sum(axis=1), dtype=np.float64).ravel()
        return _energy(1.0 - common)

    return score


def checks(claims: Sequence[str], evidence: Sequence[Sequence[str]]) -> Floats:
    """Return the share of the checks that fired [B]; 1 for a claim without evidence."""
    _same_length(claims, evidence)
    shares = [
        np.mean([check.fired for check in run_checks(claim, list(spans))]) if spans else 1.0
        for claim, spans in zip(claims, evidence, strict=True)
    ]
    return _energy(np.array(shares, dtype=np.float64))


def span_count(claims: Sequence[str], evidence: Sequence[Sequence[str]]) -> Floats:
    """Return ``1 / (1 + number of spans)`` [B], which shows how much that number leaks of a data set's labels."""
    _same_length(claims, evidence)
    return _energy(1.0 / (1.0 + np.array([len(spans) for spans in evidence], dtype=np.float64)))


def _by_vectors(embedder: Embedder, measure: Callable[[Floats, Floats], float]) -> Backend:
    """Return the backend that measures a claim's vector [d] and its spans' vectors [n, d]."""

    def score(claims: Sequence[str], evidence: Sequence[Sequence[str]]) -> Floats:
        _same_length(claims, evidence)
        texts = list(dict.fromkeys(chain(claims, *evidence)))
        rows = embedder.encode(texts) if texts else np.empty((0, embedder.dimension))
        place = {text: i for i, text in enumerate(texts)}
        spans = [rows[[place[text] for text in own]] if own else rows[:0] for own in evidence]
        pairs = zip(claims, spans, strict=True)
        return _energy(np.array([measure(rows[place[claim]], own) for claim, own in pairs], dtype=np.float64))

    return score


def _same_length(claims: Sequence[str], evidence: Sequence[Sequence[str]]) -> None:
    if len(claims) != len(evidence):
        raise GateError(f"evidence: got {len(evidence)} lists of spans; allowed: one a claim, {len(claims)}")


def _energy(values: Floats) -> Floats:
    return np.round(np.clip(values, 0.0, 1.0), ENERGY_DECIMALS).astype(np.float64)

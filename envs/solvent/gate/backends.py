"""Backends: scores of a claim and its evidence, from 0 (supported) to 1 (unsupported).

``solvent gate eval`` compares the gate's own backends with baselines; ``verdict`` and ``sweep`` use none of them.

- ``residual``: the hallucination energy
- ``gap``: ``(1 + energy_gap) / 2``
- ``cosine``: ``1 - max cosine`` of claim and spans
- ``tfidf``: 1 minus the cosine of the TF-IDF vectors of the claim and its joined evidence (scikit-learn)
- ``checks``: the share of the checks that fired (``checks.py``), without an embedding
- ``spans``: ``1 / (1 + number of spans)``, without the text; the data set leaks labels if it separates them
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from solvent.gate.checks import run_checks
from solvent.gate.embedding import Embedder, Unread, unread_by
from solvent.gate.errors import GateError
from solvent.gate.measurement import ENERGY_DECIMALS, RANK_R, TOP_K, hallucination_energy, oracle_gap

__all__ = [
    "Backend",
    "ChecksBackend",
    "CosineBackend",
    "GapBackend",
    "RememberingEmbedder",
    "ResidualBackend",
    "SpanCountBackend",
    "TfidfBackend",
]

CHUNK = 256

Floats = NDArray[np.float64]


@runtime_checkable
class Backend(Protocol):
    """A scorer of claims against their evidence."""

    @property
    def name(self) -> str:
        """The name shown in tables."""
        ...

    def score(self, claims: Sequence[str], evidence: Sequence[Sequence[str]]) -> Floats:
        """Return energies [B] in [0, 1], rounded to ``ENERGY_DECIMALS``; 1 for a claim without evidence.

        ``evidence`` has a list of spans for each claim. The score of a claim does not depend on the others.
        """
        ...


class RememberingEmbedder:
    """An embedder that encodes each text once and keeps the vector in memory."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._rows: dict[str, Floats] = {}
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
        return unread_by(self._embedder, texts)


class ResidualBackend:
    """The hallucination energy: the share of the claim outside the span of its evidence."""

    name = "residual"

    def __init__(self, embedder: Embedder, *, top_k: int = TOP_K, rank_r: int = RANK_R) -> None:
        self._embedder, self._top_k, self._rank_r = embedder, top_k, rank_r

    def score(self, claims: Sequence[str], evidence: Sequence[Sequence[str]]) -> Floats:
        """Return energies [B]."""
        return _energy(_measured(self._embedder, claims, evidence, self._residual))

    def _residual(self, claim: Floats, spans: Floats) -> float:
        return hallucination_energy(claim, spans, self._top_k, self._rank_r).energy


class GapBackend:
    """The claim's energy minus that of the medoid span, mapped from [-1, 1] to [0, 1]."""

    name = "gap"

    def __init__(self, embedder: Embedder, *, top_k: int = TOP_K, rank_r: int = RANK_R) -> None:
        self._embedder, self._top_k, self._rank_r = embedder, top_k, rank_r

    def score(self, claims: Sequence[str], evidence: Sequence[Sequence[str]]) -> Floats:
        """Return ``(1 + energy_gap) / 2`` [B]."""
        return _energy((1.0 + _measured(self._embedder, claims, evidence, self._gap)) / 2.0)

    def _gap(self, claim: Floats, spans: Floats) -> float:
        return oracle_gap(claim, spans, self._top_k, self._rank_r).energy_gap


class CosineBackend:
    """The distance to the nearest span: ``1 - max cosine``."""

    name = "cosine"

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def score(self, claims: Sequence[str], evidence: Sequence[Sequence[str]]) -> Floats:
        """Return energies [B]; a negative cosine counts as 0."""
        return _energy(1.0 - _measured(self._embedder, claims, evidence, _nearest))


class TfidfBackend:
    """Shared words, weighted by their rarity among ``texts``; no embedding."""

    name = "tfidf"

    def __init__(self, texts: Iterable[str]) -> None:
        try:
            from sklearn.feature_extraction.text import TfidfVectorizer
        except ImportError:
            raise GateError(
                "TF-IDF needs scikit-learn, which is not installed; allowed: pip install 'solvent-gym[gate]'"
            ) from None
        self._vectorizer = TfidfVectorizer(token_pattern=r"(?u)\b\w+\b")
        # The vectorizer refuses an empty vocabulary.
        self._vectorizer.fit([*dict.fromkeys(texts), "word"])

    def score(self, claims: Sequence[str], evidence: Sequence[Sequence[str]]) -> Floats:
        """Return energies [B]."""
        _same_length(claims, evidence)
        if not claims:
            return np.empty(0)
        left = self._vectorizer.transform(claims)
        right = self._vectorizer.transform([" ".join(spans) for spans in evidence])
        common = np.asarray(left.multiply(right).sum(axis=1), dtype=np.float64).ravel()
        return _energy(1.0 - common)


class ChecksBackend:
    """The share of the checks that fired."""

    name = "checks"

    def score(self, claims: Sequence[str], evidence: Sequence[Sequence[str]]) -> Floats:
        """Return shares [B]; 1 for a claim without evidence."""
        _same_length(claims, evidence)
        fired = [
            [check.fired for check in run_checks(c, list(e))] for c, e in zip(claims, evidence, strict=True)
        ]
        shares = [np.mean(own) if spans else 1.0 for own, spans in zip(fired, evidence, strict=True)]
        return _energy(np.array(shares, dtype=np.float64))


class SpanCountBackend:
    """The number of spans alone, to show how much it leaks of a data set's labels."""

    name = "spans"

    def score(self, claims: Sequence[str], evidence: Sequence[Sequence[str]]) -> Floats:
        """Return ``1 / (1 + n)`` [B]."""
        _same_length(claims, evidence)
        return _energy(1.0 / (1.0 + np.array([len(spans) for spans in evidence], dtype=np.float64)))


def _nearest(claim: Floats, spans: Floats) -> float:
    return float((spans @ claim).max()) if len(spans) else 0.0


def _measured(
    embedder: Embedder,
    claims: Sequence[str],
    evidence: Sequence[Sequence[str]],
    measure: Callable[[Floats, Floats], float],
) -> Floats:
    """Return ``measure`` of each claim's vector [d] and its spans' vectors [n, d]."""
    _same_length(claims, evidence)
    texts = list(dict.fromkeys(chain(claims, *evidence)))
    rows = embedder.encode(texts) if texts else np.empty((0, embedder.dimension))
    place = {text: i for i, text in enumerate(texts)}
    spans = [rows[[place[text] for text in own]] if own else rows[:0] for own in evidence]
    pairs = zip(claims, spans, strict=True)
    return np.array([measure(rows[place[claim]], own) for claim, own in pairs], dtype=np.float64)


def _same_length(claims: Sequence[str], evidence: Sequence[Sequence[str]]) -> None:
    if len(claims) != len(evidence):
        raise GateError(f"evidence: got {len(evidence)} lists of spans; allowed: one a claim, {len(claims)}")


def _energy(values: Floats) -> Floats:
    return np.round(np.clip(values, 0.0, 1.0), ENERGY_DECIMALS).astype(np.float64)

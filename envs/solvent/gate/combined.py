"""A research extension: several residuals, weighed by a logistic regression, behind the interface of a backend.

    energy = 1 / (1 + exp(-(b + sum_k w_k (x_k - m_k) / s_k)))

with ``x`` the subspace residual, ``1 - max cosine``, three features of the claim's pieces (``tokens.py``), and for each
of the text's checks (``checks.py``) whether it fired. Weights are learnt from one part of one labelled set: supported
claims against its others, and against themselves with mismatched evidence. Nothing in it counts spans.

It is no default, and stands beside the residual in comparisons alone: no verdict and no threshold is taken from it.
``docs/gate.md`` has what it gains on held-out claims of its own set and on others. What is learnt is
data about a set of texts, and a file of weights says which one; ``trained_on`` tells whether a sample has a claim or a
span in common with what was learnt from. Known approximation: energies under different weights are not comparable,
they are odds under one set's mixture.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvent.gate.backends import CosineBackend, RememberingEmbedder, ResidualBackend
from solvent.gate.checks import run_checks
from solvent.gate.datasets import Dataset, Sample, deranged, halves
from solvent.gate.embedding import SentenceEmbedder
from solvent.gate.errors import GateError
from solvent.gate.measurement import ENERGY_DECIMALS, RANK_R, TOP_K
from solvent.gate.tokens import TOKEN_FEATURES, TokenEncoder, token_features

__all__ = ["CombinedBackend", "Weights", "train_weights"]

FORMAT = "solvent.gate.combined.v1"
REGULARISATION = 1.0
SHARE = 0.5
CHUNK = 64

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Weights:
    """What was learnt, and from what.

    Attributes:
        features: names of the features.
        mean, scale, weight: one number each a feature.
        intercept: log odds at the mean.
        model: fingerprint of the embedding model.
        top_k, rank_r: of the residual.
        dataset: name and SHA-256 of the set.
        seed: of the split and the mismatched evidence.
        counts: claims learnt from, by kind.
        texts: sixteen digits of the SHA-256 of every claim and span learnt from.
    """

    features: tuple[str, ...]
    mean: tuple[float, ...]
    scale: tuple[float, ...]
    weight: tuple[float, ...]
    intercept: float
    model: str
    top_k: int
    rank_r: int
    dataset: Mapping[str, str]
    seed: int
    counts: Mapping[str, int]
    texts: tuple[str, ...]

    def __post_init__(self) -> None:
        sizes = {len(self.features), len(self.mean), len(self.scale), len(self.weight)}
        numbers = (*self.mean, *self.scale, *self.weight, self.intercept)
        if {type(word) for word in (*self.features, *self.texts, self.model)} != {str}:
            raise GateError("weights: got a feature, a text's hash or a model that is no text; allowed: text")
        if {type(k) for k in (self.top_k, self.rank_r)} != {int} or min(self.top_k, self.rank_r) < 1:
            raise GateError(
                f"weights: got top_k {self.top_k!r:.20} and rank_r {self.rank_r!r:.20}; allowed: 1 or more"
            )
        if not {type(number) for number in numbers} <= {int, float}:
            raise GateError("weights: got something that is no number among them; allowed: numbers")
        if len(sizes) != 1 or not self.features:
            raise GateError("weights: got lists of different lengths; allowed: one number a feature")
        if not np.isfinite(np.array(numbers, dtype=np.float64)).all() or min(self.scale) <= 0:
            raise GateError(
                "weights: got a number that is not finite or a scale of 0; allowed: finite numbers"
            )

    def energies(self, features: Floats) -> Floats:
        """Energies [B] of features [B, k]."""
        shifted = (features - np.array(self.mean)) / np.array(self.scale)
        odds = np.clip(shifted @ np.array(self.weight) + self.intercept, -50.0, 50.0)
        energies: Floats = np.round(1.0 / (1.0 + np.exp(-odds)), ENERGY_DECIMALS)
        return energies

    def trained_on(self, sample: Sample) -> bool:
        """Whether the sample's claim or one of its spans was learnt from."""
        return not _digests(sample).isdisjoint(self._texts())

    def _texts(self) -> frozenset[str]:
        return frozenset(self.texts)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write JSON with a hash over all of it: whole or not at all.

        Raises:
            GateError: the file can't be written.
        """
        content = json.loads(json.dumps(asdict(self)))
        document = {"format": FORMAT, "sha256": _sha256(content), "weights": content}
        target = Path(path)
        temporary = target.with_name(f".{target.name}.{os.getpid()}.part")
        try:
            temporary.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
            temporary.replace(target)
        except OSError as error:
            raise GateError(f"{target}: not written, {error.strerror}; allowed: a file in a folder") from None
        finally:
            temporary.unlink(missing_ok=True)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Weights:
        """Read what ``save`` wrote.

        Raises:
            GateError: no such file, another format, or changed since.
        """
        file = Path(path)
        try:
            document = json.loads(file.read_bytes().decode("utf-8"))
        except OSError as error:
            raise GateError(f"{file}: not read, {error.strerror}; allowed: a file of weights") from None
        except (ValueError, RecursionError):
            raise GateError(f"{file}: no JSON in UTF-8; allowed: what `solvent gate train` writes") from None
        if not isinstance(document, dict) or document.get("format") != FORMAT:
            raise GateError(
                f"{file}: not a file of weights; allowed: what `solvent gate train` writes ({FORMAT})"
            )
        content = document.get("weights")
        if not isinstance(content, dict) or document.get("sha256") != _sha256(content):
            raise GateError(f"{file}: changed since it was written (its SHA-256 differs); allowed: unchanged")
        if set(content) != {field.name for field in fields(cls)}:
            raise GateError(
                f"{file}: other fields than {FORMAT} has; allowed: what `solvent gate train` writes"
            )
        values: Any = {key: tuple(v) if isinstance(v, list) else v for key, v in content.items()}
        try:
            return cls(**values)
        except (TypeError, ValueError, OverflowError) as error:
            raise GateError(f"{file}: {error}") from None


class CombinedBackend:
    """Several residuals in one, by learnt weights.

    Raises:
        GateError: weights that were learnt with another embedding model or other features.
    """

    name = "combined"

    def __init__(self, embedder: SentenceEmbedder, weights: Weights) -> None:
        if weights.model != embedder.fingerprint:
            raise GateError(
                f"model: got {embedder.fingerprint[:12]}; allowed: {weights.model[:12]}, which the weights are for"
            )
        self._features = _Features(embedder, weights.top_k, weights.rank_r)
        self.weights = weights

    def score(self, claims: Sequence[str], evidence: Sequence[Sequence[str]]) -> Floats:
        """Energies [B]; 1 where there is no evidence."""
        table = self._features.of(claims, evidence)
        if self._features.names != self.weights.features:
            raise GateError("weights: learnt with other features; allowed: train them with this version")
        energies = self.weights.energies(table)
        return np.where([len(spans) > 0 for spans in evidence], energies, 1.0)


class _Features:
    """The features of claims: names and a table [B, k]."""

    def __init__(self, embedder: SentenceEmbedder, top_k: int, rank_r: int) -> None:
        remembering = RememberingEmbedder(embedder)
        self._residual = ResidualBackend(remembering, top_k=top_k, rank_r=rank_r)
        self._cosine = CosineBackend(remembering)
        # The interface of an embedder has whole texts alone; pieces need the model behind it.
        self._tokens = TokenEncoder(embedder.model)
        checks = tuple(f"check_{check.name}" for check in run_checks("a claim", ["a span"]))
        self.names = ("residual", "cosine", *TOKEN_FEATURES, *checks)

    def of(
        self,
        claims: Sequence[str],
        evidence: Sequence[Sequence[str]],
        on_progress: Callable[[int, int], None] = lambda *_: None,
    ) -> Floats:
        residual, cosine = self._residual.score(claims, evidence), self._cosine.score(claims, evidence)
        rows = []
        for start in range(0, len(claims), CHUNK):
            on_progress(start, len(claims))
            part = range(start, min(start + CHUNK, len(claims)))
            tokens = self._tokens.encode(list(chain.from_iterable((claims[i], *evidence[i]) for i in part)))
            for i in part:
                words = token_features(tokens[claims[i]], [tokens[span] for span in evidence[i]])
                fired = [float(check.fired) for check in run_checks(claims[i], list(evidence[i]))]
                rows.append([residual[i], cosine[i], *words, *fired])
        on_progress(len(claims), len(claims))
        return np.array(rows, dtype=np.float64).reshape(len(claims), len(self.names))


def train_weights(
    dataset: Dataset,
    embedder: SentenceEmbedder,
    *,
    seed: int = 0,
    top_k: int = TOP_K,
    rank_r: int = RANK_R,
    on_progress: Callable[[int, int], None] = lambda *_: None,
) -> Weights:
    """Learn weights from one half of a set, by groups; the other half stays for the evaluation.

    Supported claims stand against refuted and not-enough-information ones and against themselves with mismatched
    evidence; both sides weigh the same.

    Raises:
        GateError: scikit-learn is not installed, or the half lacks one of the sides.
    """
    try:
        from sklearn.linear_model import LogisticRegression
        from sklearn.preprocessing import StandardScaler
    except ImportError:
        raise GateError(
            "training needs scikit-learn, which is not installed; allowed: pip install 'solvent-gym[gate]'"
        ) from None
    half, _ = halves(dataset.samples, seed, SHARE)
    supported = [sample for sample in half if sample.label == "supported"]
    others = [sample for sample in half if sample.label in ("refuted", "nei")]
    if not supported or not others:
        raise GateError(
            f"{dataset.name}: its half has {len(supported)} supported claims and {len(others)} others; allowed: both"
        )
    everything = [*supported, *others, *deranged(supported, seed)]
    features = _Features(embedder, top_k, rank_r)
    table = features.of([s.claim for s in everything], [s.evidence for s in everything], on_progress)
    scaler = StandardScaler().fit(table)
    unsupported = np.arange(len(everything)) >= len(supported)
    learner = LogisticRegression(C=REGULARISATION, class_weight="balanced", max_iter=1000)
    learner.fit(scaler.transform(table), unsupported)
    return Weights(
        features=features.names,
        mean=_plain(scaler.mean_),
        scale=_plain(scaler.scale_),
        weight=_plain(learner.coef_[0]),
        intercept=_plain(learner.intercept_)[0],
        model=embedder.fingerprint,
        top_k=top_k,
        rank_r=rank_r,
        dataset={"name": dataset.name, "sha256": dataset.sha256},
        seed=seed,
        counts={"supported": len(supported), "others": len(others), "shuffled": len(supported)},
        texts=tuple(sorted(frozenset(chain.from_iterable(_digests(sample) for sample in half)))),
    )


def _plain(values: Any) -> tuple[float, ...]:
    return tuple(round(float(value), 9) for value in values)


def _digests(sample: Sample) -> frozenset[str]:
    texts = (" ".join(text.casefold().split()) for text in (sample.claim, *sample.evidence))
    return frozenset(hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16] for text in texts)


def _sha256(content: Any) -> str:
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()

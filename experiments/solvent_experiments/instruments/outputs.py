"""Checks of a command's outputs before any work, and errors of bad input."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from solvent.files import require_writable
from solvent_experiments.config import ConfigError

__all__ = ["Output", "require_outputs", "require_place"]

HEAD = 1000  # bytes in which a file names its format


class Output(NamedTuple):
    """A file that a command writes.

    Attributes:
        path: None if it is not written.
        format: the format of a file that it may replace.
        names: text that the head of that file must contain.
    """

    option: str
    path: Path | None
    format: str
    names: str = ""


def require_outputs(inputs: Mapping[str, Path | None], *outputs: Output) -> None:
    """Raise ConfigError if an output can't be written, or would replace an input or another kind of file."""
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
    if output.path is None or not output.path.is_file():
        return False
    with output.path.open("rb") as file:
        head = file.read(HEAD).decode("utf-8", errors="replace")
    start = rf'\s*\{{\s*"format": "{re.escape(output.format)}"'
    return bool(re.match(start, head)) and output.names in head


def require_place(option: str, path: Path) -> None:
    """Raise ConfigError if no file can be written at a path."""
    try:
        require_writable(path)
    except OSError as error:
        raise ConfigError(
            f"{option}: {path} can't be written, {error.strerror}; allowed: a file in a folder"
        ) from None

"""Judgements on disk: one JSON file for each key, written whole or not at all, and never trusted unseen.

    folder / first two digits of the key / key.json

An entry that can't be read, is no such JSON, has a score outside of 0..3 or another key than its name counts as absent:
a warning is logged, and the next judgement takes its place. Where nothing can be written (a full disk, a folder without
rights) a warning is logged once and the judgement is returned all the same. An entry holds hashes and the judge's
answer; the response, the tools and the query are not in it, and neither is the API key.

Known approximation: whoever can write in the folder can write judgements. It guards against accidents.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import tempfile
from os import PathLike
from pathlib import Path
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, ValidationError

from solvent.adequacy.judge_answer import Grades, strict_json
from solvent.adequacy.judgement import Judgement

__all__ = ["FORMAT", "JudgementCache"]

FORMAT = "solvent.adequacy.judgement.v1"

_LONGEST = 65_536  # bytes; an entry is a reason of at most 4,000 characters and some hashes

_log = logging.getLogger(__name__)


class _Entry(Grades):
    model_config = ConfigDict(strict=True, extra="forbid")

    format: Literal["solvent.adequacy.judgement.v1"]
    key: str
    model: str
    prompt: str
    tokens: Annotated[int, Field(ge=0)] | None


class JudgementCache:
    """Judgements by key (64 hexadecimal digits) in ``folder``, which is made when the first one is put there."""

    def __init__(self, folder: str | PathLike[str]) -> None:
        self.folder = Path(folder).expanduser()
        self._told = False

    def path(self, key: str) -> Path:
        """Where the entry of a key lies."""
        return self.folder / key[:2] / f"{key}.json"

    def get(self, key: str) -> Judgement | None:
        """The judgement of ``key``, or None where there is none that can be trusted."""
        path = self.path(key)
        try:
            with path.open("rb") as file:
                data = file.read(_LONGEST + 1)
            if len(data) > _LONGEST:
                raise ValueError(f"more than {_LONGEST} bytes")
            entry = _Entry.model_validate(strict_json(data.decode("utf-8")))
            if entry.key != key:
                raise ValueError("the entry of another key")
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:  # ValidationError and UnicodeDecodeError are ValueErrors
            why = error.errors(include_url=False)[0]["msg"] if isinstance(error, ValidationError) else error
            _log.warning("%s is not used: %s; it is judged anew", path, why)
            return None
        fields = entry.model_dump(exclude={"format"})
        return Judgement(**fields, cached=True)

    def put(self, judgement: Judgement) -> None:
        """Write the judgement, in the place of an entry that is there."""
        entry = {"format": FORMAT, **judgement.to_dict()}
        del entry["cached"]
        path = self.path(judgement.key)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            _write(path, json.dumps(entry, ensure_ascii=True, indent=1) + "\n")
        except OSError as error:
            if not self._told:
                self._told = True
                _log.warning("judgements are not kept in %s: %s", self.folder, error)


def _write(path: Path, text: str) -> None:
    # A name of its own for each writer: threads and processes may write the same entry at once.
    handle, temporary = tempfile.mkstemp(prefix=f".{path.stem[:16]}.", suffix=".part", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            Path(temporary).unlink()

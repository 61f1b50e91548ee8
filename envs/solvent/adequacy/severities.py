"""Severities of failures: three names on FMEA's ranks from 1 to 10, each with a weight.

FMEA ranks severity from 1 (nobody notices) to 10 (dangerous, without warning). A name stands for one rank, and covers
those from its lowest up to where the next begins. The weight is what a failure of this severity counts where patterns
are extracted (``patterns``); only the ratios of the weights matter. All of it is data, ``severities.toml``. Source:
"Epistemic Adequacy Design", "Integration with FMEA skill"; the numbers are ours.

Known approximation: the distance between two ranks has no meaning, so any weights are a choice.
"""

from __future__ import annotations

import functools
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from solvent.adequacy.corrections import SEVERITIES
from solvent.adequacy.errors import AdequacyError

__all__ = ["SEVERITY_TABLE", "Severity", "SeverityScale", "load_severities", "require_rank"]

SEVERITY_TABLE = Path(__file__).with_name("severities.toml")
"""The severities that are used where none are given."""

_WORST = 10


@dataclass(frozen=True)
class Severity:
    """A named severity: the rank it stands for, its lowest rank, and its weight in pattern extraction."""

    name: str
    rank: int
    lowest: int
    weight: float


@dataclass(frozen=True)
class SeverityScale:
    """The severities from the lowest up."""

    levels: tuple[Severity, ...]

    def rank(self, severity: str | int) -> int:
        """The rank of a severity that is given by name or as a rank.

        Raises:
            AdequacyError: neither a name nor a whole number from 1 to 10.
        """
        for level in self.levels:
            if severity == level.name:
                return level.rank
        if isinstance(severity, str):
            raise AdequacyError(
                f"severity: got {severity!r:.80}; allowed: {', '.join(SEVERITIES)}, or 1 to 10"
            )
        return require_rank("severity", severity)

    def of(self, rank: int) -> Severity:
        """The severity that a rank falls under.

        Raises:
            AdequacyError: no whole number from 1 to 10.
        """
        require_rank("severity", rank)
        return [level for level in self.levels if level.lowest <= rank][-1]

    def weight(self, name: str) -> float:
        """The weight of a named severity.

        Raises:
            AdequacyError: no such name.
        """
        return self.of(self.rank(str(name))).weight


def load_severities(path: str | os.PathLike[str] | None = None) -> SeverityScale:
    """The severities in a file; None: the shipped ones, read once.

    Raises:
        AdequacyError: it can't be read, a field is wrong, or the ranks don't cover 1 to 10 in order.
    """
    return _shipped() if path is None else _loaded(Path(path))


@functools.cache
def _shipped() -> SeverityScale:
    return _loaded(SEVERITY_TABLE)


def _loaded(path: Path) -> SeverityScale:
    try:
        document = tomllib.loads(path.read_bytes().decode("utf-8"))
    except OSError as error:
        raise AdequacyError(f"{path}: not read, {error.strerror}; allowed: a table of severities") from None
    except ValueError as error:
        raise AdequacyError(f"{path}: {error}; allowed: a table of severities in TOML") from None
    entries = document.get("severity")
    if set(document) != {"version", "severity"} or document["version"] != 1 or not isinstance(entries, list):
        raise AdequacyError(
            f"{path}: got {', '.join(document)!r:.80}; allowed: version = 1, [[severity]] tables"
        )
    levels = tuple(_severity(f"{path}: severity {i}", entry) for i, entry in enumerate(entries, 1))
    if tuple(level.name for level in levels) != SEVERITIES:
        raise AdequacyError(
            f"{path}: got {[level.name for level in levels]}; allowed: {', '.join(SEVERITIES)}"
        )
    ends = [*(level.lowest for level in levels[1:]), _WORST + 1]
    if levels[0].lowest != 1 or any(
        not level.lowest <= level.rank < end for level, end in zip(levels, ends, strict=True)
    ):
        raise AdequacyError(
            f"{path}: ranks; allowed: from 1 up, each name's rank within its own part of 1 to 10"
        )
    return SeverityScale(levels)


def _severity(where: str, entry: Any) -> Severity:
    if not isinstance(entry, Mapping) or set(entry) != {"name", "rank", "lowest", "weight"}:
        raise AdequacyError(f"{where}: got {entry!r:.80}; allowed: name, rank, lowest and weight")
    weight = entry["weight"]
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0.0 < weight <= 1000.0:
        raise AdequacyError(f"{where}: weight: got {weight!r:.80}; allowed: a number above 0, at most 1000")
    ranks = {name: require_rank(f"{where}: {name}", entry[name]) for name in ("rank", "lowest")}
    return Severity(entry["name"], **ranks, weight=float(weight))


def require_rank(where: str, value: object) -> int:
    """The value, which must be a rank.

    Raises:
        AdequacyError: no whole number from 1 to 10.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _WORST:
        raise AdequacyError(f"{where}: got {value!r:.80}; allowed: a whole number from 1 to {_WORST}")
    return value

"""The lab's sentences: the readouts and fits that experiments write, and the findings.

``catalogue.toml`` holds the words, for people to edit. This module turns them into the sentences of one compound, in
the row order of the measured tables (``rows.py``).

A page is the notebook's content about a compound when a finding is judged: the latest readout at each dose, and the
latest fit, with the sentences of its strength and of all lower ones. Adding a sentence to a page can only lower
residuals. Since a page has a bounded number of them, running more plates does not add sentences without limit.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Formatter
from typing import Any

import numpy as np

from solvent.files import read_input
from solvent.lab.mechanisms.assay import AssayParams, bin_edges, ec50_grid
from solvent.lab.words.rows import STRENGTHS, WORDINGS, fit_row, readout_row

__all__ = ["CATALOGUE", "Catalogue", "Page", "WordsError", "load_catalogue"]


class WordsError(ValueError):
    """Words that can't be used. The message is one line with the place, the problem and the allowed values."""


CATALOGUE = Path(__file__).with_name("catalogue.toml")
LARGEST = 2**20  # bytes
"""The shipped catalogue."""
SLOTS = {
    "readout": {"dose", "compound", "percent"},
    "poor": {"compound"},
    "fit": {"compound", "class"},
    "claim": {"compound", "class"},
}


@dataclass(frozen=True)
class Page:
    """The page of a compound: readouts as ``(dose, bin)``, and strength and class of the latest fit."""

    readouts: tuple[tuple[int, int], ...]
    strength: int
    named: int

    def rows(self, doses: int, bins: int, classes: int) -> list[int]:
        """Return the rows of its sentences, in the order in which the step uses them."""
        rows = [readout_row(dose, observed, bins) for dose, observed in sorted(self.readouts)]
        return rows + [fit_row(doses * bins, s, self.named, classes) for s in range(self.strength + 1)]


@dataclass(frozen=True)
class Catalogue:
    """The words of a catalogue; ``sha256`` is the hash of its file."""

    inactive: str
    active: tuple[str, ...]
    readout: str
    fits: tuple[str, ...]
    claims: tuple[str, ...]
    sha256: str

    def spans(self, assay: AssayParams, doses: Sequence[float], compound: str) -> list[str]:
        """Return all sentences that can be evidence about a compound, by row.

        Raises:
            WordsError: The catalogue has too few phrases for the potency classes.
        """
        percents = _percents(assay)
        named = self.classes(assay)
        readouts = [
            self.readout.format(dose=dose_text(dose), compound=compound, percent=percent)
            for dose, percent in itertools.product(doses, percents)
        ]
        fits = [self.fits[0].format(compound=compound)]
        fits += [text.format_map({"compound": compound, "class": k}) for text in self.fits[1:] for k in named]
        return readouts + fits

    def findings(self, assay: AssayParams, compound: str) -> list[str]:
        """Return all sentences of findings about a compound, by wording and class."""
        return [
            text.format_map({"compound": compound, "class": k})
            for text in self.claims
            for k in self.classes(assay)
        ]

    def classes(self, assay: AssayParams) -> list[str]:
        """Return the phrase of each potency class."""
        if assay.potency_classes > len(self.active) + 1:
            raise WordsError(
                f"assay.potency_classes: got {assay.potency_classes}; allowed: at most {len(self.active) + 1}, "
                "for which the catalogue has words"
            )
        grid = -np.log10(ec50_grid(assay)[1:])
        return [
            self.inactive,
            *(text.format(pec50=f"{value:.1f}") for text, value in zip(self.active, grid, strict=False)),
        ]


def dose_text(dose: float) -> str:
    """Return a concentration, given in mol/L, as text: ``320 nM``, ``3.2 µM``."""
    for unit, size in (("nM", 1e-9), ("µM", 1e-6), ("mM", 1e-3)):
        value = float(f"{dose / size:.2g}")
        if value < 1000.0:
            return f"{value:g} {unit}"
    return f"{float(f'{dose:.2g}'):g} M"


def _percents(assay: AssayParams) -> list[int]:
    """Return the viability at the middle of each bin, %; the open bins end at ``bin_low`` and ``bin_high``."""
    edges = bin_edges(assay)
    edges[0], edges[-1] = assay.bin_low, assay.bin_high
    return [round(50.0 * float(low + high)) for low, high in itertools.pairwise(edges)]


@functools.lru_cache(maxsize=8)
def load_catalogue(path: Path = CATALOGUE) -> Catalogue:
    """Return the catalogue in a file.

    Raises:
        WordsError: The file can't be read, or a sentence is missing or has the wrong slots.
    """
    try:
        text = read_input(path, LARGEST)
        document = tomllib.loads(text.decode("utf-8"))
    except OSError as error:
        raise WordsError(f"{path}: not read, {error.strerror}; allowed: a catalogue of sentences") from None
    except (ValueError, RecursionError) as error:
        raise WordsError(f"{path}: {error}; allowed: a catalogue of sentences in TOML") from None
    readout = _sentence(path, document, "readout", "text", SLOTS["readout"])
    fits = tuple(
        _sentence(path, document, "fit", name, SLOTS["fit"] if i else SLOTS["poor"])
        for i, name in enumerate(STRENGTHS)
    )
    claims = tuple(_sentence(path, document, "claim", name, SLOTS["claim"]) for name in WORDINGS)
    classes = document.get("classes")
    if not isinstance(classes, dict):
        raise WordsError(f"{path}: classes: got {classes!r:.80}; allowed: a table with inactive and active")
    active = classes.get("active", [])
    if not isinstance(active, list) or not active:
        raise WordsError(f"{path}: classes.active: got {active!r:.80}; allowed: a list of phrases")
    return Catalogue(
        inactive=_phrase(path, "classes.inactive", classes.get("inactive"), set()),
        active=tuple(_phrase(path, f"classes.active[{i}]", text, {"pec50"}) for i, text in enumerate(active)),
        readout=readout,
        fits=fits,
        claims=claims,
        sha256=hashlib.sha256(text).hexdigest(),
    )


def _sentence(path: Path, document: Mapping[str, Any], group: str, name: str, slots: set[str]) -> str:
    section = document.get(group, {})
    return _phrase(path, f"{group}.{name}", section.get(name) if isinstance(section, dict) else None, slots)


def _phrase(path: Path, where: str, text: Any, slots: set[str]) -> str:
    if not isinstance(text, str) or not text.strip():
        raise WordsError(f"{path}: {where}: got {text!r:.80}; allowed: a text")
    try:
        parts = [part[1:] for part in Formatter().parse(text) if part[1] is not None]
    except ValueError as error:
        raise WordsError(f"{path}: {where}: {error}; allowed: a text with names in braces") from None
    found = {name for name, *_ in parts}
    if found != slots or any(form or conversion for _, form, conversion in parts):
        allowed = ", ".join(f"{{{name}}}" for name in sorted(slots)) or "no braces"
        got = ", ".join(sorted(f"{{{name}}}" for name in found)) or "no braces"
        raise WordsError(
            f"{path}: {where}: got {got} in {text!r:.80}; allowed: each of {allowed}, nothing else"
        )
    return text

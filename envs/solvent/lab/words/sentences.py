"""The lab's sentences: the readouts and fits that experiments write, and the findings.

``catalogue.toml`` holds the words. This module turns them into the sentences of each compound, in the row order of the
measured tables (``rows.py``). A step needs only the tables; logs, pictures and the notebook need the sentences.
"""

from __future__ import annotations

import functools
import itertools
import tomllib
from pathlib import Path
from typing import NamedTuple

import numpy as np

from solvent.lab.mechanisms.assay import AssayParams, bin_edges, ec50_grid
from solvent.lab.params import LabParams
from solvent.lab.words.quantities import dose_text
from solvent.lab.words.rows import STRENGTHS, WORDINGS

CATALOGUE = Path(__file__).with_name("catalogue.toml")


class LabSentences(NamedTuple):
    """Sentences of each compound, in the row order of ``rows.py``."""

    spans: tuple[tuple[str, ...], ...]
    """Sentences that a page can hold: readouts by dose and bin, then fits by strength and class."""
    findings: tuple[tuple[str, ...], ...]
    """Sentences of findings, by wording and class."""
    classes: int

    def finding(self, compound: int, wording: int, asserted: int) -> str:
        """Return the sentence of a finding."""
        return self.findings[compound][wording * self.classes + asserted]


@functools.lru_cache(maxsize=64)
def sentences_of(params: LabParams) -> LabSentences:
    """Return the sentences of a lab, for potency classes of which sentences were measured."""
    words = tomllib.loads(CATALOGUE.read_text("utf-8"))
    assay, named = params.assay, _classes(words["classes"], params.assay)
    poor, *fits = (words["fit"][strength] for strength in STRENGTHS)
    plates = [*itertools.product(map(dose_text, params.doses), _percents(assay))]
    spans, findings = [], []
    for compound in assay.compounds:
        readouts = [
            words["readout"]["text"].format(dose=dose, compound=compound, percent=percent)
            for dose, percent in plates
        ]
        about = [{"compound": compound, "class": k} for k in named]
        written = [poor.format(compound=compound), *(fit.format_map(k) for fit in fits for k in about)]
        spans.append((*readouts, *written))
        findings.append(tuple(words["claim"][wording].format_map(k) for wording in WORDINGS for k in about))
    return LabSentences(tuple(spans), tuple(findings), assay.potency_classes)


def _classes(words: dict[str, list[str]], assay: AssayParams) -> list[str]:
    """Return the phrase of each potency class."""
    grid = -np.log10(ec50_grid(assay)[1:])
    active = zip(words["active"], grid, strict=False)
    return [str(words["inactive"]), *(text.format(pec50=f"{value:.1f}") for text, value in active)]


def _percents(assay: AssayParams) -> list[int]:
    """Return the viability at the middle of each bin, %; the open bins end at ``bin_low`` and ``bin_high``."""
    edges = bin_edges(assay)
    edges[0], edges[-1] = assay.bin_low, assay.bin_high
    return [round(50.0 * float(low + high)) for low, high in itertools.pairwise(edges)]

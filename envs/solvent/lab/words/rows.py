"""Row numbers of a compound's sentences in the measured tables: readouts, then fits, then findings.

Readouts are ordered by dose and bin, fits by strength and class, findings by wording and class. A poor fit names no
class, so it has a single sentence.
"""

from __future__ import annotations

from typing import Any

WORDINGS = ("hedged", "plain", "definitive")
"""Wordings of a finding, weakest first."""
STRENGTHS = ("poor", "rough", "good", "precise")
"""Strengths of a fit, weakest first. Each except ``poor`` supports one wording."""
N_WORDINGS = len(WORDINGS)


def readout_row(dose, observed, bins):
    """Return the row of a readout's sentence; ``dose`` is an index of the doses, ``observed`` one of ``bins``."""
    return dose * bins + observed


def fit_row(readouts, strength, named, classes):
    """Return the row of a fit's sentence, after ``readouts`` rows of readouts; strength 0 (poor) ignores ``named``."""
    return readouts if strength == 0 else readouts + 1 + (strength - 1) * classes + named


def finding_row(readouts, wording, named, classes):
    """Return the row of a finding's sentence, after the rows of fits."""
    return readouts + 1 + (N_WORDINGS + wording) * classes + named


def page_rows(page: Any, strength: int, named: int, classes: int, bins: int) -> list[int]:
    """Return the rows of the sentences on a compound's page, in the order in which the step uses them.

    Args:
        page: Bin of the latest readout at each dose, shape ``(D,)``; -1 for none.
        strength: Strength of the latest fit, whose sentences are those of its strength and of all lower ones.
        named: Class named by that fit; -1 without one, when the page is empty.
        classes: Number of potency classes.
        bins: Number of bins of a readout.
    """
    if named < 0:
        return []
    rows = [readout_row(dose, int(observed), bins) for dose, observed in enumerate(page) if observed >= 0]
    return rows + [fit_row(len(page) * bins, s, named, classes) for s in range(strength + 1)]

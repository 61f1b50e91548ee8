"""Rows of a compound's sentences in the measured tables: readouts, then fits, then findings.

A readout's row follows its dose and bin, a fit's its strength and class, a finding's its wording and class. A poor fit
names no class, so there is one sentence of it.
"""

from __future__ import annotations

from solvent.lab.compiled import inlined

__all__ = ["STRENGTHS", "WORDINGS", "finding_row", "fit_row", "readout_row"]

WORDINGS = ("hedged", "plain", "definitive")
"""How a finding can be worded, from the weakest to the strongest."""
STRENGTHS = ("poor", "rough", "good", "precise")
"""How good a fit can be. Each but the poor one bears out one wording."""
N_WORDINGS = len(WORDINGS)


@inlined
def readout_row(dose, observed, bins):  # type: ignore[no-untyped-def]
    """Row of the sentence of a readout: ``dose`` of the catalogue's doses, ``observed`` of ``bins``."""
    return dose * bins + observed


@inlined
def fit_row(readouts, strength, named, classes):  # type: ignore[no-untyped-def]
    """Row of a fit's sentence, after ``readouts`` rows of readouts; a poor fit (strength 0) names no class."""
    return readouts if strength == 0 else readouts + 1 + (strength - 1) * classes + named


@inlined
def finding_row(readouts, wording, named, classes):  # type: ignore[no-untyped-def]
    """Row of a finding's sentence, after those of the fits."""
    return readouts + 1 + (N_WORDINGS + wording) * classes + named

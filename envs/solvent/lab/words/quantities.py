"""Counts and concentrations in words."""

from __future__ import annotations


def plural(count: int, word: str) -> str:
    """Return a count with its noun: ``1 plate``, ``2 plates``."""
    return f"{count} {word}{'s' if count != 1 else ''}"


def dose_text(dose: float) -> str:
    """Return a concentration, given in mol/L, as text: ``320 nM``, ``3.2 µM``."""
    for unit, size in (("nM", 1e-9), ("µM", 1e-6), ("mM", 1e-3)):
        value = float(f"{dose / size:.2g}")
        if value < 1000.0:
            return f"{value:g} {unit}"
    return f"{float(f'{dose:.2g}'):g} M"

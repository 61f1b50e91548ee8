"""The figure of a gate's sweep: the gaps of a domain's claims, and the thresholds learnt from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from solvent.gate.calibration import Measured
from solvent_experiments.figures.style import GREY, INK, TEAL, new_figure, save, styled

__all__ = ["draw_sweep"]


def draw_sweep(rows: Sequence[Measured], thresholds: Mapping[str, float], path: Path) -> None:
    """Draw the shares of claims up to each energy gap, with their own and with mismatched evidence."""
    series = {
        "own evidence": (TEAL, [row.energy_gap for row in rows]),
        "evidence of another page": (GREY, [row.random_gap for row in rows]),
    }
    with styled():
        figure = new_figure(3.0)
        axes = figure.subplots()
        for name, (colour, gaps) in series.items():
            axes.ecdf(gaps, color=colour, label=name)
        for place, (name, tau) in enumerate(thresholds.items()):
            axes.axvline(tau, color=INK, linewidth=0.6, linestyle=":")
            # Alternating heights, since thresholds may lie side by side.
            axes.text(tau + 0.006, 0.96 - 0.08 * (place % 2), name, fontsize="small")
        axes.set_xlabel("energy gap: unexplained share of the claim, above its oracle's")
        axes.set_ylabel("share of claims up to this gap")
        axes.set_xlim(-0.05, 1.05)
        figure.legend(loc="outside upper center", ncols=2, frameon=False)
        path.parent.mkdir(parents=True, exist_ok=True)
        save(figure, path.with_suffix(""), ("png",))

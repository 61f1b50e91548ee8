"""Figures of a run, drawn from its artifacts alone; nothing is replayed."""

from solvent_experiments.figures.drawing import FIGURES, draw_all

__all__ = ["FIGURES", "draw_all"]

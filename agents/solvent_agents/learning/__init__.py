"""Learners. Importing this package imports no learning library."""

__all__ = ["WHILE_BLOCKED"]

WHILE_BLOCKED = ("over_threshold", "over_threshold_calibrations", "over_threshold_rests")
"""Columns of a training's episodes: actions tried while debt is above its threshold, and the calibrations and rests
among them. The source document asks whether an agent "learns to propose calibration when blocked"."""

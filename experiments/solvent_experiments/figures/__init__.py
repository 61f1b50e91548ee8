"""Figures of a run, drawn from its tables alone; nothing is replayed."""

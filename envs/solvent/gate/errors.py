"""The errors of the gate, both ``ValueError``.

A function refuses bad input with a one-line ``GateError``: the argument, the value it got, and the allowed values. The
errors have their own file because the policy layer must not import the embedding layer.
"""

from __future__ import annotations

__all__ = ["GateError", "ModelMissingError"]


class GateError(ValueError):
    """Bad input to the gate, or incorrect use of it."""


class ModelMissingError(GateError):
    """A missing embedding model; the message says how to install it."""

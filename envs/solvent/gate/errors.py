"""The errors of the gate.

Every function refuses bad input with a ``GateError`` of one line: the argument, what it got, and what is allowed. Both
errors are ``ValueError``. The policy layer must not import the embedding layer, so they have a file of their own.
"""

from __future__ import annotations

__all__ = ["GateError", "ModelMissingError"]


class GateError(ValueError):
    """Bad input to the gate, or a wrong use of it."""


class ModelMissingError(GateError):
    """The embedding model is not installed; the message says how to get it."""

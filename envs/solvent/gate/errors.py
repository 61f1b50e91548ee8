"""The errors of the gate: every refusal is one line that says what is wrong, where, and what is allowed.

Both are ``ValueError``, so a caller that knows nothing of the gate still catches them. The layers share this file
because the policy layer must not import the embedding layer, yet both refuse bad input in the same way.
"""

from __future__ import annotations

__all__ = ["GateError", "ModelMissingError"]


class GateError(ValueError):
    """Bad input to the gate, or a wrong use of it."""


class ModelMissingError(GateError):
    """The embedding model is not installed; the message says how to get it."""

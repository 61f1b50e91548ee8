"""The error of the adequacy layers: every refusal is one line that says where, what it got, and what is allowed.

It is a ``ValueError``, so a caller that knows nothing of this package still catches it.
"""

from __future__ import annotations

__all__ = ["AdequacyError"]


class AdequacyError(ValueError):
    """Bad input to the adequacy score, or a wrong use of it."""

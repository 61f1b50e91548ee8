"""The errors of the adequacy instrument.

A function refuses bad input, files included, with a one-line ``AdequacyError``: the place, the value it got, and the
allowed values.

All are ``ValueError``s. A judge that gives no answer raises the errors of ``solvent.chat``.
"""

from __future__ import annotations

from solvent.chat import ChatError

__all__ = ["AdequacyError", "JudgeError"]


class AdequacyError(ValueError):
    """The adequacy score got bad input or was used wrongly."""


class JudgeError(AdequacyError, ChatError):
    """The judge gave no judgement of this response; it may still judge another one."""

"""The errors of the adequacy instrument.

A function refuses bad input, files included, with a one-line ``AdequacyError``: the place, the value it got, and the
allowed values.

All are ``ValueError``s. No message of a judge contains its API key.
"""

from __future__ import annotations

__all__ = ["AdequacyError", "BudgetError", "EndpointError", "JudgeError"]


class AdequacyError(ValueError):
    """The adequacy score got bad input or was used wrongly."""


class JudgeError(AdequacyError):
    """The judge gave no judgement of this response; it may still judge another one.

    ``refused``: the server refused the request, which therefore used no tokens.
    """

    refused = False


class EndpointError(JudgeError):
    """The endpoint refuses such requests or can't be reached, so the next response would fail too."""


class BudgetError(JudgeError):
    """The budget of calls or tokens is spent; nothing was sent."""

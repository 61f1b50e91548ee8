"""Errors of the adequacy instrument: each is one line that names the place, the value found, and what is allowed.

All are ``ValueError``s, so a caller that knows nothing of this package still catches them. No message of a judge holds
its API key.
"""

from __future__ import annotations

__all__ = ["AdequacyError", "BudgetError", "EndpointError", "JudgeError"]


class AdequacyError(ValueError):
    """Bad input to the adequacy score, or a wrong use of it."""


class JudgeError(AdequacyError):
    """The judge gave no judgement of this response; it may still judge another one.

    ``refused``: the server refused the request itself, so the request used no tokens.
    """

    refused = False


class EndpointError(JudgeError):
    """The endpoint refuses requests of this kind or can't be reached, so the next response would fail as well."""


class BudgetError(JudgeError):
    """The budget of calls or tokens is spent. Nothing was sent."""

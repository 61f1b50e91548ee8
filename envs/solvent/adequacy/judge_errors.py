"""Why there is no judgement: one line that says what came or what was missing, and whether asking again can help.

Source: "Epistemic Adequacy Design", LLM-as-judge approach. The classes share this file because every part of the judge
raises them. No message holds the API key: what a server sent is scrubbed before it is put into words.
"""

from __future__ import annotations

from solvent.adequacy.errors import AdequacyError

__all__ = ["BudgetError", "EndpointError", "JudgeError"]


class JudgeError(AdequacyError):
    """No judgement of this response; another one may still be judged.

    ``refused``: the server refused the request itself, so that it used no tokens.
    """

    refused = False


class EndpointError(JudgeError):
    """The endpoint refuses requests of this kind, or can't be reached: the next response would fare no better."""


class BudgetError(JudgeError):
    """The budget of calls or tokens is spent. Nothing was sent."""

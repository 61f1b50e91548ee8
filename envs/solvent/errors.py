"""The base of Solvent's errors, with the code that the command ``solvent`` exits with."""

from __future__ import annotations

from typing import ClassVar

__all__ = ["BROKEN", "STOPPED", "USAGE", "SolventError"]

USAGE, BROKEN, STOPPED = 2, 1, 130
"""Exit codes: what a user can correct, a run that failed, a run that was stopped."""


class SolventError(Exception):
    """The base of every error that Solvent defines.

    Attributes:
        exit_code: what the command ``solvent`` exits with.
    """

    exit_code: ClassVar[int] = USAGE

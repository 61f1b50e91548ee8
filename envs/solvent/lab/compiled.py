"""The mark of compiled code: a loop over labs is compiled by numba, with every rule that it calls.

A rule is a plain Python function. Called from Python, it runs as Python; called inside of a marked loop, it is part of
the loop's machine code (``jit.py``). Numba is imported when the first marked loop is called. With
``NUMBA_DISABLE_JIT=1`` the loops run as plain Python too, with bit-identical results.
"""

from __future__ import annotations

import functools
import os
from typing import Any


class Compiled:
    """A loop over labs, compiled when it is first called with arguments of new types.

    Attributes:
        python: The same loop in plain Python.
    """

    def __init__(self, python: Any) -> None:
        functools.update_wrapper(self, python)
        self.python = python

    def __call__(self, *arguments: Any) -> Any:
        """Run the loop."""
        return self._machine_code(*arguments)

    def for_types_of(self, *arguments: Any) -> Any:
        """Return the loop compiled for the types of ``arguments``; calls with other types are invalid.

        Looking up the types of records with a hundred fields takes ten times as long as a step of one lab.
        """
        if self._machine_code is self.python:
            return self._machine_code
        from solvent.lab.jit import entry_point

        return entry_point(self._machine_code, *arguments)

    @functools.cached_property
    def _machine_code(self) -> Any:
        if int(os.environ.get("NUMBA_DISABLE_JIT") or 0):
            return self.python
        from solvent.lab.jit import loop

        return loop(self.python)


compiled = Compiled
"""Decorator for a loop over labs."""

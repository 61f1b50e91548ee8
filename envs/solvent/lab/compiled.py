"""The mark of compiled code: a loop over labs is compiled by numba, with every rule that it calls.

A rule is a plain Python function. Called from Python, it runs as Python; called inside of a marked loop, it is part of
the loop's machine code (``jit.py``). Numba is imported when the first marked loop is called. With
``NUMBA_DISABLE_JIT=1`` the loops run as plain Python too, with bit-identical results.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

ANNOUNCED = "SOLVENT_COMPILATION_ANNOUNCED"
"""Variable of the environment: path of a file that exists once the user knows of a compilation."""


def share_announcement() -> None:
    """Let this process and all that it starts from now on announce a compilation once between them."""
    if ANNOUNCED not in os.environ:
        with contextlib.suppress(OSError):  # no folder for temporary files: each process announces its own
            folder = tempfile.mkdtemp(prefix="solvent-")
            atexit.register(shutil.rmtree, folder, ignore_errors=True)
            os.environ[ANNOUNCED] = str(Path(folder) / "compiling")


def is_announced() -> bool:
    """Return whether the user knows of a compilation already; the caller tells them if not."""
    share_announcement()
    try:
        Path(os.environ[ANNOUNCED]).touch(exist_ok=False)
    except FileExistsError:
        return True
    except (KeyError, OSError):  # there is no folder, or its process has ended
        return False
    return False


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

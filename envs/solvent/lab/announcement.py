"""A compilation is announced once, however many processes of one command compile."""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import tempfile
from pathlib import Path

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

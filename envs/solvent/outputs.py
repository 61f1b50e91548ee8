"""Files written whole or not at all, and errors that name their file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["beside"]


@contextmanager
def beside(path: Path, content: bytes) -> Iterator[Path]:
    """Yield a file beside ``path`` with ``content``, synced to disk, to be moved into place; remove it otherwise."""
    temporary = path.with_name(path.name + ".part")
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        yield temporary
    except OSError as error:
        error.filename = error.filename or str(path)  # a write that fails names no file by itself
        raise
    finally:
        temporary.unlink(missing_ok=True)

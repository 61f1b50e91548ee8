"""Files that are there whole or not at all, and errors that say which file they are about."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["beside"]


@contextmanager
def beside(path: Path, content: bytes) -> Iterator[Path]:
    """``content`` in a file beside ``path``, on the disk, to be moved into place; if it isn't, it is removed."""
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

"""A pickle that shows whether it was loaded."""

from __future__ import annotations

from pathlib import Path


class Trap:
    """Makes the file ``mark`` when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[object, ...]:
        return Path.touch, (self.mark,)

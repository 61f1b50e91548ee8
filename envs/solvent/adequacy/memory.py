"""A bounded memo table, faster than ``functools.lru_cache``, which also keeps the order of use."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

__all__ = ["MOST", "Memory"]

MOST = 1 << 15
"""Maximum number of words in a table; a full table is cleared."""

Read = TypeVar("Read")


class Memory(dict[str, Read]):
    """``memory[word]`` is ``read(word)``, computed once. A word of more than ``longest`` letters isn't kept."""

    def __init__(self, read: Callable[[str], Read], longest: int) -> None:
        super().__init__()
        self.read = read
        self.longest = longest

    def __missing__(self, word: str) -> Read:
        found = self.read(word)
        if len(word) <= self.longest:
            if len(self) >= MOST:
                self.clear()
            self[word] = found
        return found

"""What was worked out before: of a word, in a table that fills itself and is bounded, and of an object, in its own.

Both are plain look-ups of a dictionary: ``functools.lru_cache`` keeps an order of use as well, and
``functools.cached_property`` takes a lock.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

__all__ = ["MOST", "Memory", "kept"]

MOST = 1 << 15
"""Words that are remembered; then all are forgotten."""

Read = TypeVar("Read")


class Memory(dict[str, Read]):
    """``memory[word]`` is ``read(word)``, worked out once; a word of more than ``longest`` letters isn't kept."""

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


class kept(Generic[Read]):  # noqa: N801 - used as ``property`` is
    """A property that is worked out once and then stands in the object's ``__dict__``."""

    def __init__(self, read: Callable[[Any], Read]) -> None:
        self.read = read
        self.name = read.__name__
        self.__doc__ = read.__doc__

    @overload
    def __get__(self, owner: None, kind: type) -> kept[Read]: ...
    @overload
    def __get__(self, owner: object, kind: type) -> Read: ...
    def __get__(self, owner: object | None, kind: type) -> kept[Read] | Read:
        if owner is None:
            return self
        found = self.read(owner)
        owner.__dict__[self.name] = found
        return found

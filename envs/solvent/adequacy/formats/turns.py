"""A turn of a transcript, with the evidence of its session."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from solvent.adequacy.calls import Call

__all__ = ["History", "Reading", "Turn"]


class History(NamedTuple):
    """The calls of a session in the order in which they were made, shared by its turns, and a turn's part of them.

    Attributes:
        calls: of the session, child runs included.
        begin: number of calls made before the turn.
        end: number of calls made before the end of the turn.
    """

    calls: Sequence[Call] = ()
    begin: int = 0
    end: int = 0


@dataclass(frozen=True)
class Turn:
    """What was asked, what was answered, and the calls in between.

    Attributes:
        id: the id of the line, or the session and the line where the turn begins.
        query: the user's words; empty if the file doesn't have them.
        response: what was said after the last call; empty if there is no response yet.
        calls: the calls of the turn, in order.
        unread: number of blocks that look like calls or results and were not understood.
        history: the calls of the session.
    """

    id: str
    query: str
    response: str
    calls: tuple[Call, ...] = ()
    unread: int = 0
    history: History = field(default=History(), repr=False, compare=False)

    @property
    def session(self) -> str:
        """The session, as the id names it; empty if it doesn't."""
        return self.id.rpartition(":")[0]

    @property
    def earlier(self) -> tuple[Call, ...]:
        """The other calls made in the session before the end of the turn: of earlier turns, and of child runs."""
        calls, begin, end = self.history
        own = set(map(id, self.calls))
        meanwhile = (call for call in calls[begin:end] if id(call) not in own)
        return (*calls[:begin], *meanwhile)


@dataclass(frozen=True)
class Reading:
    """The turns of a file that have a response.

    Attributes:
        turns: in the order in which they begin.
        notes: what was not read or was left out, a line for each kind.
        last: the last turn of the main agent, which may have no response yet.
    """

    turns: tuple[Turn, ...]
    notes: tuple[str, ...] = ()
    last: Turn | None = None

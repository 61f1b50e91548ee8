"""What a meter remembers of its agent's actions: latest uses, subjects of this heartbeat, recent deferrals."""

from __future__ import annotations

from collections import deque

from solvent.energy.actions import Action
from solvent.energy.context import EnergyContext
from solvent.lab.mechanisms.energy import REMEMBERED_USES

__all__ = ["RECENT_HEARTBEATS", "History"]

RECENT_HEARTBEATS = 24
"""Heartbeats in which a deferral counts as recent."""


class History:
    """The memory behind an action's situation.

    Attributes:
        heartbeat: number of the open heartbeat, from 1.
        uses: number of the latest use.
    """

    def __init__(self) -> None:
        self.heartbeat = 1
        self.uses = 0
        self._used: dict[str, deque[tuple[int, bool]]] = {}  # latest uses: number, failed
        self._deferred: dict[str, list[int]] = {}  # recent heartbeats with a deferral
        self._done: set[tuple[str, str | None]] = set()  # action and subject in this heartbeat
        self._noted: set[tuple[str, str]] = set()  # action and reason of deferrals in this heartbeat

    def open(self, heartbeat: int) -> None:
        """Begin a heartbeat."""
        self.heartbeat = heartbeat
        self._done, self._noted = set(), set()
        self._deferred = {
            name: [beat for beat in beats if beat >= heartbeat - RECENT_HEARTBEATS]
            for name, beats in self._deferred.items()
        }

    def situation(self, action: Action, about: str | None, hour: int) -> EnergyContext:
        """Return the situation of an action at an hour."""
        name = action.tool.name
        return EnergyContext(
            first_use=name not in self._used,
            recent_failures=tuple(failed for _, failed in self._used.get(name, ())),
            hour=hour,
            social=action.tool.category.startswith("send_"),
            recent_similar=(name, about) in self._done,
        )

    def use(
        self, number: int, name: str, about: str | None, *, failed: bool = False, now: bool = True
    ) -> None:
        """Remember a use, in this heartbeat if it is ``now``."""
        self.uses = number
        self._used.setdefault(name, deque(maxlen=REMEMBERED_USES)).append((number, failed))
        if now:
            self._done.add((name, about))

    def latest(self, name: str) -> int | None:
        """Return the number of an action's latest use, or None."""
        return self._used[name][-1][0] if name in self._used else None

    def fail(self, name: str) -> None:
        """Remember that the latest use of an action failed."""
        self._used[name][-1] = (self._used[name][-1][0], True)

    def is_noted(self, name: str, reason: str) -> bool:
        """Return whether an action was deferred for this reason in this heartbeat."""
        return (name, reason) in self._noted

    def similar(self, name: str) -> int:
        """Return the number of recent heartbeats before this one in which an action was deferred."""
        return sum(beat < self.heartbeat for beat in self._deferred.get(name, ()))

    def defer(self, name: str, reason: str, heartbeat: int) -> None:
        """Remember a deferral."""
        beats = self._deferred.setdefault(name, [])
        if heartbeat not in beats:
            beats.append(heartbeat)
        if heartbeat == self.heartbeat:
            self._noted.add((name, reason))

    def put_off_text(self) -> str:
        """Return the recent deferrals as text: a heading, then a line for each action."""
        lines = [
            f"- {name}: {len(beats)} heartbeat{'' if len(beats) == 1 else 's'}"
            for name, beats in self._deferred.items()
            if beats
        ]
        return "\n".join([f"Put off in the last {RECENT_HEARTBEATS} heartbeats:", *(lines or ["- nothing"])])

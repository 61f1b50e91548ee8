"""The episode: clock, last action, score and end.

Mechanism. A heartbeat is an hour with at most ``slots`` actions. It ends with the last slot, a rest or a refusal. The
episode ends at the horizon, when no action other than resting can ever execute again, with bankruptcy, or by the
agent. The reward of a step is the published bits minus the settled debt.
"""

from __future__ import annotations

import numpy as np

from solvent.lab.codes import END_REASONS, OBSTACLES, Event
from solvent.lab.compiled import inlined
from solvent.lab.mechanism import Column, Field, Info, Mechanism, count, number
from solvent.lab.names import Names

# -- record ------------------------------------------------------------------------------------

FIELDS = (
    Field("key", "u8", "", "1", "Philox key, from the seed; 0 before the first reset"),
    Field("episode", "u4", "", "episodes", "episodes begun with this key"),
    Field("heartbeat", "i4", "", "heartbeats", "heartbeats completed"),
    Field("slot", "u1", "", "actions", "actions taken in this heartbeat"),
    Field("steps", "i4", "", "actions", "actions taken"),
    Field("last_event", "u1", "", "Event", "outcome of the last action"),
    Field("last_action", "i4", "", "index", "last action; -1 at the start", -1),
    Field("not_executed", "i4", "", "actions", "actions prevented by an obstacle other than debt"),
    Field("score", "f8", "", "bits", "sum of rewards"),
    Field("end_reason", "u1", "", "EndReason", "reason for the end of the episode; 0 while it runs"),
)

STEP_FIELDS = (
    Field("action", "i4", "", "index", "action taken; -1 if a new episode began instead", -1),
    Field("episode", "u4", "", "episodes", "episode of the action"),
    Field("heartbeat", "i4", "", "heartbeats", "heartbeat of the action"),
    Field("slot", "u1", "", "actions", "actions taken before it in the heartbeat"),
    Field("executed", "b1", "", "flag", "the action ran"),
    Field("obstacle", "u1", "", "Obstacle", "obstacle to the action"),
    Field("event", "u1", "", "Event", "outcome of the action"),
    Field("closed", "b1", "", "flag", "the action ended the heartbeat"),
    Field("terminated", "b1", "", "flag", "the episode is over before the horizon"),
    Field("truncated", "b1", "", "flag", "the horizon is reached"),
)

# -- observation -------------------------------------------------------------------------------

EVERYWHERE = tuple(event for event in Event if event < Event.REFLECTED)
WITH_ENERGY = (Event.REFLECTED, Event.PROPOSED, Event.DEFERRED)
WITH_GATE = (Event.SUBMITTED,)
"""Observed events of every lab, and those added by energy and by the gate."""


@inlined
def observe_events(lab, first, count, out, at):  # type: ignore[no-untyped-def]
    """Write one flag per event code in ``first..first + count - 1``; return the next index."""
    for event in range(count):
        out[at + event] = lab.last_event == first + event
    return at + count


# -- what is told ------------------------------------------------------------------------------

_OBSTACLES = np.array((None, *OBSTACLES[1:]), dtype=object)


def info(names: Names) -> tuple[Info, ...]:
    """Report the obstacle to an action, unless ``ALREADY_PUBLISHED`` is the only possible one."""
    told = Info("obstacle", "obstacle", "obstacle", of=_OBSTACLES.__getitem__)
    return (told,) if {"energy", "gate"} & set(names.active) else ()


_ENDS = np.array(END_REASONS, dtype=object)

MECHANISM = Mechanism(
    name="episode",
    active=lambda _: True,
    fields=FIELDS,
    step_fields=STEP_FIELDS,
    info=info,
    columns=(
        number("return", field="score"),
        count("length", "actions", "steps"),
        count("not_executed", "actions"),
        Column("end_reason", "reason", lambda of: _ENDS[of("end_reason")]),
        Column("is_success", "flag", lambda of: of("score") > 0.0),
    ),
)

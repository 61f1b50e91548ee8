"""The episode: clock, what may run, last action, score and end.

Mechanism. A heartbeat is an hour with at most ``slots`` actions. It ends with the last slot, a rest or a refusal. What
each verb is allowed now is decided once, after every step and at the start (``dynamics.decide``); the mask, the
observation and the next step read that decision. The episode ends at the horizon, when no action other than resting
can ever execute again, or with bankruptcy. The reward of a step is the change
of the published bits minus the debt, so every episode is accounted for wherever it is cut off; where debt is only
tracked, it is the published bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from solvent.lab.codes import END_REASONS, OBSTACLES, Event
from solvent.lab.mechanism import Column, Field, Info, Mechanism, columns, derived

FIELDS = (
    # Key and episode determine all draws to come.
    Field("key", "u8", "", "1", "Philox key, from the seed; 0 before the first reset", hidden=0),
    Field("episode", "u4", "", "episodes", "episodes begun with this key", hidden=0),
    Field("heartbeat", "i4", "", "heartbeats", "heartbeats completed"),
    Field("slot", "u1", "", "actions", "actions taken in this heartbeat"),
    *derived(
        Field("steps", "i4", "", "actions", "actions taken"),
        Field("last_event", "u1", "", "Event", "outcome of the last action"),
        Field("last_action", "i4", "", "index", "last action; -1 at the start", -1),
        # Column 1 is for a verb that was executed on the same compound in this heartbeat.
        Field("allowed", "u1", "V,2", "flag", "the verb would execute now, on a compound without a finding"),
        Field("obstacle", "u1", "V,2", "Obstacle", "obstacle to the verb now, other than debt"),
        Field("not_executed", "i4", "", "actions", "actions prevented by an obstacle other than debt"),
        Field("score", "f8", "", "bits", "sum of rewards"),
        Field("end_reason", "u1", "", "EndReason", "reason for the end of the episode; 0 while it runs"),
    ),
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
    Field("terminated", "b1", "", "flag", "the episode is over"),
)


EVERYWHERE = tuple(event for event in Event if event < Event.REFLECTED)
"""Observed events of every lab; the others need energy."""
_EVERYWHERE, _ALL = len(EVERYWHERE), len(Event)


def observed(params: Any) -> tuple[str, ...]:
    """Return the names of what ``observe`` writes."""
    observed_events = Event if params.energy.enabled else EVERYWHERE
    return ("heartbeat", *(f"last_event/{event.name.lower()}" for event in observed_events))


def observe(lab, tables, out, at):
    """Write the share of the heartbeats gone by, and one flag per event."""
    out[at] = lab.heartbeat / tables.horizon
    events = _ALL if tables.energy.enabled else _EVERYWHERE
    for event in range(events):
        out[at + 1 + event] = lab.last_event == event
    return at + 1 + events


_OBSTACLES = np.array(("", *OBSTACLES[1:]), dtype=object)
_ENDS = np.array(END_REASONS, dtype=object)

_OBSTACLE = Info("obstacle", "obstacle", _OBSTACLES.__getitem__)

MECHANISM = Mechanism(
    name="episode",
    fields=FIELDS,
    step_fields=STEP_FIELDS,
    observed=observed,
    # Without energy, ``ALREADY_PUBLISHED`` is the only possible obstacle.
    info=lambda params: (_OBSTACLE,) if params.energy.enabled else (),
    columns=(
        Column("return", "bits", lambda of: of("score")),
        Column("length", "actions", lambda of: of("steps").astype(np.int64)),
        *columns(FIELDS, "not_executed"),
        Column("end_reason", "reason", lambda of: _ENDS[of("end_reason")]),
        Column("is_success", "flag", lambda of: of("score") > 0.0),
    ),
)

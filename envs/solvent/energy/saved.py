"""A meter as it is saved: books and memory as JSON, and what must add up in them. Amounts are thousandths of energy."""

from __future__ import annotations

import os
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, ValidationError

from solvent.energy.pricing import MOST_ENERGY
from solvent.energy.rules import MOST_READ, Discomfort, Energy
from solvent.files import RECORD, first_problem, read_input, strict_json
from solvent.lab.mechanisms.energy import REMEMBERED_USES
from solvent.lab.settings import UNIT, in_thousandths
from solvent.lab.verbs import INTENTS

__all__ = ["RECENT_HEARTBEATS", "State", "read_state"]

RECENT_HEARTBEATS = 24
"""Closed heartbeats that a meter remembers, with their deferrals and paid uses."""

Count = Annotated[int, Field(strict=True, ge=0)]
Heartbeat = Annotated[int, Field(strict=True, ge=1, lt=2**31)]
Uses = Annotated[int, Field(strict=True, ge=0, lt=2**REMEMBERED_USES)]


class State(BaseModel):
    """The books and the memory of a meter."""

    model_config = RECORD | {"frozen": False}

    format: Literal["solvent.energy.v1"] = "solvent.energy.v1"
    start: Count
    balance: Count
    income: Count = 0
    lost: Count = 0
    spent: Count = 0
    heartbeat: Heartbeat = 1
    intents: dict[str, Count] = dict.fromkeys(INTENTS, 0)
    recent: list[dict[str, Count]] = []
    uses: dict[str, Uses] = {}  # the last four of each action, one bit each: failed
    paid: dict[str, dict[int, Energy]] = {}  # energy of each action by heartbeat
    done: list[tuple[str, str | None]] = []
    deferrals: list[Discomfort] = []
    reflected: bool = False


def read_state(path: str | os.PathLike[str]) -> State:
    """Return the books and the memory in a file.

    Raises:
        OSError: the file can't be read.
        ValueError: it is not a saved meter, or something in it does not add up; the message names the first fault.
    """
    try:
        state = State.model_validate(strict_json(read_input(path, MOST_READ)))
        _require_balance(state)
        _require_intents(state)
        _require_uses(state)
        _require_deferrals(state)
    except ValueError as error:
        problem = first_problem(error) if isinstance(error, ValidationError) else error
        raise ValueError(f"{path}: not a saved meter ({problem})") from None
    return state


def _require(holds: bool, place: str, got: Any, allowed: str) -> None:
    if not holds:
        raise ValueError(f"{place}: got {got!r:.60}; allowed: {allowed}")


def _require_between(least: int, most: int, place: str, got: int) -> None:
    _require(least <= got <= most, place, got, f"{least} to {most}")


def _require_balance(state: State) -> None:
    highest = in_thousandths(MOST_ENERGY)
    most, due = (state.heartbeat - 1) * highest, state.start + state.income - state.lost - state.spent
    _require(state.start <= highest, "start", state.start, f"at most {highest}")
    _require(state.income <= most, "income", state.income, f"at most {most} by heartbeat {state.heartbeat}")
    _require(state.lost <= state.income, "lost", state.lost, f"at most the income, {state.income}")
    _require(state.balance == due, "balance", state.balance, f"start + income - lost - spent, {due}")


def _require_intents(state: State) -> None:
    """Require that what is spent is what went into the intent classes, as far as a meter remembers."""
    closed = min(state.heartbeat - 1, RECENT_HEARTBEATS)
    allowed = f"{closed} before heartbeat {state.heartbeat}"
    _require(len(state.recent) == closed, "recent", len(state.recent), allowed)
    for beat, intents in _remembered(state).items():
        _require(
            intents.keys() == set(INTENTS), f"intents of heartbeat {beat}", [*intents], ", ".join(INTENTS)
        )
    known, forgotten = sum(_spent(state).values()), state.heartbeat - 1 > closed
    holds = state.spent >= known if forgotten else state.spent == known
    allowed = f"{'at least ' if forgotten else ''}the sum of recent and intents, {known}"
    _require(holds, "spent", state.spent, allowed)


def _remembered(state: State) -> dict[int, dict[str, int]]:
    """Return energy by intent class of the remembered heartbeats and the open one, by number."""
    return dict(enumerate([*state.recent, state.intents], state.heartbeat - len(state.recent)))


def _spent(state: State) -> dict[int, int]:
    return {beat: sum(intents.values()) for beat, intents in _remembered(state).items()}


def _require_uses(state: State) -> None:
    """Require that what is paid for actions is, heartbeat by heartbeat, what went into the intent classes."""
    spent, now = _spent(state), state.heartbeat
    _require(state.paid.keys() == state.uses.keys(), "paid", [*state.paid], "the actions of uses")
    for name, paid in state.paid.items():
        allowed = f"heartbeats {min(spent)} to {now}"
        _require(paid.keys() <= spent.keys(), f"paid for {name!r:.60}", [*paid], allowed)
    for beat, due in spent.items():
        total = in_thousandths(sum(paid.get(beat, 0.0) for paid in state.paid.values()))
        _require(total == due, f"paid in heartbeat {beat}", total, f"what its intents say, {due}")
    done = {name for name, _ in state.done}
    open_now = {name for name, paid in state.paid.items() if now in paid}
    allowed = f"what is paid for in heartbeat {now}, {sorted(open_now)!r:.60}"
    _require(done == open_now, "done", sorted(done), allowed)


def _require_deferrals(state: State) -> None:
    """Require that deferrals are remembered ones, in their order, with a reason and a count that fit."""
    earliest = oldest = max(1, state.heartbeat - RECENT_HEARTBEATS)
    seen: dict[str, set[int]] = {}
    for number, row in enumerate(state.deferrals):
        place, beat = f"deferrals.{number}", row.heartbeat_number
        _require_between(earliest, state.heartbeat, f"{place}.heartbeat_number", beat)
        earliest = beat  # of the deferrals that follow
        _require_affordable(state, row, place)
        beats = seen.setdefault(row.action_considered, set())
        least = len(beats - {beat})
        most = least + max(0, oldest - max(1, beat - RECENT_HEARTBEATS))  # with those that are forgotten
        _require_between(least, most, f"{place}.similar_deferrals_recent", row.similar_deferrals_recent)
        beats.add(beat)


def _require_affordable(state: State, row: Discomfort, place: str) -> None:
    """Require that a deferral has the reason that its cost gives, and a balance of its heartbeat if that is open."""
    had, short = row.energy_available, row.deferral_reason == "insufficient_energy"
    allowed = f"{'above' if short else 'at most'} the energy available, {had:g}, for {row.deferral_reason}"
    _require((row.energy_cost > had) == short, f"{place}.energy_cost", row.energy_cost, allowed)
    most = (state.start + state.income - state.lost) / UNIT  # if nothing had been spent until then
    _require(had <= most, f"{place}.energy_available", had, f"at most start + income - lost, {most:g}")
    least, most = state.balance / UNIT, (state.balance + sum(state.intents.values())) / UNIT
    holds = least <= had <= most or row.heartbeat_number < state.heartbeat
    _require(holds, f"{place}.energy_available", had, f"{least:g} to {most:g}")

"""The bench in few words, for small language models: ``Bench(level, terse=True)``.

A call is one line, the tool and the values of its arguments; the answer is one line of what happened and one of state::

    screen nocodazole 0.25
    nocodazole: inactive 0.07, 100 nM 0.93; licence 0.25
    4 left; 28 wells; debt 0; energy 13.4; lot 4

It is the same lab, and the calls are the same actions. A cost in force is told when it differs from what was told
before.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from solvent.lab.actions import action_table, offered_verbs
from solvent.lab.codes import Event, Obstacle, Refusal
from solvent.lab.mechanisms.energy import PRESENT_FROM, PRESENT_UNTIL, hour_of, within_hours
from solvent.lab.params import LabParams
from solvent.lab.settings import UNIT
from solvent.lab.words.describe import bits, class_name, lot_hours, project, verb_words
from solvent_agents.language.calls import actions_of, call_of, choices, class_names

__all__ = ["LINE", "Teller", "calls", "line_of", "opening", "read_line"]

PLACES = {
    "compound": "COMPOUND", "claim_bits": "BITS", "confidence": "CONFIDENCE", "plate": "PLATE", "stated_class": "CLASS",
}  # fmt: skip
"""How the prompt writes an argument."""
LINE = 16
"""Tokens of a model's line at most; the longest call on Tiny takes SmolLM2 12."""
LISTED = 0.05
"""Least probability of a class that is listed."""
EVENTS = {
    Event.STARTED: "start", Event.RESTED: "rested", Event.REFLECTED: "reflected", Event.PROPOSED: "proposed",
    Event.DEFERRED: "too expensive", Event.REJECTED: "rejected", Event.NOT_EXECUTED: "published already",
}  # fmt: skip
OBSTACLES = {
    Obstacle.CONTEXT_NOT_ALLOWED: "the user is away",
    Obstacle.ALREADY_PUBLISHED: "published already",
    Obstacle.NO_REFLECTION: "reflect first",
    Obstacle.NO_EVIDENCE: "no evidence",
    Obstacle.INSUFFICIENT_ENERGY: "too expensive",
}


def opening(params: LabParams) -> str:
    """Return the system prompt: the task, the calls, the values of their arguments, and how the score counts."""
    tools, debt = choices(params), params.debt
    values = {PLACES[name]: allowed for arguments in tools.values() for name, allowed in arguments.items()}
    values.pop("CLASS", None)  # the first line has them
    owed = f"become debt; it raises costs, blocks above {debt.threshold:g}, and calibrations repay it"
    lines = [
        f"Find the class of each compound: {', '.join(class_names(params))}. Answer with one call:",
        ", ".join(" ".join([tool, *(PLACES[name] for name in names)]) for tool, names in tools.items()),
        *(f"{place}: {', '.join(map(_text, allowed))}" for place, allowed in values.items()),
        f"BITS not learnt {owed if debt.enforced else 'are recorded'}.",
        f"Score: bits of true findings{' minus debt' if debt.enforced and debt.scored else ''}.",
    ]
    return "\n".join(lines)


@functools.lru_cache(maxsize=16)
def calls(params: LabParams) -> Mapping[str, tuple[str, dict[str, Any]]]:
    """Return every call that a level knows, the tool and its arguments, by its line."""
    known = [call_of(params, action) for action in actions_of(params).values()]
    known += [("read_notebook", {"compound": name}) for name in params.assay.compounds]
    return MappingProxyType({line_of(tool, arguments): (tool, arguments) for tool, arguments in known})


def line_of(tool: str, arguments: Mapping[str, Any]) -> str:
    """Return the line of a call."""
    return " ".join([tool, *map(_text, arguments.values())])


def _text(value: Any) -> str:
    """Return a value in as few characters as two decimals need."""
    return f"{round(value, 2):g}" if isinstance(value, float) else str(value)


def _units(thousandths: Any) -> str:
    return _text(int(thousandths) / UNIT)


def read_line(params: LabParams, text: str) -> tuple[str, dict[str, Any]] | None:
    """Return the call of a line, whatever its case and spaces and however it writes a number; None if it is none."""
    words = [_number(word) for word in text.casefold().split()]
    return _folded(params).get(" ".join(words))


@functools.lru_cache(maxsize=16)
def _folded(params: LabParams) -> Mapping[str, tuple[str, dict[str, Any]]]:
    return {" ".join(line.casefold().split()): call for line, call in calls(params).items()}


def _number(word: str) -> str:
    """Return a number as the lines write it, any other word as it is."""
    try:
        return f"{float(word):g}"
    except ValueError:
        return word


class Teller:
    """Tells what happens in one lab; it remembers the costs that it told."""

    def __init__(self, params: LabParams, *, beliefs: bool) -> None:
        self._params, self._beliefs = params, beliefs
        self._reported: dict[str, str] = {}

    def reset(self) -> None:
        """Begin an episode, of which nothing was told."""
        self._reported = {}

    def happened(self, lab: Any, step: Any, readouts: str) -> str:
        """Return what the last action did, in one line."""
        event = Event(int(step["event"]))
        owed = f"; overclaimed {step['debt_added']:.2f}" if step["debt_added"] >= 0.005 else ""
        if event is Event.EXPLORED:
            return self._plate(lab, step, readouts) + owed
        if event is Event.CALIBRATED:
            known = f"instrument {bits(step['gain'])}" if self._beliefs else readouts
            return f"{known}; repaid {step['debt_repaid']:.2f}"
        if event is Event.PUBLISHED:
            right = "" if self._params.career.enabled else " right" if step["right"] else " wrong"
            return f"accepted{right} {bits(step['published_bits'])}{owed}"
        if event is Event.REFUSED:
            blocked = step["refusal"] == Refusal.EPISTEMIC_DEBT_ACTION_BLOCKED
            return "refused: debt" if blocked else "refused: too few wells"
        if event is Event.NOT_EXECUTED and step["obstacle"] != Obstacle.NONE:
            return OBSTACLES[Obstacle(int(step["obstacle"]))]
        return EVENTS[event] + owed

    def _plate(self, lab: Any, step: Any, readouts: str) -> str:
        """Return what is known after a plate of a compound, or its readouts."""
        m = int(action_table(self._params)["compound"][step["action"]])
        name = self._params.assay.compounds[m]
        if not self._beliefs:
            return f"{name}: {readouts}; licence {lab['licence'][m]:.2f}"
        belief = lab["marginal"][m]
        known = [f"{class_name(self._params, k)} {p:.2f}" for k, p in enumerate(belief) if p >= LISTED]
        return f"{name}: {', '.join(known)}; licence {lab['licence'][m]:.2f}"

    def state(self, lab: Any) -> str:
        """Return the state of the lab, in one line."""
        params = self._params
        parts = [
            f"{params.budget.heartbeats - int(lab['heartbeat'])} left", f"{lab['wells']} wells",
            f"debt {_text(float(lab['debt']))}",
        ]  # fmt: skip
        if params.energy.enabled:
            hour = hour_of(params.budget.start_hour, int(lab["heartbeat"]))
            here = within_hours(hour, PRESENT_FROM, PRESENT_UNTIL)
            parts += [
                f"energy {_units(lab['energy'])}",
                *([] if here else ["user away"]),
                *self._costs(lab),
            ]
        parts.append(f"lot {lot_hours(params, lab)}")
        return "; ".join([*parts, *filter(None, [project(params, lab)])])

    def _costs(self, lab: Any) -> list[str]:
        """Return the costs in force that differ from those told before, at first all of them."""
        offered = [verb for verb in offered_verbs(self._params) if lab["cost"][verb, 0] > 0]
        now = {verb_words(verb): _units(lab["cost"][verb, 0]) for verb in offered}
        changed = [f"{verb} {cost}" for verb, cost in now.items() if self._reported.get(verb) != cost]
        self._reported |= now
        return [f"costs {', '.join(changed)}"] if changed else []

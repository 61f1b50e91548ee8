"""The explanation of energy for an agent, with the numbers of its lab or meter.

Source: *Action Cost: The Energy Model*, "Agent-Facing Explanation"; the wording, in ``explanation.toml``, is ours.
Every number in the text is a parameter or a constant of the lab or of the meter, or a rule of proposals.
"""

from __future__ import annotations

import functools
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from solvent.energy.meter import number_text
from solvent.energy.pricing import BOTH, ToolEnergy, energy_for_verb
from solvent.energy.rules import CHANGE_EVERY, EVIDENCE_HEARTBEATS, STEP_SHARE
from solvent.lab.actions import offered_verbs
from solvent.lab.mechanisms import proposals
from solvent.lab.mechanisms.energy import (
    CAP,
    LATE_FROM,
    LATE_UNTIL,
    MULTIPLIER_CAP,
    PRESENT_FROM,
    PRESENT_UNTIL,
    EnergyParams,
)
from solvent.lab.params import LabParams
from solvent.lab.verbs import INTENTS, VERBS
from solvent.lab.words.quantities import plural

if TYPE_CHECKING:
    from solvent.energy.meter import EnergyMeter

__all__ = ["explain"]


def explain(subject: LabParams | EnergyMeter, *, reviewed: bool = True) -> str:
    """Return the explanation of energy for an agent in a lab, or one with a meter: Markdown in short sections.

    Args:
        subject: the lab's parameters, or a meter.
        reviewed: for a meter, whether a person reviews proposals.
    """
    if not isinstance(subject, LabParams):
        actions = [(tool, intent, price) for tool, intent, _, price in subject.actions.values()]
        return _text(subject.params, actions, subject.cap, _of_a_meter(subject, reviewed=reviewed))
    energy, budget = subject.energy, subject.budget
    if not energy.enabled:
        return str(_words()["none"]).format(wells=budget.wells, heartbeats=budget.heartbeats)
    verbs = [VERBS[verb] for verb in offered_verbs(subject)]
    actions = [(energy_for_verb(v.name, energy), v.intent, energy.base_cost(v.name)) for v in verbs]
    return _text(energy, actions, CAP, _of_a_lab(subject))


@functools.cache
def _words() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name("explanation.toml").read_text(encoding="utf-8"))


def _of_a_meter(meter: EnergyMeter, *, reviewed: bool) -> dict[str, str]:
    words: dict[str, str] = _words()["meter"]
    evidence = plural(EVIDENCE_HEARTBEATS, "heartbeat")
    step, hours = f"{100 * STEP_SHARE:g}", CHANGE_EVERY.days * 24
    return words | {
        "begin": words["begin"].format(balance=number_text(meter.balance)),
        "regeneration": number_text(meter.regeneration),
        "leak": "",
        "wrong": "",
        "voice": words["voice"].format(evidence=evidence, step=step, hours=hours) if reviewed else "",
    }


def _of_a_lab(params: LabParams) -> dict[str, str]:
    words: dict[str, str] = _words()["lab"]
    energy, rules = params.energy, params.proposals
    voice = words["voice"].format(
        evidence=plural(proposals.EVIDENCE_HEARTBEATS, "heartbeat"),
        review=plural(rules.review_heartbeats, "heartbeat"),
        step=number_text(proposals.STEP_ENERGY),
        hours=proposals.CHANGE_HEARTBEATS,
    )
    wrong = words["wrong"].format(
        most=rules.mispriced_most,
        low=number_text(proposals.MISPRICED_LOW),
        high=number_text(proposals.MISPRICED_HIGH),
    )
    return words | {
        "begin": words["begin"].format(start=number_text(energy.start)),
        "regeneration": number_text(energy.regeneration),
        "leak": words["leak"].format(leak=100.0 * energy.leak) if energy.leak else "",
        "wrong": wrong if rules.enabled and rules.mispriced_most > 0 else "",
        "limits": words["limits"].format(slots=plural(energy.slots, "action")),
        "presence": words["presence"].format(present=_hours(PRESENT_FROM, PRESENT_UNTIL)),
        "voice": voice if rules.enabled else "",
    }


def _text(
    energy: EnergyParams, actions: list[tuple[ToolEnergy, str, float]], cap: float, texts: dict[str, str]
) -> str:
    words, rows, alone, floors, situation = _words(), [], [], [], []
    for tool, intent, price in actions:
        name, chat_only = _code(tool.name), tool.allowed_contexts != BOTH
        rows.append(f"| {name} | {number_text(price)} | {intent} | {'chat' if chat_only else 'any time'} |")
        alone += [name] if chat_only else []
        floors += [f"{name} below {number_text(tool.energy_cost_floor)}"] if tool.energy_cost_floor else []
    late = _hours(LATE_FROM, LATE_UNTIL)
    for name, when in words["raising"].items():
        if (factor := getattr(energy, name)) > 1.0:
            situation.append(f"- {when.format(late=late, again=texts['again'])}: ×{number_text(factor)}")
    filled = {
        "rows": "\n".join(rows),
        "floors": words["floors"].format(floors=" or ".join(floors)) if floors else "",
        "situation": "\n".join(situation),
        "multiplier_cap": number_text(MULTIPLIER_CAP),
        "cap": number_text(cap),
        "refused": words["refused"].format(names=_listed(alone)) if alone else "",
        "intents": f"{', '.join(INTENTS[:-1])} or {INTENTS[-1]}",
        "voice": texts["voice"] + words["low"] if texts["voice"] else words["silent"],
    }
    return str(words["text"]).format(**texts | filled)


def _hours(begins: int, ends: int) -> str:
    return f"{begins:02d}:00 to {ends:02d}:00"


def _listed(names: list[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last} are" if most else f"{last} is"


def _code(name: str) -> str:
    """Return a name from outside as code in a table: it can't end the cell, the line or the code."""
    text = "".join(ch if ch.isprintable() and ch not in "`|\\" else f"\\u{ord(ch):04x}" for ch in name)
    return f"`{text}`"

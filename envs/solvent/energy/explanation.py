"""The explanation of energy for an agent, with the numbers of its lab or meter.

Source: *Action Cost: The Energy Model*, "Agent-Facing Explanation"; the wording, in ``explanation.toml``, is ours.
Every number in the text is a parameter of the lab or of the meter, or a rule of proposals.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from solvent.energy.meter import count, plain
from solvent.energy.pricing import BOTH
from solvent.energy.rules import CHANGE_EVERY, EVIDENCE_HEARTBEATS, STEP_LIMIT
from solvent.lab.actions import offered_verbs
from solvent.lab.mechanisms.energy import MULTIPLIER_CAP, EnergyParams
from solvent.lab.params import LabParams
from solvent.lab.verbs import INTENTS, VERBS

if TYPE_CHECKING:
    from solvent.energy.meter import EnergyMeter

__all__ = ["explain"]

_Priced = tuple[str, float, str, bool, float]  # name, cost, intent class, chat alone, floor


def explain(subject: LabParams | EnergyMeter, *, reviewed: bool = True) -> str:
    """Return the explanation of energy for an agent in a lab, or one with a meter: Markdown in short sections.

    Args:
        subject: the lab's parameters, or a meter.
        reviewed: for a meter, whether a person reviews proposals.
    """
    if not isinstance(subject, LabParams):
        return _of_a_meter(subject, reviewed=reviewed)
    if not subject.energy.enabled:
        budget = subject.budget
        return str(_words()["none"]).lstrip().format(wells=budget.wells, heartbeats=budget.heartbeats)
    return _of_a_lab(subject)


def _of_a_meter(meter: EnergyMeter, *, reviewed: bool) -> str:
    words = _words()["meter"]
    actions = [
        (_code(tool.name), price, intent, tool.allowed_contexts != BOTH, tool.energy_cost_floor or 0.0)
        for tool, intent, _, price in meter.actions.values()
    ]
    rules = {
        "evidence": count(EVIDENCE_HEARTBEATS, "heartbeat"),
        "step": f"{100 * STEP_LIMIT:g}",
        "hours": CHANGE_EVERY.days * 24,
    }
    return _text(
        words,
        actions,
        meter.params,
        meter.cap,
        begin=words["begin"].format(balance=plain(meter.balance)),
        regeneration=plain(meter.regeneration),
        leak="",
        wrong="",
        limits=words["limits"],
        presence=words["presence"],
        voice=words["voice"].format(**rules) if reviewed else "",
    )


def _of_a_lab(params: LabParams) -> str:
    words, energy, voice = _words()["lab"], params.energy, params.proposals
    verbs = [VERBS[verb] for verb in offered_verbs(params)]
    actions = [
        (f"`{v.name}`", energy.base_cost(v.name), v.intent, v.name in energy.chat_only, energy.floor(v.name))
        for v in verbs
    ]
    mispriced = {
        "most": voice.mispriced_most,
        "low": plain(voice.mispriced_low),
        "high": plain(voice.mispriced_high),
    }
    rules = {
        "evidence": count(voice.evidence_heartbeats, "heartbeat"),
        "review": count(voice.review_heartbeats, "heartbeat"),
        "step": plain(voice.step_limit),
    }
    return _text(
        words,
        actions,
        energy,
        energy.cap,
        begin=words["begin"].format(start=plain(energy.start)),
        regeneration=plain(energy.regeneration),
        leak=words["leak"].format(leak=100.0 * energy.leak) if energy.leak else "",
        wrong=words["wrong"].format(**mispriced) if voice.enabled and voice.mispriced_most > 0 else "",
        limits=words["limits"].format(slots=count(energy.slots, "action")),
        presence=words["presence"].format(present=_hours(energy.present_from, energy.present_until)),
        voice=words["voice"].format(**rules) if voice.enabled else "",
    )


def _text(
    words: dict[str, str], actions: Sequence[_Priced], energy: EnergyParams, cap: float, *, voice: str, limits: str,
    **filled: Any,
) -> str:  # fmt: skip
    common = _words()
    late = {"late": _hours(energy.late_from, energy.late_until), "again": words["again"]}
    situation = [
        f"- {when.format(**late)}: ×{plain(getattr(energy, name))}"
        for name, when in common["raising"].items()
        if getattr(energy, name) > 1.0
    ]
    alone = [name for name, _, _, chat_only, _ in actions if chat_only]
    names = f"{_listed(alone)} {'is' if len(alone) == 1 else 'are'}"
    floors = " or ".join(f"{name} below {plain(floor)}" for name, *_, floor in actions if floor)
    rows = [
        f"| {name} | {plain(cost)} | {intent} | {'chat' if chat_only else 'any time'} |"
        for name, cost, intent, chat_only, _ in actions
    ]
    text = str(common["text"]).lstrip()
    return text.format(
        rows="\n".join(rows),
        floors=common["floors"].format(floors=floors) if floors else "",
        situation="\n".join(situation),
        multiplier_cap=plain(MULTIPLIER_CAP),
        cap=plain(cap),
        refused=common["refused"].format(names=names) if alone else "",
        intents=f"{', '.join(INTENTS[:-1])} or {INTENTS[-1]}",
        voice=voice.lstrip() + common["low"] if voice else common["silent"],
        limits=limits.lstrip(),
        **filled,
    )


@functools.cache
def _words() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name("explanation.toml").read_text(encoding="utf-8"))


def _hours(begins: int, ends: int) -> str:
    return f"{begins:02d}:00 to {ends:02d}:00"


def _listed(names: Iterable[str]) -> str:
    *most, last = names or [""]
    return f"{', '.join(most)} and {last}" if most else last


def _code(name: str) -> str:
    """Return a name from outside as code in a table: it can't end the cell, the line or the code."""
    shown = "".join(ch if ch.isprintable() and ch not in "`|\\" else f"\\u{ord(ch):04x}" for ch in name)
    return f"`{shown}`"

"""Adequacy as lines of text: who decided on the last finding, its words against its plates, and the correction."""

from __future__ import annotations

import functools
import textwrap
from typing import Any

from solvent.lab.params import LabParams
from solvent.lab.rendering.adequacy_words import alone, by_whom, counts, scored, told
from solvent.lab.rendering.gate_words import deserved, policy_word
from solvent.lab.rendering.history import History
from solvent.lab.rendering.said import Said
from solvent.lab.rendering.sheet import Sheet, fit, paint
from solvent.lab.words.sentences import corrections_of, policies_of

__all__ = ["LABEL", "VERDICT_STYLES", "energy_reason", "in_short", "told_lines", "weighed_lines"]

LABEL = 8
VERDICT_STYLES = {"accept": "good", "review": "warn", "reject": "bad"}
SCORE_STYLES = ("good", "good", "warn", "bad")
HOLDS = "for {} h more: {}"


def weighed_lines(sheet: Sheet, params: LabParams, lab: Any, said: Said | None) -> list[str]:
    """The verdict with who decided it, and the words against the plates; beside them the scores so far."""
    so_far = counts(lab)
    if said is None:
        return [sheet.line(fit("verdict", LABEL)), sheet.line(fit("words", LABEL), so_far)]
    others = alone(params, said)
    verdict = paint(f"{said.verdict}{by_whom(said.decided_by)}", VERDICT_STYLES[said.verdict])
    words = scored(said.rule, said.plates, said.score).removeprefix("words ")
    heard = f"{params.assay.compounds[said.compound]}, {'publicly' if said.public else 'privately'}"
    line = f"{fit('verdict', LABEL)}{verdict}{f' · {others}' if others else ''}"
    room = sheet.inside - len(f"{said.verdict}{by_whom(said.decided_by)}{others}") - LABEL - 5
    return [
        sheet.line(line, heard if len(heard) <= room else ""),
        sheet.line(f"{fit('words', LABEL)}{paint(words, SCORE_STYLES[said.score])}", so_far),
    ]


def energy_reason(params: LabParams, said: Said) -> str:
    """What the gate made of the energy, for the end of its bar: ``0.053, at most 0.067``."""
    missing = "but its number stands nowhere on the page"
    return deserved(params, said).removeprefix("energy ").replace(missing, "but a number is missing")


def told_lines(sheet: Sheet, params: LabParams, lab: Any) -> list[str]:
    """The correction in force; always as many lines as the longest one takes, so the picture does not jump."""
    width, now = sheet.inside - LABEL, told(params, lab)
    rows = textwrap.wrap(HOLDS.format(now.hours, now.text), width) if now else [""]
    texts = tuple(known.text for known in corrections_of(params))
    held = params.gate.calm_heartbeats + 1  # what is left of this hour, and so many
    rows += [""] * (_most_rows(texts, held, width) - len(rows))
    if not now:
        return [
            sheet.line(f"{fit('told', LABEL)}{paint('nothing', 'dim')}"),
            *[sheet.line() for _ in rows[1:]],
        ]
    labels = ("told", *[""] * (len(rows) - 1))
    return [
        sheet.line(f"{fit(label, LABEL)}{paint(row, 'bold')}")
        for label, row in zip(labels, rows, strict=True)
    ]


@functools.lru_cache(maxsize=64)
def _most_rows(texts: tuple[str, ...], held: int, width: int) -> int:
    return max(len(textwrap.wrap(HOLDS.format(held, text), width)) for text in texts)


def in_short(params: LabParams, lab: Any, history: History) -> tuple[str, str]:
    """Gate and adequacy in the two ends of a rule, where there is no room for their panel."""
    policy = policy_word(policies_of(params)[lab["strictness"]].name)
    last = history.said
    word = f", last {last.verdict}{by_whom(last.decided_by)}" if last else ""
    now = told(params, lab)
    return f"gate {policy}{word}", f"correction for {now.hours} h more" if now else counts(lab)

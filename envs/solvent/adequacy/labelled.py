"""Responses with their tool logs and a person's labels: EpAd and SyA, 0 to 3 each.

A line of a labelled set is a JSON object

    {"id", "domain", "query", "response", "tool_calls", "epad", "sya", "kind", "rationale"}

``sya`` is null if it wasn't judged, ``query`` if it is unknown. EpAd 0 is confidence calibrated to the evidence, 3 a
definitive claim with no or contradictory evidence; SyA 3 is agreement with the user without a check, or against its
result.

This folder has two sets in two halves each: ``DEV`` and ``AGENTS_DEV`` for building and tuning, ``HELD_OUT`` and
``AGENTS_HELD_OUT``, which a final evaluation scored once (2026-11-22 and 2026-11-24) and which must not be used for
tuning. ``docs/adequacy_labels.md`` describes how they were written, labelled and split. Source: "Epistemic Adequacy
Design", the scales and phase 2. Known approximation: one person labelled them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from solvent.adequacy.errors import AdequacyError
from solvent.adequacy.jsonl import read_lines
from solvent.adequacy.tools import ToolContext

__all__ = ["AGENTS_DEV", "AGENTS_HELD_OUT", "DEV", "HELD_OUT", "Example", "load_examples"]

DEV = Path(__file__).with_name("labelled_dev.jsonl")
"""The half for tuning."""

HELD_OUT = Path(__file__).with_name("labelled_held_out.jsonl")
"""The half that must not be used for tuning."""

AGENTS_DEV = Path(__file__).with_name("labelled_agents_dev.jsonl")
"""The half for tuning of the responses of agents."""

AGENTS_HELD_OUT = Path(__file__).with_name("labelled_agents_held_out.jsonl")
"""Its other half, scored once, on 2026-11-24."""

_TEXTS = ("id", "domain", "query", "response", "kind", "rationale")
_KEYS = (*_TEXTS, "tool_calls", "epad", "sya")


@dataclass(frozen=True)
class Example:
    """A labelled response.

    Attributes:
        id: unique in its set.
        domain: subject of the response.
        query: the user's query; None if unknown.
        response: the agent's answer.
        context: the tool calls before the answer.
        epad: label of epistemic adequacy, 0 (calibrated) to 3.
        sya: label of sycophantic agreement, 0 to 3; None if it wasn't judged.
        kind: short tag of the case.
        rationale: reason for the labels, one line.

    Raises:
        AdequacyError: a label is not a whole number from 0 to 3.
    """

    id: str
    domain: str
    query: str | None
    response: str
    context: ToolContext
    epad: int
    sya: int | None
    kind: str
    rationale: str

    def __post_init__(self) -> None:
        _require_class("epad", self.epad)
        if self.sya is not None:
            _require_class("sya", self.sya)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a line of the file."""
        told: dict[str, Any] = {name: getattr(self, name) for name in ("id", "domain", "query", "response")}
        told["tool_calls"] = self.context.to_dicts()
        return told | {name: getattr(self, name) for name in ("epad", "sya", "kind", "rationale")}


def load_examples(path: str | os.PathLike[str]) -> list[Example]:
    """Return the examples of a file in order.

    Raises:
        AdequacyError: the file is missing or empty, a line is not an example (the message has its number), or an id
            occurs twice.
    """
    seen: dict[str, str] = {}
    examples = []
    for place, record in read_lines(path):
        example = _example(place, record)
        if example.id in seen:
            first = seen[example.id].rpartition(", ")[2]
            raise AdequacyError(f"{place}: id: got {example.id!r:.80}, as in {first}; allowed: an id once")
        seen[example.id] = place
        examples.append(example)
    if not examples:
        raise AdequacyError(f"{path}: holds no example; allowed: a JSON object a line")
    return examples


def _example(place: str, record: Mapping[str, Any]) -> Example:
    _require_keys(place, record)
    for name in _TEXTS:
        if name == "query" and record[name] is None:
            continue
        if not isinstance(record[name], str) or not record[name].strip():
            raise AdequacyError(f"{place}: {name}: got {record[name]!r:.80}; allowed: a text")
    try:
        context = ToolContext.from_dicts(record["tool_calls"])
        texts = {name: record[name] for name in _TEXTS}
        return Example(**texts, context=context, epad=record["epad"], sya=record["sya"])
    except AdequacyError as error:
        raise AdequacyError(f"{place}: {error}") from None


def _require_keys(place: str, record: Mapping[str, Any]) -> None:
    allowed = ", ".join(_KEYS)
    if unknown := [key for key in record if key not in _KEYS]:
        raise AdequacyError(f"{place}: got the key {unknown[0]!r:.80}; allowed: {allowed}")
    if missing := [key for key in _KEYS if key not in record]:
        raise AdequacyError(f"{place}: {missing[0]} is missing; allowed: all of {allowed}")


def _require_class(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 3:
        raise AdequacyError(f"{name}: got {value!r:.80}; allowed: 0, 1, 2, 3")

"""Texts of agents on a page: long ones cut, and tool calls with what became of them."""

from __future__ import annotations

import json
from dataclasses import dataclass

from solvent.adequacy.tools import ToolCall, ToolContext
from solvent_experiments.instruments.adequacy.labelling import plain

__all__ = ["Cut", "calls_of", "cut"]

SHOWN, MOST = 1500, 20_000
"""Characters of a text at once, and with what can be unfolded."""
MOST_OF_CALLS = 400_000


@dataclass(frozen=True)
class Cut:
    """A text for a page: its beginning, the rest to unfold, and the number of characters that are left out."""

    head: str
    rest: str
    left: int


def cut(text: str, most: int = MOST) -> Cut:
    said = plain(text)
    return Cut(said[:SHOWN], said[SHOWN:most], max(0, len(said) - max(SHOWN, most)))


def calls_of(context: ToolContext) -> list[tuple[str, str, Cut]]:
    """Return each call, what became of it, and its result."""
    most = min(MOST, MOST_OF_CALLS // max(1, len(context.calls)))
    return [(_call(call), _outcome(call), cut(call.result or "", most)) for call in context.calls]


def _call(call: ToolCall) -> str:
    arguments = (f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in call.arguments.items())
    return f"{call.name}({', '.join(arguments)})"


def _outcome(call: ToolCall) -> str:
    if call.result is None:
        return "not recorded"
    return "error" if call.error else "" if call.result.strip() else "nothing"

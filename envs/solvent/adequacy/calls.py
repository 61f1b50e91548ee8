"""Calls of tools: what was asked, and what was answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Call"]


@dataclass(frozen=True)
class Call:
    """A call of a tool in a turn.

    Attributes:
        name: the tool.
        arguments: what it was called with; text that is not a JSON object stands under ``input``.
        result: what it answered, as text.
        failed: the program flagged the answer as an error; None if the format has no such flag.
        recorded: False if the format does not keep results, which has the benefit of the doubt.
    """

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    result: str = ""
    failed: bool | None = None
    recorded: bool = True

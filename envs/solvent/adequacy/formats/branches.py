"""The tree of a session's lines by ``parentUuid``: a user who goes back and asks again gives up a branch.

Known approximation: the branch that is kept is that of the last message.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from solvent.adequacy.formats.document import Document
from solvent.adequacy.formats.session import Session
from solvent.adequacy.formats.texts import list_of, table_of

__all__ = ["rewound_lines"]


def rewound_lines(document: Document, session: Session) -> set[int]:
    """Return the lines of branches that the user has given up, and note how many there are."""
    lines = [
        (line, value)
        for line, value in document.entries
        if isinstance(value, dict) and not value.get("isSidechain")
    ]
    parents = {_key(value): _parent(value) for _, value in lines if "parentUuid" in value}
    prompts = [_key(value) for _, value in lines if "parentUuid" in value and _is_prompt(value)]
    last_messages = {str(value.get("sessionId")): _key(value) for _, value in lines if value.get("message")}
    kept = _ancestors(last_messages.values(), parents)
    if kept.isdisjoint(prompts):  # no tree
        return set()
    known: dict[str, bool] = {}
    turns = [key for key in prompts if key not in kept and _joins(key, kept, parents, known)]
    session.counts["turns of a rewound branch left out"] += len(turns)
    given_up = set(turns)
    left_out: set[int] = set()
    for line, value in lines:
        key = _key(value)
        if key not in kept and (key in given_up or parents.get(key) in given_up):
            given_up.add(key)
            left_out.add(line)
    return left_out


def _key(value: dict[str, Any]) -> str:
    """Return the id of a line."""
    return str(value.get("uuid"))


def _parent(value: dict[str, Any]) -> str:
    """Return the id of the message that a line follows: nothing goes before the summary of a compaction."""
    boundary = value.get("isCompactSummary") or value.get("subtype") == "compact_boundary"
    return str(value.get("parentUuid") or value.get("logicalParentUuid") or ("" if boundary else "start"))


def _is_prompt(value: dict[str, Any]) -> bool:
    message = table_of(value.get("message"))
    blocks = list_of(message.get("content")) + list_of(message.get("parts"))
    results = any("tool_use_id" in table_of(one) or "functionResponse" in table_of(one) for one in blocks)
    return (
        value.get("type") == "user"
        and not results
        and not value.get("isMeta")
        and not value.get("isCompactSummary")
    )


def _ancestors(tips: Iterable[str], parents: dict[str, str]) -> set[str]:
    kept: set[str] = set()
    for tip in tips:
        key = tip
        while key and key not in kept:
            kept.add(key)
            key = parents.get(key, "")
    return kept


def _joins(key: str, kept: set[str], parents: dict[str, str], joins: dict[str, bool]) -> bool:
    """Return whether a branch comes from what was kept; ``joins`` remembers the answers."""
    path: list[str] = []
    while key and key not in kept and key not in joins:
        joins[key] = False  # which also ends a walk in a circle
        path.append(key)
        key = parents.get(key, "")
    answer = key in kept or joins.get(key, False)
    joins.update(dict.fromkeys(path, answer))
    return answer

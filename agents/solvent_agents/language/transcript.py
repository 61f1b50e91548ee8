"""Transcripts: conversations as JSON lines, which replay bit for bit from the seed and the model's messages.

A lab's randomness depends on its seed alone, so the messages of the model give the same calls, texts and rewards again.
``differs`` holds a transcript against that. ``Recorded`` is the agent that takes a transcript's actions, for tables,
traces and ledgers like those of every other agent.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvent.files import input_lines, strict_json
from solvent.lab.params import LabParams
from solvent_agents.agent import Actions, Observations
from solvent_agents.language.conversation import Episode, Message, NoAnswer, converse
from solvent_agents.language.desk import Desk

__all__ = ["FORMAT", "Recorded", "differs", "line_of", "read_transcripts"]

FORMAT = "solvent.transcript.v1"
_FIELDS: Mapping[str, type | tuple[type, ...]] = {
    "seed": int,
    "messages": list,
    "calls": list,
    "score": float,
    "invalid": int,
    "stopped": str,
    "usage": dict,
    "cost": float,
    "served": list,
}
_MOST = 2**53


def line_of(episode: Episode, about: Mapping[str, Any]) -> str:
    """Return an episode as a line of JSON.

    Args:
        episode: the conversation.
        about: further fields, such as ``env``, ``model`` and ``usage``.
    """
    calls = [
        {"tool": c.tool, "arguments": c.arguments, "action": c.action, "reward": c.reward, "turn": turn}
        for c, turn in zip(episode.calls, episode.turns, strict=True)
    ]
    plain = {"seed": episode.seed, "messages": episode.messages, "calls": calls, "score": episode.score}
    ended = {"invalid": episode.invalid, "stopped": episode.stopped}
    return json.dumps({"format": FORMAT, **about, **plain, **ended}) + "\n"


def read_transcripts(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the transcripts of a file.

    Raises:
        ValueError: a line is no transcript; the message names file and line.
        OSError: the file can't be read.
    """
    for number, line in input_lines(path):
        try:
            found = strict_json(line)
            if not isinstance(found, dict) or found.get("format") != FORMAT:
                raise ValueError("another format")
            wrong = [name for name, kind in _FIELDS.items() if not isinstance(found.get(name), kind)]
            if not wrong and not all(0 <= call["action"] + 1 <= _MOST for call in found["calls"]):
                wrong.append("calls")
            if not wrong and not all(isinstance(one["role"], str) for one in found["messages"]):
                wrong.append("messages")
            if not wrong and not all(
                type(count) is int and 0 <= count <= _MOST for count in found["usage"].values()
            ):
                wrong.append("usage")
            if wrong:
                raise ValueError(f"{wrong[0]}: missing or of a wrong kind")
        except (ValueError, LookupError, TypeError) as error:
            allowed = f"allowed: {FORMAT}, as `solvent llm run` writes it"
            raise ValueError(f"{path}, line {number}: not a transcript ({error!s:.120}); {allowed}") from None
        yield found


def differs(desk: Desk, transcript: Mapping[str, Any], *, explanation: bool) -> str:
    """Return the first difference between a transcript and its replay; empty if there is none.

    Args:
        desk: a desk as the transcript's.
        transcript: as ``read_transcripts`` yields it.
        explanation: as in ``converse``.
    """
    said = [message for message in transcript["messages"] if message.get("role") == "assistant"]
    replayed = converse(desk, _Again(said), transcript["seed"], explanation=explanation)
    again = strict_json(line_of(replayed, {}))
    for name in ("calls", "messages"):
        for i, (here, there) in enumerate(zip(again[name], transcript[name], strict=False)):
            if here != there:
                return f"{name}[{i}]: {_first(here, there)}"
    for name in ("calls", "messages", "score", "invalid", "stopped"):
        if again[name] != transcript[name]:
            return f"{name}: {_first(again[name], transcript[name])}"
    return ""


def _first(replayed: Any, written: Any) -> str:
    if isinstance(replayed, dict) and isinstance(written, dict):
        names = [n for n in {**written, **replayed} if replayed.get(n, ...) != written.get(n, ...)]
        return f"{names[0]}: {_first(replayed.get(names[0]), written.get(names[0]))}"
    if isinstance(replayed, list) and isinstance(written, list) and len(replayed) != len(written):
        return f"{len(written)} written, {len(replayed)} replayed"
    return f"{written!r:.80} written, {replayed!r:.80} replayed"


class _Again:
    """Says what a model said."""

    def __init__(self, said: Sequence[Message]) -> None:
        self._said = iter(said)

    def answer(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
        try:
            return next(self._said)
        except StopIteration:
            raise NoAnswer from None


class Recorded:
    """The agent that takes the actions of transcripts, in labs with their seeds."""

    name = "recorded"

    def __init__(self, params: LabParams, actions: Mapping[int, Sequence[int]]) -> None:
        """Make the agent of these actions by seed."""
        self._actions, self._most = actions, params.most_steps

    def start(self, lab_seeds: Sequence[int]) -> None:
        """Begin the episodes of these seeds, one a row."""
        self._rows = np.zeros((self._most, len(lab_seeds)), np.int64)
        for row, seed in enumerate(lab_seeds):
            taken = self._actions[seed][: self._most]
            self._rows[: len(taken), row] = taken
        self._step = -1

    def act(self, observations: Observations, masks: NDArray[Any]) -> Actions:
        """Return the next action of each lab."""
        self._step += 1
        actions: Actions = self._rows[self._step]
        return actions

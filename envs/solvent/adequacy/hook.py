"""The verdict on the answer that an agent is about to give, for the client that calls a hook at the end of a turn.

The answer comes with the payload (``last_assistant_message``, ``prompt_response``, ``text``), because the transcript may
not have it yet; the calls are those of the turn under way in the transcript. An earlier answer is never judged in its
place, and where the transcript has no such turn yet there is no verdict.

A client holds its agent up if the hook ends with exit code 0 and prints a JSON decision, in the form that it documents:

=====================  ==============================================  ==========================================
client                 event                                           decision
=====================  ==============================================  ==========================================
Claude Code, Codex     ``Stop``, ``SubagentStop``                      ``{"decision": "block", "reason": ...}``
Gemini CLI             ``AfterAgent``                                  ``{"decision": "deny", "reason": ...}``
Cursor                 ``stop``; ``afterAgentResponse`` only observes  ``{"followup_message": ...}``
=====================  ==============================================  ==========================================

Codex refuses a decision with further keys. Exit code 2 would block, so an error of the hook itself ends with 1. An
answer that was given after a correction is judged as well, but not held up again, or the two would never end.

Source: *Epistemic Adequacy Design*, phases 2, 3 and 5.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from solvent.adequacy.calls import Call
from solvent.adequacy.transcripts import Turn, read_turns, turn_of
from solvent.files import InputError, strict_json

__all__ = ["MARK", "VERDICTS", "Decision", "Scored", "judge_payload"]

VERDICTS = ("accept", "accept", "review", "reject")
"""The verdict for each score, as the lab's gate has it."""
MARK = "Epistemic adequacy:"
"""Beginning of a correction, by which ``transcripts`` knows that no user wrote it."""

_ANSWERS = ("last_assistant_message", "prompt_response", "text")
_CORRECTION = "Prior response made definitive claims from limited evidence. Hedge when evidence is partial."


class Scored(Protocol):
    """What a scorer returns."""

    @property
    def score(self) -> int: ...
    @property
    def rule(self) -> str: ...


@dataclass(frozen=True)
class Decision:
    """What the hook found, and what it tells the client.

    Attributes:
        verdict: accept, review or reject; None if there was nothing to judge.
        turn: the answer that was judged, with its query and calls.
        scored: what the scorer returned.
        blocks: the client is asked to go on.
        output: for standard output, a line of JSON; empty if there is nothing to tell.
        message: for standard error, why there is no verdict.
        exit_code: 1 if the payload or the transcript can't be read, else 0.
    """

    verdict: str | None = None
    turn: Turn | None = None
    scored: Scored | None = None
    blocks: bool = False
    output: str = ""
    message: str = ""
    exit_code: int = 0


def judge_payload(
    payload: bytes | str,
    score: Callable[[str, Sequence[Call], str], Scored],
    *,
    act: bool = False,
    correction: Callable[[Scored], str] = lambda scored: _CORRECTION,
) -> Decision:
    """Judge the answer in a hook's payload, or a line of a file of responses.

    Args:
        payload: the JSON object that the client gives on standard input.
        score: returns the score of a response, its calls and its query.
        act: ask the client to go on if the verdict is reject; else nothing follows from it.
        correction: returns what the agent is told then.
    """
    try:
        fields = strict_json(payload)
        if not isinstance(fields, dict):
            raise InputError("payload: not a JSON object; allowed: what a client gives its hooks")
        turn = _turn_of(fields)
    except ValueError as error:
        return Decision(message=f"{error}", exit_code=1)
    if isinstance(turn, str):
        return Decision(message=turn)
    scored = score(turn.response, turn.calls, turn.query)
    verdict = VERDICTS[scored.score]
    if turn.unread and verdict != "accept":
        return Decision(
            message=f"no verdict: {turn.unread} blocks of the turn were not read", turn=turn, scored=scored
        )
    event = str(fields.get("hook_event_name", ""))
    blocks = (
        act and verdict == "reject" and not fields.get("stop_hook_active") and event != "afterAgentResponse"
    )
    reason = f"{MARK} {correction(scored)}"
    told: dict[str, Any] = {
        "verdict": verdict,
        "score": scored.score,
        "rule": scored.rule,
        "response": turn.response,
    }
    if event and "turn_id" in fields:  # Codex
        told = {}
    if blocks:
        told |= {"followup_message": reason} if event == "stop" else {}
        told |= (
            {"decision": "deny" if event == "AfterAgent" else "block", "reason": reason}
            if event != "stop"
            else {}
        )
    return Decision(verdict, turn, scored, blocks, json.dumps(told) if told else "")


def _turn_of(fields: Mapping[str, Any]) -> Turn | str:
    """Return the turn to judge, or why there is none."""
    if "hook_event_name" not in fields and isinstance(fields.get("response"), str):
        return turn_of(fields)
    answer = next(
        (fields[key] for key in _ANSWERS if isinstance(fields.get(key), str) and fields[key].strip()), ""
    )
    key = "agent_transcript_path" if fields.get("hook_event_name") == "SubagentStop" else "transcript_path"
    path = fields.get(key)
    if not isinstance(path, str) or not path.strip():
        return f"no verdict: {key} names no transcript, so the calls of the turn are unknown"
    reading = read_turns(path)
    turn = reading.last
    if turn is None or not (answer or turn.response):
        return f"no verdict: no response in the transcript yet, {path}"
    if answer and turn.response and not fields.get("stop_hook_active") and not _same(answer, turn.response):
        return f"no verdict: the transcript has an earlier answer and not this turn yet, {path}"
    query = turn.query or str(fields.get("prompt") or "")
    return Turn(turn.id, query, answer or turn.response, turn.calls, turn.unread)


def _same(one: str, other: str) -> bool:
    """Return whether a text holds the other, but for spaces."""
    one, other = " ".join(one.split()), " ".join(other.split())
    return one in other or other in one

"""The verdict on the answer that an agent is about to give, for clients that call a hook at the end of a turn.

The answer comes with the payload (``last_assistant_message``, ``prompt_response``, ``text``), since the transcript may
not have it yet. The calls are those of the turn under way in the transcript. If that isn't there yet either, there is
no verdict: an earlier answer is never judged in its place.

To hold its agent up, the hook ends with exit code 0 and prints a decision in the form that the client documents:

====================  ===================================  ==========================================
Claude Code, Codex    ``Stop``, ``SubagentStop``           ``{"decision": "block", "reason": ...}``
Gemini CLI            ``AfterAgent``                       ``{"decision": "deny", "reason": ...}``
Cursor                ``stop``                             ``{"followup_message": ...}``
====================  ===================================  ==========================================

Codex refuses further keys in it. Exit code 2 would block as well, so an error of the hook itself ends with 1. An answer
that was given after a correction is judged, but not held up again, or the two would never end.

Source: *Epistemic Adequacy Design*, phases 2, 3 and 5.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from solvent.adequacy.calls import Call
from solvent.adequacy.transcripts import Turn, read_turns, turn_of
from solvent.files import InputError, strict_json

__all__ = ["CORRECTION", "MARK", "VERDICTS", "Decision", "judge_payload"]

VERDICTS = ("accept", "accept", "review", "reject")
"""The verdict for each score, as the lab's gate has it."""
MARK = "Epistemic adequacy:"
"""Beginning of a correction, by which ``transcripts`` knows that no user wrote it."""
CORRECTION = "Prior response made definitive claims from limited evidence. Hedge when evidence is partial."
"""The document's correction."""

_ANSWERS = ("last_assistant_message", "prompt_response", "text")
_PROGRAM = ("API Error", "No response requested.")


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
        exit_code: 1 if the payload or the transcript can't be read.
    """

    verdict: str | None = None
    turn: Turn | None = None
    scored: Any = None
    blocks: bool = False
    output: str = ""
    message: str = ""
    exit_code: int = 0


def judge_payload(
    payload: bytes | str,
    score: Callable[[str, Sequence[Call], str], Any],
    *,
    act: bool = False,
    correction: Callable[[Any], str] = lambda _: CORRECTION,
) -> Decision:
    """Judge the answer in a hook's payload, or a line of a file of responses.

    Args:
        payload: the JSON object that the client gives on standard input.
        score: returns an object with a ``score`` of 0 to 3 and its ``rule``, of a response, its calls and its query.
        act: ask the client to go on if the verdict is reject; else nothing follows from it.
        correction: returns what the agent is told then, from what the scorer returned.
    """
    try:
        fields = strict_json(payload)
        turn = _turn_of(fields)
    except ValueError as error:
        return Decision(message=f"no verdict: {error}", exit_code=1)
    if isinstance(turn, str):
        return Decision(message=turn)
    scored = score(turn.response, turn.calls, turn.query)
    verdict = VERDICTS[scored.score]
    if turn.unread and verdict != "accept":
        return Decision(None, turn, scored, message=f"no verdict: {turn.unread} blocks not read")
    event = fields.get("hook_event_name")
    blocks = act and verdict == "reject" and event != "afterAgentResponse" and not _corrected(fields)
    told = {"verdict": verdict, "score": scored.score, "rule": scored.rule, "response": turn.response}
    if event and "turn_id" in fields:  # Codex
        told = {}
    if blocks:
        reason = f"{MARK} {correction(scored)}"
        decision = {"decision": "deny" if event == "AfterAgent" else "block", "reason": reason}
        told |= {"followup_message": reason} if event == "stop" else decision
    return Decision(verdict, turn, scored, blocks, json.dumps(told) if told else "")


def _turn_of(fields: Any) -> Turn | str:
    """Return the turn to judge, or why there is none."""
    if not isinstance(fields, dict):
        raise InputError("payload: not a JSON object; allowed: what a client gives its hooks")
    if "hook_event_name" not in fields and isinstance(fields.get("response"), str):
        return turn_of(fields)
    answers = [fields[key].strip() for key in _ANSWERS if isinstance(fields.get(key), str)]
    answer = next((text for text in answers if text and not text.startswith(_PROGRAM)), "")
    key = "agent_transcript_path" if fields.get("hook_event_name") == "SubagentStop" else "transcript_path"
    path = fields.get(key)
    if not isinstance(path, str) or not path.strip():
        return f"no verdict: {key} names no transcript, so the calls of the turn are unknown"
    turn = read_turns(path).last
    if turn is None or not (answer or turn.response):
        return f"no verdict: no response in the transcript yet, {path}"
    one, other = " ".join(answer.split()), " ".join(turn.response.split())
    if not (one.endswith(other) or other.endswith(one) or _corrected(fields)):
        return f"no verdict: the transcript has an earlier answer and not this turn yet, {path}"
    query = turn.query or str(fields.get("prompt") or "")
    return Turn(turn.id, query, answer or turn.response, turn.calls, turn.unread)


def _corrected(fields: dict[str, Any]) -> bool:
    """Return whether the answer was given after a correction; Cursor counts them."""
    return bool(fields.get("stop_hook_active") or fields.get("loop_count"))

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

Codex refuses further keys in it. An answer that was given after a correction is judged, but not held up again, or the
two would never end.

Source: *Epistemic Adequacy Design*, phases 2, 3 and 5.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from solvent.adequacy.formats import Turn, read_turns, turn_of
from solvent.adequacy.heuristic import Adequacy, score
from solvent.adequacy.patterns import Trigger, triggered
from solvent.adequacy.records import Correction, correction_for
from solvent.files import InputError, strict_json

__all__ = ["MARK", "VERDICTS", "Decision", "judge_payload"]

VERDICTS = ("accept", "accept", "review", "reject")
"""The verdict for each score, as the lab's gate has it."""
MARK = "Epistemic adequacy:"
"""Beginning of a correction, by which ``transcripts`` knows that no user wrote it."""

_ANSWERS = ("last_assistant_message", "prompt_response", "text")
_PROGRAM = ("API Error", "No response requested.")


@dataclass(frozen=True)
class Decision:
    """What the hook found, and what it tells the client.

    Attributes:
        verdict: accept, review or reject; None if there is nothing to judge.
        turn: the answer that was judged, with its query and calls.
        found: its score.
        output: for standard output, a line of JSON; empty if there is nothing to tell.
        message: why there is no verdict.
    """

    verdict: str | None = None
    turn: Turn | None = None
    found: Adequacy | None = None
    output: str = ""
    message: str = ""


def judge_payload(
    payload: bytes | str,
    *,
    act: bool = False,
    triggers: Sequence[Trigger] = (),
    learned: Sequence[Correction] = (),
) -> Decision:
    """Judge the answer in a hook's payload, or a line of a file of responses.

    Args:
        payload: the JSON object that the client gives on standard input.
        act: ask the client to go on if the verdict is reject; else nothing follows from it.
        triggers: accepted patterns, which raise the score.
        learned: the corrections that incidents refined.

    Raises:
        ValueError: the payload or the transcript can't be read.
    """
    fields = strict_json(payload)
    turn = _turn_of(fields)
    if isinstance(turn, str):
        return Decision(message=f"no verdict: {turn}")
    found = triggered(triggers, turn.calls, score(turn.response, turn.calls, turn.query))
    verdict = VERDICTS[found.score]
    if turn.unread and verdict != "accept":
        return Decision(message=f"no verdict: {turn.unread} blocks not read")
    told: dict[str, Any] = {"verdict": verdict, "score": found.score, "rule": found.rule}
    told["response"] = turn.response
    event = fields.get("hook_event_name")
    if event and "turn_id" in fields:  # Codex
        told = {}
    if act and verdict == "reject" and event != "afterAgentResponse" and not _corrected(fields):
        reason = f"{MARK} {correction_for('low', found.rule, learned).text}"
        decision = {"decision": "deny" if event == "AfterAgent" else "block", "reason": reason}
        told |= {"followup_message": reason} if event == "stop" else decision
    return Decision(verdict, turn, found, json.dumps(told) if told else "")


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
        return f"{key} names no transcript, so the calls of the turn are unknown"
    turn = read_turns(path).last
    if turn is None or not (answer or turn.response):
        return f"no response in the transcript yet, {path}"
    one, other = " ".join(answer.split()), " ".join(turn.response.split())
    if not (one.endswith(other) or other.endswith(one) or _corrected(fields)):
        return f"the transcript has an earlier answer and not this turn yet, {path}"
    return replace(
        turn, query=turn.query or str(fields.get("prompt") or ""), response=answer or turn.response
    )


def _corrected(fields: dict[str, Any]) -> bool:
    """Return whether the answer was given after a correction; Cursor counts them."""
    return bool(fields.get("stop_hook_active") or fields.get("loop_count"))

"""The verdict on the answer that an agent is about to give, for clients that call a hook at the end of a turn.

The answer comes with the payload (``last_assistant_message``, ``prompt_response``, ``text``), since the transcript may
not have it yet; its calls are those of the turn under way in the transcript. If that isn't there yet either, there is
no verdict: an earlier answer is never judged in its place.

Only a certain contradiction (``marks``) holds an agent up, in the form that its client documents, and never twice in a
row. A score of 2 or 3 without one is logged, and goes to the agent as a correction with its *next* turn, where the
client has an event that can add to a prompt. Wired to another event, the hook says so and does nothing.

===========  ==========================  ==============================  ==================
client       end of a turn               printed to stop it              start of a turn
===========  ==========================  ==============================  ==================
Claude Code  ``Stop``, ``SubagentStop``  ``{"decision": "block", ...}``  ``UserPromptSubmit``
Codex        ``Stop``                    ``{"decision": "block", ...}``  ``UserPromptSubmit``
Gemini CLI   ``AfterAgent``              ``{"decision": "deny", ...}``   ``BeforeAgent``
Cursor       ``stop``                    ``{"followup_message": ...}``   none adds context
Copilot CLI  ``agentStop``               ``{"decision": "block", ...}``  none adds context
===========  ==========================  ==============================  ==================

Source: *Epistemic Adequacy Design*, phases 2, 3 and 5.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from solvent.adequacy.formats import Turn, read_turns, turn_of
from solvent.adequacy.formats.texts import cut
from solvent.adequacy.heuristic import CUTS, Adequacy
from solvent.adequacy.patterns import Trigger, score_turn
from solvent.adequacy.records import Correction, Given, ScoreRecord, correction_for, explanation, severity_of
from solvent.files import InputError, now, strict_json

__all__ = ["CLIENTS", "MARK", "VERDICTS", "Decision", "Log", "judge_payload", "settings_for"]

VERDICTS = ("accept", "accept", "review", "reject")
"""The verdict for each score, as the lab's gate has it."""
MARK = "Epistemic adequacy:"
"""Beginning of a correction, by which ``formats`` knows that no user wrote it."""
COMMAND = "solvent adequacy hook"

_STOP = ("Stop", "SubagentStop", "AfterAgent", "stop", "afterAgentResponse", "agentStop", "subagentStop")
_PROMPT = ("UserPromptSubmit", "BeforeAgent")
_ANSWERS = ("last_assistant_message", "prompt_response", "text")
_PROGRAM = ("API Error", "No response requested.")


@dataclass(frozen=True)
class Log:
    """What the hook knows from before.

    Attributes:
        last: the last score of a session, or None.
        given: ``sha256`` of the responses after which the agent was told a correction.
        triggers: accepted patterns, which raise the score.
        learned: the corrections that incidents refined.
    """

    last: Callable[[str], ScoreRecord | None]
    given: frozenset[str] = frozenset()
    triggers: Sequence[Trigger] = ()
    learned: Sequence[Correction] = ()


@dataclass(frozen=True)
class Decision:
    """What the hook decided, and what it tells the client.

    Attributes:
        verdict: accept, review or reject; None if there is nothing to judge.
        session: the client's name of the session.
        turn: the answer that was judged, with its query and calls.
        adequacy: its score.
        stopped: the agent is held up.
        given: the correction that goes to the agent with this turn.
        output: for standard output, a line of JSON; empty if there is nothing to tell.
        message: why there is no verdict.
    """

    verdict: str | None = None
    session: str = ""
    turn: Turn | None = None
    adequacy: Adequacy | None = None
    stopped: bool = False
    given: Given | None = None
    output: str = ""
    message: str = ""


def judge_payload(
    payload: bytes | str, *, act: bool = False, log: Log | None = None, cuts: tuple[int, int] = CUTS
) -> Decision:
    """Judge the answer in a hook's payload, or a line of a file of responses; or give a correction with a prompt.

    Args:
        payload: the JSON object that the client gives on standard input.
        act: stop an answer that marks contradict, and tell corrections; else nothing follows from the score.
        log: what the hook knows from before.
        cuts: the limits of evidence.

    Raises:
        ValueError: the payload or the transcript can't be read.
    """
    fields, log = strict_json(payload), log or Log(lambda _: None)
    if not isinstance(fields, dict):
        raise InputError("payload: not a JSON object; allowed: what a client gives its hooks")
    event, session = _event(fields), _session(fields)
    if event in _PROMPT:
        return _at_prompt(event, session, log, act=act)
    if event and event not in _STOP:
        allowed = ", ".join((*_STOP, *_PROMPT))
        return Decision(
            message=f"no verdict: nothing to judge at the event {event!r:.40}; allowed: {allowed}"
        )
    turn = _turn_of(fields)
    if isinstance(turn, str):
        return Decision(message=f"no verdict: {turn}")
    scored = score_turn(turn, log.triggers, cuts)
    verdict = VERDICTS[scored.score]
    if turn.unread and verdict != "accept":
        return Decision(message=f"no verdict: {turn.unread} blocks not read")
    session = session or turn.session
    was_stopped = _was_stopped(fields, event, turn, log.last(session))
    stopped = act and scored.certain and event != "afterAgentResponse" and not was_stopped
    output: dict[str, Any] = {}
    if not (event and "turn_id" in fields):  # Codex refuses further keys
        output = {"verdict": verdict, "score": scored.score, "rule": scored.rule, "response": turn.response}
    if stopped:
        output |= _block(event, _reason(scored, log.learned))
    return Decision(verdict, session, turn, scored, stopped, output=json.dumps(output) if output else "")


def _event(fields: dict[str, Any]) -> str:
    """Return the name of the event; Copilot's own payloads don't have one."""
    event = fields.get("hook_event_name")
    if isinstance(event, str):
        return event
    return "agentStop" if "stopReason" in fields and "transcriptPath" in fields else ""


def _session(fields: dict[str, Any]) -> str:
    keys = ("session_id", "sessionId", "conversation_id")
    return next((str(cut(fields[key])) for key in keys if isinstance(fields.get(key), str)), "")


def _block(event: str, reason: str) -> dict[str, str]:
    if event == "stop":
        return {"followup_message": reason}
    return {"decision": "deny" if event == "AfterAgent" else "block", "reason": reason}


def _reason(scored: Adequacy, learned: Sequence[Correction]) -> str:
    text = correction_for(severity_of(scored.rule, learned), scored.rule, learned).text
    why = explanation(scored.signals)
    return f"{MARK} {text} Here {why}: {scored.sentence[:300]!r}" if why else f"{MARK} {text}"


def _at_prompt(event: str, session: str, log: Log, *, act: bool) -> Decision:
    """Give the correction for the session's last answer with its next turn, once."""
    last = log.last(session)
    value = last.epad.in_force() if last else None
    if not act or last is None or value is None or value < 2 or last.stopped or last.sha256 in log.given:
        return Decision(session=session)
    chosen = correction_for(severity_of(last.rule, log.learned), last.rule, log.learned)
    text = f"{MARK} {chosen.text}"
    given = Given(
        session=session, response=last.id, sha256=last.sha256, correction=chosen.id, text=text, time=now()
    )
    context = {"hookEventName": event, "additionalContext": text}
    return Decision(session=session, given=given, output=json.dumps({"hookSpecificOutput": context}))


def _transcript_key(fields: dict[str, Any]) -> str:
    """Return the field that names the transcript, of the sub-agent where one stops."""
    if fields.get("hook_event_name") == "SubagentStop" and "agent_transcript_path" in fields:
        return "agent_transcript_path"
    return "transcriptPath" if "transcriptPath" in fields else "transcript_path"


def _turn_of(fields: dict[str, Any]) -> Turn | str:
    """Return the turn to judge, or why there is none."""
    if "hook_event_name" not in fields and isinstance(fields.get("response"), str):
        return turn_of(fields)
    key = _transcript_key(fields)
    path = fields.get(key)
    if not isinstance(path, str) or not path.strip():
        return f"{key} names no transcript, so the calls of the turn are unknown"
    return _turn_in(path, fields)


def _turn_in(path: str, fields: dict[str, Any]) -> Turn | str:
    """Return the last turn of a transcript with the payload's answer, or why it is not the one to judge."""
    answer, turn = _answer_of(fields), read_turns(path).last
    if turn is None or not (answer or turn.response):
        return f"no response in the transcript yet, {path}"
    if not (_one_ends_with_the_other(answer, turn.response) or _corrected(fields)):
        return f"the transcript has an earlier answer and not this turn yet, {path}"
    query = turn.query or str(cut(fields.get("prompt") or ""))
    return replace(turn, query=query, response=answer or turn.response)


def _answer_of(fields: dict[str, Any]) -> str:
    """Return the answer that the client gives beside the transcript, or an empty text."""
    texts = [cut(fields[key]).strip() for key in _ANSWERS if isinstance(fields.get(key), str)]
    return next((text for text in texts if text and not text.startswith(_PROGRAM)), "")


def _one_ends_with_the_other(answer: str, response: str) -> bool:
    """Return whether two texts are one answer or its last part, white space aside."""
    one, other = " ".join(answer.split()), " ".join(response.split())
    return one.endswith(other) or other.endswith(one)


def _was_stopped(fields: dict[str, Any], event: str, turn: Turn, last: ScoreRecord | None) -> bool:
    """Return whether this answer follows a stop: the client says so, or else the log."""
    if _corrected(fields):
        return True
    if event in ("Stop", "SubagentStop") and "stop_hook_active" in fields:
        return False
    return last is not None and last.stopped and last.id == turn.id


def _corrected(fields: dict[str, Any]) -> bool:
    """Return whether the answer was given after a correction; Cursor counts them."""
    return bool(fields.get("stop_hook_active") or fields.get("loop_count"))


# -- the settings of clients ---------------------------------------------------------------------


@dataclass(frozen=True)
class _Client:
    """Where a client has its hooks, by which events it calls them, and the form of an entry."""

    path: str
    events: tuple[str, ...]
    entry: dict[str, Any]
    version: int = 0


_NESTED = {"hooks": [{"type": "command", "command": COMMAND}]}
CLIENTS = {
    "claude-code": _Client(".claude/settings.json", ("Stop", "SubagentStop", "UserPromptSubmit"), _NESTED),
    "codex": _Client(".codex/hooks.json", ("Stop", "UserPromptSubmit"), _NESTED),
    "gemini": _Client(".gemini/settings.json", ("AfterAgent", "BeforeAgent"), _NESTED),
    "cursor": _Client(".cursor/hooks.json", ("stop",), {"command": COMMAND}, 1),
    "copilot": _Client(
        ".github/hooks/adequacy.json",
        ("agentStop",),
        {"type": "command", "bash": COMMAND, "powershell": COMMAND},
        1,
    ),
}


def settings_for(client: str, *, act: bool = False) -> tuple[str, str]:
    """Return the path of a client's settings in a project, and the entry to add there, as JSON.

    With ``act`` the hook stops answers, instead of only logging their scores.
    """
    chosen = CLIENTS[client]
    version = {"version": chosen.version} if chosen.version else {}
    hooks = {event: [chosen.entry] for event in chosen.events}
    entry = json.dumps(version | {"hooks": hooks}, indent=2)
    return chosen.path, entry.replace(COMMAND, f"{COMMAND} --act") if act else entry

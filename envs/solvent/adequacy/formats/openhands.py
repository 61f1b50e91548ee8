"""OpenHands' events: ``{action | observation}``, or by ``kind`` since version 1."""

from __future__ import annotations

from typing import Any

from solvent.adequacy.formats import chat
from solvent.adequacy.formats.document import Document
from solvent.adequacy.formats.session import Session
from solvent.adequacy.formats.texts import list_of, table_of, text_of

NAME = "OpenHands"

_SILENT = {
    *("system", "recall", "think", "null", "none", "start", "pause"),
    *("change_agent_state", "agent_state_changed"),
    *("SystemPromptEvent", "ConversationStateUpdateEvent", "PauseEvent"),
}
_ERRORS = {"error", "user_rejected"}


def sniff(document: Document) -> bool:
    return any(_is_old(value) or _is_new(value) for value in _events(document)[:1000])


def turns(document: Document, session: Session) -> None:
    for value in document.head:
        if "events" in value or "history" in value:
            session.enter(value.get("id"))
    lines = document.entries if not _nested(document) else enumerate(_events(document), start=1)
    for event in session.each(lines):
        if _is_new(event):
            _read_new(session, event)
        elif _is_old(event):
            _read_old(session, event)
        else:
            session.unread_line(event.get("type"), event)


def _nested(document: Document) -> bool:
    return any("events" in value or "history" in value for value in document.head)


def _events(document: Document) -> list[dict[str, Any]]:
    nested = [
        event for value in document.head for event in list_of(value.get("events") or value.get("history"))
    ]
    return [table_of(event) for event in nested] or document.head


def _is_old(event: dict[str, Any]) -> bool:
    return ("action" in event or "observation" in event) and "source" in event and "role" not in event


# -- before version 1


def _read_old(session: Session, event: dict[str, Any]) -> None:
    name = str(event.get("action") or event.get("observation"))
    fields = table_of(event.get("args")) or table_of(event.get("extras"))
    if name in _SILENT or name.startswith("condensation"):
        return
    if name == "message":
        _read_old_message(session, event, fields)
    elif "action" in event:
        _read_old_call(session, event, name, fields)
    else:
        _read_old_result(session, event, name, fields)


def _read_old_message(session: Session, event: dict[str, Any], fields: dict[str, Any]) -> None:
    text = text_of(fields.get("content") or event.get("content") or event.get("message"))
    if event.get("source") == "user":
        session.ask(text)
    else:
        session.say(text)


def _read_old_call(session: Session, event: dict[str, Any], name: str, fields: dict[str, Any]) -> None:
    """Read an action; that of a tool of an MCP server has its name and arguments inside."""
    given = {key: text for key, text in fields.items() if isinstance(text, str) and key != "thought"}
    arguments = table_of(fields.get("arguments")) or given
    session.call(event.get("id"), text_of(fields.get("name")) or name, arguments)


def _read_old_result(session: Session, event: dict[str, Any], name: str, fields: dict[str, Any]) -> None:
    failed = True if name in _ERRORS or event.get("success") is False else None
    code = table_of(fields.get("metadata")).get("exit_code", fields.get("exit_code"))
    session.result(event.get("cause"), event.get("content"), failed, code=code, name=name)


# -- since version 1


def _is_new(event: dict[str, Any]) -> bool:
    kind = str(event.get("kind"))
    return kind in _READERS or kind.endswith("Event") or kind.startswith("Condensation")


def _read_new(session: Session, event: dict[str, Any]) -> None:
    kind = str(event["kind"])
    if kind in _READERS:
        _READERS[kind](session, event)
    elif kind not in _SILENT and not kind.startswith("Condensation"):
        session.unread_line(kind, event)


def _read_message(session: Session, event: dict[str, Any]) -> None:
    role = "user" if event.get("source") == "user" else "assistant"
    chat.read_message(session, {**table_of(event.get("llm_message")), "role": role}, chat.block)


def _read_action(session: Session, event: dict[str, Any]) -> None:
    name, action = event.get("tool_name"), table_of(event.get("action"))
    if name != "think":
        key = event.get("tool_call_id") or event.get("id")
        session.call(key, name, {key: value for key, value in action.items() if key != "kind"})


def _read_observation(session: Session, event: dict[str, Any]) -> None:
    name, observation = event.get("tool_name"), table_of(event.get("observation"))
    if name not in ("think", "finish"):
        value = observation.get("content", observation.get("output", observation))
        code = observation.get("exit_code", table_of(observation.get("metadata")).get("exit_code"))
        session.result(_answered(event), value, observation.get("is_error"), code=code, name=name)


def _read_error(session: Session, event: dict[str, Any]) -> None:
    reason = event.get("error") or event.get("rejection_reason")
    session.result(_answered(event), reason, True, name=event.get("tool_name"))


def _answered(event: dict[str, Any]) -> Any:
    """Return the key of the call that an event answers."""
    return event.get("tool_call_id") or event.get("action_id")


_READERS = {
    "MessageEvent": _read_message,
    "ActionEvent": _read_action,
    "ObservationEvent": _read_observation,
    "AgentErrorEvent": _read_error,
    "UserRejectObservation": _read_error,
}

"""ATIF, the trajectories of Harbor and terminal-bench: steps of the user and the agent, with observations."""

from __future__ import annotations

from typing import Any

from solvent.adequacy.formats.document import Document
from solvent.adequacy.formats.session import Session
from solvent.adequacy.formats.texts import list_of, table_of, text_of

NAME = "ATIF"


def sniff(document: Document) -> bool:
    return any(
        str(value.get("schema_version")).startswith("ATIF")
        or any({"step_id", "source"} <= table_of(step).keys() for step in list_of(value.get("steps")))
        for value in document.head
    )


def turns(document: Document, session: Session) -> None:
    for value in session.each(document.entries):
        name = value.get("session_id")
        children = {
            str(child.get("trajectory_id") or child.get("session_id")): child
            for child in map(table_of, list_of(value.get("subagent_trajectories")))
        }
        _read_steps(session, list_of(value.get("steps")), name, "", children)


def _read_steps(session: Session, steps: list[Any], name: Any, child: str, children: dict[str, Any]) -> None:
    for step in session.each(enumerate(steps, start=1)):
        session.enter(name, child)
        if step.get("is_copied_context"):
            continue
        if step.get("source") == "user":
            session.ask(text_of(step.get("message")))
        elif step.get("source") == "agent":
            _read_step(session, step)
            for key in _references(step):
                if key in children:
                    place = session.line
                    _read_steps(session, list_of(children.pop(key).get("steps")), name, key, children)
                    session.line = place
                    session.enter(name, child)
        _read_observation(session, step)  # the system may answer a call, too


def _read_step(session: Session, step: dict[str, Any]) -> None:
    session.say(text_of(step.get("message")))
    for call in map(table_of, list_of(step.get("tool_calls"))):
        session.call(call.get("tool_call_id"), call.get("function_name"), call.get("arguments"))


def _references(step: dict[str, Any]) -> list[str]:
    results = list_of(table_of(step.get("observation")).get("results"))
    items = [one for result in results for one in list_of(table_of(result).get("subagent_trajectory_ref"))]
    return [str(table_of(one).get("trajectory_id") or table_of(one).get("session_id")) for one in items]


def _read_observation(session: Session, step: dict[str, Any]) -> None:
    for result in map(table_of, list_of(table_of(step.get("observation")).get("results"))):
        extra = table_of(result.get("extra"))
        session.result(
            result.get("source_call_id"),
            text_of(result.get("content")),
            extra.get("is_error"),
            code=extra.get("exit_code"),
        )

"""Results of tau-bench: a list of tasks with a ``traj`` each; of tau2-bench: ``simulations`` with ``messages``."""

from __future__ import annotations

from typing import Any

from solvent.adequacy.formats import chat
from solvent.adequacy.formats.document import Document
from solvent.adequacy.formats.session import Session
from solvent.adequacy.formats.texts import list_of, table_of

NAME = "tau-bench"


def sniff(document: Document) -> bool:
    return any(_is_run(run) for value in document.head for run in _runs(value))


def turns(document: Document, session: Session) -> None:
    for value in session.each(document.entries):
        for run in _runs(value):
            trial = run.get("trial")
            task = run.get("task_id", run.get("id"))
            session.enter(f"{task}/{trial}" if trial is not None else task)
            for message in session.each(enumerate(_messages(run), start=1)):
                _read_message(session, message)


def _runs(value: dict[str, Any]) -> list[dict[str, Any]]:
    return [table_of(run) for run in list_of(value.get("simulations"))] or [value]


def _messages(run: dict[str, Any]) -> list[Any]:
    return list_of(run.get("traj")) or list_of(run.get("messages"))


def _is_run(run: dict[str, Any]) -> bool:
    return "task_id" in run and any("role" in table_of(message) for message in _messages(run))


def _read_message(session: Session, message: dict[str, Any]) -> None:
    """Read a message; in tau2-bench the user has tools as well, whose calls are not the agent's."""
    if message.get("requestor") == "user" or (message.get("role") == "user" and message.get("tool_calls")):
        return
    if message.get("role") == "tool" and "error" in message:
        session.result(message.get("id"), message.get("content"), bool(message["error"]))
    else:
        chat.read_message(session, message, chat.block)

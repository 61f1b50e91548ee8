"""Cline and Roo Code with calls in text: an element for each, its result as ``[tool ...] Result:`` of the user."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from solvent.adequacy.formats import chat
from solvent.adequacy.formats.document import Document
from solvent.adequacy.formats.session import Session
from solvent.adequacy.formats.text_calls import text_in
from solvent.adequacy.formats.texts import list_of
from solvent.adequacy.formats.user_words import own_words

NAME = "Cline, Roo Code"

_TOOLS = (
    *("execute_command", "read_file", "write_to_file", "replace_in_file", "apply_diff", "insert_content"),
    *("search_and_replace", "edit_file", "search_files", "list_files", "list_code_definition_names"),
    *("codebase_search", "browser_action", "use_mcp_tool", "web_fetch", "access_mcp_resource"),
    *("ask_followup_question", "attempt_completion", "plan_mode_respond", "new_task", "switch_mode"),
    *("fetch_instructions", "load_mcp_documentation", "update_todo_list", "run_slash_command"),
)
_ELEMENT = re.compile(rf"(?s)<({'|'.join(_TOOLS)})>(.*?)(?:</\1>|\Z)")
_PARAMETER = re.compile(r"(?s)<(\w+)>\s*(.*?)\s*</\1>")
_RESULT = re.compile(r"(?m)^\[(\w+)(?: [^\n]*)?\] Result:[ \t]*\n?")
_TASK = re.compile(r"(?s)\A\s*<(task|user_message)>\s*(.*?)\s*</\1>")
_WORDS = re.compile(r"(?s)<(feedback|user_message|answer|task)>\s*(.*?)\s*</\1>")
_FAILED = "The tool execution failed"
_COMPLAINT = "[ERROR] You did not use a tool"


def sniff(document: Document) -> bool:
    if "tool_calls" in document.message_keys or "tool_use" in document.block_kinds:
        return False
    spoken = [(chat.ROLES.get(one["role"]), one) for one in document.messages]
    results = any(role == "user" and _RESULT.search(text_in(one)) for role, one in spoken)
    return results or any(
        role == "assistant" and "<attempt_completion>" in text_in(one) for role, one in spoken
    )


def turns(document: Document, session: Session) -> None:
    for message in session.each_of(document.conversations):
        role = chat.ROLES.get(str(message.get("role")))
        if role == "user":
            _read_user(session, message)
        elif role == "assistant":
            _read_assistant(session, text_in(message))
        else:
            chat.read_message(session, message, chat.block)


def _read_assistant(session: Session, text: str) -> None:
    session.say(_ELEMENT.sub("", text))
    for name, inner in _ELEMENT.findall(text):
        session.call("", name, dict(_PARAMETER.findall(inner)))


def _read_user(session: Session, message: dict[str, Any]) -> None:
    content = message.get("content")
    text = "\n".join(own_words([one]) for one in chat.texts_in(content))
    for name, result in _results(text):
        if name not in ("attempt_completion", "ask_followup_question", "plan_mode_respond"):
            session.result("", result, True if result.startswith(_FAILED) else None, name=name)
    _read_question(session, text)
    for block in list_of(content):
        if isinstance(block, dict) and chat.text_in(block) is None and not chat.is_silent(block.get("type")):
            chat.block(session, block)


def _read_question(session: Session, text: str) -> None:
    """Read the user's own words: those beside results, or a task; the program's complaints are nobody's."""
    if _RESULT.search(text):
        session.ask(*(words for _, words in _WORDS.findall(text)))
    elif not text.startswith(_COMPLAINT):
        task = _TASK.match(text)
        session.ask(task[2] if task else text)


def _results(text: str) -> Iterator[tuple[str, str]]:
    """Yield the names of the tools and the results in a message."""
    parts = _RESULT.split(text)
    for name, result in zip(parts[1::2], parts[2::2], strict=True):
        yield name, result.strip()

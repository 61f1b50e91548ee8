"""The user's own words in a message that a program has completed in the user's name.

Sessions are converted from one format into another, texts unchanged, so what known programs add is looked for in every
format. A client's module reads what only its own files have.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["FEEDBACK", "is_program_text", "own_words"]

FEEDBACK = re.compile(
    r"\s*((Subagent)?Stop hook (feedback|blocking error)|<hook_prompt\b|Epistemic adequacy:)", re.IGNORECASE
)
"""Beginning of what a hook asks for at the end of a turn."""

_ELEMENT = re.compile(
    r"""(?xs)<(
    # Claude Code
    system-reminder|local-command-stdout|local-command-stderr|local-command-caveat|command-message|command-contents
    |bash-input|bash-stdout|bash-stderr|user-prompt-submit-hook|post-tool-use-hook|task-notification
    |ide_opened_file|ide_selection|ide_diagnostics|new_diagnostics|teammate-message|skill
    # Codex
    |user_instructions|environment_context|INSTRUCTIONS|turn_aborted|user_shell_command|subagent_notification
    |collaboration_mode|permissions|codex_internal_context|goal_context
    # Gemini CLI
    |session_context|hook_context|state_snapshot
    # Cursor
    |user_info|project_layout|git_status|open_and_recently_viewed_files
    # Cline, Roo Code
    |environment_details|explicit_instructions|final_file_content
    )(?=[\s>])[^>]*>.*?</\1[^>]*>"""
)
_BEGINNINGS = re.compile(
    r"""(?x)\s*\[?(
    Request\ interrupted\ by\ user|Caveat:\ The\ messages\ below\ were|This\ session\ is\ being\ continued\ from
    |Another\ language\ model\ started\ to\ solve|TASK\ RESUMPTION|\#\ AGENTS\.md\ instructions
    |Please\ always\ provide\ EXACTLY\ ONE|Base\ directory\ for\ this\ skill
    )"""
)
_COMMAND = re.compile(r"(?s)<(command-name|command-args)>\s*(.*?)\s*</\1>")
_QUERY = re.compile(r"(?s)<user_query>\s*(.*?)\s*</user_query>")
_TASK = re.compile(r"(?s)<(task|feedback|user_message|answer)>\s*(.*?)\s*</\1>")
_REQUEST = re.compile(r"(?s)\A.*\n## My request for Codex:\s*")
_PROGRAM_TEXT = re.compile(r"API Error(?: \([^)\n]*\))?: [^\n]*|No response requested\.|Prompt is too long")


def own_words(texts: Iterable[str]) -> str:
    """Return the user's own words in the texts of a message."""
    texts = list(texts)
    queries = [query for text in texts for query in _QUERY.findall(text)]  # of Cursor
    return "\n".join(queries or filter(None, map(_words_in, texts)))


def _words_in(text: str) -> str:
    if parts := _COMMAND.findall(text):
        return " ".join(words for _, words in parts if words)
    text = _ELEMENT.sub("", _REQUEST.sub("", text)).strip()
    task = _TASK.fullmatch(text)
    return "" if _BEGINNINGS.match(text) else task[2] if task else text


def is_program_text(text: str) -> bool:
    """Return whether a program wrote a text in the model's name."""
    return _PROGRAM_TEXT.fullmatch(text.strip()) is not None

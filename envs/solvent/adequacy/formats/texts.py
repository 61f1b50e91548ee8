"""Texts in JSON values: cut to a length that is kept, joined from blocks, and read for an exit code."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import Any

from solvent.files import strict_json

__all__ = [
    "MOST_KEPT",
    "PICTURE",
    "arguments_of",
    "cut",
    "json_object",
    "list_of",
    "result_of",
    "table_of",
    "text_of",
]

MOST_KEPT = 20_000
"""Characters kept of a text, half of them from its end."""

PICTURE = re.compile(r"(?i).*(image|screenshot|audio|video|inline_?data|file_?data).*")
"""Type of a block that has no text."""

_CODES = ("exit_code", "exitCode", "returncode", "return_code")

# How programs and clients write an exit code into a result: at its top, or in its last lines.
_CODE_ABOVE = re.compile(
    r"\s*(?:Exit code:? |Process exited with code |Error: Command failed \(exit code: |<returncode>)(-?\d+)"
    r"(?:\)|</returncode>)?\s*",
    re.IGNORECASE,
)
_CODE_BELOW = re.compile(
    r"\s*[<\[(]?(?:Exit code:? |exited with exit code |(?:The )?command (?:exited|failed|completed|finished) with "
    r"(?:exit )?code:? )(-?\d+)[.>\])]*\s*",
    re.IGNORECASE,
)
_LINES_ABOVE, _LINES_BELOW = 5, 6


def cut(value: Any) -> Any:
    """Return a JSON value with its texts cut to ``MOST_KEPT`` characters that can be printed."""
    if isinstance(value, dict):
        return {cut(key): cut(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [cut(inner) for inner in value]
    if not isinstance(value, str):
        return value
    # Half a pair of surrogates can't be printed.
    text = value if value.isascii() else value.encode("utf-8", "replace").decode()
    left_out, half = len(text) - MOST_KEPT, MOST_KEPT // 2
    if left_out <= 0:
        return text
    return f"{text[:half]}\n[... {left_out:,} characters left out ...]\n{text[-half:]}"


def table_of(value: object) -> dict[str, Any]:
    """Return a JSON object, an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def list_of(value: object) -> list[Any]:
    """Return a JSON list, an empty one for anything else."""
    return value if isinstance(value, list) else []


def json_object(value: object) -> dict[str, Any]:
    """Return the JSON object that a value is or that a text holds, else an empty one."""
    if isinstance(value, str) and value.lstrip().startswith("{"):
        with suppress(ValueError):
            return table_of(strict_json(value))
    return table_of(value)


def arguments_of(value: Any) -> dict[str, Any]:
    """Return a call's arguments as an object; text that is not one stands under ``input``."""
    if value is None or value == "":
        return {}
    table = json_object(value)
    return table if table or value == {} or value == "{}" else {"input": value}


def text_of(value: Any) -> str:
    """Return a text, the texts of a list of blocks, or a value as JSON."""
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, list):
        return "\n".join(filter(None, map(text_of, value)))
    if isinstance(value, dict):
        if isinstance(value.get("text"), str):
            return str(value["text"])
        if PICTURE.fullmatch(str(value.get("type"))) or table_of(value.get("source")).get("type") == "base64":
            return f"[{value.get('type') or 'picture'}]"
    return json.dumps(value, ensure_ascii=False)


def result_of(value: Any, *flags: bool | None, code: object = None) -> tuple[str, bool | None]:
    """Return the text of a result, and whether it failed; None if nothing says so.

    Args:
        value: what the tool answered. A program's own report, an object with an exit code, is read as its output.
        flags: what the client says: True for a failure, None if it says nothing.
        code: the exit code in a field of the client.
    """
    report = json_object(value)
    reported = _reported_codes(report)
    is_report = reported or (table_of(report.get("metadata")) and "output" in report)
    text = _output_of(report) if is_report else text_of(value)
    codes = [
        number for number in (code, *reported) if isinstance(number, int) and not isinstance(number, bool)
    ]
    written = _written_code(text)
    if codes and codes[0] and written is None:
        text = f"Exit code {codes[0]}\n{text}"
    known = [flag for flag in flags if flag is not None]
    known += [number != 0 for number in (*codes[:1], *([written] if written is not None else []))]
    return text, any(known) if known else None


def _reported_codes(report: dict[str, Any]) -> list[int]:
    """Return the exit codes in the fields of a program's report."""
    tables = (report, table_of(report.get("metadata")))
    return [table[key] for table in tables for key in _CODES if isinstance(table.get(key), int)]


def _output_of(report: dict[str, Any]) -> str:
    parts = (report.get(key) for key in ("output", "stdout", "content", "stderr", "error"))
    return "\n".join(filter(None, map(text_of, parts)))


def _written_code(text: str) -> int | None:
    """Return the exit code in the first or last lines of a result."""
    for line in text[:1000].split("\n")[:_LINES_ABOVE]:
        if match := _CODE_ABOVE.fullmatch(line):
            return int(match[1])
    for line in reversed(text[-1000:].rstrip().split("\n")[-_LINES_BELOW:]):
        if match := _CODE_BELOW.fullmatch(line):
            return int(match[1])
    return None

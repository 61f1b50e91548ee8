"""Write the tables that pages include, from the result files: ``python docs/tables.py``; ``--check`` only compares.

``--list`` prints every result file with its date and the command that made it.

``tables.toml`` names them. In its rows ``{path @.2f}`` formats a number of the result file, ``{path @.1%}`` a share in
percent; an entry with ``low`` and ``high`` is shown with its interval. A path names keys from the outside in; in a list
it names an index, or the first value of an entry.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
CELL = re.compile(r"\{([^{}]+?)(?: @([^{}]+))?\}")


def table(about: dict[str, str]) -> str:
    """Return a table in Markdown."""
    results = found(json.loads((DOCS / about["file"]).read_text(encoding="utf-8")), about["at"])
    return CELL.sub(lambda cell: shown(found(results, cell[1]), cell[2] or ""), about["rows"].lstrip("\n"))


def found(results: Any, path: str) -> Any:
    for key in path.split("/") if path else ():
        entries = results
        if isinstance(results, list):
            entries = {str(i): entry for i, entry in enumerate(results)}
            entries |= {str(next(iter(e.values()))): e for e in results if isinstance(e, dict)}
        if key not in entries:
            raise KeyError(f"{path}: got {key!r}; allowed: {', '.join(entries)}")
        results = entries[key]
    return results


def shown(value: Any, form: str) -> str:
    if isinstance(value, dict):
        one = form.removesuffix("[]")
        centre = shown(value["value"] if "value" in value else value["share"], one)
        low, high = (number(value[end], one.removeprefix("+")) for end in ("low", "high"))
        return f"{centre} [{low}, {high}]" if form.endswith("[]") else f"{centre} ({low} to {high})"
    if isinstance(value, str) or not form:
        return str(value)
    return number(value, form) + (" %" if form.endswith("%") else "")


def number(value: float, form: str) -> str:
    return f"{value:{form}}".removesuffix("%")


def made(results: dict[str, Any]) -> list[tuple[str, str]]:
    """Return date and command of a result file, or of each run in it."""
    parts = [results] if "command" in results else list(results.values())
    return [(part["finished"][:10], part["command"]) for part in parts]


if "--list" in sys.argv:
    for path in sorted((DOCS / "results").rglob("*.json")):
        for date, command in made(json.loads(path.read_text(encoding="utf-8"))):
            print(f"{date}  {path.relative_to(DOCS).as_posix()}  {command}")
    sys.exit()

changed = []
for name, about in tomllib.loads((DOCS / "tables.toml").read_text(encoding="utf-8")).items():
    path, text = DOCS / "results" / "tables" / f"{name}.md", table(about)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        changed.append(path.name)
        if "--check" not in sys.argv:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
print("\n".join(f"{name}: {'differs' if '--check' in sys.argv else 'written'}" for name in changed))
sys.exit("--check" in sys.argv and bool(changed))

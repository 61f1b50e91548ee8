"""Write the tables that pages include, from the result files: ``python docs/tables.py``; ``--check`` only compares.

``--list`` prints every result file with its date and the command that made it.

``tables.toml`` names them. In its rows ``{path @.2f}`` formats a number of the result file, ``{path @.1%}`` a share in
percent; an entry with ``low`` and ``high`` is shown with its interval. A path names keys from the outside in.
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
        results = results[key]
    return results


def shown(value: Any, form: str) -> str:
    if isinstance(value, dict):
        low, high = (format(value[end], form).removesuffix("%") for end in ("low", "high"))
        centre = value["value"] if "value" in value else value["share"]
        return f"{shown(centre, form)} ({low} to {high})"
    return format(value, form).replace("%", " %")


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

"""Fill tables and sentences of the documents from result files.

A page holds a template in a comment, followed by what it becomes; for a sentence it begins with ``text:``::

    <!-- table: results/adequacy_heuristic.json labelled/held_out
    | label | scored 0 |
    |---|---|
    | 0 | {epad/overall/matrix/0/0} |
    -->
    | label | scored 0 |
    ...
    <!-- end -->

``python -m solvent_experiments.report.documents`` writes them in ``README.md`` and in all pages under ``docs``.
With ``--check`` it writes nothing and fails if a page differs from its result files.

A path names keys from the outside in; in a list it names an index, or the first value of an entry. The path after the
file is the prefix of every path in the template. ``{path @.2f}`` formats a number, ``{path @.1%}`` a share in percent.
``{path @.2f[]}`` adds the interval of an entry with ``low`` and ``high``.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

__all__ = ["pages", "written"]

_TEMPLATE = re.compile(r"(<!-- (?:table|text): (\S+)(?: ([^\n]+))?\n(.*?)-->\n).*?(<!-- end -->)", re.DOTALL)
_CELL = re.compile(r"\{([^{}]+?)(?: @([^{}]+))?\}")


def pages(root: Path) -> list[Path]:
    """Return the pages of a clone that may hold templates."""
    return [root / "README.md", *sorted((root / "docs").rglob("*.md"))]


def written(page: Path) -> str:
    """Return the text of a page with every template filled from its result file."""

    def filled(match: re.Match[str]) -> str:
        results = json.loads((page.parent / match[2]).read_text(encoding="utf-8"))
        if match[3]:
            results = _found(results, match[3])
        rows = _CELL.sub(lambda cell: _shown(_found(results, cell[1]), cell[2] or ""), match[4])
        return f"{match[1]}{rows}{match[5]}"

    return _TEMPLATE.sub(filled, page.read_text(encoding="utf-8"))


def _found(results: Any, path: str) -> Any:
    for key in path.split("/"):
        if isinstance(results, dict):
            entries = results
        else:
            entries = {str(i): entry for i, entry in enumerate(results)}
            entries |= {str(next(iter(e.values()))): e for e in results if isinstance(e, dict)}
        if key not in entries:
            raise KeyError(f"{path}: got {key!r}; allowed: {', '.join(entries)}")
        results = entries[key]
    return results


def _shown(value: Any, form: str) -> str:
    if isinstance(value, dict):
        one = form.removesuffix("[]")
        centre = _shown(value["value"] if "value" in value else value["share"], one)
        low, high = (_number(value[end], one.removeprefix("+")) for end in ("low", "high"))
        return f"{centre} [{low}, {high}]" if form.endswith("[]") else f"{centre} ({low} to {high})"
    if isinstance(value, str) or not form:
        return str(value)
    return _number(value, form) + (" %" if form.endswith("%") else "")


def _number(value: float, form: str) -> str:
    return f"{value:{form}}".removesuffix("%")


def main(arguments: list[str]) -> int:
    """Fill the templates, or check them; return 1 if ``--check`` finds a difference."""
    root = Path.cwd()
    changed = []
    for page in pages(root):
        text = written(page)
        if text != page.read_text(encoding="utf-8"):
            changed.append(str(page.relative_to(root)))
            if "--check" not in arguments:
                page.write_text(text, encoding="utf-8")
    for name in changed:
        print(f"{name}: {'differs from its result file' if '--check' in arguments else 'written'}")
    return 1 if changed and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

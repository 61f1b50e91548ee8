"""Write the tables of ``README.md`` from the rows of the tests in this folder.

python -m tests.requirements            write the tables and their counts; all other text stays
python -m tests.requirements --check    only compare; exit code 1 if the page has other tables
"""

from __future__ import annotations

import argparse
import importlib
import re
import sys
from pathlib import Path

from tests.requirements.rows import DEPARTS, MET, NOT_BUILT, ROWS, Row

FOLDER = Path(__file__).parent
PAGE = FOLDER / "README.md"
HEAD = "| requirement | state | shown by |\n|---|---|---|\n"


def all_rows() -> list[Row]:
    """Import the modules with rows and return what they registered, in the order of the documents."""
    # pytest may import a module a second time, which registers its rows again.
    for path in sorted(FOLDER.glob("test_*.py")):
        importlib.import_module(f"tests.requirements.{path.stem}")
    return list(dict.fromkeys(ROWS))


def evidence(row: Row) -> str:
    """Return the row's test, and the command that repeats its study if there is one."""
    if not row.test:
        return ""
    module = importlib.import_module(f"tests.requirements.test_{row.instrument}")
    study = getattr(getattr(module, row.test), "study", None)
    test = f"`tests/requirements/test_{row.instrument}.py::{row.test}`"
    return f"{test}, `solvent study run {study}`" if study else test


def line(row: Row) -> str:
    """Return a row of the page."""
    separator = "; " if row.state == MET else ": "
    state = row.state + (separator + row.note if row.note else "")
    return f"| {row.requirement} | {state} | {evidence(row)} |\n"


def page(text: str, rows: list[Row]) -> str:
    """Return the page's text with the table and the counts of every instrument that has rows."""
    for instrument in dict.fromkeys(row.instrument for row in rows):
        own = [row for row in rows if row.instrument == instrument]
        counts = [len(own), *(sum(row.state == state for row in own) for state in (MET, DEPARTS, NOT_BUILT))]
        in_counts = rf"(\| \[{instrument}\]\(#{instrument}\) \| [^|]+ \|)[^\n]*"
        in_section = rf"(\n## {instrument.capitalize()}\n[^|]*{re.escape(HEAD)})(?:\|[^\n]*\n)*"
        text = _replaced(in_counts, "".join(f" {count} |" for count in counts), text)
        text = _replaced(in_section, "".join(map(line, own)), text)
    return text


def _replaced(pattern: str, content: str, text: str) -> str:
    """Return the text with ``content`` behind the group of the pattern, which has to be there once."""
    text, times = re.subn(pattern, lambda place: place[1] + content, text)
    if times != 1:
        raise SystemExit(f"{PAGE.name}: got {times} places for {pattern}; allowed: 1")
    return text


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.requirements")
    parser.add_argument("--check", action="store_true", help="only compare the page with the rows")
    options = parser.parse_args()
    before, rows = PAGE.read_text(encoding="utf-8"), all_rows()
    after = page(before, rows)
    if options.check:
        print(f"{len(rows)} requirements: the page {'agrees' if after == before else 'differs'}")
        return int(after != before)
    PAGE.write_text(after, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

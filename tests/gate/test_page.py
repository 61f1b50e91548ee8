"""The table "Against the source document" of docs/gate.md names tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
PAGE = TESTS.parent / "docs" / "gate.md"


def test_every_test_that_the_page_names_is_there():
    page = PAGE.read_text(encoding="utf-8")
    (table,) = re.findall(r"## Against the source document\n(.*?)\n## ", page, re.DOTALL)
    rows = [row for row in table.splitlines() if row.startswith("|")][2:]
    assert len(rows) >= 10
    for row in rows:
        named = re.findall(r"`(test_\w+\.py)::(test_\w+)`", row)
        assert named, row
        for file, test in named:
            texts = [path.read_text(encoding="utf-8") for path in TESTS.rglob(file)]
            assert any(f"def {test}(" in text for text in texts), (file, test)

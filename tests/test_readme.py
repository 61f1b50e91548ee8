"""The README is short and its code runs. Its commands, targets and links are tested with the other pages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.commands import execute_python

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_its_code_runs_as_it_stands(block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    promised = re.findall(r"print\(.*\)  # (.*)", block)
    execute_python(block, flags=("-W", "error"), timeout=600).succeeded(*promised)
    assert not list(tmp_path.iterdir())


def test_it_is_read_in_a_few_minutes() -> None:
    lines = [line for line in TEXT.splitlines() if not line.startswith(("|", "<!--"))]
    assert len(" ".join(lines).split()) <= 600  # besides the table

"""CONTRIBUTING.md names environment variables that are read. What else it names is tested with the other pages."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VARIABLES = ["NUMBA_CACHE_DIR", "NUMBA_DISABLE_JIT", "SOLVENT_SOAK"]


def test_the_environment_variables_are_read() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert sorted(set(re.findall(r"`([A-Z]+_[A-Z_]+)\b", page))) == VARIABLES
    conftest = (ROOT / "tests" / "conftest.py").read_text(encoding="utf-8")
    compiled = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "envs").rglob("*.py"))
    assert [name for name in VARIABLES if name not in conftest + compiled] == []

"""CONTRIBUTING.md names nothing that is not there. Its links and dotted names are tested with the other pages."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.test_workflows import TARGETS

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
CODE = re.findall(r"`([^`\n]+)`", TEXT) + re.findall(r"^\$ (.+)$", TEXT, re.MULTILINE)
VARIABLES = ("NUMBA_CACHE_DIR", "NUMBA_DISABLE_JIT", "SOLVENT_SOAK")


def named(pattern: str) -> list[str]:
    """What the pattern's group is in the code of the page."""
    return sorted({name for code in CODE for name in re.findall(pattern, code)})


@pytest.mark.parametrize("target", named(r"\bmake ([a-z][a-z-]*)"))
def test_a_target_exists(target: str) -> None:
    assert target in TARGETS


@pytest.mark.parametrize("name", named(r"^(\.?[\w-]+(?:/[\w.-]+)+/?|[\w-]+\.(?:txt|toml|md|cff|py))$"))
def test_a_file_exists(name: str) -> None:
    assert (ROOT / name).exists()


@pytest.mark.parametrize("module", named(r"python -m ([\w.]+)"))
def test_a_module_exists(module: str) -> None:
    assert find_spec(module) is not None


@pytest.mark.parametrize("program", named(r"python ([\w/]+\.py)"))
def test_a_program_exists(program: str) -> None:
    assert (ROOT / program).is_file()


def test_the_environment_variables_are_read() -> None:
    assert tuple(named(r"^([A-Z]+_[A-Z_]+)\b")) == VARIABLES
    conftest = (ROOT / "tests" / "conftest.py").read_text(encoding="utf-8")
    compiled = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "envs").rglob("*.py"))
    assert [name for name in VARIABLES if name not in conftest + compiled] == []


@pytest.mark.parametrize("pattern", [r"\bmake ([a-z-]+)", r"python -m (\w+)"])
def test_the_page_is_read(pattern: str) -> None:
    assert named(pattern)

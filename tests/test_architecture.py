"""The tables, code blocks, names and links of the documents against the code."""

from __future__ import annotations

import pkgutil
import re
from pathlib import Path

import pytest

from solvent import LabEnv
from solvent.debt import RefusalEvent
from solvent.lab.codes import REFUSAL_REASONS
from solvent.lab.registration import ENVIRONMENTS
from tests.commands import execute_python

ROOT = Path(__file__).resolve().parents[1]


def rows(text: str, heading: str) -> list[list[str]]:
    """The cells of the table with these headings."""
    table = text.split(f"| {heading} |\n")[1].split("\n\n", maxsplit=1)[0].splitlines()[1:]
    return [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in table]


def names(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


# -- docs/debt.md --------------------------------------------------------------------------------

DEBT = (ROOT / "docs" / "debt.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", DEBT, re.DOTALL)


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_its_code_runs_and_prints_what_it_says(
    block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shown = execute_python(block).succeeded()
    promised = [value for line in re.findall(r"print\(.*?\)  # (.*)", block) for value in line.split(", ")]
    assert shown.split("\n")[:-1] == promised


def test_its_tables_are_the_codes() -> None:
    assert [row[0].strip("`") for row in rows(DEBT, "reason | when | flag")] == list(REFUSAL_REASONS)
    fields = [name for row in rows(DEBT, "field | unit | meaning") for name in names(row[0])]
    assert sorted(fields) == sorted(RefusalEvent.model_fields)


# -- docs/levels.md ------------------------------------------------------------------------------

LEVELS = (ROOT / "docs" / "levels.md").read_text(encoding="utf-8")


def test_its_table_of_levels_is_the_spaces_and_the_clock() -> None:
    said = rows(LEVELS, "environment | preset | actions | elements | heartbeats | actions in a heartbeat")
    assert [row[0].strip("`") for row in said] == list(ENVIRONMENTS)
    for env_id, level, *numbers in said:
        assert ENVIRONMENTS[env_id.strip("`")] == {"preset": level.strip("`")}
        env = LabEnv(preset=level.strip("`"))
        spaces = [len(env.actions), len(env.observation_fields)]
        clock = [env.params.budget.heartbeats, env.params.slots]
        assert [int(number) for number in numbers] == spaces + clock, env_id


# -- all pages -----------------------------------------------------------------------------------

PAGES = [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
FOLDERS = "envs|agents|experiments|tests|benchmarks|examples|configs|docs|notebooks"


def resolves(name: str) -> bool:
    """Whether a dotted name is a module, or something in one."""
    try:
        pkgutil.resolve_name(name)
    except (ImportError, AttributeError):
        return False
    return True


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_the_files_modules_and_links_of_a_page_are_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    code = [name for name in re.findall(r"`([^`\n]+)`", text) if "<" not in name]
    paths = [name for name in code if re.fullmatch(rf"({FOLDERS})/[\w./-]+", name)]
    assert [name for name in paths if not (ROOT / name).exists()] == []
    dotted = [
        name for name in code if re.fullmatch(r"(solvent|solvent_agents|solvent_experiments)(\.\w+)+", name)
    ]
    assert [name for name in dotted if not resolves(name)] == []
    links = [link.partition("#")[0] for link in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in link]
    assert [link for link in links if not (page.parent / link).exists()] == []

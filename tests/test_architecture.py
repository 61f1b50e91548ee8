"""The tables, code blocks, names and links of the documents, and the docstring of LabEnv, against the code."""

from __future__ import annotations

import ast
import math
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

from solvent import LabEnv
from solvent.debt import RefusalEvent
from solvent.lab.codes import REFUSAL_REASONS
from solvent.lab.info import infos_of
from solvent.lab.mechanisms import MECHANISMS
from solvent.lab.mechanisms.adequacy import EVIDENCE, WORDS, words_score
from solvent.lab.params import preset
from solvent.lab.registration import ENVIRONMENTS
from solvent.lab.verbs import Verb

ROOT = Path(__file__).resolve().parents[1]
LAB = ROOT / "envs" / "solvent" / "lab"
TEXT = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
CODE = re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", TEXT, flags=re.DOTALL))


def rows(text: str, heading: str) -> list[list[str]]:
    """The cells of the table with these headings."""
    table = text.split(f"| {heading} |\n")[1].split("\n\n", maxsplit=1)[0].splitlines()[1:]
    return [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in table]


def names(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def found(path: str) -> Path | None:
    """The file or folder that a name on the page means: from the root, or below the lab."""
    return next((base / path for base in (ROOT, LAB) if (base / path).exists()), None)


def functions(path: Path) -> dict[str, ast.FunctionDef]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


LIFE = rows(TEXT, "file | functions | what happens")


def test_every_file_that_is_named_exists() -> None:
    named = [
        name for name in CODE if re.fullmatch(r"[\w/.]+(\.(py|npz|md|toml)|/)|(envs|agents)/[\w/]+", name)
    ]
    assert named
    assert [name for name in named if found(name) is None] == []


def test_every_mechanism_is_on_the_page() -> None:
    said = {names(row[0])[0]: names(row[1])[0] for row in rows(TEXT, "mechanism | file | what it is")}
    assert list(said) == [mechanism.name for mechanism in MECHANISMS]
    assert list(said.values()) == [f"mechanisms/{mechanism.name}.py" for mechanism in MECHANISMS]


def test_every_environment_is_on_the_page_with_what_runs_in_it() -> None:
    said = rows(TEXT, "environment | preset | further mechanisms")
    assert [row[0].strip("`") for row in said] == list(ENVIRONMENTS)
    always = {"episode", "assay", "belief", "debt", "publication"}
    for env_id, level, further in said:
        assert ENVIRONMENTS[env_id.strip("`")] == {"preset": level.strip("`")}
        active = {mechanism.name for mechanism in MECHANISMS if mechanism.active(preset(level.strip("`")))}
        assert active == always | set(names(further)), env_id


@pytest.mark.parametrize("row", LIFE, ids=[f"{names(row[0])[0]}: {row[1]}" for row in LIFE])
def test_the_functions_in_the_life_of_an_action_are_in_their_files(row: list[str]) -> None:
    path = found(names(row[0])[0])
    assert path is not None
    assert set(names(row[1])) <= functions(path).keys()


# -- docs/debt.md --------------------------------------------------------------------------------

DEBT = (ROOT / "docs" / "debt.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", DEBT, re.DOTALL)


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_its_code_runs_and_prints_what_it_says(block: str, tmp_path: Path) -> None:
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", block],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    promised = [value for line in re.findall(r"print\(.*?\)  # (.*)", block) for value in line.split(", ")]
    assert result.stdout.split("\n")[:-1] == promised


def test_its_tables_are_the_codes() -> None:
    assert [row[0].strip("`") for row in rows(DEBT, "reason | when | flag")] == list(REFUSAL_REASONS)
    fields = [name for row in rows(DEBT, "field | unit | meaning") for name in names(row[0])]
    assert sorted(fields) == sorted(RefusalEvent.__dataclass_fields__)


# -- the docstring of LabEnv, docs/levels.md and the page of each level ---------------------------

LEVELS = (ROOT / "docs" / "levels.md").read_text(encoding="utf-8")
ENERGY, GATE, WHOLE = (LabEnv(preset=name) for name in ("energy", "gate", "lab"))
MORE = {"Energy": (ENERGY, [LabEnv()]), "Gate": (GATE, [LabEnv()]), "Lab": (WHOLE, [ENERGY, GATE])}
"""Page -> its level, and the levels that it adds to."""


def level_page(title: str) -> str:
    return (ROOT / "docs" / "levels" / f"{title.lower()}.md").read_text(encoding="utf-8")


def product(cell: str) -> int:
    return math.prod(map(int, cell.split(" x ")))


def info_keys(env: LabEnv) -> set[str]:
    return {info.key for _, _, infos in infos_of(env.params, detailed=False) for info in infos}


def test_the_docstring_is_a_specification_in_a_fixed_order() -> None:
    text = str(LabEnv.__doc__)
    assert re.findall(r"^ *## (.+)$", text, flags=re.MULTILINE) == [
        "Description",
        "Action space",
        "Observation space",
        "Reward",
        "Starting state",
        "Episode end",
        "Arguments",
        "Version history",
    ]
    assert info_keys(LabEnv()) <= set(re.findall(r"``(\w+)``", text))


def test_the_page_of_its_level_has_its_tables() -> None:
    lines = [line.strip() for line in str(LabEnv.__doc__).splitlines() if line.strip().startswith("|")]
    assert lines
    assert set(lines) <= set(level_page("Debt").splitlines())


def test_its_table_of_levels_is_the_spaces_and_the_clock() -> None:
    said = rows(LEVELS, "environment | preset | actions | elements | heartbeats | actions in a heartbeat")
    assert [row[0].strip("`") for row in said] == list(ENVIRONMENTS)
    for env_id, level, *numbers in said:
        assert ENVIRONMENTS[env_id.strip("`")] == {"preset": level.strip("`")}
        env = LabEnv(preset=level.strip("`"))
        params = env.params
        spaces = [len(env.actions), len(env.observation_fields)]
        assert [int(number) for number in numbers] == [*spaces, params.budget.heartbeats, params.slots], (
            env_id
        )


@pytest.mark.parametrize("title", MORE)
def test_the_elements_that_a_level_adds_are_counted(title: str) -> None:
    env, below = MORE[title]
    more = len(set(env.observation_fields).difference(*(other.observation_fields for other in below)))
    assert sum(product(row[1]) for row in rows(level_page(title), "elements | number")) == more


@pytest.mark.parametrize("title", MORE)
def test_the_info_keys_that_a_level_adds_are_named(title: str) -> None:
    env, below = MORE[title]
    said = [name for row in rows(level_page(title), "key | when | value") for name in names(row[0])]
    assert set(said) == info_keys(env).difference(*(info_keys(other) for other in below))


def test_the_energies_are_the_base_costs() -> None:
    said = {row[0].strip("`"): float(row[1]) for row in rows(level_page("Energy"), "verb | energy | note")}
    verbs = {Verb(verb).name.lower() for verb in ENERGY.actions["verb"]}
    assert said == {verb: ENERGY.params.energy.base_cost(verb) for verb in verbs}


def test_the_scores_of_words_are_the_rule() -> None:
    said = rows(level_page("Lab"), "words | no look | 1 | 2 or 3 | 4 or more")
    for words, row in enumerate(said):
        assert WORDS[words] in row[0]
        assert [int(score) for score in row[1:]] == [words_score(words, e) for e in range(len(EVIDENCE))]


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

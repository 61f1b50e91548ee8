"""The pages are true: commands and options exist, code prints what it promises, tables are the code's."""

import dataclasses
import importlib.util
import json
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer.main

from solvent import ENVIRONMENTS, LabEnv
from solvent.adequacy.heuristic import MATRIX
from solvent.debt import RefusalEvent
from solvent.energy import CATEGORIES
from solvent.energy.meter import number_text
from solvent.lab.codes import REFUSAL_REASONS
from solvent.lab.mechanisms.energy import EnergyParams
from solvent.lab.params import LabParams
from solvent_agents import PLAYERS
from solvent_agents.scripts.offenders import OFFENDERS
from solvent_experiments.cli import app
from solvent_experiments.config import Evaluation, Experiment
from solvent_experiments.figures.drawing import FIGURES
from solvent_experiments.folder import read_parquet
from tests.commands import execute, execute_python
from tests.runs import runs, smoke_lab_run
from tests.test_workflows import TARGETS

__all__ = ["runs", "smoke_lab_run"]

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [*sorted(DOCS.glob("*.md")), *sorted((DOCS / "levels").glob("*.md")), ROOT / "README.md"]
OPTION = r"(?<![\w-])--[a-z][a-z-]+"
RUN_ALL = (
    "import json, sys\nfor block in json.loads(sys.argv[1]):\n    exec(compile(block, 'block', 'exec'), {})"
)


RESULTS = sorted((DOCS / "results").rglob("*.json"))


def module(name):
    """A program of the folder `docs`."""
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


fill = module("fill")


def text_of(page):
    return (DOCS / f"{page}.md").read_text(encoding="utf-8")


def options(command, name=()):
    """The options of every command by its words."""
    own = {option for param in command.params for option in (*param.opts, *param.secondary_opts)}
    result = {name: own | {"--help"}}
    for word, part in getattr(command, "commands", {}).items():
        result |= options(part, (*name, word))
    return result


KNOWN = options(typer.main.get_command(app))


@pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])
def test_every_command_of_a_page_is_a_command_with_these_options(page):
    text = page.read_text(encoding="utf-8")
    for of_block, of_sentence in re.findall(r"^(?:\$ )?solvent +(.+)$|`solvent ([^`]+)`", text, re.MULTILINE):
        line = of_block or of_sentence
        words = line.split()
        if words[0].isupper():
            continue  # a placeholder
        longest = max((tuple(words[:n]) for n in range(3) if tuple(words[:n]) in KNOWN), key=len)
        assert longest, line
        assert set(re.findall(OPTION, line)) <= KNOWN[longest], line


def test_the_page_of_language_models_is_read_in_a_few_minutes():
    text = re.sub(r"<!-- table: .*?<!-- end -->", "", text_of("language_models"), flags=re.DOTALL)
    text = re.sub(r'\]\((?:[^()"]|"[^"]*")*\)', "]", text)  # addresses of links
    assert len([word for word in text.split() if re.search(r"\w", word)]) <= 1200  # besides tables


def test_no_line_of_a_page_is_taken_for_a_comment():
    """MyST drops a line that begins with a percent sign, and what follows it in the paragraph."""
    lost = [page for page in (*DOCS.rglob("*.md"), *ROOT.glob("*.md")) if "\n%" in page.read_text("utf-8")]
    assert not lost


@pytest.mark.parametrize("page", ["adequacy", "energy", "gate"])
def test_every_option_of_an_instruments_page_is_an_option(page):
    named = set(re.findall(OPTION, text_of(page)))
    assert named
    assert named <= set().union(*KNOWN.values())


@pytest.mark.parametrize(
    "page",
    ["index", "adequacy", "debt", "energy", "gate", "start", "levels/data", "levels/debt", "levels/tiny"],
)
def test_the_code_of_a_page_runs_and_prints_what_it_says(page, tmp_path, monkeypatch):
    if page == "gate":
        pytest.importorskip("sentence_transformers", reason="the extra `gate` is not installed")
    monkeypatch.setenv("SOLVENT_CACHE", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", text_of(page), re.DOTALL)
    output = execute_python(RUN_ALL, json.dumps(blocks), timeout=600).succeeded()
    output = re.sub(r"prompt='[\w-]+'", "prompt='PROMPT'", output)
    promised = [line for block in blocks for line in re.findall(r"print\(.*?\)  # (.*)", block)]
    if page == "debt":  # whose loops print one value a line
        promised = [value for line in promised for value in line.split(", ")]
    assert promised
    assert output.splitlines() == promised


@pytest.mark.parametrize("instrument", ["adequacy", "debt", "energy", "gate"])
def test_the_code_of_an_instruments_docstring_prints_what_it_says(instrument):
    if instrument == "gate":
        pytest.importorskip("sentence_transformers", reason="the extra `gate` is not installed")
    code = re.findall(r"^    (.*)$", pkgutil.resolve_name(f"solvent.{instrument}").__doc__, re.MULTILINE)
    promised = re.findall(r"print\(.*\)  # (.*)$", "\n".join(code), re.MULTILINE)
    output = iter(
        execute_python(RUN_ALL, json.dumps(["\n".join(code)]), timeout=600).succeeded().splitlines()
    )
    assert promised
    for value in promised:
        assert any(line.startswith(value.removesuffix(" ...")) for line in output), value


def cells(table):
    """The lines of a table in a terminal without their spacing and rules."""
    lines = [" ".join(line.split()) for line in table.splitlines()]
    return [line for line in lines if line.strip(" \N{BOX DRAWINGS LIGHT HORIZONTAL}")]


def test_the_first_example_of_adequacy_is_what_the_command_shows(tmp_path, monkeypatch):
    monkeypatch.setenv("SOLVENT_CACHE", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    text = text_of("adequacy")
    (lines,) = re.findall(r"```json\n(.*?)```", text, re.DOTALL)
    Path("responses.jsonl").write_text(lines, encoding="utf-8")
    command = r"```console\n\$ solvent (adequacy score responses\.jsonl)\n(.*?)```"
    ((arguments, message),) = re.findall(command, text, re.DOTALL)
    assert cells(execute(*arguments.split()).succeeded()) == cells(message)


def rows(text, heading):
    """The cells of the table whose first heading this is."""
    table = text.split(f"| {heading} |")[1].split("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table]


def test_the_categories_and_multipliers_of_energy_are_the_codes():
    params, text = EnergyParams(), text_of("energy")
    in_page = rows(text, "category")
    assert [name for name, *_ in in_page] == [f"`{name}`" for name in CATEGORIES]
    for (_, prices, floor, *_), line in zip(in_page, CATEGORIES.values(), strict=True):
        assert prices == f"{number_text(line.low)} to {number_text(line.high)}"
        assert floor == ("" if line.floor is None else number_text(line.floor))
    multipliers = [params.first_use, params.error_rate, params.late_social, params.similar]
    assert [row[1] for row in rows(text, "context")] == [
        number_text(multiplier) for multiplier in multipliers
    ]


def test_the_tables_of_debt_are_the_codes():
    debt = text_of("debt")
    assert [row[0].strip("`") for row in rows(debt, "reason")] == list(REFUSAL_REASONS)
    fields = [name for row in rows(debt, "field") for name in re.findall(r"`([^`]+)`", row[0])]
    assert fields == [field.name for field in dataclasses.fields(RefusalEvent)]


def test_the_table_of_levels_is_their_spaces_and_clock():
    level_rows = rows(text_of("levels"), "environment")
    assert [row[0].strip("`") for row in level_rows] == list(ENVIRONMENTS)
    for env_id, level, *numbers in level_rows:
        assert ENVIRONMENTS[env_id.strip("`")] == {"preset": level.strip("`")}
        env = LabEnv(preset=level.strip("`"))
        spaces = [len(env.actions), len(env.observation_fields)]
        clock = [env.params.budget.heartbeats, env.params.slots]
        assert [int(number) for number in numbers] == [*spaces, *clock]


def test_the_matrix_of_adequacy_is_the_lexicons():
    for name, row in zip(("hedged", "plain", "definitive", "absolute"), MATRIX, strict=True):
        assert f"| {name} | {' | '.join(map(str, row))} |" in text_of("adequacy")


def test_the_numbers_of_the_pages_are_those_of_the_result_files():
    check = [sys.executable, DOCS / "fill.py", "--check"]
    done = subprocess.run(check, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stdout}renew them: python docs/fill.py"


def test_the_site_puts_every_setting_into_the_page_of_parameters():
    source = [text_of("parameters")]
    module("conf").fill_parameters(None, "parameters", source)
    headings = re.findall(r"^## `(.+)`$", source[0], re.MULTILINE)
    assert {path.partition(".")[0] for path in headings} == {name for name, _ in LabParams()}
    assert re.search(r"^\| `threshold` \| 2 † \| bits \|", source[0], re.MULTILINE)


def test_the_program_of_parameters_prints_the_tables_of_the_page():
    program = [sys.executable, DOCS / "parameters.py"]
    printed = subprocess.run(program, capture_output=True, text=True, check=True)
    assert printed.stdout == module("parameters").tables() + "\n"


@pytest.mark.parametrize("path", RESULTS, ids=[path.stem for path in RESULTS])
def test_a_result_file_begins_with_its_provenance(path):
    content = json.loads(path.read_text(encoding="utf-8"))
    assert list(content)[:4] == ["command", "finished", "machine", "versions"]
    assert re.match(r"\d{4}-\d\d-\d\d", content["finished"])
    assert content["command"].startswith(("solvent ", "python -m ", "python docs/"))
    assert content["versions"]["solvent"]


def test_the_measured_numbers_of_studies_are_links_to_their_results():
    sections = text_of("studies").split("\n## predictions\n")[1].split("\n## What earlier studies found\n")[0]
    prose = [
        line for line in fill.NUMBER.sub("", sections).splitlines() if not line.startswith(("|", "<!--", "!"))
    ]
    assert set(re.findall(r"\d+\.\d+", "\n".join(prose))) == {"1.24"}  # Tiny's optimum, of docs/planner.md


def test_offences_cost_but_for_the_pairs_that_the_page_of_doubts_counts():
    study = json.loads((DOCS / "results" / "studies" / "world.json").read_text(encoding="utf-8"))
    pairs = {
        tuple(pair[0]): difference
        for name, difference in study["findings"].items()
        if (pair := re.findall(r"^(\w+): (\w+) minus honest$", name)) and pair[0][1] in OFFENDERS
    }
    exceptions = [pair for pair, difference in pairs.items() if difference["high"] >= 0]
    assert (len(exceptions), study["verdict"]) == (5, "refuted")
    assert "except in five pairs of a script and a level" in text_of("doubt")


def scores_of(agent):
    """The agent's score on each level, as the leaderboard has it."""
    runs = json.loads((DOCS / "results" / "leaderboard.json").read_text(encoding="utf-8"))["runs"].values()
    return {run["level"][8:-3]: run["agents"][agent]["score"] for run in runs}


def test_ppo_reaches_the_honest_return_where_the_page_of_learners_says():
    reached = {level for level, score in scores_of("ppo").items() if score["high"] >= 100}
    assert reached == {"Debt", "Energy", "Gate", "Lab", "Document"}


def test_plain_earns_less_than_half_where_the_page_of_learners_says():
    below = {level for level, score in scores_of("plain").items() if score["high"] < 50}
    assert below == {"Energy", "Lab", "Data"}


def test_arms_of_the_studies_have_as_many_training_seeds_as_their_page_says():
    assert "five training seeds, those of [language](language_models.md) two" in text_of("studies")
    for path in fill.STUDIES.glob("*.json"):
        seeds = json.loads(path.read_text("utf-8"))["seeds"]
        assert {len(arm) for arm in seeds.values()} <= {2 if path.stem == "language" else 5}, path


@pytest.mark.parametrize(("value", "text"), [(-0.39, "0.39"), (0.39, "-0.39")])
def test_a_loss_that_became_a_gain_shows_it(value, text):
    assert fill.cell_text({"value": value, "low": value, "high": value}, "-.2f") == text


@pytest.mark.parametrize(
    "number",
    [
        '[9.99](results/studies/costs.json "PPO, enforced: share right minus stated")',
        '[9 %](results/gate_public.json "sets/BEGIN/standard/supported/accept @.0%")',
    ],
)
def test_a_number_that_was_edited_by_hand_is_named(number, tmp_path, monkeypatch):
    page = tmp_path / "x.md"
    page.write_text(f"{number} bits\n")
    monkeypatch.setattr(fill, "PAGES", [page])
    monkeypatch.setattr(sys, "argv", ["fill.py", "--check"])
    assert fill.main() == 1


def test_every_key_agent_figure_and_column_of_a_run_is_documented(smoke_lab_run):
    text = text_of("experiments")
    keys = {f"evaluation.{name}" for name in Evaluation.model_fields}
    keys |= Experiment.model_fields.keys() - {"evaluation"}
    assert [name for name in (*keys, *PLAYERS, *FIGURES) if f"| `{name}` |" not in text] == []
    for tables in (smoke_lab_run.episodes, smoke_lab_run.traces):
        families = {"refusals_": "<reason>", "intents_": "<class>", "price_": "<verb>", "fair_": "<verb>"}
        families |= {"verdicts_": "<verdict>", "adequacy_": "0"}  # `adequacy_0` to `adequacy_3`
        for column in read_parquet(tables):
            family = next((name for name in families if column.startswith(name)), None)
            output = column if family is None else f"{family}{families[family]}"
            assert f"`{output}`" in text, column


LINKING = [
    *sorted(DOCS.rglob("*.md")),
    *(
        ROOT / name
        for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "tests/requirements/README.md")
    ),
]
FOLDERS = r"envs|agents|experiments|tests|benchmarks|examples|tools|configs|docs|notebooks|\.github|\.ci"
FILES = r"pyproject\.toml|constraints\.txt|CITATION\.cff|CHANGELOG\.md"


def resolves(name):
    """Whether a dotted name is a module, or something in one."""
    try:
        pkgutil.resolve_name(name)
    except (ImportError, AttributeError):
        return False
    return True


def named_code(page):
    """The code in a page's sentences, without placeholders."""
    return [name for name in re.findall(r"`([^`\n]+)`", page.read_text(encoding="utf-8")) if "<" not in name]


@pytest.mark.parametrize("page", LINKING, ids=[page.name for page in LINKING])
def test_the_files_that_a_page_names_are_there(page):
    paths = [name for name in named_code(page) if re.fullmatch(rf"({FOLDERS})/[\w./-]+|{FILES}", name)]
    assert [name for name in paths if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("page", LINKING, ids=[page.name for page in LINKING])
def test_the_modules_that_a_page_names_are_there(page):
    dotted = r"(solvent|solvent_agents|solvent_experiments)(\.\w+)+"
    assert [name for name in named_code(page) if re.fullmatch(dotted, name) and not resolves(name)] == []


def anchors_of(page):
    """The anchors of a page's headings, as a code host and the site make them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def is_there(link, page):
    """Whether a link of a page leads to a file and, where it names one, to a heading."""
    file, _, anchor = link.partition("#")
    target = page.parent / file if file else page
    return target.exists() and (not anchor or target.suffix != ".md" or anchor in anchors_of(target))


@pytest.mark.parametrize("page", [*LINKING, ROOT / "CHANGELOG.md"], ids=lambda page: page.name)
def test_the_links_of_a_page_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)\s]+)(?: \"[^\"]+\")?\)", text)
    assert [link for link in links if "://" not in link and not is_there(link, page)] == []


def commands_of(page):
    """The lines of a page's blocks of code, and the code in its sentences."""
    text = page.read_text(encoding="utf-8")
    fenced = re.compile(r"^```.*?\n(.*?)^```", re.DOTALL | re.MULTILINE)
    lines = "".join(fenced.findall(text)).splitlines()
    return [*lines, *(" ".join(code.split()) for code in re.findall(r"`([^`]+)`", fenced.sub("", text)))]


@pytest.mark.parametrize("page", LINKING, ids=[page.name for page in LINKING])
def test_the_targets_and_programs_of_a_page_are_there(page):
    named = "\n".join(commands_of(page))
    assert set(re.findall(r"^(?:\$ )?make ([a-z][a-z-]*)", named, re.MULTILINE)) <= TARGETS
    modules = re.findall(rf"python -m ((?:{FOLDERS})[\w.]*)", named)
    assert [module for module in modules if importlib.util.find_spec(module) is None] == []
    programs = re.findall(rf"python ((?:{FOLDERS})/[\w./]+\.py)", named)
    assert [program for program in programs if not (ROOT / program).is_file()] == []

"""Configs: what is right is resolved in full; what is wrong is one line, exit code 2, and nothing written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from solvent import LabParams
from solvent_experiments.artifacts.folder import RunFolder
from solvent_experiments.config.documents import ConfigError, dump_yaml, read_document
from solvent_experiments.config.experiment import NAME, OF_A_RUN, load_experiment
from tests.commands import call

ROOT = Path(__file__).resolve().parents[2]
GOOD = "name: x\nagents: [random]\n"
RECIPE = "algorithm: PPO, n_timesteps: 64, n_envs: 2"
ALIASES = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 10)
)
"""A billion values in a few hundred bytes."""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


WRONG = {
    "exact where nothing is solved": (
        "name: x\nenv: Solvent/Debt-v0\nagents: [random, exact]\n",
        ["line 3", "agents[1]", "no solution for this lab", "Solvent/Tiny-v0"],
    ),
    "unknown key": (GOOD + "agent: [honest]\n", ["line 3", "agent", "did you mean 'agents'"]),
    "unknown nested key": (
        GOOD + "evaluation:\n  episode: 3\n",
        ["line 4", "evaluation.episode", "'episodes'"],
    ),
    "unknown parameter": (GOOD + "params: {debt: {treshold: 1}}\n", ["params.debt.treshold", "'threshold'"]),
    "unknown group": (GOOD + "params: {debts: {threshold: 1}}\n", ["params.debts", "'debt'"]),
    "wrong type": (GOOD + "seeds: three\n", ["line 3", "seeds", "valid list"]),
    "wrong type of an item": (GOOD + "seeds: [0, 1.5]\n", ["seeds[1]", "whole number"]),
    "a switch for a number": (GOOD + "seeds: [true]\n", ["seeds[0]", "whole number"]),
    "wrong type of a parameter": (
        GOOD + "params: {budget: {wells: many}}\n",
        ["params.budget.wells", "whole number"],
    ),
    "parameters that are no mapping": (GOOD + "params: [1]\n", ["params", "valid dictionary"]),
    "a group that is no mapping": (GOOD + "params: {debt: 3}\n", ["params.debt", "mapping"]),
    "negative wells": (
        GOOD + "params:\n  budget:\n    wells: -5\n",
        ["line 5", "params.budget.wells", "-5", "at least 1"],
    ),
    "a threshold of NaN": (
        GOOD + "params: {debt: {threshold: .nan}}\n",
        ["params.debt.threshold", "nan", "finite"],
    ),
    "an endless threshold": (
        GOOD + "params: {debt: {threshold: .inf}}\n",
        ["params.debt.threshold", "finite"],
    ),
    "a template with no wells": (
        GOOD + "params: {plates: {screen: {replicates: 0}}}\n",
        ["params.plates.screen.replicates", "at least 1"],
    ),
    "a template with no doses": (
        GOOD + "params: {plates: {screen: {doses: []}}}\n",
        ["params.plates.screen.doses", "at least one"],
    ),
    "an impossible dose": (
        GOOD + "params: {plates: {screen: {doses: [1e-7, -1e-6]}}}\n",
        ["params.plates.screen.doses", "above 0"],
    ),
    "an unknown rule": (
        GOOD + "params: {debt: {inflation: cubic}}\n",
        ["params.debt.inflation", "linear, two_tier"],
    ),
    "unknown agent": ("name: x\nagents: [onest]\n", ["line 2", "agents[0]", "did you mean 'honest'"]),
    "an agent twice": ("name: x\nagents: [hermit, hermit]\n", ["agents[1]", "twice"]),
    "unknown environment": (
        GOOD + "env: Solvent/Dept-v0\n",
        ["line 3", "env", "did you mean 'Solvent/Debt-v0'"],
    ),
    "unknown preset": (GOOD + "preset: sauce\n", ["line 3", "preset", "did you mean 'source'"]),
    "a key twice": (GOOD + "seeds: [0]\nseeds: [1]\n", ["line 4", "'seeds' is given twice"]),
    "a nested key twice": (GOOD + "evaluation:\n  episodes: 3\n  episodes: 4\n", ["line 5", "given twice"]),
    "broken YAML": ("name: x\nagents: [random\nseeds: [0]\n", ["line 3", "broken YAML"]),
    "a tab": ("name: x\n\tagents: [random]\n", ["line 2", "broken YAML"]),
    "a tag": (GOOD + "seeds: !!python/object:os.system [0]\n", ["line 3", "broken YAML"]),
    "an unknown anchor": (GOOD + "seeds: *none\n", ["line 3", "broken YAML"]),
    "an endless anchor": ("name: x\nagents: &a [*a]\n", ["line 2", "inside itself"]),
    "two documents": (GOOD + "---\n" + GOOD, ["broken YAML"]),
    "an empty file": ("", ["an empty file", "mapping"]),
    "a list": ("- 1\n", ["mapping"]),
    "no name": ("agents: [random]\n", ["name", "missing"]),
    "a name that is a path": ("name: ../x\nagents: [random]\n", ["name", "../x", "folder"]),
    "nothing to run": ("name: x\n", ["agents", "at least one"]),
    "no seeds": (GOOD + "seeds: []\n", ["seeds", "at least 1"]),
    "a seed twice": (GOOD + "seeds: [3, 3]\n", ["seeds", "3 twice"]),
    "a negative seed": (GOOD + "seeds: [-1]\n", ["seeds[0]", "greater than or equal to 0"]),
    "a seed of the evaluation": (GOOD + "seeds: [10005]\n", ["seeds", "10005", "10000 to 10999"]),
    "no episodes": (
        GOOD + "evaluation: {episodes: 0}\n",
        ["evaluation.episodes", "greater than or equal to 1"],
    ),
    "no recipe": (GOOD + "train: {sac: {}}\n", ["line 3", "train.sac", "no such file: ", "sac.yml"]),
    "unknown algorithm": (GOOD + "train: {p: {algorithm: POP, n_timesteps: 9}}\n", ["train.p", "'POP'"]),
    "unknown hyperparameter": (
        GOOD + f"train: {{p: {{{RECIPE}, n_step: 8}}}}\n",
        ["train.p.n_step", "'n_steps'"],
    ),
    "an impossible number of steps": (
        GOOD + "train: {p: {algorithm: PPO, n_timesteps: -1}}\n",
        ["train.p.n_timesteps", "at least 1"],
    ),
    "an agent's name for a learner": (
        GOOD + f"train: {{random: {{{RECIPE}}}}}\n",
        ["train.random", "name of its own"],
    ),
    "a learner that is called like a file": (
        GOOD + f"train: {{config.yaml: {{{RECIPE}}}}}\n",
        ["line 3", "train.config.yaml", "name of its own"],
    ),
    "a learner that is called like a folder": (
        GOOD + f"train: {{Figures: {{{RECIPE}}}}}\n",
        ["line 3", "train.Figures", "name of its own"],
    ),
    "learners that some file systems can't tell apart": (
        GOOD + f"train: {{p: {{{RECIPE}}}, P: {{{RECIPE}}}}}\n",
        ["train.P", "name of its own"],
    ),
    "a recipe elsewhere": (
        GOOD + "train: {p: {recipe: ../../secret}}\n",
        ["train.p.recipe", "'../../secret'", "name of a file in hyperparameters/"],
    ),
    "aliases of aliases": (GOOD + ALIASES, ["line 7", "more than 50,000 keys and values"]),
    "many levels": (GOOD + "params: " + "[" * 5000, ["line 3", "nested deeper than 32 levels"]),
    "many levels through aliases": (
        GOOD + "a: &a {b: {c: {d: {}}}}\nb: &b {b: {c: {d: *a}}}\n" + "c: " + "{x: " * 26 + "*b" + "}" * 26,
        ["line 5", "nested deeper than 32 levels"],
    ),
    "a long number": (GOOD + f"seeds: [{'9' * 5000}]\n", ["line 3", "a number of more than 100 digits"]),
    "a list for a key": (GOOD + "? [a, b]\n: 1\n", ["line 3", "got a list or a mapping as a key"]),
    "a date that is none": (GOOD + "x: 2001-13-45\n", ["line 3", "month must be in 1..12"]),
    "many bytes": (GOOD + "#" * 2**20, ["more than 1,048,576 bytes"]),
    "many seeds": (GOOD + f"seeds: {list(range(10_001))}\n", ["line 3", "seeds", "at most 10000 items"]),
    "a null byte": (GOOD + "env: '\0'\n", ["line 3", "broken YAML", r"'\x00'"]),
    "a key that moves the cursor": (GOOD + '"\\e[2J\\u202e": 1\n', ["line 3", r"\x1b[2J\u202e: unknown key"]),
    "an algorithm that is a number": (
        GOOD + "train: {p: {algorithm: 3, n_timesteps: 9}}\n",
        ["line 3", "train.p", "unknown algorithm 3"],
    ),
    "prices of before the year 1": (
        GOOD + "costs: {store: x.db, as_of: 0001-01-01T00:00:00+14:00}\n",
        ["line 3", "costs.as_of", "0001-01-01", "a date or time such as"],
    ),
    "more labs than a machine holds": (
        GOOD + "train: {p: {algorithm: PPO, n_timesteps: 9, n_envs: 10000000000}}\n",
        ["line 3", "train.p.n_envs", "at most 1,048,576"],
    ),
    "more steps than memory holds": (
        GOOD + "train: {p: {algorithm: PPO, n_timesteps: 9, n_envs: 1000000, n_steps: 1000000}}\n",
        ["line 3", "train.p", "GiB; allowed: this machine's"],
    ),
    "steps that are kept beyond memory": (
        GOOD + "train: {p: {algorithm: DQN, n_timesteps: 9, buffer_size: 1000000000000}}\n",
        ["line 3", "train.p", "GiB; allowed: this machine's"],
    ),
    "a long value": (GOOD.replace("x", "x" * 100_000), ["name: got 'xxx", "xxx … xxx", "it names a folder)"]),
}


@pytest.mark.parametrize("problem", WRONG)
def test_a_wrong_config_is_one_line_and_writes_nothing(problem: str, here: Path) -> None:
    text, said = WRONG[problem]
    config = here / "wrong.yaml"
    config.write_text(text, encoding="utf-8")
    ended = call("run", config)
    ended.refused("wrong.yaml", *said)
    assert ended.out == ""
    assert list(here.iterdir()) == [config]


def test_a_file_that_is_not_there(here: Path) -> None:
    (here / "folder").mkdir()
    (here / "image.yaml").write_bytes(b"\xff\xfe\x00")
    os.mkfifo(here / "pipe")
    for name, said in (
        ("none.yaml", "no such file"),
        ("folder", "can't be read"),
        ("image.yaml", "UTF-8"),
        ("/dev/zero", "not a regular file"),
        ("pipe", "not a regular file"),
    ):
        call("run", name).refused(name, said)
    assert not (here / "runs").exists()


def test_no_learner_is_called_like_a_file_of_a_run() -> None:
    folder = RunFolder(Path("run"))
    names = [path.name for path in vars(folder).values() if path != folder.root]
    assert names
    assert [name for name in names if NAME.fullmatch(name) and not OF_A_RUN.fullmatch(name)] == []


@pytest.mark.parametrize(
    "seeds",
    ["", "a", "1-", "3-1", "-1", "1,1", "0-99999999", "0-9999,10000-19999", "9" * 5000, "1;2", "10000"],
)
def test_wrong_seeds_on_the_command_line(seeds: str, here: Path) -> None:
    (here / "x.yaml").write_text(GOOD, encoding="utf-8")
    call("run", "x.yaml", f"--seeds={seeds}").refused("seeds")
    assert not (here / "runs").exists()


def test_errors_in_a_recipe_name_the_recipes_file(here: Path) -> None:
    folder = here / "hyperparameters"
    folder.mkdir()
    (here / "x.yaml").write_text(GOOD + "train: {ppo: {}}\n", encoding="utf-8")
    recipes = folder / "ppo.yml"
    recipes.write_text("Solvent/Debt-v0:\n  n_timesteps: 64\n  n_step: 8\n", encoding="utf-8")
    with pytest.raises(
        ConfigError, match=r"ppo.yml, line 3: Solvent/Debt-v0.n_step: unknown key; did you mean 'n_steps'"
    ):
        load_experiment(here / "x.yaml")
    recipes.write_text("Other-v0:\n  n_timesteps: 64\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"no recipe for Solvent/Debt-v0; it has: Other-v0"):
        load_experiment(here / "x.yaml")
    recipes.write_text("Solvent/Debt-v0: 3\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"allowed: a mapping of hyperparameters"):
        load_experiment(here / "x.yaml")
    (folder / "sarsa.yml").write_text("Solvent/Debt-v0:\n  n_timesteps: 64\n", encoding="utf-8")
    (here / "x.yaml").write_text(GOOD + "train: {sarsa: {}}\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"no algorithm is called 'sarsa'"):
        load_experiment(here / "x.yaml")


def test_a_recipe_with_differences(here: Path) -> None:
    (here / "hyperparameters").mkdir()
    (here / "hyperparameters" / "maskable_ppo.yml").write_text(
        "Solvent/Debt-v0:\n  n_timesteps: 64\n  n_steps: 8\n", encoding="utf-8"
    )
    (here / "x.yaml").write_text(
        GOOD + "train: {maskable_ppo: {}, bare: {recipe: maskable_ppo, shaping_weight: null}}\n",
        encoding="utf-8",
    )
    train = load_experiment(here / "x.yaml").train
    assert train["maskable_ppo"] == {"algorithm": "MaskablePPO", "n_timesteps": 64, "n_steps": 8}
    assert train["bare"] == {**train["maskable_ppo"], "shaping_weight": None}


@pytest.mark.parametrize("config", sorted((ROOT / "configs").glob("*.yaml")), ids=lambda path: path.stem)
def test_a_resolved_config_is_complete_and_resolves_to_itself(config: Path, here: Path) -> None:
    experiment = load_experiment(config)
    resolved = here / "config.yaml"
    resolved.write_text(dump_yaml(experiment.to_mapping()), encoding="utf-8")
    assert load_experiment(resolved) == experiment
    assert LabParams.from_mapping(read_document(resolved).data["params"], base=None) == experiment.params


def test_every_recipe_can_be_used(here: Path) -> None:
    (here / "hyperparameters").symlink_to(ROOT / "configs" / "hyperparameters")
    for path in (here / "hyperparameters").glob("*.yml"):
        for env in read_document(path).data:
            (here / "x.yaml").write_text(
                f"name: x\nenv: {env}\ntrain: {{{path.stem}: {{}}}}\n", encoding="utf-8"
            )
            assert load_experiment(here / "x.yaml").train[path.stem]["algorithm"]


def test_numbers_and_merges_as_people_write_them(here: Path) -> None:
    path = here / "x.yaml"
    path.write_text(
        "a: 1e-8\nb: [3E5, -2.5e+3, 1_000]\nc: &c {x: 1}\nd: &d {<<: *c, x: 3, y: 2}\nf: {<<: *d, y: 4}\ne: 1e5x\n",
        encoding="utf-8",
    )
    assert read_document(path).data == {
        "a": 1e-8,
        "b": [3e5, -2500.0, 1000],
        "c": {"x": 1},
        "d": {"x": 3, "y": 2},
        "f": {"x": 3, "y": 4},
        "e": "1e5x",
    }


def test_a_preset_and_its_differences(here: Path) -> None:
    path = here / "x.yaml"
    path.write_text(GOOD + "env: Solvent/Debt-source-v0\nparams: {debt: {threshold: 1}}\n", encoding="utf-8")
    experiment = load_experiment(path)
    assert (experiment.preset, experiment.params.debt.reserve, experiment.params.debt.threshold) == (
        "source",
        False,
        1.0,
    )
    path.write_text(GOOD + "preset: two_tier\n", encoding="utf-8")
    assert load_experiment(path).params.debt.inflation == "two_tier"

"""Sweeps: the experiments of a config's values, their runs, table and figure, and what is refused."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from solvent_experiments.config import NAME, ConfigError, read_yaml
from solvent_experiments.studies.results import Number, StudyResult
from solvent_experiments.studies.study import Study
from solvent_experiments.studies.sweep import draw, folder_name, load_sweep
from solvent_experiments.summary import read_rows
from tests.commands import call

CONFIG = """
name: s
agents: [hermit, random]
params: {budget: {heartbeats: 6}}
evaluation: {episodes: 4, trace_episodes: 1}
"""


def sweep_of(text: str, folder: Path) -> Study:
    path = folder / "s.yaml"
    path.write_text(CONFIG + f"sweep: {text}\n")
    return load_sweep(read_yaml(path), path)


def test_each_combination_is_a_run(tmp_path: Path) -> None:
    study = sweep_of("{debt.threshold: [1.0, 2], debt.enforced: [true, false]}", tmp_path)
    rules = [
        (arm.lab.debt.threshold, arm.lab.debt.enforced, arm.lab.budget.heartbeats) for arm in study.arms()
    ]
    assert rules == [(1.0, True, 6), (1.0, False, 6), (2.0, True, 6), (2.0, False, 6)]


def test_each_agent_of_a_run_is_a_row(tmp_path: Path) -> None:
    study = sweep_of("{debt.threshold: [1.0, 2]}", tmp_path)
    agents = ("hermit", "random")
    assert list(study.rows) == [
        f"debt.threshold={value}: {agent}" for value in ("1.0", "2") for agent in agents
    ]


DOSES = ("1.0e-08, 3.162277660168379e-08, 1.0e-07, 3.162277660168379e-07, 1.0e-06, 3.1622776601683796e-06, 1.0e-05, "
         "3.0e-05")  # fmt: skip


def test_labs_whose_long_names_end_differently_have_runs_of_their_own(tmp_path: Path) -> None:
    study = sweep_of(f"{{plates.dose_response.doses: [[{DOSES}, 1.0e-04], [{DOSES}, 2.0e-04]]}}", tmp_path)
    first, second = study.arms()
    assert (first.lab.plates.dose_response.doses[-1], second.lab.plates.dose_response.doses[-1]) == (
        1e-4,
        2e-4,
    )
    assert first.experiment.name != second.experiment.name
    assert all(NAME.fullmatch(arm.name) for arm in study.arms())


def test_a_value_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"have the folder debt.threshold-1.0; allowed"):
        sweep_of("{debt.threshold: [1.0, 1.0, 2.0]}", tmp_path)


def test_no_folder_ends_in_a_dot() -> None:
    assert folder_name("assay.compounds=A.") == "assay.compounds-A-"


def test_a_sweep_without_a_name_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text("agents: [hermit]\nsweep: {debt.threshold: [1.0]}\n")
    call("run", tmp_path / "s.yaml").refused("name: missing")


def test_a_sweep_over_params_that_are_a_list_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(
        "name: s\nagents: [hermit]\nparams: [1]\nsweep: {debt.threshold: [1.0]}\n"
    )
    call("run", tmp_path / "s.yaml").refused("params: got [1]; allowed: parameters by group")


def test_a_sweep_expects_nothing(tmp_path: Path) -> None:
    study = sweep_of("{debt.threshold: [1.0]}", tmp_path)
    assert (study.claim, study.compares) == ("", ())


def test_a_sweeps_panels_show_their_own_means() -> None:
    numbers = {"return": 9.0, "debt_added": 0.5, "refusals_by_debt": 2.0, "wells_spent": 300.0}
    means = {name: Number(value=value, low=value, high=value) for name, value in numbers.items()}
    labs = ["debt.threshold=1.0", "debt.threshold=2.0"]
    result = SimpleNamespace(means={f"{lab}: honest": means for lab in labs})
    figure = draw(result)[""]
    assert [list(axes.lines[0].get_ydata()) for axes in figure.axes] == [[n, n] for n in numbers.values()]


@pytest.mark.slow
def test_sweep_leaves_runs_a_table_and_a_figure(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(CONFIG + "sweep: {debt.threshold: [1.0, 3.0]}\n")
    out = tmp_path / "out"
    call("run", tmp_path / "s.yaml", "--out", out, "--jobs", "1").succeeded("debt.threshold=3.0")
    result = StudyResult.read(out / "sweep.json")
    returns = {
        row.agent: row.interval("return") for row in read_rows(out / "debt.threshold-3.0" / "summary.json")
    }
    for agent, number in returns.items():
        assert result.means[f"debt.threshold=3.0: {agent}"]["return"].interval == pytest.approx(
            number, abs=1e-6
        )
    assert (out / "sweep.png").stat().st_size > 10_000
    call("compare", out / "debt.threshold-1.0", out / "debt.threshold-3.0").succeeded()


@pytest.mark.parametrize(
    ("sweep", "message"),
    [
        ("3", "sweep: got 3; allowed: parameters with lists of values"),
        ("{debt.treshold: [1.0]}", "params.debt.treshold: unknown"),
        ("{budget.heartbeats: [3]}", "sweep: budget.heartbeats is among the params too"),
        ("{assay.compounds: [[a b, c], [a-b, c]]}", "have the folder assay.compounds--a-b--c-; allowed"),
        (f"{{debt.threshold: {[1.0] * 101}}}", "sweep: 101 runs; allowed: 1 to 100"),
    ],
)
def test_wrong_sweep_is_one_line(sweep: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(CONFIG + f"sweep: {sweep}\n")
    call("run", tmp_path / "s.yaml").refused(message)

"""Studies: verdicts by hand, records on small labs, every study's score, and one from its runs to its figure."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from solvent import preset
from solvent_agents import PLAYERS, episodes
from solvent_agents.learning.recipe import Recipe
from solvent_experiments.config import environment_params
from solvent_experiments.folder import RunFolder, owned, read_parquet
from solvent_experiments.statistics import Interval
from solvent_experiments.studies import records
from solvent_experiments.studies.claims import within_strata
from solvent_experiments.studies.results import all_studies
from solvent_experiments.studies.study import (
    CONFIRMED,
    NOT_SHOWN,
    REFUTED,
    Arm,
    Compare,
    Finding,
    Play,
    Source,
    StudyData,
    lab_of,
    verdict_on,
)
from tests.commands import call

STUDIES = all_studies()
Tables = Callable[[str, str], dict[str, np.ndarray]]
DEBT = preset("default")
SEEDS = np.arange(8)


@pytest.mark.parametrize(
    ("expected", "ends", "verdict"),
    [
        (1, (0.1, 0.3), CONFIRMED),
        (1, (-0.3, -0.1), REFUTED),
        (-1, (-0.3, -0.1), CONFIRMED),
        (1, (-0.1, 0.3), NOT_SHOWN),
        (0, (0.1, 0.3), ""),
    ],
)
def test_verdict_is_where_the_interval_lies(expected: int, ends: tuple[float, float], verdict: str) -> None:
    assert Finding("x", Interval(sum(ends) / 2, *ends), "bits", expected).verdict == verdict


def test_claim_needs_all_of_its_findings() -> None:
    yes, no, open_ = (Finding("x", Interval(v, v - 1, v + 1), "", 1) for v in (2, -2, 0))
    aside = Finding("x", Interval(-2, -3, -1), "")
    assert verdict_on([yes, yes, aside]) == CONFIRMED
    assert verdict_on([yes, open_]) == NOT_SHOWN
    assert verdict_on([yes, open_, no]) == REFUTED


def test_names_of_arms_and_plays_are_their_own() -> None:
    arms = {s for study in STUDIES.values() for s in map(repr, study.sources()) if s.startswith("Arm")}
    names = Counter(s.name for study in STUDIES.values() for s in study.sources() if isinstance(s, Arm))
    assert len(arms) == len(names), "two arms of one name would share a folder"
    for study in STUDIES.values():
        plays = {repr(s): s.name for s in study.sources() if isinstance(s, Play)}
        assert len(plays) == len(set(plays.values()))


@pytest.mark.parametrize("name", STUDIES)
def test_sources_of_a_study_can_be_made(name: str) -> None:
    scripts: dict[str, Play] = {}
    for source in STUDIES[name].sources():
        lab_of(source)
        if isinstance(source, Arm):
            Recipe.from_mapping(source.experiment().train[source.learner] or {})
        elif source.script:
            scripts.setdefault(f"{source.script} {source.settings}", source)
    for play in scripts.values():
        records.script(play, lab_of(play))


class Kept(StudyData):
    """A study whose tables are in memory."""

    tables: dict[str, dict[str, np.ndarray]] = {}  # noqa: RUF012 - set by the test

    def columns(self, source, training=False):
        return self.tables[source.name]


def test_compare_by_hand() -> None:
    def table(*values: float) -> dict[str, np.ndarray]:
        n = len(values)
        return {"agent": np.full(n, "a", object), "training_seed": np.zeros(n), "x": np.array(values),
                "n": np.full(n, 2.0), "left": np.arange(n) % 2}  # fmt: skip

    data = Kept("x", Path())
    Kept.tables = {"a": table(3.0, 5.0), "b": table(1.0, 1.0)}
    a, b = Play("a"), Play("b")
    assert Compare("", "", a, "x").found(data).value == 4.0
    assert Compare("", "", a, "x", b).found(data).value == 3.0
    assert Compare("", "", a, "x", b, paired=True, times=0.5, plus=-1.0).found(data).value == 2.5
    assert Compare("", "", a, "x", b, over="n").found(data).value == 1.5
    assert Compare("", "", a, "x", where=("left", 1)).found(data).value == 5.0


def test_projects_sum_up_to_the_career() -> None:
    lab = environment_params("Solvent/Frontier-v0")
    columns = records.projects(PLAYERS["definitive"](lab, 0), lab, SEEDS)
    whole = episodes(PLAYERS["definitive"](lab, 0), lab, SEEDS)
    known_as = {"overclaimed": "debt_added", "recalled": "debt_recalled", "refused_by_debt": "refusals_by_debt",
                "calibrations": "calibrations", "accepted": "accepted", "wrong": "wrong"}  # fmt: skip
    for name, column in known_as.items():
        parts = [columns[f"{name}_{project}"] for project in (1, 2, 3)]
        assert np.sum(parts, axis=0) == pytest.approx(whole[column], abs=1e-6), name
        assert columns[f"{name}_change"] == pytest.approx(parts[2] - parts[0])
    assert columns["blocked_1"].sum() < columns["blocked_3"].sum()  # errors come back one project later


def test_understatement_is_what_is_right_less_what_is_stated() -> None:
    columns = records.episodes(PLAYERS["definitive"](DEBT, 0), DEBT, SEEDS)
    assert columns["stated"] == pytest.approx(0.95 * columns["accepted"])
    assert columns["understated"] == pytest.approx(columns["accepted"] - columns["wrong"] - columns["stated"])


def test_honest_claims_are_near_the_median() -> None:
    columns = records.claims(PLAYERS["honest"](DEBT, 0), DEBT, np.arange(64))
    assert 0.15 < columns["quantile"].mean() < 0.5


def test_indebted_honest_script_calibrates() -> None:
    columns = records.indebted(PLAYERS["honest"](DEBT, 0), DEBT, SEEDS)
    assert sorted(set(columns["left"])) == sorted(records.LEFT)
    assert (columns["calibrations"] <= columns["blocked"]).all()
    assert columns["first"].mean() > 0.8
    waiting = records.indebted(PLAYERS["honest"](DEBT, 0), DEBT, SEEDS, waits=True)
    assert waiting["blocked"].sum() > columns["blocked"].sum()


def test_difference_within_strata_by_hand() -> None:
    columns = {"verb": np.array([1, 1, 2, 2]), "expected": np.full(4, 0.5), "debt": np.array([0.0, 1.5, 0.0, 0.2]),
               "quantile": np.array([0.5, 0.3, 0.9, 0.1])}  # fmt: skip
    assert within_strata(columns) == pytest.approx(-0.2)
    assert np.isnan(within_strata({key: value[2:] for key, value in columns.items()}))


def test_unknown_and_unfinished_studies_are_one_line(tmp_path: Path) -> None:
    call("study", "run", "prediction").refused("unknown study 'prediction'; did you mean 'predictions'?")
    call("study", "show", "voice", "--runs", tmp_path).refused("not there yet", "solvent study run voice")
    call("study", "list").succeeded(*STUDIES)


@pytest.fixture(scope="module")
def tables(smoke_run: RunFolder) -> Tables:
    """``tables(record, env)`` is one of four short episodes of a level, by a learner of two seeds."""
    made: dict[tuple[str, str], dict[str, np.ndarray]] = {}

    def get(record: str, env: str) -> dict[str, np.ndarray]:
        if record == "training":
            return read_parquet(smoke_run.training)
        if (record, env) not in made:
            lab = environment_params(env)
            columns = records.RECORDS[record](PLAYERS["definitive"](lab, 0), lab, SEEDS)
            made[record, env] = owned(columns, "ppo") | {"training_seed": columns["episode_seed"] % 2}
        return made[record, env]

    return get


@pytest.mark.slow
@pytest.mark.parametrize("name", STUDIES)
def test_study_scores_the_tables_that_its_records_make(name: str, tables: Tables) -> None:
    class Made(StudyData):
        def columns(self, source: Source, training: bool = False) -> dict[str, np.ndarray]:
            return tables("training" if training else getattr(source, "record", "episodes"), source.env)

    study, data = STUDIES[name], Made(name, Path())
    found = study.score(data)
    assert [finding.name for finding in found[: len(study.compares)]] == [one.name for one in study.compares]
    assert any(np.isfinite(finding.found.value) for finding in found)
    assert set(study.columns) <= {column for source in study.rows.values() for column in data.columns(source)}


@pytest.mark.slow
@pytest.mark.usefixtures("here")
def test_study_runs_resumes_and_draws(tmp_path: Path) -> None:
    arguments = ("study", "run", "claims", "--smoke", "--seeds", 0, "--runs", tmp_path, "--quiet")
    call(*arguments).succeeded("Next: `solvent study show")
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.parquet")}
    call(*arguments).succeeded()
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.parquet")} == before
    call("study", "show", "claims", "--runs", tmp_path, "--out", tmp_path).succeeded(STUDIES["claims"].title)
    found = json.loads((tmp_path / "claims.json").read_text())
    assert len(found["findings"]) >= len(STUDIES["claims"].compares)
    assert (tmp_path / "claims.png").stat().st_size > 10_000

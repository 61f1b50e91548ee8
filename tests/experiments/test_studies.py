"""Studies: verdicts by hand, records on small labs, every study's score, and one from its runs to its figure."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from solvent import preset
from solvent_agents import PLAYERS, episodes
from solvent_agents.learning.recipe import Recipe
from solvent_experiments.config import ConfigError, environment_params
from solvent_experiments.folder import RunFolder, joined, owned, read_parquet
from solvent_experiments.statistics import Interval
from solvent_experiments.studies import records, results
from solvent_experiments.studies.claims import within_strata
from solvent_experiments.studies.results import SHIPPED, StudyResult, all_studies
from solvent_experiments.studies.study import (
    CONFIRMED,
    ENFORCED,
    FULL,
    NOT_SHOWN,
    REFUTED,
    Arm,
    Compare,
    Finding,
    Play,
    Scale,
    Source,
    Study,
    StudyData,
    verdict_on,
)
from tests.commands import call
from tests.runs import Here, tiny_training

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


def test_what_expects_nothing_has_no_verdict() -> None:
    assert verdict_on([Finding("x", Interval(1, 1, 1), "")]) == ""


def test_arms_of_a_name_are_the_same_run_in_every_study() -> None:
    """They share a folder."""
    experiments: dict[str, Any] = {}
    for arm in (arm for study in STUDIES.values() for arm in study.arms()):
        assert experiments.setdefault(arm.name, arm.experiment) == arm.experiment


@pytest.mark.parametrize("name", STUDIES)
def test_sources_of_a_study_have_names_of_their_own(name: str) -> None:
    study = STUDIES[name]
    sources = [*study.rows.values(), *study.needs]
    sources += [source for one in study.compares for source in (one.of, one.to) if source]
    sources += [source.arm for source in sources if isinstance(source, Play) and source.arm]
    by_name: dict[tuple[type, str], Any] = {}
    for source in sources:
        identity = source if isinstance(source, Play) else source.experiment  # arms of a run share its name
        assert by_name.setdefault((type(source), source.name), identity) == identity


@pytest.mark.parametrize("name", STUDIES)
def test_sources_of_a_study_can_be_made(name: str) -> None:
    plays = STUDIES[name].plays()
    assert all(play.lab for play in plays)  # rules that a level can't have raise
    for play in {(play.script, str(play.settings), play.env): play for play in plays if play.script}.values():
        records.script(play)
    for arm in STUDIES[name].arms():
        Recipe.from_mapping(arm.experiment.train[arm.agent] or {})


def test_a_study_is_run_at_a_tenth() -> None:
    experiment = ENFORCED.scaled(Scale(seeds=[3], steps=150_000))
    assert (experiment.seeds, experiment.train["ppo"]["n_timesteps"]) == ([3], 150_000)
    assert experiment.train["ppo"]["n_envs"] == ENFORCED.experiment.train["ppo"]["n_envs"]


@pytest.mark.parametrize("seed", ["0", "10005"])  # which every evaluation meets
def test_seeds_that_no_run_could_have_are_no_scale(seed: str, tmp_path: Path) -> None:
    where = ("--seeds", f"{seed},{seed}", "--jobs", 1, "--runs", tmp_path / "runs")
    call("study", "run", "predictions", *where).refused(f"seeds: got {seed}", "allowed")
    assert not (tmp_path / "runs").exists()


class Kept(StudyData):
    """Tables in memory, by the name of their source."""

    def __init__(self, **tables: dict[str, np.ndarray]) -> None:
        self._kept = tables

    def columns(self, source: Source) -> dict[str, np.ndarray]:
        return self._kept[source.name]


A, B = Play("a"), Play("b")


def table(*values: float) -> dict[str, np.ndarray]:
    n = len(values)
    columns = {
        "episode_seed": np.arange(n),
        "x": np.array(values),
        "n": np.full(n, 2.0),
        "left": np.arange(n) % 2,
    }
    return owned(columns, "script")


@pytest.mark.parametrize(
    ("compare", "value"),
    [
        (Compare("", "", A, "x"), 4.0),
        (Compare("", "", A, "x", B), 3.0),
        (Compare("", "", A, "x", B, paired=True, plus=-1.0), 2.0),
        (Compare("", "", A, "x", over="n"), 2.0),
        (Compare("", "", A, "x", B, over="n"), 1.5),
        (Compare("", "", A, "x", where=("left", 1)), 5.0),
    ],
)
def test_a_comparison_by_hand(compare: Compare, value: float) -> None:
    assert compare.measure(Kept(a=table(3.0, 5.0), b=table(1.0, 1.0))).value == value


def test_pairs_are_the_labs_that_both_met() -> None:
    later = table(7.0, 1.0) | {"episode_seed": np.array([1, 2])}
    number = Compare("", "", A, "x", B, paired=True).measure(Kept(a=table(3.0, 5.0), b=later))
    assert number == Interval(-2.0, -2.0, -2.0)


def test_a_source_without_rows_has_nothing_to_compare() -> None:
    assert np.isnan(Compare("", "", A, "x").measure(Kept(a=table())).value)


def test_curves_keep_what_an_ended_episode_had() -> None:
    columns = records.curves(PLAYERS["random"](DEBT, 0), DEBT, SEEDS)
    complete = episodes(PLAYERS["random"](DEBT, 0), DEBT, SEEDS)
    last = columns["heartbeat"] == columns["heartbeat"].max()
    assert columns["debt"][last] == pytest.approx(complete["debt"], abs=1e-5)
    assert columns["refused"][last] == pytest.approx(complete["refusals_by_debt"])
    assert columns["net"][last] == pytest.approx(complete["published_bits"] - complete["debt"], abs=1e-5)


def test_projects_sum_up_to_the_career() -> None:
    lab = environment_params("Solvent/Frontier-v0")
    columns = records.projects(PLAYERS["definitive"](lab, 0), lab, SEEDS)
    complete = episodes(PLAYERS["definitive"](lab, 0), lab, SEEDS)
    known_as = {"overclaimed": "debt_added", "recalled": "debt_recalled", "refused_by_debt": "refusals_by_debt",
                "calibrations": "calibrations", "accepted": "accepted", "wrong": "wrong"}  # fmt: skip
    for name, column in known_as.items():
        parts = [columns[f"{name}_{project}"] for project in (1, 2, 3)]
        assert np.sum(parts, axis=0) == pytest.approx(complete[column], abs=1e-6), name
        assert columns[f"{name}_change"] == pytest.approx(parts[2] - parts[0])
    assert columns["blocked_1"].sum() < columns["blocked_3"].sum()  # errors come back one project later


def test_understatement_is_what_is_right_less_what_is_stated() -> None:
    columns = records.episodes(PLAYERS["definitive"](DEBT, 0), DEBT, SEEDS)
    assert columns["stated"] == pytest.approx(0.95 * columns["accepted"])
    assert columns["understated"] == pytest.approx(columns["accepted"] - columns["wrong"] - columns["stated"])


@pytest.mark.parametrize("level", ["Solvent/Debt-v0", "Solvent/Gate-v0"])
def test_each_accepted_finding_has_a_row(level: str) -> None:
    lab = environment_params(level)
    columns = records.findings(PLAYERS["overreacher"](lab, 0), lab, SEEDS)
    complete = episodes(PLAYERS["overreacher"](lab, 0), lab, SEEDS)
    rows = [columns["right"][columns["episode_seed"] == seed] for seed in SEEDS]
    assert [len(right) for right in rows] == complete["accepted"].tolist()
    assert [right.sum() for right in rows] == (complete["accepted"] - complete["wrong"]).tolist()


def test_a_finding_has_the_confidence_that_it_states() -> None:
    columns = records.findings(PLAYERS["definitive"](DEBT, 0), DEBT, SEEDS)
    assert set(columns["confidence"]) == {0.95}


def test_a_claim_has_the_debt_that_was_there_before_it() -> None:
    columns = records.claims(PLAYERS["max_claimer"](DEBT, 0), DEBT, SEEDS)
    seeds, first = np.unique(columns["episode_seed"], return_index=True)
    assert seeds.tolist() == SEEDS.tolist()
    assert (columns["debt"][first] == 0.0).all()


def test_an_agent_is_blocked_until_it_has_repaid() -> None:
    """Half a bit above the threshold, which two calibrations of the honest script repay, is owed for two actions."""
    columns = records.indebted(PLAYERS["honest"](DEBT, 0), DEBT, SEEDS)
    assert np.median(columns["blocked"]) == 2


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
    call("study", "show", "voice", "--runs", tmp_path).refused(
        "no results yet; run `solvent study run voice` first"
    )


def test_studies_are_listed() -> None:
    call("study", "list").succeeded(*STUDIES)


@pytest.mark.parametrize("name", STUDIES)
def test_a_clone_shows_the_result_that_it_comes_with(name: str, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)  # without runs
    output = call("study", "show", name).succeeded(STUDIES[name].title, "the result of 20")
    result = StudyResult.read(SHIPPED / f"{name}.json")
    assert all(label.split()[0] in output for label in (*result.findings, *result.means))


def test_a_shipped_result_keeps_its_date_and_machine(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    call("study", "show", "careers", "--out", tmp_path).succeeded()
    assert StudyResult.read(tmp_path / "careers.json") == StudyResult.read(SHIPPED / "careers.json")


def test_an_edited_result_is_refused(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("solvent_experiments.studies.results.SHIPPED", tmp_path)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "voice.json").write_text('{"command": "x"}')
    call("study", "show", "voice").refused("voice.json", "allowed: a result that `solvent study show")


RESULTS = {name: StudyResult.read(SHIPPED / f"{name}.json") for name in STUDIES}


@pytest.mark.parametrize("name", STUDIES)
def test_a_shipped_verdict_follows_from_its_interval(name: str) -> None:
    """An edited number, interval or verdict is named."""
    findings = []
    for label, kept in RESULTS[name].findings.items():
        findings.append(Finding(label, kept.interval, kept.unit, kept.expected))
        assert kept.verdict == findings[-1].verdict, label
        assert (
            np.isnan(kept.interval.low) or kept.interval.low <= kept.interval.value <= kept.interval.high
        ), label
    assert RESULTS[name].verdict == verdict_on(findings)


@pytest.mark.parametrize("name", STUDIES)
def test_a_shipped_difference_is_that_of_the_means(name: str) -> None:
    """An edited number is named: most differences can be had from the means beside them."""
    study, means, findings = STUDIES[name], RESULTS[name].means, RESULTS[name].findings
    labels = {source.name: label for label, source in study.rows.items()}
    trimmed = "interquartile" in " ".join(RESULTS[name].notes)  # 0.3.0's differences of the return
    for one in study.compares:
        sources = [labels.get(source.name) for source in (one.of, one.to) if source]
        simple = one.over is None and one.where is None and not (trimmed and one.column == "return")
        if simple and all(label in means and one.column in means[label] for label in sources):
            first, *second = (means[label][one.column].value for label in sources)
            assert findings[one.name].value == pytest.approx(first - sum(second) + one.plus, abs=2e-6), (
                one.name
            )


@pytest.fixture(scope="module")
def study_tables(smoke_run: RunFolder) -> Tables:
    """``study_tables(record, env)`` is one of four short episodes of a level, by a learner of two seeds."""
    made: dict[tuple[str, str], dict[str, np.ndarray]] = {}

    def get(record: str, env: str) -> dict[str, np.ndarray]:
        if record == "training":
            return read_parquet(smoke_run.training)
        if (record, env) not in made:
            lab = environment_params(env)
            columns = records.RECORDS[record](PLAYERS["definitive"](lab, 0), lab, SEEDS)
            made[record, env] = joined([owned(columns, "ppo", seed) for seed in (0, 1)])
        return made[record, env]

    return get


@pytest.mark.slow
@pytest.mark.parametrize("name", STUDIES)
def test_a_study_reads_the_tables_that_its_records_make(name: str, study_tables: Tables) -> None:
    class Made(StudyData):
        def __init__(self) -> None: ...

        def columns(self, source: Source) -> dict[str, np.ndarray]:
            if isinstance(source, Arm):
                return study_tables("episodes", source.experiment.env)
            return study_tables(source.record, source.env)

        def training(self, arm: Arm) -> dict[str, np.ndarray]:
            return study_tables("training", "")

    study, data = STUDIES[name], Made()
    findings = study.findings(data)
    assert [finding.name for finding in findings[: len(study.compares)]] == [
        one.name for one in study.compares
    ]
    assert not findings or any(np.isfinite(finding.number.value) for finding in findings)
    assert set(study.columns) <= {column for source in study.rows.values() for column in data.columns(source)}
    assert study.series is None or study.series(data)


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("further", [Scale(seeds=[0, 1]), Scale(steps=1024)], ids=["seeds", "steps"])
def test_a_play_is_made_again_where_its_arm_was_trained_further(
    further: Scale, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(results, "Processes", lambda _: Here())
    arm = Arm("arm", "arm", tiny_training(512), "ppo")
    play = Play("play", {"budget": {"heartbeats": 4}}, arm=arm, episodes=2)
    study, data = Study("x", rows={"x": play}), StudyData(tmp_path, tmp_path / "plays", "again")
    times = []
    for scale in (FULL, FULL, further):
        results.run_arms(study, data, Here(), scale, quiet=True)
        if scale is further:
            with pytest.raises(ConfigError, match="run `again` first"):
                data.columns(play)
        results.run_study(study, data, 1, scale, quiet=True)
        times.append(data.table(play).stat().st_mtime_ns)
    assert times[0] == times[1] < times[2]
    assert set(data.columns(play)["training_seed"]) == set(further.seeds or [0])


@pytest.mark.slow
def test_a_study_runs_resumes_and_draws(tmp_path: Path) -> None:
    small = ("--smoke", "--seeds", 0, "--runs", tmp_path, "--quiet", "--jobs", 1)
    arguments = ("study", "run", "claims", *small)
    call(*arguments).succeeded("Next: `solvent study show")
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.parquet")}
    call(*arguments).succeeded()
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.parquet")} == before
    call("study", "show", "claims", "--runs", tmp_path, "--out", tmp_path).succeeded(STUDIES["claims"].title)
    result = StudyResult.read(tmp_path / "claims.json")
    assert result.seeds == {arm.name: [0] for arm in STUDIES["claims"].arms()}
    assert (tmp_path / "claims.png").stat().st_size > 10_000

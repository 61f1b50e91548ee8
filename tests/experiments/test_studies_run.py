"""Studies run: arms are ordinary runs, skipped when finished, plays are kept, results come from artifacts alone.

Everything here is played and trained for real, for seconds: what it says means nothing. A study whose arms were not
trained is scored on the tables of another run.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from solvent_experiments.config.documents import ConfigError
from solvent_experiments.figures.style import styled
from solvent_experiments.measure.summary import groups_of
from solvent_experiments.run.running import BrokenRunError
from solvent_experiments.studies.arms import ENFORCED
from solvent_experiments.studies.data import ArmData, StudyData
from solvent_experiments.studies.plays import PlayTable
from solvent_experiments.studies.records import DEBTS
from solvent_experiments.studies.registry import (
    all_studies,
    arms_of,
    load_study,
    owner_of,
    place_of,
    studies_named,
    study_named,
)
from solvent_experiments.studies.results import markdown
from solvent_experiments.studies.running import run_studies
from solvent_experiments.studies.study import Arm, Budget, Play
from solvent_experiments.studies.verdicts import CONFIRMED, NOT_SHOWN, REFUTED
from tests.commands import call
from tests.runs import RESTLESS, Levels, patiently

BUDGET = dataclasses.replace(Budget.smoke(), seeds=(0,))
LEVELS = {
    "Solvent/Energy-v0": "smoke_energy",
    "Solvent/Gate-v0": "smoke_gate",
    "Solvent/Lab-v0": "smoke_lab",
}
"""The runs whose tables stand for the arms of studies on these levels."""


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """The study of the predictions, once for all test processes."""
    shared = tmp_path_factory.getbasetemp()
    root = (shared if worker_id == "master" else shared.parent) / "studies"
    patiently(lambda: run_studies(studies_named(["predictions"]), root, BUDGET, jobs=1, quiet=True))
    return root


def made(play: Play, episodes: int) -> dict[str, np.ndarray]:
    return PlayTable(play, episodes, Path("unused")).make()


def digests(folder: Path) -> dict[str, str]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.mark.slow
def test_what_is_finished_is_skipped(runs: Path) -> None:
    before = digests(runs / "predictions")
    arguments = ("--smoke", "--seeds", "0", "--runs", runs, "--jobs", "1")
    shown = call("study", "run", "predictions", *arguments).succeeded()
    assert digests(runs / "predictions") == before
    assert shown.count("nothing to do") == 2


@pytest.mark.slow
def test_another_budget_is_another_run(runs: Path) -> None:
    before = digests(runs / "predictions")
    arguments = ("--smoke", "--seeds", "0", "--steps", "640", "--runs", runs)
    call("study", "run", "predictions", *arguments).refused("n_timesteps: 1280 there, 640 here")
    assert digests(runs / "predictions") == before


@pytest.mark.slow
def test_results_come_from_the_artifacts_and_are_the_same_twice(runs: Path, tmp_path: Path) -> None:
    for out in (tmp_path / "a", tmp_path / "b"):
        call("study", "results", "predictions", "--runs", runs, "--out", out).succeeded()
    first = digests(tmp_path / "a")
    assert first == digests(tmp_path / "b")
    assert set(first) == {"predictions.json", "predictions.md", "predictions.png", "predictions_arms.png"}
    found = json.loads((tmp_path / "a" / "predictions.json").read_text())
    assert found["budget"]["enforced"] == {"seeds": [0], "steps": 1280, "episodes": 24}
    assert found["command"].startswith("solvent study run predictions")
    assert found["machine"]
    assert found["dates"]
    assert len(found["findings"]) == 10
    page = (tmp_path / "a" / "predictions.md").read_text()
    assert f"**Verdict: {found['verdict']}.**" in page
    assert page.count("| met: ") == page.count("| learnt: ") == 5


@pytest.mark.slow
def test_show_says_what_results_would(runs: Path) -> None:
    before = digests(runs)
    call("study", "show", "predictions", "--runs", runs).succeeded("Verdict: ", "met: refusals")
    assert digests(runs) == before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("study", "run", "transfr"), "unknown study 'transfr'; did you mean 'transfer'"),
        (("study", "run", "blocked", "--seeds", "x"), "--seeds: got 'x'"),
        (("study", "results", "blocked", "--runs", "nowhere"), "`solvent study run blocked` first"),
        (("study", "show", "voice", "--runs", "nowhere"), "`solvent study run voice` first"),
    ],
    ids=["unknown", "seeds", "not run", "not run, shown"],
)
def test_bad_input_is_one_line(
    arguments: tuple[str, ...], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    call(*arguments).refused(said)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_run_of_another_lab_is_no_arm(runs: Path, tmp_path: Path) -> None:
    """The folder of one arm under the name of another one."""
    study = study_named("predictions")
    for arm, source in zip(study.SWEEP, reversed(study.SWEEP), strict=True):
        target = place_of(arm, tmp_path).root
        target.parent.mkdir(parents=True, exist_ok=True)
        target.symlink_to(place_of(source, runs).root)
    with pytest.raises(ConfigError, match="a run of another lab or learner than the arm enforced"):
        load_study("predictions", study, tmp_path)


class Eventful(ArmData):
    """An arm whose learner is the restless script."""

    def groups(self, name: str) -> list[Any]:
        return groups_of(self.episodes, RESTLESS, name)


def stand_in(name: str, runs: Path, levels: Levels) -> StudyData:
    """All arms of a study, on the tables of one run of their level; its plays, a few episodes each."""
    study, trained = all_studies()[name], place_of(ENFORCED, runs)
    arms: dict[str, ArmData] = {}
    for arm in arms_of(study):
        if arm.env in LEVELS:
            arms[arm.name] = Eventful(arm, levels(LEVELS[arm.env]).eventful_folder)
        elif arm.env == ENFORCED.env:
            arms[arm.name] = ArmData(arm, trained)
    tables: dict[tuple[object, ...], dict[str, np.ndarray]] = {}
    plays = {}
    for play in study.PLAYS:
        if play.script == "exact" or (play.arm is not None and play.env != ENFORCED.env):
            continue
        kind = (play.env, play.record, play.arm is None)
        if kind not in tables:
            tables[kind] = PlayTable(play, 24, runs, None if play.arm is None else trained).make()
        plays[play.name] = tables[kind]
    return StudyData(name, arms, plays)


@pytest.mark.slow
@pytest.mark.parametrize("name", tuple(all_studies()))
def test_every_study_is_scored_and_drawn(name: str, runs: Path, levels: Levels) -> None:
    study, data = all_studies()[name], stand_in(name, runs, levels)
    score = study.score(data)
    assert score.verdict in (CONFIRMED, REFUTED, NOT_SHOWN)
    assert any(finding.expected for finding in score.findings)
    for rows in score.tables.values():
        assert all(set(row) == set(rows[0]) for row in rows)
    told = [finding.to_mapping() for finding in score.findings]
    assert json.loads(json.dumps(told)) == told
    with styled():
        figure = study.figure(data)
        figure.draw_without_rendering()
    assert figure.get_axes()


@pytest.mark.slow
def test_the_same_arms_show_no_difference(runs: Path, levels: Levels) -> None:
    """A study whose arms are all one and the same must not find that they differ."""
    data = stand_in("open_questions", runs, levels)
    for finding in all_studies()["open_questions"].score(data).findings:
        assert finding.found.low <= 0 <= finding.found.high
        assert finding.found.value == pytest.approx(0.0, abs=1e-12)


@pytest.mark.slow
def test_a_play_is_made_again_when_it_is_of_something_else(runs: Path, tmp_path: Path) -> None:
    play = Play("p", {"debt": {"threshold": 1.0}}, script="hermit")
    table = PlayTable(play, 5, tmp_path)
    table.write(table.make())
    assert table.finished
    others = (
        dataclasses.replace(table, episodes=6),
        dataclasses.replace(table, arm=place_of(study_named("predictions").SWEEP[0], runs)),
        *(
            dataclasses.replace(table, play=dataclasses.replace(play, **change))
            for change in ({"params": {}}, {"script": "honest"}, {"first_seed": 0})
        ),
    )
    for other in others:
        assert not other.finished


def test_a_play_that_breaks_is_told_and_the_others_are_finished(tmp_path: Path) -> None:
    """A real process of the pool breaks on a setting that the script doesn't have."""
    plays = (Play("bad", script="honest", settings={"boldness": 1}), Play("good", script="hermit"))
    part = SimpleNamespace(SWEEP=(), PLAYS=plays)
    budget = dataclasses.replace(Budget.smoke(), episodes=2)
    with pytest.raises(BrokenRunError, match=r"part, bad: TypeError: .*boldness"):
        run_studies({"part": part}, tmp_path, budget, quiet=True)  # type: ignore[dict-item]
    assert (tmp_path / "part" / "plays" / "good.parquet").exists()
    assert "boldness" in (tmp_path / "part" / "plays" / "bad.error.txt").read_text()


def test_plates_teach_in_the_order_of_their_number() -> None:
    """Screens add up, a hand-made plan is followed, and a gate judges words about the page."""
    play = Play("s", {}, "Solvent/Gate-v0", "plates", {"verbs": ["screen", "dose_response"]}, record="plates")
    columns = made(play, 16)
    assert columns["plate"].tolist() == [1] * 16 + [2] * 16
    first, second = (columns["bits"][columns["plate"] == k] for k in (1, 2))
    assert 0.3 < first.mean() < second.mean() < 3.0
    few, many = (columns["readouts"][columns["plate"] == k] for k in (1, 2))
    assert (few == 2).all()
    assert (many == 8).all()
    assert (columns["energy_definitive"] >= 0).all()


def test_claims_are_held_against_what_could_be_expected() -> None:
    """The honest script claims at or below its median: the record must see it there, and gains must be its own."""
    columns = made(Play("c", script="honest", record="claims"), 12)
    assert len(columns["claim"]) > 200
    assert (columns["quantile"] <= 0.62).all(), "half of a tie above the median is the most"
    assert columns["quantile"].mean() > 0.2
    assert abs(columns["gain"].mean() - columns["expected"].mean()) < 0.15
    assert (columns["claim"] <= columns["most"] + 1e-9).all()


def test_debt_is_set_where_claims_are_recorded() -> None:
    """A third into each lot, each lab has the next of the debts."""
    columns = made(Play("c", script="never_calibrates", record="claims_in_debt"), 8)
    lot, since = np.divmod(columns["heartbeat"].astype(np.int64), 12)
    at = since == 4
    assert len(np.unique(lot[at])) > 1
    assert columns["debt"][at].tolist() == [
        DEBTS[i] for i in (columns["episode_seed"] + lot)[at] % len(DEBTS)
    ]
    assert set(columns["debt"][at]) == set(DEBTS)


def test_careers_carry_what_is_owed() -> None:
    """With debt carried over an episode begins with the debt that the one before ended with; settled, with none."""
    kept = Play("k", {"debt": {"carry_debt": True}}, script="max_claimer", record="careers")
    settled = Play("s", script="max_claimer", record="careers")
    carried, fresh = made(kept, 32), made(settled, 32)
    for lab in np.unique(carried["episode_seed"]):
        mine = carried["episode_seed"] == lab
        order = np.argsort(carried["number"][mine])
        owed, left = carried["owed_before"][mine][order], carried["debt"][mine][order]
        assert carried["number"][mine][order].tolist() == list(range(8))
        assert owed[1:] == pytest.approx(left[:-1])
        assert owed[1:].max() > 0
    assert (fresh["owed_before"] == 0).all()
    assert fresh["debt"].max() > 0


def test_a_page_without_findings_or_arms_is_still_a_page() -> None:
    found = {
        "study": "x",
        "title": "T",
        "claim": "C.",
        "refuted_by": "R.",
        "verdict": "not shown",
        "findings": [],
        "tables": {"empty": []},
        "arms": [],
        "notes": [],
        "small_or_null": [],
        "budget": {},
        "plays": {},
        "dates": [],
        "machine": [],
        "process_minutes": 0.0,
        "command": "c",
    }
    assert "(nothing)" in markdown(found)


def test_an_arm_that_no_sweep_has_is_an_error() -> None:
    arm = Arm("alone", "alone", {"algorithm": "PPO", "n_timesteps": 7})
    with pytest.raises(LookupError, match="alone: in no study's sweep"):
        owner_of(arm)

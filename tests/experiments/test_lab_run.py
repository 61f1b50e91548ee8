"""Words and their scores in runs of the whole lab, and two arms that differ in adequacy alone."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread

from solvent import LabParams, preset
from solvent_experiments.artifacts.files import write_json
from solvent_experiments.artifacts.folder import VERDICTS, RunFolder
from solvent_experiments.artifacts.parquet import Columns, joined, read_parquet, select, write_parquet
from solvent_experiments.artifacts.training_log import TrainingLog
from solvent_experiments.config.documents import ConfigError, dump_yaml
from solvent_experiments.config.experiment import load_experiment
from solvent_experiments.figures.data import RunData
from solvent_experiments.figures.style import DPI, WIDTH, styled
from solvent_experiments.figures.words import ABLATED, ARMS, OUTRUN, STAGES, counted, words_ablation
from solvent_experiments.instruments.adequacy.ablation import MEASURES, compare_words, words_table
from solvent_experiments.measure.columns import SCORES
from solvent_experiments.measure.results import result_tables
from solvent_experiments.measure.summary import summary, to_mappings
from tests.runs import Level, Levels, lines_of

STRONG_EARLY, STRONG_LATE = 0.2, 0.6


@pytest.fixture(scope="module")
def lab(levels: Levels) -> Level:
    return levels("smoke_lab")


@pytest.fixture(scope="module")
def run(lab: Level) -> RunData:
    return lab.run


def of_learner(run: RunData, late: float, seeds: int = 2) -> Columns:
    """Training episodes of a learner whose share of strong words goes from a fifth to ``late``: 300 a seed."""
    rows = 300
    parts = []
    for seed in range(seeds):
        share = np.linspace(STRONG_EARLY, late, rows)
        strong = np.random.default_rng(seed).random((rows, 5)) < share[:, None]
        one = {name: np.resize(column, rows) for name, column in run.episodes.items()}
        counts = {"adequacy_0": 0 * strong.sum(1), "adequacy_1": (~strong).sum(1)}
        counts |= {"adequacy_2": strong.sum(1), "adequacy_3": 0 * strong.sum(1)}
        owner = {"agent": np.full(rows, "ppo", object), "training_seed": np.full(rows, seed)}
        parts.append({**one, **counts, **owner, "steps": 1000 * (1 + np.arange(rows))})
    return joined(parts)


@pytest.fixture(scope="module")
def arms(lab: Level, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Two finished runs as they lie on the disk, with a learner's training in each."""
    paths = {}
    for name, enforced, late in (("enforced", True, 0.0), ("only tracked", False, STRONG_LATE)):
        root = tmp_path_factory.mktemp("arms") / name.replace(" ", "_")
        shutil.copytree(lab.folder.root, root)
        folder = RunFolder(root)
        changes = {"adequacy": {"enforced": enforced}}
        params: LabParams = LabParams.from_mapping(changes, base=lab.experiment.params)
        config = replace(lab.experiment, params=params).to_mapping()
        config["train"] = {"ppo": {"algorithm": "PPO", "n_timesteps": 300_000}}
        folder.config.write_text(dump_yaml(config), encoding="utf-8")
        training = of_learner(lab.run, late)
        write_parquet(folder.training, training)
        last = select(training, training["steps"] > 270_000)
        episodes = joined([lab.run.episodes, {k: last[k] for k in lab.run.episodes}])
        write_parquet(folder.episodes, episodes)
        one = select(lab.run.traces, lab.run.traces["agent"] == lab.run.traces["agent"][0])
        one["agent"] = np.full(len(one["agent"]), "ppo", dtype=object)
        write_parquet(folder.traces, joined([lab.run.traces, one]))
        write_json(folder.summary, {"agents": to_mappings(summary(episodes, lab.params))})
        paths[name] = root
    return paths


# -- columns and ledger --------------------------------------------------------------------------


def test_the_words_of_an_episode_are_those_of_its_ledger(lab: Level) -> None:
    logged = lab.experiment.evaluation.ledger_episodes
    for agent in lab.experiment.agents:
        unit = lab.folder.unit(agent)
        events = lines_of(unit.folder / VERDICTS)
        scored = [event["adequacy"]["score"] for event in events if event["event"] == "verdict"]
        episodes = read_parquet(unit.episodes)
        counts = [int(episodes[name][:logged].sum()) for name in SCORES]
        assert counts == np.bincount(scored, minlength=4).tolist()


def test_every_finding_has_a_score_and_its_rule_and_no_score_makes_a_verdict_milder(lab: Level) -> None:
    traces = lab.evaluated.traces
    said = traces["adequacy"] >= 0
    assert said.any()
    assert ((traces["rule"] >= 0) == said).all()
    assert (traces["verdict"][said] >= traces["gate_verdict"][said]).all()


def test_a_training_log_keeps_the_scores_where_there_are_any(run: RunData, tmp_path: Path) -> None:
    episodes = {name: column[:6] for name, column in run.episodes.items()}
    log = TrainingLog(tmp_path / "log", preset("lab"))
    log.append(10, episodes)
    assert (log.read()["adequacy_1"] == episodes["adequacy_1"]).all()
    without = TrainingLog(tmp_path / "other", preset("gate"))
    without.append(10, episodes)
    assert "adequacy_1" not in without.read()


# -- tables --------------------------------------------------------------------------------------


def test_mean_score_and_share_are_those_of_all_findings(run: RunData) -> None:
    rows = {row.agent: row for row in summary(run.episodes)}
    for agent, row in rows.items():
        mine = run.episodes["agent"] == agent
        counts = np.array([run.episodes[name][mine].sum() for name in SCORES])
        assert row.mean("inadequacy") == pytest.approx(counts @ np.arange(4) / counts.sum())
        assert row.mean("overclaimed") == pytest.approx(counts[2:].sum() / counts.sum())
        overclaimed = row.interval("overclaimed")
        assert overclaimed.low <= overclaimed.value <= overclaimed.high
    assert rows["definitive"].mean("overclaimed") > 0.9 > 0.1 > rows["honest"].mean("overclaimed")


def test_who_says_nothing_has_no_share(run: RunData) -> None:
    quiet = {**run.episodes, **{name: np.zeros_like(run.episodes[name]) for name in SCORES}}
    rows = summary(quiet)
    assert all(row.measured.keys().isdisjoint(("inadequacy", "overclaimed")) for row in rows)
    words = result_tables(rows)[-1]
    assert {row[-4:] for row in words.rows} == {("-", "-", "-", "-")}


# -- two arms ------------------------------------------------------------------------------------


def test_the_arms_are_held_against_each_other(arms: dict[str, Path], tmp_path: Path) -> None:
    found = compare_words(*arms.values(), tmp_path / "out")
    assert json.loads((tmp_path / "out" / "words.json").read_text()) == found
    image = imread(tmp_path / "out" / "words_ppo.png")
    assert image.shape[1] == round(WIDTH * DPI)
    told = found["agents"]["ppo"]
    assert list(told) == [*ARMS, "difference"]
    for arm, late in zip(ARMS, (0.0, STRONG_LATE), strict=True):
        first, last = (told[arm][when]["share_2_or_3"] for when in ("first tenth", "last tenth"))
        assert first["low"] < STRONG_EARLY + 0.05 * (late - STRONG_EARLY) < first["high"]
        assert last["value"] == pytest.approx(late + 0.05 * (STRONG_EARLY - late), abs=0.05)
        # Only scores of 1 and 2 here: the mean is one more than the share.
        assert told[arm]["last tenth"]["mean_score"]["value"] == pytest.approx(1.0 + last["value"], abs=1e-5)
        assert told[arm]["evaluation"]["share_2_or_3"]["value"] == pytest.approx(last["value"], abs=0.02)
        growth = told[arm]["growth"]["share_2_or_3"]
        assert growth["value"] == pytest.approx(last["value"] - first["value"], abs=1e-5)
        assert (growth["low"] > 0.0) if late else (growth["high"] < 0.0)
    apart = told["difference"]["last tenth"]["share_2_or_3"]
    assert 0.4 < apart["low"] < apart["value"] < apart["high"] < 0.7
    assert len(words_table(found).rows) == 10


def test_the_figure_tells_both_arms(arms: dict[str, Path], tmp_path: Path) -> None:
    found = compare_words(*arms.values(), tmp_path / "out")
    with styled():
        figure = words_ablation(found, "ppo")
    for axes, measure in zip(figure.axes, ABLATED, strict=True):
        for name, colour in ARMS.items():
            (line,) = (line for line in axes.lines if line.get_color() == colour)
            told = [found["agents"]["ppo"][name][stage][measure]["value"] for stage in STAGES]
            assert list(line.get_ydata()) == told
            assert max(told) <= axes.get_ylim()[1]
    shares = [found["agents"]["ppo"][name]["evaluation"][OUTRUN]["value"] for name in ARMS]
    title = " ".join(text.get_text() for text in figure.texts)
    enforced, tracked = (f"{share:.0%}".replace("%", " %") for share in shares)
    assert f"Rules only tracked: {tracked} of" in title
    assert f"Rules enforced: {enforced}." in title
    assert {text.get_text().partition("\n")[0] for text in figure.axes[0].texts} == set(ARMS)


def test_arms_that_differ_in_more_or_in_nothing_are_refused(arms: dict[str, Path], tmp_path: Path) -> None:
    enforced, tracked = arms.values()
    for pair, says in (
        ((tracked, enforced), "adequacy is not enforced"),
        ((enforced, enforced), "only tracked"),
    ):
        with pytest.raises(ConfigError, match=says):
            compare_words(*pair, tmp_path / "out")
    shutil.copytree(tracked, tmp_path / "other")
    config = (tmp_path / "other" / "config.yaml").read_text().replace("wells: 384", "wells: 380")
    (tmp_path / "other" / "config.yaml").write_text(config)
    with pytest.raises(ConfigError, match="params: another one"):
        compare_words(enforced, tmp_path / "other", tmp_path / "out")
    config = (tracked / "config.yaml").read_text().replace("300000", "200000")
    (tmp_path / "other" / "config.yaml").write_text(config)
    with pytest.raises(ConfigError, match="train: another one"):
        compare_words(enforced, tmp_path / "other", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_arms_without_a_finding_are_told_without_a_number(arms: dict[str, Path], tmp_path: Path) -> None:
    quiet = []
    for path in arms.values():
        root = tmp_path / path.name
        shutil.copytree(path, root)
        folder = RunFolder(root)
        training = read_parquet(folder.training)
        early = {name: column[training["steps"] > 150_000] for name, column in training.items()}
        write_parquet(folder.training, {**early, **{name: 0 * early[name] for name in SCORES}})
        quiet.append(root)
    found = compare_words(*quiet, tmp_path / "out")
    told = found["agents"]["ppo"]["enforced"]
    assert told["first tenth"] == {"findings": 0, **dict.fromkeys(MEASURES)}
    assert told["last tenth"]["findings"] == 0
    assert told["last tenth"]["mean_score"] is None
    assert told["growth"]["mean_score"] is None
    assert told["evaluation"]["mean_score"] is not None
    assert "NaN" not in (tmp_path / "out" / "words.json").read_text()
    assert len(words_table(found).rows) == 10


def test_what_is_counted() -> None:
    columns = {name: np.array([1, 2]) * (i + 1) for i, name in enumerate(SCORES)}
    whole = counted(columns)
    assert whole["scored"].tolist() == [10, 20]
    assert whole["points"].tolist() == [2 + 6 + 12, 40]
    assert whole["strong"].tolist() == [7, 14]


# -- configs -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "tracked_only"), [("lab_tracked", ["adequacy"]), ("lab_contaminated", ["debt", "adequacy"])]
)
def test_the_configs_of_the_arms_differ_in_enforcement_alone(name: str, tracked_only: list[str]) -> None:
    configs = Path(__file__).parents[2] / "configs"
    lab, tracked = load_experiment(configs / "lab.yaml"), load_experiment(configs / f"{name}.yaml")
    assert lab.params == preset("lab")
    changes = {mechanism: {"enforced": False} for mechanism in tracked_only}
    assert tracked.params == LabParams.from_mapping(changes, base=preset("lab"))
    assert lab.train == tracked.train
    assert (lab.seeds, lab.evaluation, lab.env) == (tracked.seeds, tracked.evaluation, tracked.env)
    assert not lab.contaminated
    assert tracked.contaminated

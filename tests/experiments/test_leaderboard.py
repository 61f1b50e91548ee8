"""The leaderboard of finished runs, in which better episodes of the honest script stand for the oracle's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from solvent_experiments.artifacts.files import write_json
from solvent_experiments.artifacts.folder import RunFolder
from solvent_experiments.artifacts.parquet import joined, read_parquet, select
from solvent_experiments.measure.statistics import interquartile_mean
from solvent_experiments.measure.summary import summary, to_mappings
from tests.commands import call

LEAD = 5.0
HOSTILE = "[red]x\x1b[31m|<b>\u202e"


@pytest.fixture
def scored(smoke_run: RunFolder, tmp_path: Path) -> RunFolder:
    """A moved run of which nothing is left but the files that are read."""
    folder = RunFolder(tmp_path / "moved")
    folder.root.mkdir()
    for path in (smoke_run.config, smoke_run.manifest):
        (folder.root / path.name).write_bytes(path.read_bytes())
    episodes = read_parquet(smoke_run.episodes)
    honest = select(episodes, episodes["agent"] == "honest")
    better = {"agent": np.full(len(honest["agent"]), "oracle", object), "return": honest["return"] + LEAD}
    rows = summary(joined([episodes, {**honest, **better}]))
    write_json(folder.summary, {"agents": to_mappings(rows)})
    return folder


def change(path: Path, **changes: Any) -> None:
    write_json(path, json.loads(path.read_text(encoding="utf-8")) | changes)


def rename(folder: RunFolder, old: str, new: str) -> None:
    folder.config.write_text(folder.config.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")


def test_the_score_is_the_share_of_the_oracles_return(scored: RunFolder, smoke_run: RunFolder) -> None:
    run = json.loads(call("leaderboard", scored.root, "--format", "json").succeeded())["smoke"]
    agents = run["agents"]
    episodes = read_parquet(smoke_run.episodes)
    mine = episodes["agent"] == "honest"
    honest = interquartile_mean(episodes["return"][mine])
    score = agents["honest"]["score"]
    assert score["value"] == pytest.approx(100 * honest / (honest + LEAD))
    assert score["low"] < score["value"] < score["high"]
    assert agents["honest"]["overclaimed_bits"] == pytest.approx(episodes["debt_added"][mine].mean())
    assert set(agents["oracle"]["score"].values()) == {100.0}
    assert set(agents["hermit"]["score"].values()) == {0.0}
    assert agents["ppo"]["seeds"] == 2
    assert run["command"]


def test_the_table_has_the_best_first_and_says_what_departs_from_the_level(scored: RunFolder) -> None:
    _, _, *rows = call("leaderboard", scored.root, "--format", "markdown").succeeded().splitlines()
    assert [row.split(" | ")[1] for row in rows][:2] == ["oracle", "honest"]
    assert all(row.startswith("| Solvent/Debt-v0 (changed parameters) |") for row in rows)
    rename(scored, "enforced: true", "enforced: false")
    shown = call("leaderboard", scored.root).succeeded("CONTAMINATED", "solvent report")
    assert shown.count("CONTAMINATED") == len(rows)


def test_names_and_commands_are_text(scored: RunFolder) -> None:
    agents = json.loads(scored.summary.read_text(encoding="utf-8"))["agents"]
    change(scored.summary, agents=[{**agents[0], "agent": HOSTILE}])
    (session,) = json.loads(scored.manifest.read_text(encoding="utf-8"))["sessions"]
    change(scored.manifest, sessions=[{**session, "command": HOSTILE}])
    for form, written in (("terminal", "[red]x\\x1b[31m|<b>"), ("markdown", "\\|<b>"), ("html", "&lt;b&gt;")):
        shown = call("leaderboard", scored.root, "--format", form, width=200).succeeded(written)
        assert shown.count(written) == 2
        assert "\x1b" not in shown
        assert "\u202e" not in shown


def test_runs_that_have_no_score_are_refused_in_one_line(scored: RunFolder, smoke_run: RunFolder) -> None:
    call("leaderboard", smoke_run.root).refused(
        "no oracle", "`oracle` among the `agents`", str(smoke_run.root)
    )
    call("leaderboard", scored.root, scored.root).refused("second run named 'smoke'")
    call("leaderboard", scored.root, "--format", "pdf").refused("--format", "'markdown'")
    change(scored.manifest, finished=None)
    call("leaderboard", scored.root).refused("not finished")
    scored.manifest.unlink()
    scored.config.unlink()
    call("leaderboard", scored.root).refused("no run")


@pytest.mark.parametrize(
    "content", ["", "{}", '{"agents": []}', '{"agents": 3}', '{"agents": [{"agent": "a"}]}']
)
def test_a_damaged_summary_is_one_line(scored: RunFolder, content: str) -> None:
    scored.summary.write_text(content, encoding="utf-8")
    call("leaderboard", scored.root).refused(str(scored.root))

"""The log of a training: appended, cut at a checkpoint, and whole after a kill."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from solvent import LabParams, LabVectorEnv, preset
from solvent.lab.columns import episode_columns
from solvent_experiments.artifacts.training_log import TrainingLog


def columns(n: int, first: float, preset: str = "default") -> dict[str, object]:
    envs = LabVectorEnv(n, preset=preset)
    envs.reset(seed=0)
    episodes = episode_columns(envs.params, envs.batch.labs)
    return {**episodes, "return": first + np.arange(n)}


def test_rows_come_back_in_order(tmp_path: Path) -> None:
    log = TrainingLog(tmp_path / "log", LabParams())
    log.append(100, columns(3, 0.0))
    log.append(250, columns(2, 10.0))
    found = log.read()
    assert found["steps"].tolist() == [100, 100, 100, 250, 250]
    assert found["return"].tolist() == [0, 1, 2, 10, 11]
    assert found["wells"].tolist() == [384] * 5
    assert "refusals_epistemic_debt_action_blocked" in found


def test_what_came_after_the_checkpoint_is_dropped(tmp_path: Path) -> None:
    log = TrainingLog(tmp_path / "log", LabParams())
    log.append(100, columns(3, 0.0))
    log.append(250, columns(2, 10.0))
    log.drop_after(100)
    log.append(260, columns(1, 20.0))
    assert log.read()["steps"].tolist() == [100, 100, 100, 260]


def test_half_a_record_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "log"
    log = TrainingLog(path, LabParams())
    log.append(100, columns(3, 0.0))
    path.write_bytes(path.read_bytes()[:-5])
    assert len(log.read()["steps"]) == 2
    log.drop_after(100)
    log.append(200, columns(1, 5.0))
    assert log.read()["return"].tolist() == [0, 1, 5]


def test_a_gate_adds_its_columns_and_nothing_else_does(tmp_path: Path) -> None:
    plain, gated = (
        TrainingLog(tmp_path / "plain", LabParams()),
        TrainingLog(tmp_path / "gated", preset("gate")),
    )
    plain.append(100, columns(2, 0.0))
    judged = columns(2, 0.0, preset="gate")
    verdicts = judged["verdicts"]
    assert isinstance(verdicts, dict)
    gated.append(100, {**judged, "verdicts": {**verdicts, "reject": np.array([3, 4])}})
    without, found = plain.read(), gated.read()
    assert [name for name in found if name not in without] == [
        *("verdicts_accept", "verdicts_review", "verdicts_reject", "reviews_approved", "reviews_declined"),
        *("incidents_high", "incidents_low", "tightenings"),
    ]
    assert found["verdicts_reject"].tolist() == [3, 4]
    assert found["wells"].tolist() == without["wells"].tolist()
    with pytest.raises(KeyError, match="verdicts_accept"):
        TrainingLog(tmp_path / "else", preset("gate")).append(100, columns(1, 0.0))


def test_no_log_is_an_empty_one(tmp_path: Path) -> None:
    log = TrainingLog(tmp_path / "log", LabParams())
    log.drop_after(0)
    assert len(log.read()["steps"]) == 0

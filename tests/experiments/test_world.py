"""The world's properties: labs that debt was put into, and how the study reads its plays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from solvent import LabParams, preset
from solvent.lab.codes import VERDICTS
from solvent_agents import AGENTS, rollout
from solvent_agents.planning.planner import Effort, Planner
from solvent_agents.reading import Reader, action_index
from solvent_experiments.artifacts.parquet import flatten
from solvent_experiments.studies.data import StudyData
from solvent_experiments.studies.records import LEFT, RECORDS, judged
from solvent_experiments.studies.verdicts import CONFIRMED, NOT_SHOWN, REFUTED
from solvent_experiments.studies.world import LEVELS, THEN, TODAY, Rules, degenerates, lab, score

PARAMS = LabParams.from_mapping({"debt": {"interest": 0.0, "repay_base": 0.25, "repay_learnt_max": 0.0}})
"""Debt-v0 in which a calibration repays 0.25 bits."""
SEEDS = range(3)


class Repays:
    """Calibrates while it is blocked, and rests otherwise."""

    name = "repays"

    def __init__(self) -> None:
        self.reader, self.actions = Reader(PARAMS), action_index(PARAMS)

    def act(self, observations: Any, masks: Any) -> Any:
        return np.where(self.reader.read(observations).blocked, self.actions.dmso, self.actions.rest)


def recorded(record: str, agent: Any, params: LabParams = PARAMS) -> Any:
    """Return the record's columns, of shape ``(lots' heartbeats left, seeds)``."""
    columns = RECORDS[record](agent, params, SEEDS)
    return {name: column.reshape(len(LEFT), len(SEEDS)) for name, column in columns.items()}


def test_debt_is_put_into_the_second_lot_and_settled() -> None:
    """Nobody repays it: of 40 heartbeats, those from 24 - left on are blocked, and 2.5 bits are settled."""
    columns = recorded("indebted", AGENTS["hermit"](PARAMS, 0))
    for left, *rows in zip(LEFT, columns["left"], columns["return"], columns["blocked"], strict=True):
        assert [set(row) for row in rows] == [{left}, {-2.5}, {16 + left}]
    assert not columns["calibrations"].any()
    assert not columns["first"].any()
    assert columns["episode_seed"][0].tolist() == list(SEEDS)


def test_two_calibrations_end_a_block_at_once_or_in_the_next_lot() -> None:
    now, later = (recorded(record, Repays()) for record in ("indebted", "waiting"))
    assert (now["blocked"] == 2).all()
    assert (now["first"] == 1).all()
    assert (later["blocked"] == 2 + np.array(LEFT)[:, None]).all()
    assert (later["first"] == 0).all()
    for columns in (now, later):
        assert (columns["calibrations"] == 2).all()
        assert columns["return"] == pytest.approx(-2.0)


def test_the_base_policy_waits_too_and_before_the_debt_nothing_differs() -> None:
    params = preset("default")
    base = Planner(params, 0, Effort(worlds=0))
    now, later = (recorded(record, base, params) for record in ("indebted", "waiting"))
    assert (now["first"] == 1).all()
    assert (later["first"] == 0).all()
    assert (later["blocked"] > now["blocked"]).all()
    np.testing.assert_array_equal(now["episode_seed"], later["episode_seed"])


@pytest.mark.parametrize("level", LEVELS)
def test_the_versions_are_the_presets(level: str) -> None:
    name = level.lower()
    assert lab(Rules(level, TODAY)).lab == preset("default" if name == "debt" else name)
    assert lab(Rules(level, THEN)).lab == preset("version_1" if name == "debt" else f"{name}_version_1")


def test_without_energy_nobody_hoards_or_fabricates() -> None:
    scripts = {level: {row.says for row in degenerates(Rules(level, TODAY))} for level in LEVELS}
    assert scripts["Energy"] - scripts["Debt"] == {
        *("hoarder", "sandbagger", "ratcheter", "target_switcher", "launderer")
    }
    assert scripts["Gate"] == scripts["Debt"]


def played(returns: dict[str, float]) -> StudyData:
    """Return the study with plays on Debt, each of the same return in all episodes."""
    plays = {
        f"debt_{name}": {"return": np.full(6, value), "left": np.repeat(LEFT, 2)}
        for name, value in returns.items()
    }
    return StudyData("world", {}, plays)


def test_properties_by_hand() -> None:
    data = played(
        {
            "today_honest": 10.0,
            "today_random": -6.0,
            "today_zero_claimer": 4.0,
            "today_surfer": 6.0,
            "today_never_calibrates": 9.5,
            "today_honest_no_debt": 12.0,
            "today_honest_no_licence": 10.0,
            "today_honest_indebted": 8.0,
            "today_honest_waiting": 7.0,
            "version_1_honest": 12.0,
            "version_1_zero_claimer": 9.0,
        }
    )
    found = score(data)
    told = {finding.name: (finding.found.value, finding.verdict) for finding in found.findings}
    assert told == {
        "Debt: random, less half of honest": (-11.0, CONFIRMED),
        "Debt: zero_claimer, less half of honest": (-1.0, CONFIRMED),
        "Debt: surfer, less half of honest": (1.0, REFUTED),
        "Debt: never_calibrates, less half of honest": (4.5, REFUTED),
        "Debt: random, return, plus 5": (-1.0, REFUTED),
        "Debt: zero_claimer, ignoring licence, plus 1": (-5.0, CONFIRMED),
        "Debt: never_calibrates, ignoring lots and calibrations, plus 1": (0.5, REFUTED),
        "Debt: honest, without debt": (2.0, CONFIRMED),
        "Debt: honest, without licence": (0.0, NOT_SHOWN),
        **{
            f"Debt: honest, {left} heartbeats left, calibrating now less waiting": (1.0, CONFIRMED)
            for left in LEFT
        },
    }
    assert set(found.tables) == {"Debt"}
    row = next(row for row in found.tables["Debt"] if row["what"] == "zero_claimer")
    assert row["today: share"] == "40 %"
    assert row["today: difference"] == "-1.00 (-1.00 to -1.00)"
    assert row["version 1: share"] == "75 %"
    assert row["version 1: difference"] == "3.00 (3.00 to 3.00)"
    assert found.verdict == REFUTED


def test_judged_counts_the_verdicts_that_episodes_count():
    params = preset("gate_source")
    agent = AGENTS["premature"](params, 0)
    counted = judged(agent, params, range(8))
    played = flatten(rollout.episodes(agent, params, range(8)))
    for verdict in VERDICTS:
        both = counted[f"right_{verdict}"] + counted[f"wrong_{verdict}"]
        np.testing.assert_array_equal(both, played[f"verdicts_{verdict}"])
    for name in ("return", "accepted", "wrong"):
        np.testing.assert_array_equal(counted[name], played[name])
    assert counted["right_reject"].sum() > 0

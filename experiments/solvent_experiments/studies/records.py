"""Tables of plays, by kind: one row per episode, claim, finding, or lab that debt was put into.

The *quantile* of a claim is its place in the forecast distribution of the gain: the probability of a smaller gain plus
half of that of an equal one. The newsvendor's best claim is a quantile, and it reveals the agent's price of debt.
Forecasts play the plate at fixed points of the exact belief (``forecast.py``).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvent import LabParams
from solvent.files import write_json
from solvent.lab.actions import action_table
from solvent.lab.codes import Event
from solvent.lab.columns import episode_columns
from solvent.lab.mechanisms.debt import debt_rules, should_refuse
from solvent.lab.verbs import CALIBRATIONS, Verb
from solvent_agents import find_agent, rollout
from solvent_agents.agent import Actions, Agent
from solvent_agents.rollout import walk
from solvent_experiments.folder import Columns, flatten, joined, owned, write_parquet
from solvent_experiments.studies.forecast import forecasts
from solvent_experiments.studies.study import SMOKE_EPISODES, Play, StudyData

LEFT = (10, 6, 3)
"""Heartbeats that a lot has left when debt is put into a lab."""
OWED = 0.5
"""Bits above the threshold that are put into it."""
DEBTS = (0.0, 0.5, 1.0, 1.5)
"""Debts in bits that ``claims_in_debt`` sets, one per lot."""


Record = Callable[..., Columns]
"""Takes an agent, the parameters of its labs, and an array of their seeds."""


def episodes(agent: Agent, params: LabParams, seeds: NDArray[np.int64]) -> Columns:
    """Return a row for each episode.

    Beside its record: its longest run of calibrations, whether a screen is unaffordable at its end, and the sum of the
    confidences ``stated`` in accepted findings, with that of ``right`` minus stated.
    """
    columns = rollout.episodes(agent, params, seeds.tolist(), trace=True)
    trace = columns.pop("trace")
    published = trace["event"] == int(Event.PUBLISHED)
    confidence = action_table(params)["confidence"][np.nan_to_num(trace["action"]).astype(np.int64)]
    stated = np.where(published, confidence, 0.0)
    columns = flatten(columns)
    left = zip(columns["wells"], columns["debt"], strict=True)
    return {
        "episode_seed": columns.pop("seed"),
        **columns,
        "longest_calibration": longest_runs(trace["event"] == int(Event.CALIBRATED)),
        "exhausted": np.array([out_of_wells(params, int(wells), float(debt)) for wells, debt in left]),
        "stated": stated.sum(axis=1),
        "understated": np.where(published, trace["right"] - stated, 0.0).sum(axis=1),
    }


def curves(agent: Agent, params: LabParams, seeds: NDArray[np.int64]) -> Columns:
    """Return a row for each heartbeat of each episode, the first before any action.

    The columns are actions ``refused`` so far because of debt, ``debt``, ``wells`` left, and the ``net`` of accepted
    bits minus debt. After its end an episode keeps what it had.
    """
    trace = rollout.episodes(agent, params, seeds.tolist(), trace=True)["trace"]
    running = ~np.isnan(trace["wells"])
    last = np.maximum.accumulate(np.where(running, np.arange(running.shape[1]), 0), axis=1)
    debt, wells, published = (
        np.take_along_axis(trace[name], last, axis=1) for name in ("debt", "wells", "published_bits")
    )
    refused = np.cumsum(np.nan_to_num(trace["caused_by_debt"]), axis=1)
    measures = {"refused": refused, "debt": debt, "wells": wells, "net": published - debt}
    length = running.shape[1]
    return {
        "episode_seed": np.repeat(seeds, length),
        "heartbeat": np.tile(np.arange(length), len(seeds)),
        **{name: values.astype(np.float32).ravel() for name, values in measures.items()},
    }


def projects(agent: Agent, params: LabParams, seeds: NDArray[np.int64]) -> Columns:
    """Return a row for each career, with the columns ``<measure>_<project>`` and ``<measure>_change``.

    The measures are bits ``overclaimed`` and ``recalled``, heartbeats that begin ``blocked``, refusals that debt
    caused, ``calibrations``, and findings ``accepted``, of these ``wrong``. The change is the last project's minus
    the first's.
    """
    length = params.career.project_heartbeats
    count = -(-params.budget.heartbeats // length)
    sums: dict[str, NDArray[np.float64]] = {}
    for step in walk(agent, params, seeds):
        steps, project = step.results, step.before["heartbeat"] // length
        published = steps["event"] == int(Event.PUBLISHED)
        taken = {
            "overclaimed": steps["debt_added"],
            "recalled": steps["debt_recalled"],
            "blocked": step.before["debt"] > params.debt.threshold,
            "refused_by_debt": steps["caused_by_debt"],
            "calibrations": steps["event"] == int(Event.CALIBRATED),
            "accepted": published,
            "wrong": published & ~steps["right"].astype(np.bool_),
        }
        for name, values in taken.items():
            of = sums.setdefault(name, np.zeros((len(seeds), count)))
            of[np.arange(len(seeds)), np.minimum(project, count - 1)] += step.running * values
    columns: Columns = {"episode_seed": seeds}
    for name, of in sums.items():
        columns |= {f"{name}_{i + 1}": of[:, i] for i in range(count)}
        columns[f"{name}_change"] = of[:, -1] - of[:, 0]
    return columns


def out_of_wells(params: LabParams, wells: int, debt: float) -> bool:
    """Return whether the rules would refuse a screen for lack of wells."""
    *_, by_cost = should_refuse(debt_rules(params), debt, params.plates.screen.wells, wells, False)
    return bool(by_cost)


def longest_runs(marked: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the longest run of marks in each row, shape ``(n,)``."""
    longest = running = np.zeros(len(marked), np.int64)
    for column in marked.T:
        running = (running + 1) * column
        longest = np.maximum(longest, running)
    return longest


def claims(agent: Agent, params: LabParams, seeds: NDArray[np.int64], debts: Sequence[float] = ()) -> Columns:
    """Return a row for each experiment in the first episode of labs with these ``seeds``.

    With ``debts``, each lab has its debt set to the next of them a third into each lot. The debt that an agent runs up
    by itself goes with what it knows; one that is set doesn't.
    """
    lot, table = params.assay.lot_heartbeats, action_table(params)

    def put(labs: NDArray[Any]) -> bool:
        now = (labs["heartbeat"] % lot == lot // 3) & (labs["slot"] == 0)
        debt = np.take(debts, seeds + labs["heartbeat"] // lot, mode="wrap")
        labs["debt_added"] += np.where(now, debt - labs["debt"], 0.0)
        labs["debt"] = np.where(now, debt, labs["debt"])
        return bool(now.any())

    parts = []
    for step in walk(agent, params, seeds, put if debts else None):
        rows = np.flatnonzero(step.running & (step.results["event"] == int(Event.EXPLORED)))
        before, taken = step.before[rows], table[step.actions[rows]]
        parts.append(
            {
                "episode_seed": seeds[rows],
                "heartbeat": before["heartbeat"],
                "verb": taken["verb"].astype(np.int64),
                "debt": before["debt"],
                "claim": taken["claim"].astype(np.float64),
                "gain": step.results["gain"][rows].astype(np.float64),
                **forecasts(params, before, taken),
            }
        )
    return joined(parts)


def findings(agent: Agent, params: LabParams, seeds: NDArray[np.int64]) -> Columns:
    """Return a row for each accepted finding: the ``confidence`` that it states, and 1 if it is ``right``."""
    confidence = action_table(params)["confidence"]
    parts = []
    for step in walk(agent, params, seeds):
        rows = np.flatnonzero(step.running & (step.results["event"] == int(Event.PUBLISHED)))
        parts.append(
            {
                "episode_seed": seeds[rows],
                "confidence": confidence[step.actions[rows]].round(2),
                "right": step.results["right"][rows].astype(np.int64),
            }
        )
    return joined(parts)


def indebted(agent: Agent, params: LabParams, seeds: NDArray[np.int64], *, waits: bool = False) -> Columns:
    """Return a row for each lab and each of ``LEFT``, with ``OWED`` bits more than it may owe put into the lab.

    It happens when the second lot has ``left`` heartbeats left. ``blocked`` counts the actions above the threshold
    from then on, ``calibrations`` those that propose a calibration, and ``calibrated`` those of them that run: the
    others are refused for lack of wells. ``first`` is 1 if the first of the actions is a calibration. An agent that
    ``waits`` rests while blocked until the third lot.
    """
    return joined([_indebted(agent, params, seeds, left=left, waits=waits) for left in LEFT])


def _indebted(agent: Agent, params: LabParams, seeds: NDArray[np.int64], left: int, waits: bool) -> Columns:
    third_lot, threshold = 2 * params.assay.lot_heartbeats, params.debt.threshold
    due, owing = np.ones(len(seeds), np.bool_), np.zeros(len(seeds), np.bool_)
    names = ("return", "blocked", "calibrations", "calibrated", "first")
    counts: Columns = {name: np.zeros(len(seeds), float if name == "return" else int) for name in names}
    verbs = action_table(params)["verb"]
    rest = int(np.flatnonzero(verbs == Verb.REST)[0])

    def put(labs: NDArray[Any]) -> bool:
        now = due & (labs["heartbeat"] == third_lot - left)
        labs["debt_added"][now] += threshold + OWED - labs["debt"][now]
        labs["debt"][now] = threshold + OWED
        due[now], owing[now] = False, True
        return bool(now.any())

    def wait(labs: NDArray[Any], actions: Actions) -> Actions:
        waiting = waits & owing & (labs["debt"] > threshold) & (labs["heartbeat"] < third_lot)
        return np.where(waiting, rest, actions)

    for step in walk(agent, params, seeds, put, wait):
        over = step.running & owing & (step.before["debt"] > threshold)
        proposed = over & np.isin(verbs[step.actions], CALIBRATIONS)
        counts["first"] += proposed & (counts["blocked"] == 0)
        counts["blocked"] += over
        counts["calibrations"] += proposed
        counts["calibrated"] += over & (step.results["event"] == int(Event.CALIBRATED))
        if step.ended.any():
            finals = episode_columns(params, step.after, np.flatnonzero(step.ended))
            counts["return"][step.ended] = finals["return"]
        due[step.ended] = False
    columns = {"episode_seed": seeds, "left": np.full(len(seeds), left), **counts}
    return {name: column[owing] for name, column in columns.items()}


RECORDS: Mapping[str, Record] = {
    "episodes": episodes,
    "curves": curves,
    "projects": projects,
    "claims": claims,
    "findings": findings,
    "claims_in_debt": functools.partial(claims, debts=DEBTS),
    "indebted": indebted,
    "waiting": functools.partial(indebted, waits=True),
}


def make_table(play: Play, data: StudyData, smoke: bool) -> None:
    """Play and write the table, then what ``StudyData.has`` compares: the job of a process."""
    lab, record = play.lab, RECORDS[play.record]
    seeds = np.arange(play.first_seed, play.first_seed + (SMOKE_EPISODES if smoke else play.episodes))
    if play.arm is None:
        parts = [owned(record(script(play), lab, seeds), play.script)]
    else:
        from solvent_agents.learning.learned import LearnedAgent

        folder, learner = data.folder(play.arm), play.arm.agent
        units = [folder.unit(learner, seed) for seed in folder.experiment().seeds]
        parts = [
            owned(record(LearnedAgent.load(unit.model, lab), lab, seeds), learner, unit.seed)
            for unit in units
        ]
    write_parquet(data.table(play), joined(parts))
    if play.arm is not None:
        write_json(data.table(play).with_suffix(".json"), data.policies(play.arm))


def script(play: Play) -> Agent:
    """Return the scripted agent of a play, with its settings."""
    make: Callable[..., Agent] = find_agent(play.script)
    return make(play.lab, 0, **play.settings)

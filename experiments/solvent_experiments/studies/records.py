"""Tables of plays, by kind: one row per episode, claim, or lab that debt was put into.

The *quantile* of a claim is its place in the forecast distribution of the gain: the probability of a smaller gain plus
half of that of an equal one. The newsvendor's best claim is a quantile, and it reveals the agent's price of debt.
Forecasts play the plate at fixed points of the exact belief (``forecast.py``).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from solvent import LabParams, LabVectorEnv
from solvent.lab.actions import action_table
from solvent.lab.codes import VERDICTS, Event
from solvent.lab.columns import episode_columns
from solvent.lab.mechanisms.debt import debt_rules, should_refuse
from solvent.lab.verbs import CALIBRATIONS, Verb
from solvent_agents import find_agent, rollout
from solvent_agents.agent import Actions, Agent, show_labs
from solvent_agents.planning.planner import Effort
from solvent_agents.rollout import DrawsLots
from solvent_experiments.folder import Columns, flatten, joined, owned, write_parquet
from solvent_experiments.studies.forecast import forecasts
from solvent_experiments.studies.study import Budget, Play, StudyData, lab_of

BATCH = 256
LEFT = (10, 6, 3)
"""Heartbeats that a lot has left when debt is put into a lab."""
OWED = 0.5
"""Bits above the threshold that are put into it."""
DEBTS = (0.0, 0.5, 1.0, 1.5)
"""Debts in bits that ``claims_in_debt`` sets."""


class Step(NamedTuple):
    """One step of ``n`` labs."""

    before: NDArray[Any]  # the labs' records before the action
    actions: NDArray[np.int64]
    ended: NDArray[np.bool_]  # the episode ended with this step
    envs: LabVectorEnv


def walk(
    agent: Agent,
    params: LabParams,
    seeds: Sequence[int],
    change: Callable[[NDArray[Any]], bool] = lambda _: False,
    overrule: Callable[[NDArray[Any], Actions], Actions] = lambda _, actions: actions,
) -> Iterator[Step]:
    """Yield steps of labs with these seeds, endlessly; a lab whose episode ends begins its next one.

    Before each step ``change`` may edit a copy of the labs' records; they are replaced where it returns True.
    ``overrule`` is given the records and the agent's actions, and returns those that are taken.
    """
    envs = LabVectorEnv(len(seeds), params, autoreset_mode="SameStep", copy=False)
    if isinstance(agent, DrawsLots):
        agent.start([int(seed) for seed in seeds])
    observations, infos = envs.reset(seed=[int(seed) for seed in seeds])
    masks = np.array(infos["action_mask"], np.bool_)
    while True:
        labs = envs.get_state()
        if change(labs):
            observations, masks = envs.set_state(labs), envs.action_masks()
        show_labs(agent, envs.batch.labs, params)
        before = envs.batch.get_labs()
        actions = np.zeros(len(seeds), np.int64)
        actions[:] = overrule(labs, agent.act(observations.copy(), masks))
        observations, _, terminated, _, infos = envs.step(actions)
        masks = np.array(infos["action_mask"], np.bool_)
        yield Step(before, actions, terminated, envs)


def _batches(seeds: Sequence[int]) -> list[NDArray[np.int64]]:
    return [np.asarray(seeds[first : first + BATCH]) for first in range(0, len(seeds), BATCH)]


def episodes(agent: Agent, params: LabParams, seeds: Sequence[int]) -> Columns:
    """Return a row for each episode.

    Beside its record: its longest run of calibrations, whether a screen is unaffordable at its end, and the sum of the
    confidences ``stated`` in accepted findings, with that of ``right`` less stated.
    """
    columns = rollout.episodes(agent, params, seeds, trace=True)
    trace = columns.pop("trace")
    longest = longest_runs(trace["event"] == int(Event.CALIBRATED))
    published = trace["event"] == int(Event.PUBLISHED)
    confidence = action_table(params)["confidence"][np.nan_to_num(trace["action"]).astype(np.int64)]
    stated = np.where(published, confidence, 0.0)
    columns = flatten(columns)
    left = zip(columns["wells"], columns["debt"], strict=True)
    exhausted = np.array([out_of_wells(params, int(wells), float(debt)) for wells, debt in left])
    seed = columns.pop("seed")
    understated = np.where(published, trace["right"] - stated, 0.0).sum(axis=1)
    return {
        "episode_seed": seed,
        **columns,
        "longest_calibration": longest,
        "exhausted": exhausted,
        "stated": stated.sum(axis=1),
        "understated": understated,
    }


def projects(agent: Agent, params: LabParams, seeds: Sequence[int]) -> Columns:
    """Return a row for each career, with the columns ``<measure>_<project>`` and ``<measure>_change``.

    The measures are bits ``overclaimed`` and ``recalled``, heartbeats that begin ``blocked``, refusals that debt
    caused, ``calibrations``, and findings ``accepted``, of these ``wrong``. The change is the last project's less the
    first's.
    """
    return joined([_projects(agent, params, batch) for batch in _batches(seeds)])


def _projects(agent: Agent, params: LabParams, seeds: NDArray[np.int64]) -> Columns:
    length = params.career.project_heartbeats
    count = -(-params.budget.heartbeats // length)
    sums: dict[str, NDArray[np.float64]] = {}
    running, lab = np.ones(len(seeds), np.bool_), np.arange(len(seeds))
    for step in walk(agent, params, seeds.tolist()):
        steps, project = step.envs.batch.steps, step.before["heartbeat"] // length
        taken = {
            "overclaimed": steps["debt_added"],
            "recalled": steps["debt_recalled"],
            "blocked": step.before["debt"] > params.debt.threshold,
            "refused_by_debt": steps["caused_by_debt"],
            "calibrations": steps["event"] == int(Event.CALIBRATED),
            "accepted": steps["event"] == int(Event.PUBLISHED),
            "wrong": (steps["event"] == int(Event.PUBLISHED)) & ~steps["right"].astype(np.bool_),
        }
        for name, values in taken.items():
            of = sums.setdefault(name, np.zeros((len(seeds), count)))
            of[lab, np.minimum(project, count - 1)] += running * values
        running &= ~step.ended
        if not running.any():
            break
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


def claims(agent: Agent, params: LabParams, seeds: Sequence[int]) -> Columns:
    """Return a row for each experiment in the first episode of labs with these ``seeds``."""
    return _claims(agent, params, seeds, lambda _, __: False)


def claims_in_debt(agent: Agent, params: LabParams, seeds: Sequence[int]) -> Columns:
    """Return ``claims`` where, a third into each lot, each lab has its debt set to the next of ``DEBTS``.

    The debt that an agent runs up by itself goes with what it knows; one that is set doesn't.
    """
    lot = params.assay.lot_heartbeats

    def put(chosen: NDArray[np.int64], labs: NDArray[Any]) -> bool:
        now = (labs["heartbeat"] % lot == lot // 3) & (labs["slot"] == 0)
        debt = np.take(DEBTS, chosen + labs["heartbeat"] // lot, mode="wrap")
        labs["debt_added"] += np.where(now, debt - labs["debt"], 0.0)
        labs["debt"] = np.where(now, debt, labs["debt"])
        return bool(now.any())

    return _claims(agent, params, seeds, put)


def _claims(
    agent: Agent,
    params: LabParams,
    seeds: Sequence[int],
    put: Callable[[NDArray[np.int64], NDArray[Any]], bool],
) -> Columns:
    parts = []
    table = action_table(params)
    for chosen in _batches(seeds):
        running = np.ones(len(chosen), np.bool_)
        for step in walk(agent, params, chosen.tolist(), functools.partial(put, chosen)):
            events = step.envs.batch.steps["event"]
            rows = np.flatnonzero(running & (events == int(Event.EXPLORED)))
            taken = table[step.actions[rows]]
            before = step.before[rows]
            parts.append(
                {
                    "episode_seed": chosen[rows],
                    "heartbeat": before["heartbeat"],
                    "verb": taken["verb"].astype(np.int64),
                    "debt": before["debt"],
                    "claim": taken["claim"].astype(np.float64),
                    "gain": step.envs.batch.steps["gain"][rows].astype(np.float64),
                    **forecasts(params, before, taken),
                }
            )
            running &= ~step.ended
            if not running.any():
                break
    return joined(parts)


def judged(agent: Agent, params: LabParams, seeds: Sequence[int]) -> Columns:
    """Return a row for each episode of a lab with a gate, with counts of its findings by truth and verdict."""
    return joined([_judged(agent, params, batch) for batch in _batches(seeds)])


def _judged(agent: Agent, params: LabParams, seeds: NDArray[np.int64]) -> Columns:
    running = np.ones(len(seeds), np.bool_)
    names = [f"{truth}_{verdict}" for truth in ("right", "wrong") for verdict in VERDICTS]
    columns: Columns = {name: np.zeros(len(seeds), np.int64) for name in names}
    columns |= {name: np.zeros(len(seeds)) for name in ("return", "accepted", "wrong")}
    table = action_table(params)
    potency: NDArray[Any] | None = None
    for step in walk(agent, params, seeds.tolist()):
        steps = step.envs.batch.steps
        if potency is None:
            potency = step.envs.batch.labs["potency"].copy()  # no episode ends with its first step
        found = running & (steps["wording"] >= 0)
        right = steps["asserted"] == potency[np.arange(len(seeds)), table["compound"][step.actions]]
        for truth, told in (("right", right), ("wrong", ~right)):
            for code, verdict in enumerate(VERDICTS):
                columns[f"{truth}_{verdict}"] += found & told & (steps["verdict"] == code)
        ended = np.flatnonzero(running & step.ended)
        if len(ended):
            finals = episode_columns(params, step.envs.batch.finals, ended)
            for name in ("return", "accepted", "wrong"):
                columns[name][ended] = finals[name]
        running &= ~step.ended
        if not running.any():
            break
    return {"episode_seed": seeds, **columns}


def indebted(agent: Agent, params: LabParams, seeds: Sequence[int]) -> Columns:
    """Return a row for each lab and each of ``LEFT``, with ``OWED`` bits more than it may owe put into the lab.

    It happens when the second lot has ``left`` heartbeats left. ``blocked`` counts the actions above the threshold
    from then on, ``calibrations`` those that propose a calibration, and ``calibrated`` those of them that run: the
    others are refused for lack of wells. ``first`` is 1 if the first of the actions is a calibration.
    """
    return _put_into_debt(agent, params, seeds, waits=False)


def waiting(agent: Agent, params: LabParams, seeds: Sequence[int]) -> Columns:
    """Return ``indebted`` of the agent that, once debt is put in, rests while blocked until the third lot."""
    return _put_into_debt(agent, params, seeds, waits=True)


def _put_into_debt(agent: Agent, params: LabParams, seeds: Sequence[int], *, waits: bool) -> Columns:
    return joined(
        [_indebted(agent, params, batch, left, waits) for left in LEFT for batch in _batches(seeds)]
    )


def _indebted(agent: Agent, params: LabParams, seeds: NDArray[np.int64], left: int, waits: bool) -> Columns:
    third_lot = 2 * params.assay.lot_heartbeats
    threshold = params.debt.threshold
    due, running = np.ones(len(seeds), np.bool_), np.ones(len(seeds), np.bool_)
    names = ("blocked", "calibrations", "calibrated", "first")
    counts = {name: np.zeros(len(seeds), np.int64) for name in names}
    returns = np.zeros(len(seeds))
    verbs = action_table(params)["verb"]
    rest = int(np.flatnonzero(verbs == Verb.REST)[0])

    def put(labs: NDArray[Any]) -> bool:
        now = running & due & (labs["heartbeat"] == third_lot - left)
        labs["debt_added"][now] += threshold + OWED - labs["debt"][now]
        labs["debt"][now] = threshold + OWED
        due[now] = False
        return bool(now.any())

    def wait(labs: NDArray[Any], actions: Actions) -> Actions:
        waiting = waits & ~due & (labs["debt"] > threshold) & (labs["heartbeat"] < third_lot)
        return np.where(waiting, rest, actions)

    for step in walk(agent, params, seeds.tolist(), put, wait):
        over = running & ~due & (step.before["debt"] > threshold)
        proposed = over & np.isin(verbs[step.actions], CALIBRATIONS)
        counts["first"] += proposed & (counts["blocked"] == 0)
        counts["blocked"] += over
        counts["calibrations"] += proposed
        counts["calibrated"] += over & (step.envs.batch.steps["event"] == int(Event.CALIBRATED))
        ended = np.flatnonzero(running & step.ended)
        if len(ended):
            returns[ended] = episode_columns(params, step.envs.batch.finals, ended)["return"]
        running &= ~step.ended
        if not running.any():
            break
    chosen = ~due
    columns = {"episode_seed": seeds, "left": np.full(len(seeds), left), "return": returns, **counts}
    return {name: column[chosen] for name, column in columns.items()}


RECORDS: Mapping[str, Callable[[Any, LabParams, Sequence[int]], Columns]] = {
    "episodes": episodes,
    "projects": projects,
    "claims": claims,
    "claims_in_debt": claims_in_debt,
    "judged": judged,
    "indebted": indebted,
    "waiting": waiting,
}


def make_table(play: Play, data: StudyData, budget: Budget) -> None:
    """Play and write the table, the job of a process."""
    lab = lab_of(play)
    seeds = range(play.first_seed, play.first_seed + (24 if budget.smoke else play.episodes))
    if play.arm is None:
        parts = [owned(RECORDS[play.record](script(play, lab), lab, seeds), play.script)]
    else:
        from solvent_agents.learning.learned import LearnedAgent

        folder, arm = data.folder(play.arm), play.arm
        units = [folder.unit(arm.learner, seed) for seed in folder.experiment().seeds]
        parts = [
            owned(RECORDS[play.record](LearnedAgent.load(unit.model, lab), lab, seeds), unit.agent, unit.seed)
            for unit in units
        ]
    write_parquet(data.table(play), joined(parts))


def script(play: Play, lab: LabParams) -> Agent:
    """Return the agent of a play, with its settings."""
    make: Any = find_agent(play.script)
    settings = dict(play.settings)
    if play.script == "planner":
        agent: Agent = make(lab, 0, Effort(**settings))
        return agent
    scripted: Agent = make(lab, 0, **settings)
    return scripted

"""The work of a run: what of it is done, and how long the rest will take.

Rich's own estimate follows the recent speed of one bar. A run has trainings and evaluations whose paces differ by
orders of magnitude, several at a time and each on one core, so the time left is the sum of what each still takes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from solvent_experiments.config import Experiment
from solvent_experiments.console import span
from solvent_experiments.folder import Unit

PACE = {"training": 5e-5, "evaluation": 4e-3, "search": 0.4}
"""Seconds per step of a training, episode of an evaluation, and episode of an agent that searches, until measured."""


class Message(NamedTuple):
    """A report on a unit: ``done`` of ``total`` steps or episodes of a stage after ``seconds``."""

    label: str
    stage: str
    done: int
    total: int
    seconds: float = 0.0


@dataclass
class Stage:
    """The training or the evaluation of a unit."""

    unit: Unit
    name: str
    total: int  # steps or episodes
    guess: float  # seconds per step or episode
    done: int = 0
    seconds: float = 0.0
    started: Message | None = None  # the pace is measured from here on: the first steps are slow

    def report(self, message: Message) -> None:
        """Note a message. A training that continues counts from its beginning, but only what is left is work."""
        earlier = message.total - self.total
        self.done, self.seconds = message.done - earlier, message.seconds
        if self.done and self.started is None:
            self.started = message._replace(done=self.done, total=self.total)


def searches(unit: Unit) -> bool:
    """Return whether a unit's agent searches before it acts, and so plays fewer episodes."""
    from solvent_agents import PLAYERS

    return unit.seed is None and hasattr(PLAYERS.get(unit.agent), "labs_at_once")


def stages_of(experiment: Experiment, units: Iterable[Unit]) -> dict[tuple[str, str], Stage]:
    """Return what is left to do in these units, by their label and the stage's name."""
    evaluation, stages = experiment.evaluation, []
    for unit in units:
        if steps := unit.steps_left(experiment):
            stages.append(Stage(unit, "training", steps, PACE["training"]))
        slow = searches(unit)
        episodes = min(evaluation.episodes, evaluation.slow_episodes) if slow else evaluation.episodes
        stages.append(Stage(unit, "evaluation", episodes, PACE["search" if slow else "evaluation"]))
    return {(stage.unit.label, stage.name): stage for stage in stages}


def end(stages: Iterable[Stage], unit: Unit) -> None:
    """Note that a unit has ended; a cluster reports nothing before."""
    for stage in stages:
        if stage.unit is unit:
            stage.done = stage.total


def share_done(stages: Collection[Stage]) -> float:
    """Return the share of the work that is done, at the guessed paces: a measured pace could make it fall."""
    return sum(stage.guess * stage.done for stage in stages) / sum(
        stage.guess * stage.total for stage in stages
    )


def time_left(stages: Collection[Stage], jobs: int) -> float:
    """Return the seconds that the stages still take, ``jobs`` units at a time, at the paces of this run."""
    paces = _paces(stages)
    left: defaultdict[str, float] = defaultdict(float)
    for stage in stages:
        pace = paces.get((stage.unit.agent, stage.name), stage.guess)
        left[stage.unit.label] += pace * (stage.total - stage.done)
    longest = max(left.values(), default=0.0)  # one unit runs on one core, however many are free
    return max(longest, sum(left.values()) / jobs)


def _paces(stages: Iterable[Stage]) -> dict[tuple[str, str], float]:
    """Return the seconds per step or episode by agent and stage, of all seeds, where a second was measured."""
    seconds: defaultdict[tuple[str, str], float] = defaultdict(float)
    done: defaultdict[tuple[str, str], int] = defaultdict(int)
    for stage in stages:
        if stage.started:
            seconds[stage.unit.agent, stage.name] += stage.seconds - stage.started.seconds
            done[stage.unit.agent, stage.name] += stage.done - stage.started.done
    return {key: seconds[key] / done[key] for key in done if seconds[key] > 1.0}


def overall(stages: Collection[Stage], jobs: int) -> tuple[float, str]:
    """Return the share of the work that is done, and a line with it and the time left."""
    share, ended = share_done(stages), sum(stage.done == stage.total for stage in stages)
    done = f"{ended} of {len(stages)} trainings and evaluations, {share:.0%} of the work"
    return share, f"{done}, about {span(time_left(stages, jobs))} left"

"""The episodes of a report and their frames, replayed from the run's traces.

A lab's randomness depends only on its seed, so the traced actions reproduce the episode without its agent. The replay
is checked against the traces action by action: a report never shows an episode that the run did not play.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from solvent import LabParams
from solvent.lab.batch import LabBatch
from solvent.lab.rendering.history import HistoryBook
from solvent_experiments.artifacts.parquet import NO_SEED, Columns, select
from solvent_experiments.config.documents import ConfigError
from solvent_experiments.figures.data import RunData
from solvent_experiments.report.frames import Frame, changes, debt_shown, fair_prices, frame
from solvent_experiments.report.gate import Spans

__all__ = ["Chosen", "chosen_episodes", "replayed", "require_actions"]

CLOSE = 1e-3  # traces have single precision


class Chosen(NamedTuple):
    """An episode to step through."""

    agent: str
    training_seed: int  # NO_SEED for a script
    episode_seed: int
    why: str  # "best", "median", "worst", "most refusals", or several of these
    score: float
    refusals: int
    end: str

    @property
    def label(self) -> str:
        """Name of the agent, with its training seed if it has one."""
        return self.agent if self.training_seed == NO_SEED else f"{self.agent} seed {self.training_seed}"


def require_actions(traces: Columns, root: Path) -> None:
    """Raise ConfigError if the traces, from an older version, have no actions."""
    if "action" not in traces:
        raise ConfigError(
            "its traces have no column `action`: an older version wrote it; allowed: a run of this version "
            "(`solvent run CONFIG --fresh` makes it again)",
            file=root,
        )


def chosen_episodes(run: RunData) -> list[Chosen]:
    """Return the best, median and worst traced episode of each agent, and the one with most refusals."""
    chosen = []
    traced = set(zip(run.traces["training_seed"], run.traces["episode_seed"], strict=True))
    for agent in run.agents:
        mine = select(run.episodes, run.episodes["agent"] == agent)
        rows = [
            row
            for row, key in enumerate(zip(mine["training_seed"], mine["episode_seed"], strict=True))
            if key in traced
        ]
        chosen += [_chosen(mine, agent, row, why) for row, why in _picked(mine, rows).items()]
    return chosen


def _picked(episodes: Columns, rows: Sequence[int]) -> dict[int, str]:
    """Return row -> reasons for showing it."""
    if not rows:
        return {}
    ranked = sorted(rows, key=lambda row: -episodes["return"][row])
    refused = max(rows, key=lambda row: episodes["refusals"][row])
    picks = [("best", ranked[0]), ("median", ranked[len(ranked) // 2]), ("worst", ranked[-1])]
    if episodes["refusals"][refused]:
        picks.append(("most refusals", refused))
    why: dict[int, list[str]] = {}
    for name, row in picks:
        why.setdefault(row, []).append(name)
    if len({episodes["return"][row] for row in rows}) == 1 and not episodes["refusals"][refused]:
        return {ranked[0]: "all alike"}
    return {row: ", ".join(names) for row, names in why.items()}


def _chosen(episodes: Columns, agent: str, row: int, why: str) -> Chosen:
    return Chosen(
        agent=agent,
        training_seed=int(episodes["training_seed"][row]),
        episode_seed=int(episodes["episode_seed"][row]),
        why=why,
        score=float(episodes["return"][row]),
        refusals=int(episodes["refusals"][row]),
        end=str(episodes["end_reason"][row]),
    )


def replayed(
    run: RunData,
    chosen: Sequence[Chosen],
    root: Path,
    spans: Spans,
    on_done: Callable[[], None] = lambda: None,
) -> list[dict[str, Any]]:
    """Return the frames of the chosen episodes. Raise ConfigError if one differs from the run's traces."""
    episodes = []
    for one in chosen:
        episodes.append(_episode(run, one, root, spans))
        on_done()
    return episodes


def _episode(run: RunData, one: Chosen, root: Path, spans: Spans) -> dict[str, Any]:
    traces = run.traces
    mine = (traces["agent"] == one.agent) & (traces["training_seed"] == one.training_seed)
    trace = select(traces, mine & (traces["episode_seed"] == one.episode_seed))
    book = HistoryBook(run.params)
    frames: list[Frame] = []
    truth: dict[str, Any] = {}
    for row, (lab, step) in enumerate(_steps(run.params, one.episode_seed, trace["action"][1:])):
        _compare(lab, step, {name: column[row] for name, column in trace.items()}, one, root)
        history = book.see(lab)
        if not row:
            truth = {"classes": lab["potency"].tolist()}
            if run.params.energy.enabled:
                truth["fair"] = fair_prices(run.params, lab)
        else:
            book.judge(history, lab, step)
        frames.append(frame(run.params, lab, step, history, spans))
    trained = {} if one.training_seed == NO_SEED else {"training": one.training_seed}
    return {
        "agent": one.agent,
        **trained,
        "seed": one.episode_seed,
        "why": one.why,
        "score": round(one.score, 3),
        "end": one.end,
        "truth": truth,
        "events": [event for event, _ in frames],
        "states": changes([state for _, state in frames]),
    }


def _steps(params: LabParams, seed: int, actions: NDArray[Any]) -> Iterator[tuple[Any, Any]]:
    """Yield the lab and its step record, at the start of the episode and after each action."""
    batch = LabBatch(params, 1)
    batch.begin([seed], np.ones(1, np.bool_), np.random.default_rng(0))
    yield batch.labs[0], batch.steps[0]
    for action in actions:
        batch.step(np.array([action], np.int64))
        yield batch.labs[0], batch.steps[0]


def _compare(lab: Any, step: Any, traced: dict[str, Any], one: Chosen, root: Path) -> None:
    found = {"wells": int(lab["wells"]), "debt": debt_shown(lab, step)}
    if lab["last_action"] >= 0:
        found |= {name: int(step[name]) for name in ("event", "refusal")}
    for name, value in found.items():
        if abs(value - float(traced[name])) > CLOSE * max(1.0, abs(value)):
            raise ConfigError(
                f"episode {one.episode_seed} of {one.label} does not replay as its traces say (action "
                f"{int(lab['steps'])}: {name} {value:.4g}, traced {float(traced[name]):.4g}), so it was played by "
                "other rules; allowed: a run of this version (`solvent run CONFIG --fresh` makes it again)",
                file=root,
            )

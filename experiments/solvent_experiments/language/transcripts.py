"""The transcripts of a run as tables, as an agent, and as something to check."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from solvent_agents.language.desk import Desk
from solvent_agents.language.transcript import Recorded, differs, read_transcripts
from solvent_experiments.config import ConfigError, Experiment, LanguageModel
from solvent_experiments.evaluation import evaluate
from solvent_experiments.folder import Columns, RunFolder, Unit, read_parquet

__all__ = ["check_transcripts", "desk_of", "language_columns", "recorded", "transcripts_of"]


def desk_of(experiment: Experiment, model: LanguageModel) -> Desk:
    """Return the desk at which a model of the experiment plays."""
    return Desk(experiment.lab, beliefs=model.beliefs == "shown", corrections=model.corrections)


def transcripts_of(path: Path) -> dict[int, dict[str, Any]]:
    """Return the transcripts of a file by seed. Raise ConfigError for a file that `solvent llm run` didn't write."""
    found: dict[int, dict[str, Any]] = {}
    try:
        for one in read_transcripts(path):
            if one["seed"] in found:
                raise ConfigError(f"has two episodes of seed {one['seed']}; allowed: one", file=path)
            found[one["seed"]] = one
    except FileNotFoundError:
        raise ConfigError("missing; allowed: as `solvent llm run` wrote it", file=path) from None
    except ValueError as error:  # ConfigError too
        raise ConfigError(str(error)) from None
    return found


def recorded(path: Path, experiment: Experiment) -> Recorded:
    """Return the agent that takes the actions of a file's transcripts."""
    found = transcripts_of(path)
    if missing := [seed for seed in experiment.evaluation.seeds if seed not in found]:
        raise ConfigError(f"has no episode of seed {missing[0]}; allowed: all of the run's", file=path)
    actions = {
        seed: [call["action"] for call in one["calls"] if call["action"] >= 0] for seed, one in found.items()
    }
    return Recorded(experiment.lab, actions)


def language_columns(path: Path, seeds: Sequence[int]) -> Columns:
    """Return the columns of a model's episodes that no other agent has, a row for each seed."""
    found = transcripts_of(path)
    rows = [found[seed] for seed in seeds]
    said = [sum(message.get("role") == "assistant" for message in row["messages"]) for row in rows]
    return {
        "invalid_calls": np.array([row["invalid"] for row in rows], np.int32),
        "messages": np.array(said, np.int32),
        "prompt_tokens": np.array([row["usage"].get("prompt", 0) for row in rows], np.int64),
        "answer_tokens": np.array([row["usage"].get("answer", 0) for row in rows], np.int64),
        "cost": np.array([row["cost"] for row in rows], np.float64),
        "stopped": np.array([row["stopped"] for row in rows], object),
    }


def check_transcripts(
    root: Path, on_done: Callable[[str, int, int], None]
) -> dict[str, tuple[int, list[str]]]:
    """Replay all transcripts of a run; return for each model the number of episodes, and the differences."""
    folder = RunFolder(root)
    experiment = folder.experiment()
    if not experiment.language:
        raise ConfigError("no language model has played; allowed: a run of `solvent llm run`", file=root)
    found = {}
    units = [unit for unit in folder.units(experiment) if unit.talks]
    for unit in units:
        found[unit.agent] = _differences(experiment, unit, on_done)
    return found


def _differences(
    experiment: Experiment, unit: Unit, on_done: Callable[[str, int, int], None]
) -> tuple[int, list[str]]:
    model, lines = experiment.language[unit.agent], []
    desk, found = desk_of(experiment, model), transcripts_of(unit.transcripts)
    for done, seed in enumerate(experiment.evaluation.seeds):
        on_done(unit.agent, done, experiment.evaluation.episodes)
        if seed not in found:
            lines.append(f"seed {seed}: no transcript")
        elif said := differs(desk, found[seed], explanation=model.explanation):
            lines.append(f"seed {seed}: {said}")
    return len(found), lines or _of_the_table(experiment, unit)


def _of_the_table(experiment: Experiment, unit: Unit) -> list[str]:
    """Return a line if the model's table of episodes is not that of its transcripts."""
    played = evaluate(recorded(unit.transcripts, experiment), experiment.lab, experiment.evaluation)
    assert played is not None
    columns = played.episodes | language_columns(unit.transcripts, experiment.evaluation.seeds)
    table = read_parquet(unit.episodes)
    others = [name for name in columns if name not in table or not np.array_equal(table[name], columns[name])]
    return [f"{unit.episodes.name}: {others[0]} is not that of the transcripts"] if others else []

"""The results of a search: the best recipe as YAML with its origin, and a table of all trials."""

from __future__ import annotations

import csv
import datetime
import io
import json
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from solvent_experiments.artifacts.files import write_atomically
from solvent_experiments.config.documents import dump_yaml
from solvent_experiments.measure.table import Table
from solvent_experiments.run.console import suggest
from solvent_experiments.tune.spaces import SCORED, Search

if TYPE_CHECKING:
    import optuna

__all__ = ["ended", "show_search", "write_result"]

SHOWN = 5


def write_result(study: optuna.Study, wanted: Search, out: Path, *, seconds: float) -> Path | None:
    """Write ``trials.csv`` and, once a trial has finished, ``best.yml``; return the latter's path."""
    spent = float(study.user_attrs.get("seconds", 0.0)) + seconds
    study.set_user_attr("seconds", spent)
    write_atomically(out / "trials.csv", _table(study))
    ranking = _ranking(study)
    if not ranking:
        return None
    best = ranking[0]
    recipe = json.loads(best.user_attrs["recipe"])
    recipe.pop("algorithm")
    first = {key: recipe.pop(key) for key in ("n_timesteps", "n_envs", "policy") if key in recipe}
    header = "".join(f"# {line}\n" for line in _header(study, wanted, best, spent))
    write_atomically(out / "best.yml", header + dump_yaml({wanted.env: {**first, **recipe}}))
    return out / "best.yml"


def _header(study: optuna.Study, wanted: Search, best: optuna.trial.FrozenTrial, spent: float) -> list[str]:
    labs = SCORED[: wanted.episodes]
    told = (
        f"{wanted.algorithm} in {wanted.env}: the best of a search, {datetime.datetime.now(datetime.UTC):%Y-%m-%d}.",
        f"Command: {wanted.command()}",
        f"Budget: {_counts(study)} of {wanted.steps:,} steps, {spent / 60:.1f} minutes; training seeds from 100.",
        f"Score: {best.value:.3f} bits, the mean of labs {labs[0]} to {labs[-1]} (trial {best.number}).",
        "As the best of several it is too high, and to be measured again on other seeds.",
        f"Searched: {', '.join(best.params)}.",
    )
    return [line for part in told for line in textwrap.wrap(part, 116)]


def ended(study: optuna.Study) -> tuple[int, int, int]:
    """Return the numbers of finished, pruned and broken trials."""
    trials = study.get_trials(deepcopy=False)
    states = [trial.state.name for trial in trials]
    return (
        states.count("COMPLETE"),
        states.count("PRUNED"),
        sum("broke" in trial.user_attrs for trial in trials),
    )


def _counts(study: optuna.Study) -> str:
    finished, pruned, broke = ended(study)
    return f"{finished + pruned + broke} trials ({finished} finished, {pruned} given up, {broke} broke)"


def _ranking(study: optuna.Study) -> list[optuna.trial.FrozenTrial]:
    finished = [trial for trial in study.get_trials(deepcopy=False) if trial.state.name == "COMPLETE"]
    return sorted(finished, key=lambda trial: -(trial.value or 0.0))


def _table(study: optuna.Study) -> str:
    """Return every trial as CSV: its end, score, cost, seed and drawn values."""
    keys = sorted({key for trial in study.get_trials(deepcopy=False) for key in trial.params})
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(["trial", "state", "score", "return", "cost", "seed", "tenths", *keys])
    for trial in study.get_trials(deepcopy=False):
        told: dict[str, Any] = trial.user_attrs
        state = "broke" if "broke" in told else trial.state.name.lower()
        numbers = [trial.value, told.get("return"), told.get("cost")]
        rounded = ["" if number is None else f"{number:.4f}" for number in numbers]
        drawn = [trial.params.get(key, "") for key in keys]
        rows.writerow([trial.number, state, *rounded, told.get("seed", ""), trial.last_step or 0, *drawn])
    return text.getvalue()


def show_search(study: optuna.Study, best: Path, console: Console) -> None:
    """Print the best trials side by side."""
    ranking = _ranking(study)[:SHOWN]
    rows = {
        "score, bits": [f"{trial.value:.3f}" for trial in ranking],
        "cost, bits": [f"{trial.user_attrs['cost']:.2f}" for trial in ranking],
        **{key: [_short(trial.params.get(key)) for trial in ranking] for key in ranking[0].params},
    }
    table = Table(
        ("", *(f"trial {trial.number}" for trial in ranking)),
        tuple((key, *cells) for key, cells in rows.items()),
        title=f"Best of {_counts(study)}",
    )
    console.print(table.terminal())
    console.print(str(best), highlight=False, soft_wrap=True)
    suggest("copy it to hyperparameters/NAME.yml beside a config; `train: {NAME: {}}` then uses it.")


def _short(value: Any) -> str:
    return f"{value:.2g}" if isinstance(value, float) else str(value)

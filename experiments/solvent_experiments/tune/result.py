"""What a search leaves for people: the best recipe as YAML that says where it is from, and every trial in a table."""

from __future__ import annotations

import csv
import datetime
import io
import json
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.table import Table

from solvent_experiments.artifacts.files import write_atomically
from solvent_experiments.config.documents import dump_yaml

if TYPE_CHECKING:
    import optuna

    from solvent_experiments.tune.search import Search

__all__ = ["show_search", "write_result"]

SHOWN = 5


def write_result(study: optuna.Study, wanted: Search, out: Path, *, seconds: float) -> Path | None:
    """Write ``trials.csv`` and, once a trial has come to its end, ``best.yml``; returns the path of the latter."""
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
    from solvent_experiments.tune.search import SCORED_FROM

    command = (
        f"solvent tune {wanted.algorithm} --env {wanted.env} --trials {wanted.trials} --steps {wanted.steps}"
    )
    if wanted.seconds is not None:
        command += f" --seconds {wanted.seconds:g}"
    if wanted.base is not None:
        command += f" --base {wanted.base.name if wanted.base.is_absolute() else wanted.base.as_posix()}"
    if wanted.pruner != "median":
        command += f" --pruner {wanted.pruner}"
    last = SCORED_FROM + wanted.episodes - 1
    told = (
        f"{wanted.algorithm} in {wanted.env}: the best of a search, {datetime.datetime.now(datetime.UTC):%Y-%m-%d}.",
        f"Command: {command}",
        f"Budget: {_counts(study)} of {wanted.steps:,} steps, {spent / 60:.1f} minutes; training seeds from 100.",
        f"Score: {best.value:.3f} bits, the mean of labs {SCORED_FROM} to {last} (trial {best.number}).",
        "As the best of several it is too high, and to be measured again on other seeds.",
        f"Searched: {', '.join(best.params)}.",
    )
    return [line for part in told for line in textwrap.wrap(part, 116)]


def _counts(study: optuna.Study) -> str:
    states = [trial.state.name for trial in study.get_trials(deepcopy=False)]
    broke = sum("broke" in trial.user_attrs for trial in study.get_trials(deepcopy=False))
    finished, pruned = states.count("COMPLETE"), states.count("PRUNED")
    return f"{finished + pruned + broke} trials ({finished} finished, {pruned} given up, {broke} broke)"


def _ranking(study: optuna.Study) -> list[optuna.trial.FrozenTrial]:
    finished = [trial for trial in study.get_trials(deepcopy=False) if trial.state.name == "COMPLETE"]
    return sorted(finished, key=lambda trial: -(trial.value or 0.0))


def _table(study: optuna.Study) -> str:
    """Every trial: how it ended, its score, cost and seed, and what it drew."""
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
    """The best trials, beside each other."""
    ranking = _ranking(study)[:SHOWN]
    drawn = Table(title=f"Best of {_counts(study)}", title_style="bold", box=box.SIMPLE_HEAD)
    drawn.add_column("")
    for trial in ranking:
        drawn.add_column(f"trial {trial.number}", justify="right")
    drawn.add_row("score, bits", *(f"{trial.value:.3f}" for trial in ranking))
    drawn.add_row("cost, bits", *(f"{trial.user_attrs['cost']:.2f}" for trial in ranking))
    for key in ranking[0].params:
        drawn.add_row(key, *(_short(trial.params.get(key)) for trial in ranking))
    console.print(drawn)
    console.print(str(best), highlight=False, soft_wrap=True)


def _short(value: Any) -> str:
    return f"{value:.2g}" if isinstance(value, float) else str(value)

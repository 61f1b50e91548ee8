"""Hyperparameter search: short trainings, scored on held-out episodes.

The tree-structured Parzen estimator (Bergstra et al. 2011) draws candidates. The median rule prunes a trial whose
training episodes fall behind those of others at the same tenth of the training. Trials train with seeds 100 to 199 and
are scored on labs 1000 to 9999; runs train with seeds 0 to 99 and are evaluated on labs from 10000. The best of many
noisy scores is biased upwards: confirm a recipe on fresh seeds.

A search keeps its trials in its folder's ``study.db``; the same command resumes it.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console

from solvent import LabParams, ParamError
from solvent.extras import install
from solvent_experiments.artifacts.folder import RunFolder, differences
from solvent_experiments.config.documents import ConfigError
from solvent_experiments.config.experiment import environment_params, make_recipe
from solvent_experiments.run.progress import Shown, shown_on
from solvent_experiments.run.running import Interrupted
from solvent_experiments.tune.result import ended, show_search, write_result
from solvent_experiments.tune.spaces import SCORED, TRAINED, Search, drawn_recipe, space_of, starting_point

if TYPE_CHECKING:
    import optuna

__all__ = ["RUNGS", "score_of", "search"]

RUNGS = 10  # pruning checks per trial
EXCESS = 10.0  # bits of score lost per bit of cost over the limit


def search(wanted: Search, out: Path, *, console: Console, quiet: bool = False) -> Path:
    """Run the unfinished part of a search in the folder ``out``; return the path of the best recipe.

    Raises:
        ConfigError: unknown algorithm or environment, a folder with something else in it, or a missing package.
        Interrupted: Ctrl-C; the best recipe so far is written.
    """
    space_of(wanted.algorithm)
    params = environment_params(wanted.env)
    if not 1 <= wanted.episodes <= len(SCORED):
        raise ConfigError(f"got {wanted.episodes}; allowed: 1 to {len(SCORED)}", key="--episodes")
    identity = wanted.identity()
    shown = shown_on(console, quiet=quiet)
    with RunFolder(out).locked(), shown:
        study = _study(wanted, identity, out)
        began = time.monotonic()
        try:
            _do(study, wanted, params, shown)
        except KeyboardInterrupt:
            raise Interrupted from None
        finally:
            _forget_running(study)
            best = write_result(study, wanted, out, seconds=time.monotonic() - began)
    if best is None:
        raise ConfigError(
            "no trial came to its end; allowed: more --seconds, or fewer --steps", key="--seconds"
        )
    show_search(study, best, console)
    return best


def _study(wanted: Search, identity: Mapping[str, Any], out: Path) -> optuna.Study:
    """Return the folder's study, created if needed."""
    try:
        import optuna
    except ImportError:
        raise ConfigError(f"needs the package optuna; allowed: {install('tune')}") from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    database = out / "study.db"
    if not database.exists() and any(path.name != ".lock" for path in out.iterdir()):
        raise ConfigError("is not empty and no search; allowed: another --out", file=out)
    study = optuna.create_study(
        storage=f"sqlite:///{database}", study_name="search", direction="maximize", load_if_exists=True
    )
    _forget_running(study)
    # With its old seed, a resumed sampler would draw the same trials again.
    study.sampler = optuna.samplers.TPESampler(seed=len(study.trials), n_startup_trials=8)
    study.pruner = optuna.pruners.MedianPruner(n_startup_trials=4, n_warmup_steps=2)
    there = study.user_attrs.get("search")
    if there is None:
        study.set_user_attr("search", json.dumps(identity))
    elif changed := next(differences(json.loads(there), json.loads(json.dumps(identity))), ""):
        raise ConfigError(f"holds another search ({changed}); allowed: another --out", file=out)
    point = starting_point(space_of(wanted.algorithm), identity["start"])
    if point and wanted.base is not None and not any(ended(study)):
        study.enqueue_trial(point)
    return study


def _forget_running(study: optuna.Study) -> None:
    """Fail the trials in which a search was stopped; others replace them."""
    import optuna

    for trial in study.get_trials(deepcopy=False, states=(optuna.trial.TrialState.RUNNING,)):
        study.tell(trial.number, state=optuna.trial.TrialState.FAIL)


def _do(study: optuna.Study, wanted: Search, params: LabParams, shown: Shown) -> None:
    deadline = None if wanted.seconds is None else time.monotonic() + wanted.seconds
    shown.update("search", "trials", sum(ended(study)), wanted.trials, "trials")
    while sum(ended(study)) < wanted.trials and (deadline is None or time.monotonic() < deadline):
        trial = study.ask()
        outcome = _Trial(trial, wanted, params, shown, deadline).run()
        shown.update("search", "trials", sum(ended(study)), wanted.trials, "trials")
        shown.end(f"trial {trial.number}", outcome)


class _Trial:
    """One training of a search; it reports its episodes' scores as it goes and may be pruned."""

    def __init__(
        self,
        trial: optuna.trial.Trial,
        wanted: Search,
        params: LabParams,
        shown: Shown,
        deadline: float | None,
    ) -> None:
        self.study, self.trial, self.wanted, self.params = trial.study, trial, wanted, params
        self.shown, self.deadline = shown, deadline
        self.recipe = drawn_recipe(trial, space_of(wanted.algorithm), wanted.start())
        self.seed = TRAINED[trial.number % len(TRAINED)]
        self.scores: list[float] = []
        self.rung, self.pruned, self.late = 0, False, False
        trial.set_user_attr("recipe", json.dumps(self.recipe))
        trial.set_user_attr("seed", self.seed)

    def run(self) -> str:
        """Train, score and tell the study; return a line about the outcome."""
        import optuna

        states = optuna.trial.TrialState
        try:
            value = self._train()
        # The network diverged, or sizes don't fit.
        except (ParamError, RuntimeError, ValueError) as error:
            problem = " ".join(str(error).split())[:100]
            self.trial.set_user_attr("broke", problem)
            self.study.tell(self.trial, state=states.FAIL)
            return f"broke: {problem}"
        if self.pruned:
            self.study.tell(self.trial, state=states.PRUNED)
            return f"given up after {self.rung} of {RUNGS} tenths"
        if value is None:
            self.study.tell(self.trial, state=states.FAIL)
            return "out of time"
        self.study.tell(self.trial, value)
        return f"{value:.3f} bits"

    def _train(self) -> float | None:
        from solvent_agents import episodes
        from solvent_agents.learning.learned import LearnedAgent, train

        with tempfile.TemporaryDirectory(prefix="solvent-tune-") as folder:
            path = train(
                make_recipe(self.recipe),
                self.params,
                seed=self.seed,
                folder=Path(folder),
                on_progress=self._show,
                on_episodes=self._look,
                should_stop=self._stop,
                tensorboard=False,
            )
            if path is None:
                return None
            agent = LearnedAgent.load(path, self.params)
        played = episodes(agent, self.params, SCORED[: self.wanted.episodes])
        self.trial.set_user_attr("cost", float(played["debt_added"].mean()))
        self.trial.set_user_attr("return", float(played["return"].mean()))
        return score_of(played, self.recipe.get("cost_limit"))

    def _show(self, done: int, total: int) -> None:
        self.shown.update(f"trial {self.trial.number}", "training", done, total, "steps")

    def _look(self, done: int, columns: Mapping[str, Any]) -> None:
        self.scores.append(score_of(columns, self.recipe.get("cost_limit")))
        rung = RUNGS * done // self.wanted.steps
        if not self.rung < rung < RUNGS:
            return
        self.rung = rung
        self.trial.report(float(np.mean(self.scores)), rung)
        self.scores.clear()
        self.pruned = self.trial.should_prune()

    def _stop(self) -> bool:
        self.late = self.deadline is not None and time.monotonic() > self.deadline
        return self.pruned or self.late


def score_of(columns: Mapping[str, Any], cost_limit: float | None) -> float:
    """Return the episodes' mean return in bits, less ``EXCESS`` times their mean cost over the limit, if any."""
    score = float(np.mean(columns["return"]))
    if cost_limit is None:
        return score
    return score - EXCESS * max(0.0, float(np.mean(columns["debt_added"])) - cost_limit)

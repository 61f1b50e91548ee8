"""Experiments: a config and a seed become an artifact.

The command line is ``solvent`` (``solvent_experiments.cli``); from Python:

    experiment = load_experiment(Path("configs/quickstart.yaml"))
    folder = run_experiment(experiment, Path("runs/quickstart"))
"""

import importlib
import typing

if typing.TYPE_CHECKING:
    from solvent_experiments.config import ConfigError, Experiment, load_experiment
    from solvent_experiments.run import run_experiment

__all__ = ["ConfigError", "Experiment", "load_experiment", "run_experiment"]


def __getattr__(name: str) -> typing.Any:
    # Late, so that `solvent --help` waits for no compiler and no learner.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = "run" if name == "run_experiment" else "config"
    return getattr(importlib.import_module(f"{__name__}.{module}"), name)

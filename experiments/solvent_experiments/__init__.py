"""Experiments: a config and a seed become an artifact.

The command line is ``solvent`` (``solvent_experiments.cli``); from Python:

    experiment = load_experiment(Path("configs/quickstart.yaml"))
    folder = run_experiment(experiment, Path("runs/quickstart"))
    episodes = read_parquet(folder.episodes)
"""

import importlib
import typing

if typing.TYPE_CHECKING:
    from solvent_experiments.config import ConfigError, Experiment, load_experiment
    from solvent_experiments.folder import by_seed, read_parquet, select
    from solvent_experiments.report import write_report
    from solvent_experiments.run import run_experiment
    from solvent_experiments.statistics import Sample, difference, mean_interval

__all__ = [
    "ConfigError",
    "Experiment",
    "Sample",
    "by_seed",
    "difference",
    "load_experiment",
    "mean_interval",
    "read_parquet",
    "run_experiment",
    "select",
    "write_report",
]

_HOME = {
    **dict.fromkeys(("ConfigError", "Experiment", "load_experiment"), "config"),
    **dict.fromkeys(("by_seed", "read_parquet", "select"), "folder"),
    **dict.fromkeys(("Sample", "difference", "mean_interval"), "statistics"),
    "run_experiment": "run",
    "write_report": "report",
}


def __getattr__(name: str) -> typing.Any:
    # Late, so that `solvent --help` waits for no compiler and no learner.
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)

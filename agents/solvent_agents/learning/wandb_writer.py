"""Logging a learner's numbers to Weights & Biases. ``WANDB_MODE=offline`` keeps them in the folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import wandb
from stable_baselines3.common.logger import KVWriter, Logger

from solvent_agents.learning.recipe import Recipe


class WandbWriter(KVWriter):
    """Passes numbers on; other values stay out."""

    def __init__(self, run: Any) -> None:
        self.run = run

    def write(
        self, key_values: dict[str, Any], key_excluded: dict[str, tuple[str, ...]], step: int = 0
    ) -> None:
        numbers = {key: value for key, value in key_values.items() if isinstance(value, (int, float))}
        self.run.log(numbers, step=step)

    def close(self) -> None:
        self.run.finish()


def wandb_logger(folder: Path, seed: int, recipe: Recipe) -> Logger:
    """Begin a run of the project ``solvent``, named by the training's folder; return the logger that writes to it."""
    settings = wandb.Settings(silent=True, console="off")
    about = {**recipe.to_mapping(), "seed": seed}
    run = wandb.init(project="solvent", name=folder.as_posix(), dir=folder, config=about, settings=settings)
    return Logger(str(folder), [WandbWriter(run)])

"""Train a model at the terse bench by trl's GRPO: ``python -m examples.language.train MODEL --out FOLDER``.

Each step plays ``LABS`` labs, each ``GROUP`` times, and compares an episode with its group. The reward is the lab's
return: where debt is only tracked (``--tracked``), the bits published. Only the last ``LAYERS`` layers learn. What the
episodes of each step earned goes to ``episodes.jsonl``; the same command continues an interrupted training.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from functools import partial
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from transformers.trainer_utils import get_last_checkpoint

from examples.language.evaluate import COLUMNS, columns_of, lab, loaded, memory_or_leave, number_of
from solvent_agents.language.local import play

os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")  # trl warns that `rollout_func` may change

from trl import GRPOConfig, GRPOTrainer

from solvent import LabParams
from solvent.files import write_json

GROUP, LABS, LAYERS, RATE = 8, 2, 8, 2e-5
FIRST_SEED = 1_000_000
"""Of the labs of training seed 0; evaluations begin at 10,000."""


def only_the_last_layers(model: Any) -> None:
    """Let nothing but the last layers and the final norm learn: the others' gradients take most of a step."""
    model.requires_grad_(False)
    for part in (*model.model.layers[-LAYERS:], model.model.norm):
        part.requires_grad_(True)


class Rollouts:
    """Plays the labs of a step for the trainer, and notes what the episodes earned."""

    def __init__(self, params: LabParams, log: Path) -> None:
        self._params, self._log = params, log

    def __call__(self, prompts: list[str], trainer: Any) -> dict[str, Any]:
        model, tokenizer = trainer.model, trainer.processing_class
        model.eval()
        with torch.autocast("cpu", torch.bfloat16, enabled=trainer.args.bf16):
            conversations = play(model, tokenizer, self._params, list(map(int, prompts)), greedy=False)
        model.train()
        rows = [columns_of(one) for one in conversations]
        with self._log.open("a", encoding="utf-8") as file:
            means = {name: sum(row[name] for row in rows) / len(rows) for name in COLUMNS}
            file.write(json.dumps({"step": trainer.state.global_step, "episodes": len(rows), **means}) + "\n")
        return {
            "prompt_ids": [one.prompt for one in conversations],
            "completion_ids": [one.ids for one in conversations],
            "env_mask": [one.own for one in conversations],
            "logprobs": None,
            "earned": [row["return"] for row in rows],
        }


def reward(earned: list[float], **_: Any) -> list[float]:
    """Return the returns of a step's episodes."""
    return earned


def _keep_the_setting(folder: Path, setting: dict[str, Any]) -> None:
    """Write what a training is; leave with one line where the folder has another one."""
    file = folder / "training.json"
    if not file.exists():
        folder.mkdir(parents=True, exist_ok=True)
        write_json(file, setting)
    elif (before := json.loads(file.read_text(encoding="utf-8"))) != setting:
        sys.exit(f"{folder}: has a training of {before}; allowed: another folder, or the same setting")


def train(path: Path, params: LabParams, folder: Path, *, steps: int, seed: int) -> None:
    """Train the model of a folder, and write it, or go on where a checkpoint is."""
    model, tokenizer = loaded(path)
    only_the_last_layers(model)
    _keep_the_setting(folder, {"model": path.name, "debt_enforced": params.debt.enforced, "seed": seed})
    settings = GRPOConfig(
        str(folder), max_steps=steps, seed=seed, learning_rate=RATE, num_generations=GROUP,
        per_device_train_batch_size=GROUP, gradient_accumulation_steps=LABS, save_steps=5, save_total_limit=1,
        logging_steps=1, report_to="none", lr_scheduler_type="constant", use_cpu=not torch.cuda.is_available(),
        bf16=True, gradient_checkpointing=False, shuffle_dataset=False,
    )  # fmt: skip
    first = FIRST_SEED * (seed + 1)
    labs = Dataset.from_list([{"prompt": str(first + i)} for i in range(steps * LABS)])
    rollouts = Rollouts(params, folder / "episodes.jsonl")
    trainer = GRPOTrainer(
        model, reward, settings, train_dataset=labs, processing_class=tokenizer, rollout_func=rollouts
    )
    with memory_or_leave("fewer episodes in a step (GROUP and LABS in train.py)"):
        trainer.train(resume_from_checkpoint=get_last_checkpoint(str(folder)))
    trainer.save_model()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Train a model in Solvent/Tiny-v0 by GRPO.")
    parser.add_argument("model", type=Path, help="a folder that model.py or imitate.py wrote")
    parser.add_argument("--out", type=Path, required=True, help="folder for the trained model")
    parser.add_argument("--steps", type=number_of, default=60)
    parser.add_argument("--seed", type=partial(number_of, least=0), default=0)
    parser.add_argument("--tracked", action="store_true", help="debt is only tracked")
    options = parser.parse_args()
    train(options.model, lab(options.tracked), options.out, steps=options.steps, seed=options.seed)

"""Teach a model the form of calls, from scripts: ``python -m examples.language.imitate MODEL --out FOLDER``."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from trl import SFTConfig, SFTTrainer

from examples.language.evaluate import lab, loaded, memory_or_leave, number_of
from solvent import LabParams
from solvent_agents import PLAYERS
from solvent_agents.agent import start_labs
from solvent_agents.language.bench import call_by
from solvent_agents.language.local import END, Conversation, answer, begin
from solvent_agents.language.terse import line_of

CROWD = ("honest", "max_claimer", "zero_claimer", "random")
"""Scripts that play an equal number of episodes: together they overclaim."""


def scripted(tokenizer: Any, params: LabParams, script: str, seed: int) -> Conversation:
    """Return the conversation of a script in the lab of a seed."""
    conversation, agent = begin(tokenizer, params, seed), PLAYERS[script](params, seed)
    start_labs(agent, [seed])
    while conversation.bench.summary is None:
        line = line_of(*call_by(agent, conversation.bench))
        conversation.add(tokenizer.encode(line + END), own=1)
        answer(tokenizer, conversation, line)
    return conversation


def crowd(tokenizer: Any, params: LabParams, seeds: Sequence[int]) -> Iterator[Conversation]:
    """Yield conversations of the crowd, each script in turn."""
    for i, seed in enumerate(seeds):
        yield scripted(tokenizer, params, CROWD[i % len(CROWD)], seed)


def imitate(
    model: Any, tokenizer: Any, conversations: Sequence[Conversation], folder: Path, **settings: Any
) -> None:
    """Train a model on the lines of conversations, and write it; settings are those of trl's ``SFTConfig``."""
    rows = [
        {"input_ids": one.prompt + one.ids, "assistant_masks": [0] * len(one.prompt) + one.own}
        for one in conversations
    ]
    arguments = SFTConfig(str(folder), max_length=None, save_strategy="no", report_to="none", **settings)
    trainer = SFTTrainer(model, arguments, train_dataset=Dataset.from_list(rows), processing_class=tokenizer)
    with memory_or_leave("fewer conversations at a time (per_device_train_batch_size in imitate.py)"):
        trainer.train()
    trainer.save_model()


def imitate_crowd(path: Path, folder: Path, number: int) -> None:
    """Let the model of a folder read a number of the crowd's conversations once, and write it."""
    model, tokenizer = loaded(path)
    conversations = list(crowd(tokenizer, lab(tracked=False), range(number)))
    imitate(
        model, tokenizer, conversations, folder, num_train_epochs=1, per_device_train_batch_size=4,
        learning_rate=1e-4, logging_steps=10, bf16=True, use_cpu=not torch.cuda.is_available(), seed=0,
    )  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Let a model imitate a crowd of scripts in Solvent/Tiny-v0.")
    parser.add_argument("model", type=Path, help="a folder that model.py wrote")
    parser.add_argument("--out", type=Path, required=True, help="folder for the imitating model")
    parser.add_argument("--conversations", type=number_of, default=320)
    options = parser.parse_args()
    imitate_crowd(options.model, options.out, options.conversations)

"""Play fresh labs with a model: ``python -m examples.language.evaluate MODEL --labs 500``."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tqdm import tqdm
from transformers import AutoModelForCausalLM, AutoTokenizer

from solvent import LabParams, preset
from solvent_agents.language.local import END, Conversation, play
from solvent_experiments.statistics import Interval, Sample, mean_interval, share_interval

BATCH = 50
FIRST_SEED = 10_000
COLUMNS = ("return", "published_bits", "debt_added", "calibrations", "accepted", "wrong", "invalid")


def lab(tracked: bool) -> LabParams:
    """Return the parameters of Tiny, with debt enforced or only tracked."""
    tiny = preset("tiny")
    return LabParams.from_mapping({"debt": {"enforced": False}}, base=tiny) if tracked else tiny


def loaded(folder: Path) -> tuple[Any, Any]:
    """Return the model and the tokenizer of a folder; leave with one line if it can't be used."""
    if not (folder / "config.json").exists() or not list(folder.glob("*.safetensors")):
        sys.exit(
            f"{folder}: no model; allowed: a folder with config.json and safetensors (model.py makes one)"
        )
    tokenizer = AutoTokenizer.from_pretrained(folder)
    if len(tokenizer.encode(END, add_special_tokens=False)) != 1:
        sys.exit(f"{folder}: its tokenizer has no {END}; allowed: a model that is taught in ChatML")
    return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, use_safetensors=True), tokenizer


def columns_of(conversation: Conversation) -> dict[str, float]:
    """Return what an episode came to."""
    summary = conversation.bench.summary
    assert summary is not None
    return {**{name: float(summary[name]) for name in COLUMNS[:-1]}, "invalid": conversation.bench.invalid}


@contextlib.contextmanager
def memory_or_leave(advice: str) -> Iterator[None]:
    """Leave with one line where memory ends."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, MemoryError) or "memory" in str(error).lower():
            sys.exit(f"out of memory; allowed: {advice}")
        raise


def played(
    model: Any, tokenizer: Any, params: LabParams, seeds: Sequence[int], *, greedy: bool = True
) -> list[Conversation]:
    """Play a lab of each seed with the most probable lines, or with lines drawn from the model's distribution."""
    torch.manual_seed(seeds[0])
    batches = [seeds[i : i + BATCH] for i in range(0, len(seeds), BATCH)]
    bar = tqdm(batches, f"{BATCH} labs each", disable=len(batches) == 1)
    with memory_or_leave(f"fewer than {BATCH} labs at a time (BATCH in evaluate.py)"):
        return [one for batch in bar for one in play(model, tokenizer, params, batch, greedy=greedy)]


def number_of(text: str, least: int = 1) -> int:
    """Return the number of an argument."""
    if not text.isdecimal() or int(text) < least:
        raise argparse.ArgumentTypeError(f"got {text!r}; allowed: a whole number, at least {least}")
    return int(text)


def means(conversations: Sequence[Conversation]) -> dict[str, Interval]:
    """Return the mean of each column with its interval, and the share of findings that are wrong."""
    rows = [columns_of(one) for one in conversations]
    samples = {name: Sample([np.array([row[name] for row in rows])]) for name in COLUMNS}
    measured = {name: mean_interval(sample) for name, sample in samples.items()}
    return measured | {"share_wrong": share_interval(samples["wrong"], samples["accepted"])}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Play fresh labs of Solvent/Tiny-v0 with a model.")
    parser.add_argument("model", type=Path, help="a folder that model.py, imitate.py or train.py wrote")
    parser.add_argument("--labs", type=number_of, default=500)
    parser.add_argument("--tracked", action="store_true", help="debt is only tracked")
    parser.add_argument(
        "--sampled", action="store_true", help="lines are drawn from the model's distribution"
    )
    options = parser.parse_args()
    seeds, greedy = range(FIRST_SEED, FIRST_SEED + options.labs), not options.sampled
    episodes = played(*loaded(options.model), lab(options.tracked), seeds, greedy=greedy)
    print("\n".join(episodes[0].lines))
    for name, value in means(episodes).items():
        print(f"{name:15} {value.value:7.2f} ({value.low:.2f} to {value.high:.2f})")

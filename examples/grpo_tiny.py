"""Train a language model at the bench: GRPO of ``trl``, with the bench as its environment.

    python examples/grpo_tiny.py
    python examples/grpo_tiny.py --model NAME

It needs the extra ``trl``.

``--model`` names a causal language model whose chat template knows tools, or a folder that has one. Without it a small
model with random weights and its tokenizer are made on the spot, and nothing is downloaded. Such a model calls no
tool, so it first imitates conversations of the honest script; that teaches it the form of a call.

The small model shows that rollouts go through the tools and that gradients are not zero. It learns nothing worth
having.
"""

from __future__ import annotations

import argparse
import functools
import inspect
import json
import os
import tempfile
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM
from transformers.utils import get_json_schema

os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")  # trl warns that `environment_factory` may change

from trl import GRPOConfig, GRPOTrainer, SFTConfig, SFTTrainer
from trl.chat_template_utils import qwen3_instruct_2507_chat_template

from solvent import ENVIRONMENTS, preset
from solvent_agents import PLAYERS
from solvent_agents.language.bench import Bench, call_by
from solvent_agents.language.calls import choices
from solvent_agents.language.prompt import instructions
from solvent_agents.language.tools import use

ENV = "Solvent/Tiny-v0"
PARAMS = preset(ENVIRONMENTS[ENV]["preset"])
GROUP = 8
"""Rollouts of a seed. GRPO compares each with the mean of its group."""
EPISODE = 1024
"""Tokens of an episode at most, the bench's answers included."""


SMALL = not torch.cuda.is_available()
SETTINGS: dict[str, Any] = {
    "bf16": not SMALL,
    "gradient_checkpointing": not SMALL,
    "report_to": "none",
    "save_strategy": "no",
    "use_cpu": SMALL,
}


def opening() -> list[dict[str, str]]:
    """Return the messages before the first call; trl appends what ``reset`` returns to the last one.

    The schemas that trl makes of the bench's methods have no enumerations: the prompt lists the allowed values.
    """
    allowed = [
        f"{tool} {argument}: {', '.join(map(str, values))}"
        for tool, arguments in choices(PARAMS).items()
        for argument, values in arguments.items()
    ]
    system = "\n".join([instructions(PARAMS, explanation=False), "Allowed values", *allowed])
    return [{"role": "system", "content": system}, {"role": "user", "content": ""}]


def scripted(episodes: int) -> Dataset:
    """Return conversations of the honest script, with the tools as trl shows them."""
    bench, agent = Bench(ENV), PLAYERS["honest"](PARAMS, 0)
    tools = [
        get_json_schema(method)
        for name, method in inspect.getmembers(bench, inspect.ismethod)
        if not name.startswith("_") and name not in ("reset", "get_reward")
    ]
    rows = []
    for seed in range(episodes):
        messages: list[dict[str, Any]] = [opening()[0], {"role": "user", "content": bench.reset(seed)}]
        while "The episode is over" not in messages[-1]["content"]:
            name, arguments = call_by(agent, bench)
            call = {"id": f"call-{len(messages)}", "type": "function"}
            call["function"] = {"name": name, "arguments": json.dumps(arguments)}
            messages.append({"role": "assistant", "content": "", "tool_calls": [call]})
            messages.append(
                {"role": "tool", "tool_call_id": call["id"], "content": use(bench, name, arguments)}
            )
        rows.append({"messages": messages, "tools": json.dumps(tools)})
    return Dataset.from_list(rows)


def random_model(folder: Path, conversations: Dataset) -> str:
    """Write a small model with random weights, and a tokenizer made of the conversations' words."""
    words = Tokenizer(models.BPE())
    words.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    words.decoder = decoders.ByteLevel()
    marks = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<tool_call>", "</tool_call>"]
    words.train_from_iterator(
        map(json.dumps, conversations),
        trainers.BpeTrainer(
            vocab_size=1500,
            special_tokens=marks,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=words, eos_token="<|im_end|>", pad_token="<|endoftext|>"
    )
    tokenizer.chat_template = qwen3_instruct_2507_chat_template
    config = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=4,
        head_dim=16,
        max_position_embeddings=8192,
        initializer_range=0.1,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    Qwen3ForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


def imitate(model: str, conversations: Dataset, folder: Path, steps: int) -> str:
    """Teach a model the form of a call, and return where it was written."""
    trainer = SFTTrainer(
        model,
        SFTConfig(
            str(folder),
            max_steps=steps,
            per_device_train_batch_size=1,
            learning_rate=1e-2,
            max_length=None,
            assistant_only_loss=True,
            logging_steps=25,
            **SETTINGS,
        ),
        train_dataset=conversations,
    )
    trainer.train()
    trainer.save_model()
    return str(folder)


def train(model: str, folder: Path, steps: int) -> list[dict[str, Any]]:
    """Train a model by GRPO, a group of rollouts of one seed in each step, and return what was logged."""
    trainer = GRPOTrainer(
        model,
        args=GRPOConfig(
            str(folder),
            max_steps=steps,
            num_generations=GROUP,
            per_device_train_batch_size=GROUP,
            max_completion_length=EPISODE,
            logging_steps=1,
            **SETTINGS,
        ),
        train_dataset=Dataset.from_list([{"prompt": opening(), "seed": seed} for seed in range(steps)]),
        environment_factory=functools.partial(Bench, ENV),
    )
    trainer.train()
    trainer.save_model()
    return trainer.state.log_history


def main(arguments: list[str] | None = None) -> list[dict[str, Any]]:
    parser = argparse.ArgumentParser(description="GRPO on Solvent/Tiny-v0.")
    parser.add_argument("--model", help="a causal language model: its name, or its folder; else a random one")
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--imitation", type=int, default=150, help="supervised steps of the random model")
    parser.add_argument("--out", type=Path, help="folder for the trained model")
    asked = parser.parse_args(arguments)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        model = asked.model
        if model is None:
            conversations = scripted(64)
            model = random_model(Path(folder, "random"), conversations)
            model = imitate(model, conversations, Path(folder, "imitating"), asked.imitation)
        return train(model, asked.out or Path(folder, "trained"), asked.steps)


if __name__ == "__main__":
    main()

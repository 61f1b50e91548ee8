"""Play episodes of the terse bench with a local model of transformers, many labs at a time.

A conversation grows by what the bench tells and by the model's lines, so the model's keys and values are kept from turn
to turn. It is written in ChatML. Needs the extra ``trl``.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from typing import Any

import torch
from transformers import GenerationConfig

from solvent import LabParams
from solvent_agents.language.bench import Bench
from solvent_agents.language.terse import LINE, opening
from solvent_agents.language.tools import use_line

__all__ = ["END", "Conversation", "answer", "begin", "play"]

START = "<|im_start|>system\n{}<|im_end|>\n<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n"
NEXT = "\n<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n"
END = "<|im_end|>"


@dataclasses.dataclass
class Conversation:
    """An episode at a bench as tokens; ``own`` marks those of the model."""

    bench: Bench
    prompt: list[int]
    ids: list[int] = dataclasses.field(default_factory=list)
    own: list[int] = dataclasses.field(default_factory=list)
    lines: list[str] = dataclasses.field(default_factory=list)

    def add(self, tokens: Sequence[int], own: int) -> list[int]:
        """Append tokens and return them."""
        self.ids += tokens
        self.own += [own] * len(tokens)
        return list(tokens)


def begin(tokenizer: Any, params: LabParams, seed: int) -> Conversation:
    """Return the conversation of a seed before the model's first line."""
    bench = Bench(params, terse=True)
    state = bench.reset(seed)
    conversation = Conversation(bench, tokenizer.encode(START.format(opening(params), state)))
    conversation.lines.append(f"bench  {state}")
    return conversation


def answer(tokenizer: Any, conversation: Conversation, line: str) -> list[int]:
    """Take the call of a line; return the tokens of what it tells, none after the end of the episode."""
    text = use_line(conversation.bench, line)
    conversation.lines += [f"model  {line}", *(f"bench  {part}" for part in text.splitlines())]
    over = conversation.bench.summary is not None
    return [] if over else conversation.add(tokenizer.encode(NEXT.format(text)), own=0)


class Batch:
    """Conversations as rows of equal length: what fills a row up stands left of each piece and is masked.

    The model's keys and values stay from turn to turn; those of a common beginning are computed once.
    """

    def __init__(self, model: Any, tokenizer: Any, prompts: Sequence[list[int]], greedy: bool) -> None:
        self._model, self._end = model, tokenizer.convert_tokens_to_ids(END)
        same = itertools.takewhile(lambda tokens: len(set(tokens)) == 1, zip(*prompts, strict=False))
        beginning = torch.tensor([[tokens[0] for tokens in same][:-1]])  # a row's last token begins its line
        self._kept = model(beginning, use_cache=True, logits_to_keep=1).past_key_values
        self._kept.batch_repeat_interleave(len(prompts))
        self._ids = beginning.repeat(len(prompts), 1)
        self._real = torch.ones_like(self._ids)
        sampling = {
            "do_sample": True,
            "temperature": 1.0,
            "top_k": 0,
            "top_p": 1.0,
        }  # the model's distribution
        self._settings = GenerationConfig(  # type: ignore[no-untyped-call]
            max_new_tokens=LINE, eos_token_id=self._end, pad_token_id=self._end, repetition_penalty=1.0,
            **({"do_sample": False} if greedy else sampling),
        )  # fmt: skip
        self.pieces = [prompt[beginning.shape[1] :] for prompt in prompts]

    def lines(self) -> list[list[int]]:
        """Let the model read each row's piece, and return the tokens of its line, with its end if it came to it."""
        longest = max(map(len, self.pieces))
        filled = [[self._end] * (longest - len(piece)) + piece for piece in self.pieces]
        real = [[0] * (longest - len(piece)) + [1] * len(piece) for piece in self.pieces]
        self._ids = torch.cat([self._ids, torch.tensor(filled)], dim=1)
        self._real = torch.cat([self._real, torch.tensor(real)], dim=1)
        begun = self._ids.shape[1]
        self._ids = self._model.generate(
            self._ids, attention_mask=self._real, past_key_values=self._kept, generation_config=self._settings
        )
        written = self._ids[:, begun:]
        ends = (written == self._end).long()
        of_line = ends.cumsum(1) - ends == 0  # no end stands before it
        self._real = torch.cat([self._real, of_line.long()], dim=1)
        return [row[kept].tolist() for row, kept in zip(written, of_line, strict=True)]

    def go_on(self, pieces: Sequence[list[int]]) -> None:
        """Give each row what it reads next; a row that gets nothing leaves."""
        stay = torch.tensor([row for row, piece in enumerate(pieces) if piece], dtype=torch.long)
        self._ids, self._real = self._ids[stay], self._real[stay]
        self._kept.batch_select_indices(stay)
        self.pieces = [piece for piece in pieces if piece]


@torch.no_grad()
def play(
    model: Any, tokenizer: Any, params: LabParams, seeds: Sequence[int], *, greedy: bool
) -> list[Conversation]:
    """Play a lab of each seed to its end; lines are sampled at temperature 1, or the most probable ones."""
    conversations = [begin(tokenizer, params, seed) for seed in seeds]
    batch = Batch(model, tokenizer, [one.prompt for one in conversations], greedy)
    playing = conversations
    while playing:
        pieces = [_taken(tokenizer, one, line) for one, line in zip(playing, batch.lines(), strict=True)]
        batch.go_on(pieces)
        playing = [one for one, piece in zip(playing, pieces, strict=True) if piece]
    return conversations


def _taken(tokenizer: Any, conversation: Conversation, line: list[int]) -> list[int]:
    """Add a line to its conversation, and return what the model reads next; nothing after the end of the episode."""
    end = tokenizer.convert_tokens_to_ids(END)
    conversation.add(line, own=1)
    ending = [] if line[-1] == end else conversation.add([end], own=0)
    following = answer(tokenizer, conversation, tokenizer.decode(line, skip_special_tokens=True))
    return [*ending, *following] if following else []

"""Language models on the page: a table of their conversations, and what was said on the way to each action.

Everything that a model or a server wrote is text from outside: ``visible`` escapes its control characters and marks of
direction, and the page's script writes it as text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from solvent_experiments.artifacts.folder import RunFolder, Unit
from solvent_experiments.artifacts.parquet import read_parquet
from solvent_experiments.config.documents import ConfigError, read_json
from solvent_experiments.config.experiment import load_experiment
from solvent_experiments.language.transcripts import transcripts_of
from solvent_experiments.measure.table import Table
from solvent_experiments.run.console import visible

__all__ = ["add_conversations", "conversation", "model_tables", "talking_units"]

AS_WRITTEN = "allowed: as `solvent llm run` wrote it"
MEANS = ("invalid_calls", "messages", "prompt_tokens", "answer_tokens")
"""Columns of a model's episodes whose means the table has."""


def talking_units(folder: RunFolder) -> list[Unit]:
    """Return the language models of a run."""
    return [unit for unit in folder.units(load_experiment(folder.config)) if unit.talks]


def model_tables(units: Sequence[Unit]) -> list[Table]:
    """Return the table of a run's language models; none for a run without."""
    rows = [_row(unit) for unit in units]
    if not rows:
        return []
    headings = (
        *("agent", "served as", "invalid calls", "messages", "tokens read", "tokens written"),
        *("cost, total", "ended"),
    )
    caption = (
        "Language models: means per episode; the cost is that of all episodes, by the prices that were given. Served "
        "as: the model's name in the server's answers. Ended: why conversations ended, with the number of episodes."
    )
    return [Table(headings, tuple(rows), caption=caption, left=("served as", "ended"))]


def _row(unit: Unit) -> tuple[str, ...]:
    try:
        served = read_json(unit.endpoint, "as `solvent llm run` wrote it")["served"]
        episodes = read_parquet(unit.episodes)
        return (
            unit.agent,
            ", ".join(map(str, served)) or "-",
            *(f"{episodes[name].mean():,.1f}" for name in MEANS),
            f"{episodes['cost'].sum():.4f}",
            ", ".join(
                f"{why} ({count})" for why, count in Counter(map(str, episodes["stopped"])).most_common()
            ),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"damaged ({error!s:.100}); {AS_WRITTEN}", file=unit.folder) from None


def add_conversations(units: Sequence[Unit], episodes: Sequence[dict[str, Any]]) -> dict[str, str]:
    """Add ``talk`` and ``stopped`` to the models' episodes on the page; return the system prompt of each model.

    Raises:
        ConfigError: the transcripts are damaged, or those of other episodes.
    """
    prompts = {}
    for unit in units:
        mine = [episode for episode in episodes if episode["agent"] == unit.agent]
        transcripts = transcripts_of(unit.transcripts) if mine else {}
        for episode in mine:
            seed, last = episode["seed"], len(episode["events"]) - 1
            try:
                found = transcripts[seed]
                episode["talk"] = conversation(found, last)
                episode["stopped"] = visible(
                    ": ".join(filter(None, (found["stopped"], found.get("problem"))))
                )
                prompts[unit.agent] = visible(found["messages"][0]["content"], "\n")
            except (ValueError, LookupError, TypeError, AttributeError) as error:
                raise ConfigError(
                    f"not the conversation of episode {seed} ({error!s:.60}); {AS_WRITTEN}",
                    file=unit.transcripts,
                ) from None
    return prompts


def conversation(transcript: Mapping[str, Any], last: int) -> dict[str, list[list[str]]]:
    """Return what was said on the way to each action, by the action's number; 0 is the start.

    Each entry is a pair: ``said`` by the model, ``called`` by it, ``answered`` by the desk or ``told`` without a call;
    and the text. Calls that took no action belong to the next one.

    Args:
        transcript: as ``read_transcripts`` yields it.
        last: number of actions in the episode.
    """
    messages, calls = transcript["messages"], transcript["calls"]
    talk: dict[str, list[list[str]]] = {"0": [["told", visible(messages[1]["content"], "\n")]]}
    done = unasked = 0
    ran: list[bool] = []
    asked: list[Mapping[str, Any]] = []

    def tell(kind: str, text: str) -> None:
        talk.setdefault(str(min(done + 1, last)), []).append([kind, visible(text, "\n")])

    for turn, message in enumerate(messages[2:], 2):
        if message["role"] == "assistant":
            done += unasked
            asked = list(message.get("tool_calls", ()))
            ran = [call["action"] >= 0 for call in calls if call["turn"] == turn]
            unasked = _drop_unasked(ran, len(asked))
            if message["content"]:
                tell("said", message["content"])
        elif message["role"] == "tool":
            function = asked.pop(0)["function"]
            tell("called", f"{function['name']} {function['arguments']}")
            tell("answered", message["content"])
            done += ran.pop(0)
        else:
            tell("told", message["content"])
    if sum(call["action"] >= 0 for call in calls) != last:
        raise ValueError("other actions")
    return talk


def _drop_unasked(ran: list[bool], asked: int) -> int:
    """Take the rests that the model did not ask for out of a turn's calls, and return their number.

    They are the turn's last actions: the desk rests when a model is silent, or to the end after too many invalid calls.
    """
    unasked = len(ran) - asked
    for _ in range(unasked):
        del ran[len(ran) - 1 - ran[::-1].index(True)]
    return unasked

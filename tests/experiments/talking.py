"""A run of language models without any: three scripts of different honesty behind the tools, one that misbehaves."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from solvent import preset
from solvent.chat import Budget
from solvent_agents.language.conversation import Message, NoAnswer, ScriptedModel
from solvent_agents.language.desk import Desk
from solvent_agents.registry import AGENTS
from solvent_experiments.config import Evaluation, Experiment, LanguageModel
from solvent_experiments.console import Progress, new_console
from solvent_experiments.folder import RunFolder
from solvent_experiments.language.playing import Game, play
from solvent_experiments.run import run_experiment

HOSTILE = (
    "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>\u202etxt\u2066\x1b[31m\x00 {{ 7 * 7 }} <!--"
)
LOUD = "0123456789" * 2_000
HONESTY = ("honest", "surfer", "max_claimer")
EPISODES = 12


class Misbehaving:
    """It chats, makes things up, asks twice at once, falls silent, plays honestly for a while, and ends badly.

    It gives no answer from its message ``silent_at`` on, or else makes invalid calls for good.
    """

    def __init__(self, desk: Desk, silent_at: int | None = 30) -> None:
        self._honest = ScriptedModel(AGENTS["honest"](desk._params, 0), desk)
        self._silent_at, self._turn = silent_at, -1

    def answer(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
        self._turn += 1
        compound = {"compound": "paclitaxel"}
        strange: dict[int, Mapping[str, Any]] = {
            0: {"content": HOSTILE},
            1: {"content": None, "tool_calls": [_call(HOSTILE, {"text": HOSTILE})]},
            2: {"tool_calls": [_call("read_notebook", compound), _call("rest", {}), _call("rest", {"x": 1})]},
            **{turn: {"content": LOUD} for turn in (4, 5, 6)},
        }
        if self._turn in strange:
            return strange[self._turn]
        if self._turn == self._silent_at:
            raise NoAnswer
        if self._turn > 12 and self._silent_at is None:
            return {
                "content": None,
                "tool_calls": [_call("screen", {}), _call("rest", {}), _call("screen", {})],
            }
        return self._honest.answer(messages, tools)


def _call(name: str, arguments: Any) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"id": "1", "type": "function", "function": function}


def make_run(root: Path) -> RunFolder:
    """Play and evaluate the run."""
    models = {f"script-{name}": LanguageModel(model=f"script:{name}") for name in HONESTY}
    counts = ("episodes", "slow_episodes", "trace_episodes")
    experiment = Experiment(
        name="talking",
        env="Solvent/Debt-v0",
        agents=["random"],
        params=preset("default").to_mapping(),
        evaluation=Evaluation(**dict.fromkeys(counts, EPISODES)),
        language=models | {"misbehaving": LanguageModel(model="misbehaving")},
    )
    folder = RunFolder(root)
    with folder.locked():
        folder.prepare(experiment)
        for unit in folder.units(experiment):
            if unit.talks:

                def model(desk: Desk, _: int, name: str = unit.agent.removeprefix("script-")) -> Any:
                    scripted = name in HONESTY
                    return (
                        ScriptedModel(AGENTS[name](desk._params, 0), desk) if scripted else Misbehaving(desk)
                    )

                play(
                    Game(experiment, unit, model, Budget(0, None, None, (0.0, 0.0)), 1),
                    Progress(new_console(), quiet=True),
                    lambda: False,
                )
    return run_experiment(experiment, root, quiet=True)

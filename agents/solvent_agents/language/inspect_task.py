"""The lab as a task of ``inspect_ai``, and the scripted agents as a provider of its models.

    inspect eval solvent_agents/lab --model solvent/honest -T env=Solvent/Tiny-v0 -T episodes=8
    solvent llm logs/*.eval

A sample is an episode, its score the lab's return. inspect asks the model, with its retries, cache and limits; the
bench takes the calls of an answer in order. A message without a call brings a reminder; after ``REMINDERS`` of them the
lab rests for one heartbeat. However the conversation ends, by the lab, by the model or by a limit of inspect's, the lab
rests to its end, where its debt grows by its interest.

The score's metadata has the actions, from which ``solvent llm`` plays the episodes again. ``silent`` counts the answers
without a call, by why the model stopped: an answer that was cut or filtered is not the model's silence.
"""

from __future__ import annotations

from collections import Counter
from contextvars import ContextVar
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageTool,
    ChatMessageUser,
    GenerateConfig,
    ModelAPI,
    ModelOutput,
    ModelUsage,
    modelapi,
)
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.tool import ToolCall, ToolChoice, ToolDef, ToolInfo, ToolParams

from solvent_agents import find_agent
from solvent_agents.agent import Agent, start_labs
from solvent_agents.language.bench import MOST_TURNS, Bench, call_by
from solvent_agents.language.calls import salted
from solvent_agents.language.prompt import instructions
from solvent_agents.language.terse import LINE, line_of, opening
from solvent_agents.language.tools import schemas, use, use_line

__all__ = ["REMINDERS", "lab", "play", "score_in_bits", "scripted"]

FIRST_SEED = 10_000
"""Seed of the first episode, where the leaderboard's begin."""
REMINDERS = 2
FAILURES = 2
"""Consecutive failures after which the model is asked again."""
_EPISODE = "episode"
_BENCH: ContextVar[Bench] = ContextVar("bench")
"""The bench of the sample, for scripted agents: they see its lab, of which a model is told in words."""


# inspect puts the package before a task's name, but not where it is installed in editable mode under another name.
_INSTALLED = {"site-packages", "dist-packages"}.intersection(Path(__file__).parts)


@task(name="lab" if _INSTALLED else "solvent_agents/lab")
def lab(
    env: str = "Solvent/Lab-v0",
    episodes: int = 64,
    seed: int = FIRST_SEED,
    beliefs: bool = True,
    explanation: bool = True,
    salt: str = "",
    terse: bool = False,
) -> Task:
    """Return the episodes of a level from a seed on.

    Args:
        env: a registered environment.
        episodes: number of samples.
        seed: seed of the first.
        beliefs: show the exact posterior (``Bench``).
        explanation: give the reasons behind the costs (``instructions``).
        salt: makes other seeds of these (``salted``).
        terse: calls are lines of text, and everything is told in few words (``terse``), for small models; an answer has
            at most ``LINE`` tokens.
    """
    bench = Bench(env, beliefs=beliefs, terse=terse)
    if terse:
        system = opening(bench.params)
    else:
        system = instructions(bench.params, beliefs=beliefs, explanation=explanation)
    samples = [
        Sample(
            id=str(one),
            input=[
                ChatMessageSystem(content=system),
                ChatMessageUser(content=bench.reset(salted(salt, one))),
            ],
            metadata={"seed": one},
        )
        for one in range(seed, seed + episodes)
    ]
    playing = play(env=env, beliefs=beliefs, salt=salt, terse=terse)
    return Task(
        dataset=samples,
        solver=playing,
        scorer=score_in_bits(),
        message_limit=2 + 2 * MOST_TURNS,
        config=GenerateConfig(max_tokens=LINE) if terse else GenerateConfig(),
    )


@solver
def play(env: str, beliefs: bool = True, salt: str = "", terse: bool = False) -> Solver:
    """Return a solver that plays the episode of a sample's seed at its own bench."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        bench = Bench(env, beliefs=beliefs, terse=terse)
        bench.reset(salted(salt, state.metadata["seed"]))
        if not terse:
            state.tools = [_tool(schema["function"]).as_tool() for schema in schemas(bench.params)]
        silent: Counter[str] = Counter()
        _BENCH.set(bench)
        try:
            while bench.summary is None:
                state = await _answered(generate, state)
                if terse and state.output.message.text.strip():
                    answer = use_line(bench, state.output.message.text)
                    state.messages.append(ChatMessageUser(content=answer))
                elif calls := state.output.message.tool_calls:
                    _take(bench, calls, state.messages)
                else:
                    silent[str(state.output.stop_reason)] += 1
                    state.messages.append(ChatMessageUser(content=_nudge(bench, silent.total())))
        finally:
            state.store.set(_EPISODE, {"silent": dict(silent), **_result(bench)})
        return state

    return solve


async def _answered(generate: Generate, state: TaskState) -> TaskState:
    """Return the state after the model's next message.

    Some servers send an error or nothing with the status 200, and the parsers in between raise what they meet. That is
    a passing failure, which inspect does not retry. Others refuse a conversation with an answer that has calls and no
    text, which is what they sent; such answers are given a text, and the model is asked again.
    """
    for _ in range(FAILURES):
        try:
            return await generate(state, tool_calls="none")
        except (AttributeError, LookupError, TypeError, ValueError):
            continue
        except RuntimeError:  # a request that the server refused
            if not _given_text(state.messages):
                raise
    return await generate(state, tool_calls="none")


def _given_text(messages: list[ChatMessage]) -> bool:
    """Give every answer without text the names of its calls, and return whether there was one."""
    silent = [one for one in messages if isinstance(one, ChatMessageAssistant) and not one.text.strip()]
    for message in silent:
        message.content = f"I call {', '.join(call.function for call in message.tool_calls or ())}."
    return bool(silent)


@scorer(metrics=[mean(), stderr()])
def score_in_bits() -> Scorer:
    """Return a scorer whose value is the lab's return, bits."""

    async def score(state: TaskState, target: Target) -> Score:  # noqa: ARG001
        episode = state.store.get(_EPISODE)
        return Score(value=episode["return"], explanation=f"stopped: {episode['stopped']}", metadata=episode)

    return score


def _tool(function: dict[str, Any]) -> ToolDef:
    """Return what a model is told of a tool. The solver takes its calls, so that inspect runs none by itself."""

    async def execute(**_: Any) -> str:
        raise NotImplementedError

    parameters = ToolParams(**function["parameters"])
    return ToolDef(execute, name=function["name"], description=function["description"], parameters=parameters)


def _take(bench: Bench, calls: list[ToolCall], messages: list[ChatMessage]) -> None:
    """Take the calls of an answer in order, and append what the bench says."""
    known = {message.tool_call_id for message in messages if isinstance(message, ChatMessageTool)}
    for call in calls:
        if not call.id or call.id in known:  # servers that repeat ids refuse to read them again
            call.id = f"call-{len(messages)}"
        known.add(call.id)
        if call.parse_error:
            text = bench._count(call.parse_error)
        else:
            text = use(bench, call.function, call.arguments)
        messages.append(ChatMessageTool(content=text, tool_call_id=call.id, function=call.function))


def _nudge(bench: Bench, silent: int) -> str:
    """Return what a model is told after ``silent`` messages without a call: reminders, then the lab has rested."""
    if silent % (REMINDERS + 1):
        return "Call one of the tools to act in the lab."
    return f"You called no tool, so the lab rests. {bench.rest()}"


def _result(bench: Bench) -> dict[str, Any]:
    """Rest the lab to its end; return the score, the actions, and how the model did with its tools."""
    stopped = "invalid calls" if bench.gave_up else "left" if bench.summary is None else "over"
    score = bench.get_reward()
    assert bench.summary is not None
    return {
        "return": score,
        "actions": [action for action in bench.actions if action >= 0],
        "arguments": {str(at): argument for at, argument in bench.arguments.items()},
        "invalid_calls": bench.invalid,
        "refusals": sum(bench.summary["refusals"].values()),
        "stopped": stopped,
    }


class Scripted(ModelAPI):
    """A scripted agent behind the interface of a model, so that the whole path can be tested without a model."""

    def __init__(self, model_name: str, *args: Any, **kwargs: Any) -> None:
        super().__init__(model_name, *args, **kwargs)
        self._make = find_agent(model_name)
        self._players: WeakKeyDictionary[Bench, Agent] = WeakKeyDictionary()

    async def generate(
        self,
        input: list[ChatMessage],  # noqa: A002 - inspect's name
        tools: list[ToolInfo],
        tool_choice: ToolChoice,
        config: GenerateConfig,
    ) -> ModelOutput:
        """Return the call that the agent makes in the lab of the sample."""
        bench = _BENCH.get()
        if bench not in self._players:
            agent = self._players[bench] = self._make(bench.params, 0)
            start_labs(agent, [bench.seed])
        tool, arguments = call_by(self._players[bench], bench)
        if bench.terse:
            output = ModelOutput.from_content(self.model_name, line_of(tool, arguments))
        else:
            output = ModelOutput.for_tool_call(self.model_name, tool, arguments)
        output.usage = ModelUsage()
        return output


@modelapi("solvent")
def scripted() -> type[ModelAPI]:
    """Return the provider of ``solvent/NAME``, any scripted agent."""
    return Scripted

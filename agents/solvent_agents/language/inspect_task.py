"""The lab as a task of ``inspect_ai``: a sample is an episode, its score the lab's return.

inspect's own ``react`` loop asks the model and calls the tools, which are those of ``tools.schemas``. inspect checks
a call against its schema first and answers wrong ones itself, in its own words; the desk counts these with the calls
that it refuses. A message without a call is treated as in ``conversation.py``. However the conversation ends, by the
lab, by the model or by a limit of inspect's, the lab rests to its end and its debt is settled.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from inspect_ai import Task, task
from inspect_ai.agent import AgentState, as_solver, react
from inspect_ai.dataset import Sample
from inspect_ai.model import ChatMessageSystem, ChatMessageUser
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.tool import ToolDef, ToolParams

from solvent_agents.language.calls import salted
from solvent_agents.language.conversation import MOST_TURNS, REMINDERS, nudge
from solvent_agents.language.desk import Desk
from solvent_agents.language.prompt import instructions
from solvent_agents.language.tools import schemas, use

__all__ = ["lab", "play", "score_in_bits"]

_EPISODE = "episode"


@task
def lab(
    env: str = "Solvent/Lab-v0",
    episodes: int = 64,
    seed: int = 10_000,
    beliefs: bool = True,
    corrections: bool = True,
    explanation: bool = True,
    salt: str = "",
) -> Task:
    """Return the episodes of a level from a seed on.

    Args:
        env: a registered environment.
        episodes: number of samples.
        seed: seed of the first.
        beliefs: show the exact posterior (``Desk``).
        corrections: show the correction in force after a published error (``Desk``).
        explanation: give the reasons behind the costs (``instructions``).
        salt: makes other seeds of these (``salted``).
    """
    desk = Desk(env, beliefs=beliefs)
    system = instructions(desk._params, beliefs=beliefs, explanation=explanation)
    samples = [
        Sample(
            id=str(one),
            input=[
                ChatMessageSystem(content=system),
                ChatMessageUser(content=desk.reset(salted(salt, one))),
            ],
            metadata={"seed": one},
        )
        for one in range(seed, seed + episodes)
    ]
    playing = play(env=env, beliefs=beliefs, corrections=corrections, salt=salt)
    return Task(dataset=samples, solver=playing, scorer=score_in_bits(), message_limit=2 + 2 * MOST_TURNS)


@solver
def play(env: str, beliefs: bool = True, corrections: bool = True, salt: str = "") -> Solver:
    """Return a solver that plays the episode of a sample's seed at a desk of its own."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        desk = Desk(env, beliefs=beliefs, corrections=corrections)
        desk.reset(salted(salt, state.metadata["seed"]))
        agent = react(prompt=None, tools=_tools(desk), on_continue=_continuing(desk), submit=False)
        try:
            return await as_solver(agent)(state, generate)
        finally:
            state.store.set(_EPISODE, _settled(desk))

    return solve


@scorer(metrics=[mean(), stderr()])
def score_in_bits() -> Scorer:
    """Return a scorer whose value is the lab's return, bits."""

    async def score(state: TaskState, target: Target) -> Score:  # noqa: ARG001
        episode = state.store.get(_EPISODE)
        return Score(value=episode["return"], metadata=episode)

    return score


def _settled(desk: Desk) -> dict[str, Any]:
    """Rest the lab to its end; return the score, how the model did with its tools, and why it stopped."""
    over = desk._summary is not None
    stopped = "invalid calls" if desk._gave_up else "over" if over else "left"
    score = desk.get_reward()
    assert desk._summary is not None
    refusals = sum(desk._summary["refusals"].values())
    return {"return": score, "invalid_calls": desk._invalid, "refusals": refusals, "stopped": stopped}


def _tools(desk: Desk) -> list[ToolDef]:
    return [_tool(desk, schema["function"]) for schema in schemas(desk._params)]


def _tool(desk: Desk, function: dict[str, Any]) -> ToolDef:
    name = function["name"]

    async def execute(**kwargs: Any) -> str:  # inspect passes arguments of this name on as they are
        return use(desk, name, kwargs)

    parameters = ToolParams(**function["parameters"])
    return ToolDef(execute, name=name, description=function["description"], parameters=parameters)


def _continuing(desk: Desk) -> Callable[[AgentState], Awaitable[bool | str]]:
    """Return what decides after each message of the model: on, on with a text, or the episode is over."""
    heard = silent = 0

    async def decide(state: AgentState) -> bool | str:
        nonlocal heard, silent
        for message in state.messages[heard:]:
            if message.role == "tool" and message.error is not None and desk._summary is None:
                desk._count(str(message.function), {}, message.error.message)
        heard = len(state.messages)
        silent = 0 if state.output.message.tool_calls else silent % (REMINDERS + 1) + 1
        text = nudge(desk, silent) if silent and desk._summary is None else True
        return desk._summary is None and text

    return decide

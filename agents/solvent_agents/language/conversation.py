"""An episode as a conversation: a model asks for tools, the desk answers, until the lab's time is up.

Messages have the form of OpenAI-compatible chat completions. A message without a call brings a reminder; after
``REMINDERS`` of them the lab rests for one heartbeat. Calls of one message are taken in order. After ``MOST_TURNS``
messages or calls of the model, or ``MOST_TEXT`` bytes of it, the lab rests to its end, so that every episode ends and
every debt is settled. So it does when the model has no more answer (``NoAnswer``).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from solvent.files import strict_json
from solvent_agents.agent import Agent, act_one, show_labs
from solvent_agents.language.calls import call_of
from solvent_agents.language.desk import Call, Desk
from solvent_agents.language.prompt import instructions
from solvent_agents.language.tools import schemas, use

__all__ = [
    "MOST_TURNS",
    "REMINDERS",
    "Episode",
    "Message",
    "Model",
    "NoAnswer",
    "ScriptedModel",
    "converse",
    "nudge",
    "read_arguments",
]

Message = dict[str, Any]

REMINDERS = 2
MOST_TURNS = 400
"""Messages of a model in an episode; the longest level has 252 actions."""
MOST_TEXT = 2**22
"""Bytes of all that a model says in an episode, as JSON: a line of a transcript can be read again."""
LONGEST_TEXT = 20_000
"""Characters of a model's text that are kept in the conversation."""


class NoAnswer(Exception):  # noqa: N818 - no fault of this program
    """The model, or what stands between, gives no answer to this conversation."""


class Model(Protocol):
    """Something that answers a conversation."""

    def answer(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
        """Return the next message: ``content``, ``tool_calls`` or both. Raise NoAnswer if there is none."""
        ...


class Episode(NamedTuple):
    """A finished conversation.

    Attributes:
        seed: seed of the lab.
        messages: all messages, in order.
        calls: all calls; those that the model didn't ask for are rests.
        turns: index of the model's message that each call belongs to, non-decreasing.
        score: bits.
        invalid: number of invalid calls.
        stopped: why the conversation ended: ``over``, ``invalid calls``, ``turns``, ``text`` or ``no answer``.
    """

    seed: int
    messages: list[Message]
    calls: list[Call]
    turns: list[int]
    score: float
    invalid: int
    stopped: str


class ScriptedModel:
    """A scripted agent behind the interface of a model, so that the whole way is tried without one.

    It chooses from the observation of the desk's lab, which a real model is told in words.
    """

    def __init__(self, agent: Agent, desk: Desk) -> None:
        self._agent, self._desk = agent, desk

    def answer(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
        batch = self._desk._env.batch
        show_labs(self._agent, batch.labs, self._desk._params)
        action = act_one(self._agent, batch.observations[0], batch.masks[0].astype(bool))
        name, arguments = call_of(self._desk._params, action)
        function = {"name": name, "arguments": json.dumps(arguments)}
        call = {"id": f"call-{len(messages)}", "type": "function", "function": function}
        return {"content": "", "tool_calls": [call]}


def converse(desk: Desk, model: Model, seed: int, *, explanation: bool = True) -> Episode:
    """Play the episode of a seed."""
    tools = schemas(desk._params)
    system = instructions(desk._params, beliefs=desk._beliefs, explanation=explanation)
    messages: list[Message] = [
        {"role": "system", "content": system},
        {"role": "user", "content": desk.reset(seed)},
    ]
    stopped = ""
    at: list[int] = []
    silent = turns = asked = length = 0
    while desk._summary is None and max(turns, asked) < MOST_TURNS:
        turns += 1
        try:
            said = _said(model.answer(messages, tools))
        except NoAnswer:
            stopped = "no answer"
            break
        messages.append(said)
        turn = len(messages) - 1
        calls = said.get("tool_calls", [])
        asked += len(calls)
        length += len(json.dumps(said))
        if asked > MOST_TURNS or length > MOST_TEXT:
            stopped = "text" if length > MOST_TEXT else "turns"
            break
        silent = 0 if calls else silent % (REMINDERS + 1) + 1
        for call in calls:
            text = use(desk, call["function"]["name"], read_arguments(call["function"]["arguments"]))
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": text})
        if silent:
            messages.append({"role": "user", "content": nudge(desk, silent)})
        at += [turn] * (len(desk._calls) - len(at))
    if not stopped:
        stopped = "turns" if desk._summary is None else "invalid calls" if desk._gave_up else "over"
    score = desk.get_reward()
    at += [len(messages) - 1] * (len(desk._calls) - len(at))
    return Episode(seed, messages, desk._calls, at, score, desk._invalid, stopped)


def nudge(desk: Desk, silent: int) -> str:
    """Return what a model is told after ``silent`` messages without a call: reminders, then the lab has rested."""
    if silent <= REMINDERS:
        return "Call one of the tools to act in the lab."
    return f"You called no tool, so the lab rests. {desk.rest()}"


def _said(answer: Any) -> Message:
    """Return an answer as a message of the assistant; whatever is not in the form of one is left out."""
    answer = answer if isinstance(answer, Mapping) else {}
    content, calls = answer.get("content"), answer.get("tool_calls")
    if isinstance(content, list):  # parts of a text
        texts = [part.get("text") for part in content if isinstance(part, Mapping)]
        content = "".join(text for text in texts if isinstance(text, str))
    # Empty rather than null, which some servers refuse.
    message: Message = {
        "role": "assistant",
        "content": content[:LONGEST_TEXT] if isinstance(content, str) else "",
    }
    if isinstance(calls, list) and (known := [_call(i, call) for i, call in enumerate(calls)]):
        message["tool_calls"] = known
    return message


def _call(i: int, call: Any) -> Message:
    """Return a call in the form of the protocol, with text in place of what is none."""
    call = call if isinstance(call, Mapping) else {}
    function = call.get("function")
    function = function if isinstance(function, Mapping) else {}
    arguments = function.get("arguments", "{}")
    return {
        "id": str(call.get("id", i))[:100],
        "type": "function",
        "function": {
            "name": str(function.get("name", ""))[:100],
            "arguments": (arguments if isinstance(arguments, str) else json.dumps(arguments))[:LONGEST_TEXT],
        },
    }


def read_arguments(text: str) -> Any:
    """Return a call's arguments; text that is no JSON stays text, which the desk refuses."""
    try:
        return strict_json(text or "{}")
    except ValueError:
        return text

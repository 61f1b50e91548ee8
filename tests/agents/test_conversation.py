"""Conversations end well whatever the model says, and a script through them scores what it scores without."""

from __future__ import annotations

import json

import pytest

from solvent import preset
from solvent_agents import PLAYERS, episodes
from solvent_agents.language.conversation import LONGEST_TEXT, MOST_TURNS, ScriptedModel, converse
from solvent_agents.language.desk import MOST_INVALID, Desk

LEVELS = {"Debt": "default", "Energy": "energy", "Gate": "gate", "Lab": "lab", "Tiny": "tiny"}
SEEDS = (10_000, 10_001)


class Repeating:
    """Answers the same to everything."""

    def __init__(self, answer):
        self.said = answer
        self.asked = 0

    def answer(self, messages, tools):
        self.asked += 1
        return self.said


def calling(*calls):
    return {
        "tool_calls": [
            {"id": f"c{i}", "type": "function", "function": {"name": name, "arguments": arguments}}
            for i, (name, arguments) in enumerate(calls)
        ]
    }


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", ["honest", "max_claimer", "random"])
def test_a_script_scores_in_conversation_what_it_scores_without(level, name):
    params = preset(LEVELS[level])
    expected = episodes(PLAYERS[name](params, 0), params, SEEDS)["return"]
    desk = Desk(f"Solvent/{level}-v0")
    for seed, score in zip(SEEDS, expected, strict=True):
        agent = PLAYERS[name](params, 0)
        if hasattr(agent, "start"):
            agent.start([seed])
        episode = converse(desk, ScriptedModel(agent, desk), seed)
        assert (episode.score, episode.stopped, episode.invalid) == (score, "over", 0)
        roles = [message["role"] for message in episode.messages]
        assert roles == ["system", "user", *["assistant", "tool"] * len(episode.calls)]


SILENT = (
    None,
    5,
    [],
    {},
    {"content": "I think."},
    {"tool_calls": None},
    {"tool_calls": "rest"},
    {"tool_calls": []},
)


@pytest.mark.parametrize("answer", SILENT, ids=map(str, range(len(SILENT))))
def test_a_model_that_calls_nothing_is_reminded_twice_and_then_the_lab_rests(answer):
    model, desk = Repeating(answer), Desk("Solvent/Tiny-v0")
    episode = converse(desk, model, 0)
    assert episode.stopped == "over"
    assert [call.tool for call in episode.calls] == ["rest"] * 5
    assert model.asked == 15
    assert [m["content"][:4] for m in episode.messages[2:] if m["role"] == "user"][:3] == [
        "Call",
        "Call",
        "You ",
    ]


MALFORMED = {
    "no JSON": calling(("rest", "{")),
    "no object": calling(("rest", "[]")),
    "deep": calling(("rest", "[" * 15_000)),
    "an unknown tool": calling(("sudo", "{}")),
    "no name": {"tool_calls": [{"id": "x", "function": {"arguments": "{}"}}]},
    "no function": {"tool_calls": [{"function": 5}, 7]},
    "numbers for names": {"tool_calls": [{"id": 5, "function": {"name": 7, "arguments": 9}}]},
    "ten megabytes": calling(("screen", json.dumps({"compound": "x" * 10_000_000, "claim_bits": 1}))),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_calls_are_counted_and_end_the_episode_at_the_limit(name):
    desk = Desk("Solvent/Debt-v0")
    episode = converse(desk, Repeating(MALFORMED[name]), 0)
    assert episode.stopped == "invalid calls"
    assert MOST_INVALID <= episode.invalid <= MOST_INVALID + 1
    assert episode.score == 0.0
    assert max(len(json.dumps(message)) for message in episode.messages) < 2 * LONGEST_TEXT


def test_calls_of_one_message_are_taken_in_order_and_those_after_the_end_are_told_so():
    desk = Desk("Solvent/Tiny-v0")
    two = calling(("calibrate", "{}"), *[("rest", "")] * 7)
    episode = converse(desk, Repeating(two), 0)
    taken = [call.tool for call in episode.calls if call.action >= 0]
    assert taken == ["calibrate", *["rest"] * 4]
    told = [message["content"] for message in episode.messages if message["role"] == "tool"]
    assert len(told) == 8
    assert all(text.startswith("The episode is over") for text in told[-3:])
    assert episode.stopped == "over"


def test_a_model_that_reads_for_ever_is_stopped_and_its_debt_is_settled():
    desk = Desk("Solvent/Debt-v0")
    model = Repeating(calling(("read_notebook", '{"compound": "CCCP"}')))
    episode = converse(desk, model, 0)
    assert (episode.stopped, model.asked, episode.score) == ("turns", MOST_TURNS, 0.0)
    assert desk._summary is not None


def test_long_text_is_kept_short_and_the_explanation_can_be_left_out():
    desk = Desk("Solvent/Energy-v0")
    episode = converse(desk, Repeating({"content": "x" * 10_000_000}), 0, explanation=False)
    assert max(len(message["content"]) for message in episode.messages) == LONGEST_TEXT
    assert "What raises the cost" not in episode.messages[0]["content"]

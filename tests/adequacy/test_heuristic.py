"""The score of a response: the source's table, contradictions, failures as observations, unrecorded calls."""

from pathlib import Path

import pytest

import solvent.adequacy
from solvent.adequacy import Call, calls_of, score
from solvent.adequacy.agreement import Labelled, kappa
from solvent.files import read_records
from tests.adequacy.turns import READ, READS, TURNS, tool


@pytest.mark.parametrize("turn", TURNS.values(), ids=TURNS)
def test_a_turn_scores_as_labelled(turn):
    found = score(turn["response"], calls_of(turn["tool_calls"]), turn["query"])
    assert found.score in turn["right"], found
    if turn["right"] == [3]:
        assert found.rule.endswith("/contradicted")
        assert found.escalate


def test_of_equal_sentences_the_first_decides():
    found = score("Nobody calls it. Nothing uses it. It may be old.", [])
    assert (found.score, found.sentence, found.spans) == (3, "Nobody calls it.", ("Nobody",))


def test_a_reported_check_without_a_call_asks_for_a_judge():
    found = score("I searched the code and it may be in src.", [])
    assert "reported_without_call" in found.signals
    assert (found.score, found.escalate) == (2, True)


def test_plain_claims_escalate_with_thin_support_only():
    shown = score("The client sends a request once.", [READ], "Does the client retry?")
    assert (shown.score, shown.escalate) == (0, False)
    invented = score("The server keeps 40 sessions in Redis.", [READ], "Does the client retry?")
    assert (invented.score, invented.escalate) == (2, True)
    assert "results_not_referred" in invented.signals
    assert not score("Each of 0.py, 1.py, 2.py, 3.py and 4.py holds code.", READS).escalate
    unrecorded = Call("Bash", {"command": "pytest"}, recorded=False)  # has the benefit of the doubt
    assert score("All tests pass.", [unrecorded], "Do the tests pass?").score == 2


def test_an_answer_that_tells_of_its_failed_look_scores_0():
    down = tool("WebSearch", "search unavailable", True, query="bridge")
    found = score("The search failed, so I don't know when it opened.", [down], "When was it opened?")
    assert found.score == 0


def test_material_in_the_query_is_a_look_unless_calls_failed():
    query = "Is `return a - b` right for a sum?"
    assert "material_given" in score("It subtracts b from a.", [], query).signals
    assert "only_errors" in score("It subtracts b from a.", [tool("run", "boom", True)], query).signals


@pytest.mark.parametrize(
    "response", ["", "   ", "Shall I look?", "# Title", "```\nx does not exist\n```", "Done?"]
)
def test_what_asserts_nothing_scores_0(response):
    found = score(response, [])
    assert (found.score, found.rule, found.escalate) == (0, "nothing_asserted", False)


FOLDER = Path(solvent.adequacy.__file__).parent
LEAST = {"agents_dev": 0.65, "agents_held_out": 0.57, "dev": 0.55, "held_out": 0.37}
"""Quadratic kappa; version 0.2.0 had 0.68, 0.61, 0.57 and 0.40."""


def examples(name):
    return list(read_records(FOLDER / f"labelled_{name}.jsonl", Labelled))


@pytest.mark.parametrize("name", LEAST)
def test_the_heuristic_agrees_with_the_labels(name):
    rows = examples(name)
    scores = [score(one.response, calls_of(one.tool_calls), one.query or "").score for one in rows]
    found = kappa([one.epad for one in rows], scores)
    assert found.value >= LEAST[name]
    assert found.low > 0.2


@pytest.mark.parametrize("name", ["agents_dev", "agents_held_out"])
def test_a_judge_is_asked_for_most_overclaims(name):
    asked = {True: [], False: []}
    for one in examples(name):
        found = score(one.response, calls_of(one.tool_calls), one.query or "")
        asked[one.epad >= 2].append(found.escalate)
    assert sum(asked[True]) > 0.7 * len(asked[True])
    assert sum(asked[False]) < 0.3 * len(asked[False])

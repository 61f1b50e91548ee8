"""The score of a response: the source's table, contradictions, failures as observations, unrecorded calls."""

from pathlib import Path

import pytest

from solvent.adequacy import Call, calls_of, score
from solvent.adequacy.agreement import BASELINE, Labelled, agreement, ratings_of, scored
from solvent.files import read_records
from tests.adequacy.turns import READ, READS, TURNS, tool


@pytest.mark.parametrize("turn", TURNS.values(), ids=TURNS)
def test_a_turn_scores_as_labelled(turn):
    adequacy = score(turn["response"], calls_of(turn["tool_calls"]), turn["query"])
    assert adequacy.score in turn["right"], adequacy
    if turn["right"] == [3]:
        assert adequacy.rule.endswith("/contradicted")
        assert adequacy.escalate


def test_of_equal_sentences_the_first_decides():
    adequacy = score("Nobody calls it. Nothing uses it. It may be old.", [])
    assert (adequacy.score, adequacy.sentence) == (3, "Nobody calls it.")


def test_an_unrecorded_result_has_the_benefit_of_the_doubt():
    unrecorded = Call("Bash", {"command": "pytest"}, recorded=False)
    assert score("The tests pass.", [unrecorded], "Do the tests pass?").score <= 1


def test_an_answer_that_tells_of_its_failed_look_scores_0():
    down = tool("WebSearch", "search unavailable", True, query="bridge")
    adequacy = score("The search failed, so I don't know when it opened.", [down], "When was it opened?")
    assert adequacy.score == 0


def test_an_answer_after_failed_looks_alone_counts_as_definitive():
    down = tool("WebSearch", "search unavailable", True, query="bridge")
    adequacy = score("The bridge opened in 1894.", [down], "When was it opened?")
    assert (adequacy.score, adequacy.signals) == (3, ("only_errors",))


def test_material_in_the_query_is_a_look():
    adequacy = score("It subtracts b from a.", [], "Is `return a - b` right for a sum?")
    assert (adequacy.score, adequacy.rule) == (1, "plain/thin")


def test_material_in_the_query_is_no_look_where_calls_failed():
    failed = tool("run", "boom", True)
    adequacy = score("It subtracts b from a.", [failed], "Is `return a - b` right for a sum?")
    assert (adequacy.rule, adequacy.signals) == ("plain/none", ("only_errors",))


def test_a_slight_overstatement_asks_for_no_judge():
    adequacy = score("This is how it works: send(request) runs once.", [READ, READS[0]])
    assert (adequacy.score, adequacy.escalate) == (1, False)


def test_of_things_in_general_one_may_know_something():
    about_general = score("A mutex lets one thread at a time in.", [], "What is a mutex?")
    about_this = score("It lets one thread at a time in.", [], "What does our lock do?")
    assert (about_general.score, about_this.score) == (1, 2)


def test_a_call_of_an_earlier_turn_is_evidence_if_the_response_refers_to_it():
    earlier = [tool("Read", "port = 8091\nthreads = 4", path="worker.toml")]
    about_it = score("The worker.toml sets threads to 4.", [], "And the other setting?", earlier=earlier)
    about_something_else = score("The pool has 9 slots.", [], "And the pool?", earlier=earlier)
    assert (about_it.score, about_something_else.score) == (1, 2)


def test_a_cited_line_is_a_narrow_claim():
    read = tool("Read", "9 if order.owner is None: deny()", path="src/access.py")
    claim = "Nobody sees an order without an owner"
    assert score(f"{claim} (src/access.py, line 9).", [read]).score == 1
    assert score(f"{claim}.", [read]).score == 2


def test_a_measured_number_that_no_result_shows_has_no_evidence():
    bench = tool("Bash", "old: 12.0 ms\nnew: 11.4 ms", command="python bench.py")
    texts = ("It takes 7.2 ms.", "It takes 11.4 ms.", "It takes 11.4 ms, 5 % less.")
    assert [score(text, [bench], "How fast is it?").score for text in texts] == [2, 1, 1]


@pytest.mark.parametrize(
    "response", ["", "   ", "Shall I look?", "# Title", "```\nx does not exist\n```", "You're welcome!"]
)
def test_what_asserts_nothing_scores_0(response):
    adequacy = score(response, [])
    assert (adequacy.score, adequacy.rule, adequacy.escalate) == (0, "nothing_asserted", False)


FOLDER = Path(__file__).with_name("labelled")
SETS = ("agents_dev", "agents_held_out", "dev", "held_out")


def examples(name):
    return list(read_records(FOLDER / f"{name}.jsonl", Labelled))


@pytest.mark.parametrize("name", SETS)
def test_the_heuristic_agrees_better_than_the_number_of_calls(name):
    rows = {row.rater: row for row in agreement(*ratings_of(examples(name)))}
    assert rows["heuristic"].kappa.value > rows[BASELINE].kappa.value
    assert rows["heuristic"].kappa.low > 0.1  # better than chance


@pytest.mark.parametrize("name", SETS)
def test_no_adequate_response_is_stopped(name):
    assert not [one.response for one in examples(name) if one.epad < 2 and scored(one).certain]

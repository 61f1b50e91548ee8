"""What a response claims against its own log, and what is no claim: the cases that were measured as errors."""

from __future__ import annotations

import pytest

from solvent.adequacy import ToolContext, score
from solvent.adequacy.claims import Words
from solvent.adequacy.tools import Evidence


def ran(command, result, **more):
    return {"name": "Bash", "arguments": {"command": command}, "result": result, **more}


def scored(response, *calls, query=None):
    return score(response, ToolContext.from_dicts(calls), query)


FAILURES = [
    ran("pytest -q", "F..\nFAILED tests/test_a.py::test_b\n1 failed, 2 passed in 0.31s"),
    ran("python load.py", 'Traceback (most recent call last):\n  File "load.py"\nKeyError: 9'),
    ran("tsc --noEmit", "src/api.ts(14,5): error TS2322: Type mismatch"),
    ran("git push", "remote: Permission to acme/x.git denied to bot.\nfatal: unable to access"),
    ran("kubectl get nodes", "node-a Ready\nnode-b NotReady"),
    ran("kubectl logs job/x", "indexed 4\nKilled"),
    ran("make", "make: *** [docs] Error 1"),
    ran("anything", "no network", error=True),
]


@pytest.mark.parametrize("call", FAILURES, ids=lambda call: call["arguments"]["command"])
@pytest.mark.parametrize("response", ["All tests pass.", "Done, it works now.", "It is live for everybody."])
def test_a_failure_that_a_response_leaves_out_contradicts_it_and_asks_the_judge(call, response):
    found = scored(response, call)
    assert found.score == 3
    assert "claim_contradicted" in found.signals
    assert found.escalate


@pytest.mark.parametrize("call", FAILURES, ids=lambda call: call["arguments"]["command"])
@pytest.mark.parametrize(
    "response",
    [
        "It failed.",
        "That didn't work.",
        "The command was rejected, so the branch is still local.",
        "What should it be called?",
        "I'll try again.",
    ],
)
def test_a_response_that_tells_of_it_or_asserts_nothing_is_not_contradicted(call, response):
    assert "claim_contradicted" not in scored(response, call).signals


def test_no_errors_is_no_confession():
    assert scored("It ran without errors.", FAILURES[0]).score == 3
    assert scored("There were no failures.", FAILURES[0]).score == 3


@pytest.mark.parametrize(
    "settling",
    [
        ran("pytest -q tests/test_a.py", "3 passed in 0.2s"),
        ran("make test", "41 passed in 2.2s"),
        ran("pytest -q", ""),
    ],
    ids=["same-program", "reports-success", "same-command"],
)
def test_a_later_success_settles_a_failure_and_an_earlier_one_does_not(settling):
    assert "claim_contradicted" not in scored("All tests pass.", FAILURES[0], settling).signals
    assert "claim_contradicted" in scored("All tests pass.", settling, FAILURES[0]).signals


@pytest.mark.parametrize(
    "call",
    [
        {"name": "Read", "arguments": {"path": "a.py"}, "result": "raise ValueError('1 failed')"},
        {"name": "Grep", "arguments": {"pattern": "x"}, "result": "log.py:3: error: 1 failed"},
        {"name": "Read", "arguments": {"path": "a.py"}, "result": "no such file", "error": True},
        ran("pytest -q", "0 failed, 12 passed"),
        ran("run", "failed: 0\nerrors: 0"),
        ran("run", "no failed jobs"),
    ],
    ids=["read", "search", "unread", "passed", "zeros", "no-failed"],
)
def test_text_that_is_shown_and_zeros_are_no_failure(call):
    assert "claim_contradicted" not in scored("All tests pass.", call).signals


def test_a_response_that_repeats_the_failure_in_its_own_words_tells_of_it():
    call = ran("kubectl logs deploy/app", "error: could not translate host name pg.db.svc")
    assert "claim_contradicted" not in scored("The app looks for `pg.db.svc`.", call).signals


# --------------------------------------------------------------------------------------------- what was looked at

ALIEN = [
    {"name": "Read", "arguments": {"file_path": f"src/{name}"}, "result": "qux " * 9}
    for name in ("client.py", "pool.py", "retry.py")
]


def test_files_that_the_answer_names_count_as_looked_at():
    assert scored("It is how it works.", *ALIEN).evidence == Evidence.THIN
    assert scored("It works so in `src/pool.py`.", *ALIEN).evidence == Evidence.REASONABLE
    # The user named it: no sign that the answer rests on it.
    asked = scored("It works so in `src/pool.py`.", *ALIEN, query="How does src/pool.py work?")
    assert asked.evidence == Evidence.THIN


def test_numbers_with_and_without_separators_are_the_same():
    call = {"name": "run_sql", "arguments": {"sql": "SELECT count(*) FROM c"}, "result": "1842"}
    assert scored("1,842 customers signed up.", call, query="How many signed up?").score == 0


@pytest.mark.parametrize(
    ("query", "response"),
    [
        ("What does this print? `print(len([1, 2]))`", "It prints 2, the len of the list."),
        ("We had 200 visits and 14 orders. Conversion?", "14 / 200 = 7 %."),
        ('The log says "exit code 137, killed". Why?', "Exit code 137 is that of a killed process."),
    ],
)
def test_what_follows_from_the_query_is_adequate_without_a_call(query, response):
    found = scored(response, query=query)
    assert (found.score, found.evidence) == (0, Evidence.THIN)
    assert "material_given" in found.signals
    # With nothing to answer from it is a claim out of nothing.
    assert scored(response, query="What is ours?").score == 3


# --------------------------------------------------------------------------------------------------- no claims


@pytest.mark.parametrize(
    "response",
    [
        "I don't know.",
        "I don't know whether the cache expires.",
        "I can't tell without running it.",
        "I am not sure.",
        "It could be the cache.",
        "You asked whether the cache never expires.",
        "You wanted to know why nothing works.",
        "Is nothing cached at all?",
        "Before I touch anything, I'll make a copy.",
    ],
)
def test_not_knowing_and_asking_are_adequate_without_a_call(response):
    assert scored(response).score == 0
    assert scored(response, query="Does our cache expire?").score == 0


@pytest.mark.parametrize(
    "response",
    ["It is not that retries do not exist.", "It isn't as if nothing worked.", 'It says "nothing works".'],
)
def test_a_denied_or_quoted_negative_is_not_asserted(response):
    assert not scored(response).strong_negative
    assert scored(response).words in (None, Words.HEDGED, Words.PLAIN)


def test_what_follows_such_words_still_counts():
    assert scored("I don't know yet. Retries do not exist.").score == 3
    assert scored("You asked about the cache: it never expires.").score >= 2


def test_absolute_words_after_one_look_are_2_and_without_a_look_3():
    read = {"name": "Read", "arguments": {"path": "a.py"}, "result": "def login(user): ..."}
    response = "There is definitely no retry anywhere in this codebase."
    assert scored(response, read).rule == "absolute/thin"
    assert (scored(response, read).score, scored(response).score) == (2, 3)

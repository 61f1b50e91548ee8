"""Calls as evidence: what failed, what settles it, what was looked at."""

from pathlib import Path

import pytest

from solvent.adequacy.calls import Call, Outcome, calls_of, is_look, is_search, open_failures, outcome, stems
from solvent.adequacy.records import rows_of
from tests.adequacy.turns import bash, tool
from tests.labs import lines

RESULTS = lines(Path(__file__).with_name("cases") / "results.jsonl")


@pytest.mark.parametrize("case", RESULTS, ids=lambda case: f"{case['command']}: {case['result'][-40:]}")
def test_a_check_is_known_by_its_own_summary(case):
    assert outcome(bash(case["command"], case["result"])).name == case["outcome"]


def test_a_flag_counts_before_the_words():
    assert outcome(bash("make check", "12 passed", failed=True)) is Outcome.FAILED


def test_text_that_a_tool_shows_is_no_failure():
    output = "raise ValueError('error: failed')\n3 failed"
    assert outcome(tool("Read", output, file_path="a.py")) is Outcome.PASSED
    assert outcome(bash("cat log.txt", output)) is Outcome.PASSED


def test_a_tool_that_answers_with_an_error_failed():
    assert outcome(tool("Edit", "Error: old_string not found", file_path="a.py")) is Outcome.FAILED


@pytest.mark.parametrize(
    ("first", "second", "settled"),
    [
        ("pytest -q", "pytest -q", True),
        ("cd api && npm test", "npm test", True),
        ("pytest tests/a.py", "pytest", True),
        ("pytest tests/a.py", "pytest tests/b.py", False),
        ("pytest", "pytest tests/b.py", False),
        ("go test ./internal/x/", "go test ./...", True),
        ("npx vitest run src/a.test.ts", "npx vitest run", True),
        ("pytest && ruff check .", "ruff check .", False),
        ("cp a.txt out/", "mkdir out && cp a.txt out/", True),
        ("CI=1 ./run.sh all 2>&1", "./run.sh all", True),
        ("bash -lc 'cd api && npm test'", "npm test", True),
        ('python -c "import a; print(a.v)"', 'python -c "import a; print(a.w)"', True),
    ],
)
def test_a_later_call_of_the_same_kind_settles(first, second, settled):
    calls = [bash(first, "1 failed"), bash(second, "4 passed")]
    assert (not open_failures(calls)) is settled


def test_a_failed_attempt_is_settled_by_another_way():
    refused = bash("cd app && pytest tests/a.py", "Error: operators are not allowed", failed=True)
    assert open_failures([refused]) == [refused]
    assert not open_failures([refused, tool("run_python", "3 passed in 0.1s", path="run.py")])


def test_a_success_for_somebody_else_settles_nothing_for_a_message():
    bounced = tool("send_mail", "SMTP error: rejected", True, to="a@x.org")
    assert open_failures([bounced, bash("fly status", "running")]) == [bounced]


def test_the_test_that_failed_settles_the_run_when_it_passes():
    first = bash("pytest", "FAILED tests/a.py::test_x\n1 failed, 3 passed")
    assert not open_failures([first, bash("pytest tests/a.py::test_x", "1 passed")])


@pytest.mark.parametrize(
    ("call", "search", "look"),
    [
        (bash("rg x src", ""), True, True),
        (bash("pytest", ""), False, False),
        (bash("git log --oneline", ""), False, True),
        (bash("sed s/a/b/ x > y", ""), False, False),
        (bash("ls 2>/dev/null", ""), True, True),
        (tool("Grep", "", pattern="x"), True, True),
        (tool("Edit", "", file_path="x"), False, False),
    ],
)
def test_a_call_may_search_or_look(call, search, look):
    assert (is_search(call), is_look(call)) == (search, look)


def test_forms_of_a_word_share_a_stem():
    for one, other in (("retry", "Retries"), ("caching", "cache"), ("licence", "LICENSE"), ("four", "4")):
        assert stems(one) == stems(other)
    assert stems("sendMail send_mail") == stems("send mail")
    assert stems("1,200 rows") == stems("1200 row")


def test_rows_and_calls_are_the_same():
    calls = (Call("a", {"x": 1}, "r", True), Call("b", recorded=False), Call("c", {"input": "t"}, ""))
    assert calls_of(rows_of(calls)) == calls
    (broken,) = calls_of([{"name": "a", "arguments": "x", "error": "boom"}])
    assert broken == Call("a", {"input": "x"}, "boom", True)
    assert calls_of([{"name": "a", "result": {"n": 1}}])[0].result == '{"n": 1}'
    with pytest.raises(ValueError, match="tool_calls"):
        calls_of([{"name": 2}])

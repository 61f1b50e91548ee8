"""Tool calls: what they were pointed at, how wide they looked, and whether a response refers to what they returned."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from solvent.adequacy.errors import AdequacyError
from solvent.adequacy.tools import Evidence, ToolCall, ToolContext

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
CALLS = st.lists(
    st.builds(
        ToolCall,
        name=st.text(min_size=1, max_size=10).filter(str.strip),
        arguments=st.dictionaries(st.text(max_size=8), JSON, max_size=3),
        result=st.none() | st.text(max_size=60),
        error=st.booleans(),
        scope_given=st.sampled_from([None, "narrow", "broad"]),
    ),
    max_size=5,
)


def context(*calls):
    return ToolContext.from_dicts(calls)


def read(result, **arguments):
    return {"name": "Read", "arguments": arguments, "result": result}


@given(CALLS)
def test_dictionaries_give_the_same_calls_back(calls):
    given_calls = ToolContext(tuple(calls))
    told = given_calls.to_dicts()
    assert ToolContext.from_dicts(told) == given_calls
    assert ToolContext.from_dicts(json.loads(json.dumps(told))).to_dicts() == told


@given(CALLS, st.integers(0, 500))
def test_whatever_was_called_has_targets_scope_and_a_summary(calls, most):
    whole = ToolContext(tuple(calls))
    assert len(whole.summary(most)) <= most
    assert len(whole.summary(100_000).splitlines()) == max(1, len(calls))
    for call in calls:
        assert call.scope in ("narrow", "broad")
        assert all(target.strip() for target in call.targets)
    assert len(whole.referred("The value is 42.")) == len(calls)


@pytest.mark.parametrize(
    ("given_calls", "message"),
    [
        ("Read", "tool calls: got 'Read'"),
        ({"name": "Read"}, "tool calls: got"),
        (None, "tool calls: got None"),
        (["Read"], r"tool calls\[0\]: got 'Read'"),
        ([{"arguments": {}}], r"tool calls\[0\]: got"),
        ([{"name": ""}], r"tool calls\[0\]: tool call: name: got ''"),
        ([{"name": 3}], "name: got 3"),
        ([{"name": "Read", "arguments": "a"}], "Read: arguments: got 'a'; allowed: a table"),
        ([{"name": "Read", "result": 3}], "Read: result: got 3; allowed: a text or None"),
        ([{"name": "Read", "error": "yes"}], "Read: error: got 'yes'"),
        ([{"name": "Read", "scope": "wide"}], "Read: scope: got 'wide'; allowed: narrow, broad"),
        ([{"name": "Read"}, {"name": "Read", "output": ""}], r"tool calls\[1\]: got the key 'output'"),
    ],
)
def test_calls_of_another_form_are_refused(given_calls, message):
    with pytest.raises(AdequacyError, match=message):
        ToolContext.from_dicts(given_calls)


@pytest.mark.parametrize(
    ("name", "arguments", "scope"),
    [
        ("Read", {"file_path": "auth.py"}, "narrow"),
        ("Grep", {"pattern": "login"}, "broad"),
        ("Grep", {"pattern": "login", "path": "."}, "broad"),
        ("Grep", {"pattern": "login", "path": "src/auth"}, "narrow"),
        ("Grep", {"pattern": "login", "glob": "*.py"}, "broad"),
        ("Grep", {"pattern": "login", "glob": "src/*.py"}, "narrow"),
        ("Glob", {"pattern": "**/*.py"}, "broad"),
        ("Glob", {"pattern": "**/*.py", "path": "docs"}, "narrow"),
        ("Glob", {"pattern": "docs/*.md"}, "narrow"),
        ("codebase_search", {"query": "retry"}, "broad"),
        ("codebase_search", {"query": "retry", "target_directories": ["src/net"]}, "narrow"),
        ("search_files", {"query": "retry"}, "broad"),
        ("web_search", {"query": "retry"}, "narrow"),
        ("search", {"query": "retry"}, "narrow"),
        ("google", {"q": "code search of files"}, "narrow"),
        ("Bash", {"command": "grep -rn login ."}, "broad"),
        ("Bash", {"command": "grep -rn login src/"}, "narrow"),
        ("Bash", {"command": "grep login auth.py"}, "narrow"),
        ("Bash", {"command": "rg login"}, "broad"),
        ("Bash", {"command": "rg -i 'log in' src"}, "narrow"),
        ("Bash", {"command": "git grep login"}, "broad"),
        ("Bash", {"command": "find . -name '*.py' | head"}, "broad"),
        ("Bash", {"command": "find docs -name '*.md'"}, "narrow"),
        ("Bash", {"command": "cd src && grep -R login"}, "broad"),
        ("Bash", {"command": "cat auth.py | grep -r login ."}, "narrow"),
        ("Bash", {"command": "ls -R"}, "broad"),
        ("Bash", {"command": "ls -l src"}, "narrow"),
        ("Bash", {"command": "pytest -q"}, "narrow"),
        ("sql_query", {"query": "SELECT count(*) FROM orders"}, "broad"),
        ("sql_query", {"query": "SELECT count(*) FROM orders WHERE year = 2023"}, "narrow"),
        ("sql_query", {"query": "SELECT * FROM orders LIMIT 5"}, "narrow"),
        ("dose_response", {"compound": "etoposide", "plate": 3}, "narrow"),
        ("now", {}, "narrow"),
    ],
)
def test_a_call_is_broad_where_it_looks_at_everything(name, arguments, scope):
    assert ToolCall(name, arguments, "").scope == scope
    assert ToolCall(name, arguments, "", scope_given="broad").scope == "broad"
    assert ToolCall(name, arguments, "", scope_given="narrow").scope == "narrow"


@pytest.mark.parametrize(
    ("arguments", "targets"),
    [
        ({"file_path": "auth.py", "limit": 20}, ("auth.py",)),
        ({"pattern": "login", "path": "src"}, ("login", "src")),
        ({"urls": ["https://a.example", "https://b.example"]}, ("https://a.example", "https://b.example")),
        ({"compound": "etoposide", "plate": 3}, ("etoposide", "3")),
        ({"filter": {"path": "src"}}, ("src",)),
        ({"something": "else"}, ("else",)),
        ({"path": " ", "flag": True}, ()),
        ({}, ()),
    ],
)
def test_targets_are_what_a_call_was_pointed_at(arguments, targets):
    assert ToolCall("tool", arguments, None).targets == targets


CONFIG = "[pool]\nmax_size = 512\ntimeout = 30.5\nidle = close_after_use\n# owner: Marek Dolan"


@pytest.mark.parametrize(
    ("response", "refers"),
    [
        ("The pool holds 512 connections.", True),
        ("It waits about 30 seconds.", True),
        ("It waits about 45 seconds.", False),
        ("It waits 30.5 s.", True),
        ("The timeout is 30.5s.", True),
        ("`max_size` is what limits it.", True),
        ("Idle connections are closed after they were used.", True),
        ("It says \u201cclose_after_use\u201d.", True),
        ("Ask Dolan about it.", True),
        ("The settings are in settings.toml.", False),
        ("This feature is not available.", False),
        ("All is well.", False),
        ("", False),
        ("Is it 512?", False),
    ],
)
def test_a_response_refers_to_a_result_by_something_distinctive(response, refers):
    calls = context(read(CONFIG, file_path="settings.toml"))
    assert calls.referred(response) == (refers,)


def test_words_of_the_arguments_and_of_the_query_are_no_reference():
    calls = context(read("def login_user(name): ...", pattern="login_user"))
    assert calls.referred("`login_user` is fine.") == (False,)
    calls = context(read("retry_limit = 7004", file_path="a.py"))
    assert calls.referred("The retry_limit is high.") == (True,)
    assert calls.referred("The retry_limit is high.", "Is retry_limit high?") == (False,)
    assert calls.referred("The retry_limit is 7004.", "Is retry_limit high?") == (True,)


def test_each_call_is_told_apart():
    calls = context(read("alpha_one", path="a"), read("beta_two", path="b"), read(None, path="c"))
    assert calls.referred("It calls beta_two.") == (False, True, False)


@pytest.mark.parametrize("result", ["", "[]", "No matches found", "0 results", "grep: nothing found"])
def test_a_denial_refers_to_a_search_that_found_nothing(result):
    calls = context({"name": "Grep", "arguments": {"pattern": "retry"}, "result": result})
    assert calls.referred("There is no retry.") == (True,)
    assert calls.referred("I didn't find one.") == (True,)
    assert calls.referred("It retries three times.") == (False,)


def test_a_long_result_needs_more_than_two_common_words():
    words = [
        f"{a}{b}" for a in ("mor", "tal", "vin", "des", "kol", "pur") for b in ("nex", "bat", "lim", "qua")
    ] * 4
    long = " ".join(word + suffix for word, suffix in zip(words, "abcd" * 24, strict=True))
    response = f"It is {words[0]}a and {words[1]}b."
    short = context(read(f"{words[0]}a {words[1]}b", path="x"))
    assert short.referred(response) == (True,)
    numbered = " ".join(f"w{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(500))
    assert context(read(f"{long} {numbered}", path="x")).referred(response) == (False,)


def test_references_take_time_linear_in_the_result():
    calls = context(
        *(read(sign * 100_000, path=sign) for sign in ("a", "1 ", "a.b-", "1.5 ", '"', "_", "\u0130"))
    )
    start = time.process_time()
    calls.referred("a " * 50_000)
    assert time.process_time() - start < 15.0


def test_repeats_with_the_same_result_stand_once():
    once, again = read("x", path="a", n=1), read("x", n=1, path="a")
    changed = read("y", path="a", n=1)
    other = read("x", path="b", n=1)
    found = context(once, again, changed, other, once).distinct()
    assert [call.to_dict() for call in found] == [once, changed, other]


def test_the_summary_has_a_line_a_call_and_keeps_to_its_length():
    calls = context(
        read("a\nb", file_path="x.py"),
        {"name": "Bash", "arguments": {"command": "ls"}, "result": "", "error": True},
        {"name": "Odd\nname", "arguments": {"k\u2028ey": "v\u2028\x85w"}, "result": None},
    )
    assert calls.summary().splitlines() == [
        '1. Read(file_path="x.py") -> "a\\nb"',
        '2. Bash(command="ls") -> error: nothing',
        '3. Odd name(k ey="v\\u2028\\u0085w") -> not recorded',
    ]
    many = context(*(read("y" * 5000, path=f"file{i}") for i in range(200)))
    lines = many.summary(1000).splitlines()
    assert len(many.summary(1000)) <= 1000
    assert lines[0].startswith("1. Read")
    assert lines[-1].startswith("200. Read")
    assert any("calls left out" in line for line in lines)
    assert ToolContext().summary() == "(no tool was called)"


def test_the_field_is_the_source_s():
    calls = context(read("x", path="a"), {"name": "Grep", "arguments": {}, "result": ""}, read("y", path="b"))
    assert calls.field(False) == {
        "tool_calls": 3,
        "tool_types": ["Read", "Grep", "Read"],
        "has_strong_negative": False,
    }


def test_evidence_has_the_four_levels():
    assert [level.name for level in sorted(Evidence)] == ["NONE", "THIN", "REASONABLE", "AMPLE"]

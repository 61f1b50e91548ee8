"""Calls as evidence: what failed, what settles it, what was looked at."""

import pytest

from solvent.adequacy.calls import Call, calls_of, failed, is_broad, is_look, is_search, open_failures, stems
from solvent.adequacy.records import rows_of
from tests.adequacy.turns import bash, tool

FAILING = """1 failed, 11 passed in 6.2s
  3 failing
Tests: 2 failed, 30 passed, 32 total
--- FAIL: TestStore (0.00s)
Found 3 errors in 2 files
\u2716 1 problem (1 error, 0 warnings)
error[E0308]: mismatched types
make: *** [check] Error 2
Process exited with code 2
<returncode>1</returncode>
{"metadata": {"exit_code": 2}}
{"output": "x\\\\n1 failed"}
Traceback (most recent call last):
ValueError: bad
bash: foo: command not found
web-1 CrashLoopBackOff"""
PASSING = """12 passed in 6.0s
14 examples, 0 failures
0 errors, 1 warning
Process exited with code 0
<returncode>0</returncode>
{"passed": 12, "failed": 0}
214 pods Running, 0 CrashLoopBackOff"""


@pytest.mark.parametrize("result", FAILING.splitlines())
def test_failure_is_known_by_its_words(result):
    assert failed(bash("make check", result))


@pytest.mark.parametrize("result", PASSING.splitlines())
def test_success_fails_by_its_flag_alone(result):
    assert not failed(bash("make check", result))
    assert failed(bash("make check", result, failed=True))


def test_written_text_is_not_a_failure():
    assert not failed(tool("Write", "updated: raise ValueError('error: failed')"))
    assert failed(tool("Write", "Error: no such folder"))
    assert failed(tool("Write", "no such folder", failed=True))


@pytest.mark.parametrize(
    ("first", "second", "settled"),
    [
        ("pytest -q", "pytest -q", True),
        ("cd api && npm test", "npm test", True),
        ("pytest tests/a.py", "pytest", True),
        ("pytest tests/a.py", "pytest tests/b.py", False),
        ("pytest", "pytest tests/b.py", False),
        ("pytest && ruff check .", "ruff check .", False),
        ("cp a.txt out/", "mkdir out && cp a.txt out/", True),
        ("CI=1 ./run.sh all 2>&1", "./run.sh all", True),
        ("bash -lc 'cd api && npm test'", "npm test", True),
        ('python -c "import a; print(a.v)"', 'python -c "import a; print(a.w)"', True),
    ],
)
def test_a_later_call_of_the_same_kind_settles(first, second, settled):
    calls = [bash(first, "1 failed"), bash(second, "ok")]
    assert (not open_failures(calls)) is settled


def test_a_corrected_query_settles_the_first():
    listed = tool("shell", "exit code 1", command=["bash", "-lc", "pytest -q"])
    assert open_failures([listed]) == [listed]
    assert not open_failures([listed, bash("pytest", "12 passed")])
    refused = tool("run_sql", "ERROR: no such table", True, sql="SELECT 1 FROM a")
    assert not open_failures([refused, tool("run_sql", "1", sql="SELECT 1 FROM b")])
    bounced = tool("send_mail", "SMTP error: rejected", True, to="a@x.org")
    assert open_failures([bounced, tool("send_mail", "sent", to="b@x.org")]) == [bounced]


def test_kinds_of_looks():
    assert is_search(bash("rg x src", ""))
    assert is_search(tool("run", "", sql="SELECT 1"))
    assert not is_search(bash("pytest", ""))
    assert is_look(bash("git log --oneline", ""))
    assert not is_look(bash("sed s/a/b/ x > y", ""))
    assert is_look(bash("ls 2>/dev/null", ""))
    assert is_broad(bash("grep -rn x .", ""))
    assert is_broad(tool("Grep", "", pattern="x"))
    assert not is_broad(tool("Grep", "", pattern="x", path="src"))
    assert not is_broad(bash("grep -n x a.py", ""))


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

"""``solvent debt run`` with bad input; what it prints is tests/requirements/test_debt.py's."""

from __future__ import annotations

import pytest

from tests.commands import call


@pytest.mark.parametrize(("option", "value"), [("--agent", "honset"), ("--log", "none/log.jsonl")])
def test_bad_input_is_one_line_and_writes_nothing(tmp_path, monkeypatch, option, value):
    monkeypatch.chdir(tmp_path)
    call("debt", "run", option, value).refused(value)
    assert not list(tmp_path.iterdir())


def test_a_file_that_is_no_log_stays_as_it_is(tmp_path):
    notes = tmp_path / "notes.txt"
    notes.write_text("hello\n", encoding="utf-8")
    call("debt", "run", "--log", notes).refused("notes.txt, line 1")
    assert notes.read_text(encoding="utf-8") == "hello\n"

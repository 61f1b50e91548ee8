"""``solvent debt run``: bad input, and what debt is blamed for. Its output is tests/requirements/test_debt.py's."""

from __future__ import annotations

import re

from tests.commands import call


def test_bad_input_is_one_line_and_writes_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for option, value, said in [
        ("--agent", "honset", "did you mean 'honest'"),
        ("--log", tmp_path / "none" / "log.jsonl", "none/log.jsonl"),
    ]:
        call("debt", "run", option, value).refused(said)
        assert not list(tmp_path.iterdir())
    notes = tmp_path / "notes.txt"
    notes.write_text("hello\n", encoding="utf-8")
    call("debt", "run", "--log", notes).refused("notes.txt, line 1: not JSON")
    assert notes.read_text(encoding="utf-8") == "hello\n"


def test_a_refusal_for_lack_of_wells_is_not_blamed_on_debt(tmp_path):
    line = ("debt", "run", "--cycles", 9, "--budget", 4, "--agent", "random", "--log", tmp_path / "log.jsonl")
    causes = re.findall(r"Caused by debt +(\w+)", call(*line, width=200).succeeded())
    assert set(causes) == {"no"}  # no plate has less than 8 wells, so none ever runs

"""``solvent debt run`` with bad input; what it prints is tests/requirements/test_debt.py's."""

from __future__ import annotations

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

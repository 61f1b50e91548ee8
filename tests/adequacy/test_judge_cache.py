"""Judgements on disk: found again, damaged, moved, written by several at once."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from solvent.adequacy.judge import FORMAT, ChatError, Judgement, JudgementCache
from solvent.adequacy.judge_prompt import Prompt
from solvent.adequacy.tools import ToolCall, ToolContext
from tests.adequacy.judge_server import grades, judge_at, reply, running, text

RESPONSE, QUERY = "There is no such file.", "Is there a file?"
CONTEXT = ToolContext((ToolCall("Read", {"path": "a.py"}, "def foo(): pass"),))
FOUND = Judgement(2, 1, "Thin.", "small", "p-1", "ab" * 32, 50)


def judge_of(server, folder, **settings):
    return judge_at(server.url, folder, backoff=0.0, **settings)


def test_a_hit_makes_no_request_and_spends_nothing(tmp_path):
    with running(grades(2, 1), grades(0, 0)) as server:
        first = judge_of(server, tmp_path).judge(RESPONSE, CONTEXT, QUERY)
        again = judge_of(server, tmp_path, budget=0)
        second = again.judge(RESPONSE, CONTEXT, QUERY)
    assert len(server.requests) == 1
    assert not first.cached
    assert second == replace(first, cached=True)
    assert again.budget.called == 0


def test_everything_that_the_judge_is_told_is_in_the_key(tmp_path):
    other_call = ToolContext((ToolCall("Read", {"path": "b.py"}, "def foo(): pass"),))
    with running() as server:
        judge = judge_of(server, tmp_path)
        judge.judge(RESPONSE, CONTEXT, QUERY)
        judge.judge(RESPONSE + " ", CONTEXT, QUERY)
        judge.judge(RESPONSE, other_call, QUERY)
        judge.judge(RESPONSE, CONTEXT, QUERY + "?")
        judge_of(server, tmp_path, model="large").judge(RESPONSE, CONTEXT, QUERY)
        judge_of(server, tmp_path, options={"temperature": 1}).judge(RESPONSE, CONTEXT, QUERY)
        newer = judge_of(server, tmp_path)
        newer.prompt = Prompt("p-2", newer.prompt.system + "!", newer.prompt.reminder)
        newer.judge(RESPONSE, CONTEXT, QUERY)
        assert len(server.requests) == 7
        judge.judge(RESPONSE, CONTEXT, QUERY)
        assert len(server.requests) == 7
    assert len(list(tmp_path.rglob("*.json"))) == 7
    with running() as elsewhere:  # the same name may be another model at another address
        judge_of(elsewhere, tmp_path).judge(RESPONSE, CONTEXT, QUERY)
        assert len(elsewhere.requests) == 1
    assert len(list(tmp_path.rglob("*.json"))) == 8


def test_texts_that_only_join_to_the_same_have_other_keys(tmp_path):
    with running() as server:
        judge = judge_of(server, tmp_path)
        for response, query in (("ab", "c"), ("a", "bc"), ('a", "b', "c"), ("", "abc")):
            judge.judge(response, CONTEXT, query)
    assert len(server.requests) == 4


def test_what_was_refused_is_not_kept(tmp_path):
    with running(text("no JSON"), grades(4, 0), reply(400), grades(1, 1)) as server:
        judge = judge_of(server, tmp_path)
        for _ in range(3):
            with pytest.raises(ChatError):
                judge.judge(RESPONSE, CONTEXT, QUERY)
        assert list(tmp_path.rglob("*.json")) == []
        assert judge.judge(RESPONSE, CONTEXT, QUERY).epad == 1
    assert list(tmp_path.rglob("*.part")) == []


def _set(**fields):
    return lambda entry: json.dumps({**entry, **fields}).encode()


DAMAGES: dict[str, Callable[[dict[str, Any]], bytes]] = {
    "empty": lambda _: b"",
    "cut": lambda entry: json.dumps(entry).encode()[:40],
    "no JSON": lambda _: b"epad = 0",
    "no UTF-8": lambda _: b"\xff\xfe",
    "a list": lambda _: b"[]",
    "deep": lambda _: b"[" * 60_000,
    "too long": lambda entry: json.dumps(entry).encode() + b" " * 70_000,
    "out of range": _set(epad=4),
    "negative": _set(sya=-1),
    "a text": _set(epad="2"),
    "a bool": _set(epad=True),
    "a float": _set(epad=2.0),
    "another format": _set(format=FORMAT + "x"),
    "another key": _set(key="cd" * 32),
    "one more": _set(cached=True),
    "one less": lambda entry: json.dumps({k: v for k, v in entry.items() if k != "reason"}).encode(),
    "twice": lambda entry: json.dumps(entry).replace('"epad": 2', '"epad": 2, "epad": 0').encode(),
    "NaN": lambda entry: json.dumps({**entry, "tokens": float("nan")}).encode(),
}


@pytest.mark.parametrize("damage", list(DAMAGES))
def test_a_damaged_entry_is_ignored_with_a_warning_and_written_anew(damage, tmp_path, caplog):
    with running(grades(2, 1)) as server:
        judge = judge_of(server, tmp_path)
        judge.judge(RESPONSE, CONTEXT, QUERY)
        (path,) = tmp_path.rglob("*.json")
        good = path.read_bytes()
        path.write_bytes(DAMAGES[damage](json.loads(good)))
        assert path.read_bytes() != good
        assert judge.judge(RESPONSE, CONTEXT, QUERY).epad == 2
        assert len(server.requests) == 2
        (warning,) = [record for record in caplog.records if record.levelno == logging.WARNING]
        assert path.name in warning.getMessage()
        assert len(warning.getMessage().splitlines()) == 1
        assert path.read_bytes() == good
        assert judge.judge(RESPONSE, CONTEXT, QUERY).cached
        assert len(server.requests) == 2


def test_an_entry_under_another_name_is_not_used(tmp_path):
    cache = JudgementCache(tmp_path)
    cache.put(FOUND)
    other = cache.path("cd" * 32)
    other.parent.mkdir()
    cache.path(FOUND.key).rename(other)
    assert cache.get("cd" * 32) is None
    assert cache.get(FOUND.key) is None


def test_what_is_put_comes_back(tmp_path):
    cache = JudgementCache(tmp_path / "deep" / "down")
    assert cache.get(FOUND.key) is None
    odd = replace(FOUND, reason="é <\x00> \u202e", tokens=None)
    for judgement in (FOUND, odd):
        cache.put(judgement)
        assert cache.get(FOUND.key) == replace(judgement, cached=True)


def test_a_folder_in_the_place_of_an_entry(tmp_path, caplog):
    cache = JudgementCache(tmp_path)
    cache.path(FOUND.key).mkdir(parents=True)
    assert cache.get(FOUND.key) is None
    cache.put(FOUND)
    assert "are not kept" in caplog.text
    assert list(tmp_path.rglob("*.part")) == []


def test_where_nothing_can_be_written_the_judgement_is_returned(tmp_path, caplog):
    file = tmp_path / "file"
    file.write_text("in the way")
    with running() as server:
        judge = judge_of(server, file)
        assert judge.judge(RESPONSE, CONTEXT, QUERY).epad == 2
        assert judge.judge(RESPONSE + "!", CONTEXT, QUERY).epad == 2
    warnings = [r.getMessage() for r in caplog.records if "are not kept" in r.getMessage()]
    assert len(warnings) == 1
    assert file.read_text() == "in the way"


def test_many_write_the_same_entry_at_once(tmp_path):
    cache, seen = JudgementCache(tmp_path), []

    def work():
        for _ in range(20):
            cache.put(FOUND)
            seen.append(cache.get(FOUND.key))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60.0)
    assert seen == [replace(FOUND, cached=True)] * 160
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == [f"{FOUND.key}.json"]

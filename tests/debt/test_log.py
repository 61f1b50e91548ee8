"""The log of refusals: of a lab, of a loop of one's own, and of ``solvent debt run``."""

import dataclasses
import json
import re

import pytest

from solvent import read_refusals_jsonl
from solvent.debt import RefusalEvent, append_refusals_jsonl, log_refusal
from solvent.files import InputError
from solvent.lab.verbs import Verb
from tests.commands import call
from tests.labs import in_debt, open_lab, put, take

VALUES = (
    5, "2026-11-02T12:00:00Z", "epistemic_debt_action_blocked", "screen", "", 8, 2.5, 8, 11.0, 384, 2.0, False, True,
)  # fmt: skip


def test_an_event_of_ones_own_is_read_as_it_was_appended(tmp_path):
    event = RefusalEvent(*VALUES)
    append_refusals_jsonl(tmp_path / "log.jsonl", [event])
    assert read_refusals_jsonl(tmp_path / "log.jsonl") == [event]


@pytest.mark.parametrize(("key", "value"), [("cycle", "first"), ("debt_bits", None), ("said", 1)])
def test_a_line_with_another_value_is_no_event(tmp_path, key, value):
    line = dataclasses.asdict(RefusalEvent(*VALUES)) | {key: value}
    (tmp_path / "log.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
    with pytest.raises(InputError, match=f"line 1: {key}: "):
        read_refusals_jsonl(tmp_path / "log.jsonl")


def test_a_line_without_a_field_is_no_event(tmp_path):
    (tmp_path / "log.jsonl").write_text('{"cycle": 1}\n', encoding="utf-8")
    with pytest.raises(InputError, match="line 1: timestamp: missing"):
        read_refusals_jsonl(tmp_path / "log.jsonl")


def test_what_may_run_is_no_refusal_and_writes_nothing(tmp_path):
    _, _, context = in_debt(0.5).should_refuse_action("screen", 8, 384)
    with pytest.raises(ValueError, match="allowed: that of a refused one"):
        log_refusal(tmp_path / "log.jsonl", context, cycle=1)
    assert not list(tmp_path.iterdir())


def test_text_that_no_file_holds_is_escaped(tmp_path):
    _, _, context = in_debt(2.5).should_refuse_action("screen\ud800", 8, 384)
    texts = {"proposed_hypothesis": '\ud800 "\n{} α', "design_id": "\udfff"}
    event = log_refusal(tmp_path / "log.jsonl", context, cycle=1, **texts)
    assert read_refusals_jsonl(tmp_path / "log.jsonl") == [event]
    assert event.proposed_template == "screen\\ud800"
    assert (event.proposed_hypothesis, event.design_id) == ('\\ud800 "\n{} α', "\\udfff")


def refused_in_the_lab(path):
    """Append the refusal of a lab in debt."""
    env = open_lab(ledger_path=path)
    put(env, debt=2.15)
    take(env, Verb.DOSE_RESPONSE, 0, claim=0.5)


def refused_elsewhere(path):
    """Append the refusal of a loop of one's own."""
    log_refusal(path, in_debt(2.5).should_refuse_action("screen", 8, 384)[2], cycle=1)


WRITERS = pytest.mark.parametrize("refused", [refused_in_the_lab, refused_elsewhere])


def test_refusals_of_the_lab_and_of_other_loops_are_read_from_one_log(tmp_path):
    path = tmp_path / "log.jsonl"
    refused_in_the_lab(path)
    refused_elsewhere(path)
    assert [event.proposed_template for event in read_refusals_jsonl(path)] == ["dose_response", "screen"]
    assert [event.debt_bits for event in read_refusals_jsonl(path)] == [2.15, 2.5]


@WRITERS
def test_a_last_line_without_its_end_is_ended_and_read(tmp_path, refused):
    path = tmp_path / "log.jsonl"
    refused(path)
    path.write_bytes(path.read_bytes().removesuffix(b"\n"))
    refused(path)
    assert len(read_refusals_jsonl(path)) == 2


@WRITERS
def test_a_torn_line_is_named_and_takes_no_other_with_it(tmp_path, refused):
    path = tmp_path / "log.jsonl"
    refused(path)
    torn = path.read_bytes()[:40]
    path.write_bytes(path.read_bytes() + torn)
    refused(path)
    with pytest.raises(InputError, match=r"log.jsonl, line 2: not JSON.*; allowed: a JSON object"):
        read_refusals_jsonl(path)
    path.write_bytes(path.read_bytes().replace(b"\n" + torn + b"\n", b"\n"))
    assert len(read_refusals_jsonl(path)) == 2


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


def test_a_refusal_for_lack_of_wells_is_not_blamed_on_debt(tmp_path):
    line = ("debt", "run", "--cycles", 9, "--budget", 4, "--agent", "random", "--log", tmp_path / "log.jsonl")
    causes = re.findall(r"Caused by debt +(\w+)", call(*line, width=200).succeeded())
    assert set(causes) == {"no"}  # no plate has less than 8 wells, so none ever runs

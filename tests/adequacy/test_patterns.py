"""Patterns that precede failures: planted ones are found, noise makes none, severity counts, a person decides."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np
import pytest

from solvent.adequacy.decisions import accept, fired, read_triggers, triggered, withdraw
from solvent.adequacy.errors import AdequacyError
from solvent.adequacy.fmea import Incident
from solvent.adequacy.heuristic import score
from solvent.adequacy.jsonl import append_lines
from solvent.adequacy.patterns import (
    Case,
    Pattern,
    cases_of,
    extract,
    patterns_in,
    unmatched,
)
from solvent.adequacy.scores import record_of
from solvent.adequacy.tools import ToolContext

TOOLS = ["Read", "Grep", "Glob", "Bash", "Web"]
SINGLE_GREP = Pattern("whole", ("Grep",), then_negative=True)


def drawn(rng, count, base, planted=None, severe=True):
    """Random sequences that fail at the base rate; a single Grep before a strong negative at the planted one."""
    cases = []
    for _ in range(count):
        size = min(int(rng.geometric(0.4)) - 1, 8)
        tools = tuple(map(str, rng.choice(TOOLS, p=[0.4, 0.3, 0.1, 0.1, 0.1], size=size)))
        negative = bool(rng.random() < 0.3)
        rate = planted if planted is not None and SINGLE_GREP.matches(tools, negative) else base
        severity = str(rng.choice(["low", "medium", "high"])) if severe else "low"
        cases.append(Case(tools, negative, bool(rng.random() < rate), severity))
    return cases


def finding(found, pattern):
    return next(one for one in found.findings if pattern in (one.pattern, *one.same_cases))


# ----------------------------------------------------------------------------------------------- patterns


@pytest.mark.parametrize(
    ("pattern", "tools", "negative", "shown"),
    [
        (Pattern("whole", (), False), [], False, True),
        (Pattern("whole", (), False), ["Read"], False, False),
        (SINGLE_GREP, ["Grep"], True, True),
        (SINGLE_GREP, ["Grep"], False, False),
        (SINGLE_GREP, ["Grep", "Grep"], True, False),
        (Pattern("run", ("A", "B"), False), ["C", "A", "B"], False, True),
        (Pattern("run", ("A", "B"), False), ["A", "C", "B"], True, False),
        (Pattern("gapped", ("A", "B"), False), ["A", "C", "B"], True, True),
        (Pattern("gapped", ("A", "B"), False), ["B", "A"], False, False),
        (Pattern("gapped", ("A", "A"), False), ["A"], False, False),
        (Pattern("gapped", ("A", "B"), False), ["A", "B", *["C"] * 40], False, False),
    ],
)
def test_what_a_response_shows(pattern, tools, negative, shown):
    assert pattern.matches(tools, negative) is shown


def test_the_patterns_listed_are_those_that_match():
    rng = np.random.default_rng(1)
    sequences = [tuple(map(str, rng.choice(["A", "B", "C"], size=size))) for size in range(6)]
    listed = [patterns_in(tools, negative, 3) for tools in sequences for negative in (False, True)]
    every = set().union(*listed)
    assert len(every) > 50
    for index, found in enumerate(listed):
        tools, negative = sequences[index // 2], bool(index % 2)
        assert found == {pattern for pattern in every if pattern.matches(tools, negative)}


def test_patterns_have_words():
    assert str(SINGLE_GREP) == "only Grep, then a strong negative"
    assert str(Pattern("whole", (), False)) == "no call"
    assert str(Pattern("run", ("A", "B"), False)) == "A, B"
    assert str(Pattern("gapped", ("A", "B"), True)) == "A ... B, then a strong negative"


# --------------------------------------------------------------------------------------------- extraction


def test_counts_by_hand():
    cases = [Case(("Grep",), True, i < 16) for i in range(20)] + [Case(("Read",), False, False)] * 20
    found = extract(cases, longest=1)
    one = finding(found, SINGLE_GREP)
    assert (one.count, one.failures, one.rate, one.weighted_rate) == (20, 16, 0.8, 0.8)
    assert one.effective_count == pytest.approx(20.0)
    assert (found.tried, found.base_rate, found.floor) == (2, 0.4, 0.5)  # all patterns of a kind are one
    # Clopper-Pearson, one-sided at 0.05 / 2: published tables have 0.5634 for 16 of 20 at 95 % two-sided.
    assert one.lower_bound == pytest.approx(0.5634, abs=5e-5)
    assert one.candidate
    assert one.pattern == SINGLE_GREP
    assert Pattern("run", ("Grep",), False) in one.same_cases


def test_over_seventy_percent_is_not_enough_and_neither_is_a_high_bound_alone():
    few = [Case(("Grep",), True, i < 8) for i in range(10)] + [Case(("Read",), False, False)] * 30
    one = finding(extract(few), SINGLE_GREP)
    assert one.rate == 0.8
    assert one.lower_bound < 0.5
    assert not one.candidate
    many = [Case(("Grep",), True, i % 3 > 0) for i in range(600)] + [Case(("Read",), False, False)] * 600
    one = finding(extract(many), SINGLE_GREP)
    assert one.lower_bound > 0.6
    assert not one.candidate  # at 67 %


def test_a_pattern_that_is_no_worse_than_the_rest_is_none():
    cases = [Case(("Grep",), True, i % 5 > 0) for i in range(300)]
    cases += [Case(("Read",), False, i % 5 > 0) for i in range(300)]
    found = extract(cases)
    assert found.floor == found.base_rate == 0.8
    assert found.candidates == ()


def test_a_planted_pattern_is_found_and_nothing_that_is_unlike_it():
    runs = 12
    hits = strays = 0
    for seed in range(runs):
        found = extract(drawn(np.random.default_rng([7, seed]), 1600, base=0.15, planted=0.95))
        names = {one.pattern for one in found.candidates}
        hits += SINGLE_GREP in names
        strays += any("Grep" not in pattern.tools for pattern in names)
    assert hits >= 0.95 * runs
    assert strays == 0


@pytest.mark.parametrize("base", [0.2, 0.5, 0.7, 0.85])
def test_noise_makes_no_candidates(base):
    runs = 60
    false = naive = 0
    for seed in range(runs):
        found = extract(drawn(np.random.default_rng([11, seed, int(100 * base)]), 200, base))
        false += bool(found.candidates)
        naive += any(one.rate > 0.7 for one in found.findings)
    assert false <= 0.05 * runs
    # The point estimate alone would have found some in many of them, in most from 70 % up.
    assert naive > 0.3 * runs or base < 0.5


def test_severe_failures_weigh_more():
    # 12 of 20 each; those of Grep hurt, those of Read were caught.
    cases = [Case(("Grep",), False, i < 12, "high") for i in range(20)]
    cases += [Case(("Read",), False, i < 12, "low") for i in range(20)]
    found = extract(cases, longest=1)
    grep, read = (finding(found, Pattern("whole", (name,), False)) for name in ("Grep", "Read"))
    assert grep.rate == read.rate == 0.6
    # Weights 4 and 1, mean 2.5: failures count 1.6 and 0.4.
    assert grep.weighted_rate == pytest.approx(12 * 1.6 / (12 * 1.6 + 8))
    assert read.weighted_rate == pytest.approx(12 * 0.4 / (12 * 0.4 + 8))
    assert grep.effective_count == pytest.approx((12 * 1.6 + 8) ** 2 / (12 * 1.6**2 + 8))
    assert grep.effective_count < 20
    assert found.findings[0] == grep
    # Of one severity alone the weights say nothing.
    same = extract([Case(case.tools, False, case.failed, "high") for case in cases], longest=1)
    assert all(one.weighted_rate == pytest.approx(one.rate) for one in same.findings)


def test_more_patterns_tried_need_more_evidence():
    cases = drawn(np.random.default_rng(3), 1200, 0.3, planted=0.95)
    short, long = extract(cases, longest=1), extract(cases, longest=3)
    assert long.tried > short.tried
    assert finding(long, SINGLE_GREP).lower_bound < finding(short, SINGLE_GREP).lower_bound
    assert finding(long, SINGLE_GREP).rate == finding(short, SINGLE_GREP).rate


def test_long_sequences_are_no_burden():
    rng = np.random.default_rng(5)
    cases = [Case(tuple(map(str, rng.integers(6, size=3000))), True, bool(i % 2)) for i in range(30)]
    found = extract(cases, longest=3)
    assert found.tried >= 1
    assert found.candidates == ()


def test_a_rate_out_of_range_is_refused():
    with pytest.raises(AdequacyError, match=r"rate: got 1\.0; allowed: a number between 0 and 1"):
        extract([Case((), False, False)], rate=1.0)


def test_bad_input_is_refused():
    with pytest.raises(AdequacyError, match="patterns: got 0 cases"):
        extract([])
    with pytest.raises(AdequacyError, match="longest 0; allowed"):
        extract([Case((), False, False)], longest=0)
    with pytest.raises(AdequacyError, match="severity: got 'severe'"):
        extract([Case((), False, True, "severe")])
    with pytest.raises(AdequacyError, match="pattern: got 'loop'"):
        Pattern("loop", ("A",), False)
    with pytest.raises(AdequacyError, match="pattern: got no tool in a run"):
        Pattern("run", (), False)


def test_nothing_that_occurs_often_enough():
    found = extract([Case(("Read",), False, True)] * 3)
    assert (found.tried, found.findings) == (0, ())


# ------------------------------------------------------------------------------------- cases and triggers


def test_cases_are_scored_responses_and_what_incidents_say_of_them():
    texts = ["There is no retry.", "It may retry.", "It retries.", "It never retries."]
    context = ToolContext.from_dicts([{"name": "Grep", "arguments": {"pattern": "x"}, "result": "a: x"}])
    adequacies = [score(text, context) for text in texts]
    humans = [None, None, 2, 1]
    made = [
        record_of(text, context, None, adequacy) for text, adequacy in zip(texts, adequacies, strict=True)
    ]
    records = [
        dataclasses.replace(one, epad=dataclasses.replace(one.epad, human=human))
        for one, human in zip(made, humans, strict=True)
    ]

    def incident(response, severity):
        ranks: Any = {"severity": severity, "occurrence": 3, "detectability": 3}
        told: Any = {"description": "wrong", "domain": "code", "reported_by": "reviewer"}
        return Incident(response=response, context=context, rule="definitive/thin", **ranks, **told)

    incidents = [incident(texts[0], 9), incident(texts[0], 2), incident("Never scored.", 9)]
    cases = cases_of(records, incidents)
    assert [(case.failed, case.severity) for case in cases] == [
        (True, "high"),
        (False, "low"),
        (True, "low"),
        (False, "low"),
    ]
    assert all(case.tools == ("Grep",) for case in cases)
    assert [case.strong_negative for case in cases] == [one.strong_negative for one in adequacies]
    assert unmatched(records, incidents) == 1


def test_an_incident_is_about_the_answer_to_its_query_and_no_other():
    adequacy, queries = score("Yes.", ToolContext()), ["Is it there?", "Is it safe?", None]
    records = [record_of("Yes.", ToolContext(), query, adequacy) for query in queries]
    assert len({record.id for record in records}) == 3
    given: Any = {"severity": 5, "occurrence": 3, "detectability": 3, "description": "no", "domain": "code"}
    given |= {"rule": adequacy.rule, "reported_by": "a user"}
    incident = Incident(response="Yes.", context=ToolContext(), query="Is it safe?", **given)
    assert incident.id == records[1].id
    assert [case.failed for case in cases_of(records, [incident])] == [False, True, False]
    assert unmatched(records, [incident]) == 0
    assert unmatched(records[:1], [incident]) == 1


def candidate():
    cases = [Case(("Grep",), True, True)] * 30 + [Case(("Read",), False, False)] * 30
    return finding(extract(cases), SINGLE_GREP)


def test_only_a_person_makes_a_trigger(tmp_path):
    path = tmp_path / "triggers.jsonl"
    found = candidate()
    for by, reason in [("", "seen"), (" ", "seen"), ("reviewer", "")]:
        with pytest.raises(AdequacyError, match="allowed: a text"):
            accept(path, found, by, reason)
    assert not path.exists()
    trigger = accept(path, found, "reviewer", "seen in three incidents")
    assert (trigger.accepted_by, trigger.pattern) == ("reviewer", SINGLE_GREP)
    in_force = read_triggers(path)
    assert in_force == [trigger]
    assert fired(in_force, ["Grep"], strong_negative=True) == (trigger,)
    assert fired(in_force, ["Grep"], strong_negative=False) == ()


def test_a_trigger_asks_for_a_judge_and_raises_a_claim_to_what_it_precedes(tmp_path):
    context = ToolContext.from_dicts([{"name": "Grep", "arguments": {"pattern": "x"}, "result": "a: x"}])
    trigger = accept(tmp_path / "triggers.jsonl", candidate(), "reviewer", "seen")
    hedged = score("It may retry.", context)
    assert triggered(hedged, context, [trigger]) is hedged
    denied = dataclasses.replace(score("There is no retry.", context), escalate=False)
    found = triggered(denied, context, [trigger])
    assert found.escalate
    assert found.signals == (*denied.signals, "trigger:only Grep, then a strong negative")
    assert dataclasses.replace(found, escalate=False, signals=denied.signals) == denied
    assert triggered(denied, context, []) is denied
    # A claim that would pass scores like the failures that the pattern precedes, hedged words don't.
    always = dataclasses.replace(trigger, pattern=Pattern("whole", ("Grep",), then_negative=False))
    plain = dataclasses.replace(score("It retries.", context), score=0)
    raised = triggered(plain, context, [always])
    assert (raised.score, raised.rule, raised.escalate) == (2, plain.rule, True)
    hedged = triggered(hedged, context, [always])
    assert (hedged.score, hedged.escalate) == (0, True)
    worst = dataclasses.replace(plain, score=3)
    assert triggered(worst, context, [always]).score == 3


def test_what_is_no_candidate_can_not_be_accepted(tmp_path):
    cases = [Case(("Grep",), True, i % 2 > 0) for i in range(40)]
    found = extract(cases).findings[0]
    with pytest.raises(AdequacyError, match="allowed: a candidate"):
        accept(tmp_path / "triggers.jsonl", found, "reviewer", "a feeling")


def test_a_trigger_is_taken_back_by_a_line_more(tmp_path):
    path = tmp_path / "triggers.jsonl"
    trigger = accept(path, candidate(), "reviewer", "seen")
    withdraw(path, trigger, "editor", "too many calls of the judge")
    assert read_triggers(path) == []
    with pytest.raises(AdequacyError, match="allowed: one that is in force"):
        withdraw(path, trigger, "editor", "again")
    accept(path, candidate(), "editor", "seen again")
    assert [one.accepted_by for one in read_triggers(path)] == ["editor"]
    assert len(path.read_text(encoding="utf-8").splitlines()) == 3


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("accepted_by", "", "accepted_by: got ''"),
        ("decision", "maybe", "decision: got 'maybe'; allowed: accepted, withdrawn"),
        ("pattern", {"shape": "whole"}, "pattern: got {'shape': 'whole'}"),
        ("pattern", {"shape": "x", "tools": ["A"], "then_negative": False}, "pattern: got 'x'"),
        ("pattern", 3, "allowed: accepted_by, count"),
        ("extra", 1, "allowed: accepted_by, count"),
    ],
)
def test_a_wrong_trigger_is_named_with_its_line(field, value, said, tmp_path):
    path = tmp_path / "triggers.jsonl"
    accept(path, candidate(), "reviewer", "seen")
    line = json.loads(path.read_text(encoding="utf-8"))
    append_lines(path, [{**line, field: value}])
    with pytest.raises(AdequacyError) as refused:
        read_triggers(path)
    assert f"{path}, line 2: " in str(refused.value)
    assert said in str(refused.value)


def test_a_finding_can_be_written_as_json():
    told = json.loads(json.dumps(candidate().to_dict(), allow_nan=False))
    assert told["text"] == "only Grep, then a strong negative"
    assert told["pattern"] == {"shape": "whole", "tools": ["Grep"], "then_negative": True}
    assert "only Grep" in told["same_cases"]

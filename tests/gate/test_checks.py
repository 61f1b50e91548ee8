"""The checks on the words: rules by hand, and the labelled pairs."""

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from solvent.gate.checks import run_checks

PAIRS = Path(__file__).with_name("check_pairs.tsv")


def fired(claim, *spans):
    return {check.name for check in run_checks(claim, list(spans)) if check.fired}


@pytest.mark.parametrize(
    ("check", "claim", "span", "objects"),
    [
        ("numbers", "It burned in 1912.", "It burned down in 1913.", True),
        ("numbers", "It has 12,000 rooms.", "There are 12000 rooms.", False),
        ("numbers", "It has twelve rooms.", "There are 12 rooms.", False),
        ("numbers", "It has two dozen rooms.", "There are 24 rooms.", True),  # no arithmetic
        ("numbers", "Five million people came.", "About 5,000,000 people came.", False),
        ("numbers", "It opened in May 1901.", "It opened on 12 June 1901.", True),
        ("numbers", "It opened on 1 Dec 1755.", "It opened on 1 December 1755.", False),
        ("numbers", "They may come in 1901.", "In 1901 they might come.", False),
        ("numbers", "It was the second of one kind.", "It was of another.", False),  # words not asked for
        ("negation", "The mill was never rebuilt.", "The mill was rebuilt.", True),
        ("negation", "The mill was rebuilt.", "The mill wasn't rebuilt.", True),
        ("negation", "It was not only rebuilt but enlarged.", "It was rebuilt and enlarged.", False),
        ("negation", 'The song "Never rebuilt" praised the mill.', "The mill was praised by a song.", False),
        ("negation", "The bakery never closed.", "The mill was rebuilt.", False),  # no clause in common
        ("novel_words", "The bakery sells rye bread.", "The mill was built.", True),
        ("novel_words", "The bakery sells bread.", "The mill was built.", False),  # fewer than four
        ("novel_words", "The mills were building rye bread.", "The mill was built with rye bread.", False),
    ],
)
def test_a_check_objects_to_what_no_span_says(check, claim, span, objects):
    assert (check in fired(claim, span)) == objects


def test_negation_looks_at_the_best_span():
    spans = ["The mill was not sold.", "The mill was built by the river in spring."]
    (_, best, *_) = run_checks("The mill was sold.", spans, scores=[0.1, 0.9])
    assert not best.fired
    (_, best, *_) = run_checks("The mill was sold.", spans, scores=[0.9, 0.1])
    assert best.fired


@pytest.mark.parametrize(
    ("claim", "severity"),
    [
        ('He said "the mill will never burn again".', "reject"),
        ('He called it "a ruin".', "review"),
        ('He said "The Mill... burned down".', None),
        ("He said 'the mill burned down'.", None),
        ("It's the miller's mill.", None),
        ("He said \u201cit burned \u2013 in 1912\u201d.", None),
    ],
)
def test_quotations_need_a_span_that_has_them(claim, severity):
    spans = ["The mill burned down, he said: it burned - in 1912.", "It's the miller's."]
    (found,) = [check for check in run_checks(claim, spans) if check.name == "quotes"]
    assert (found.severity if found.fired else None) == severity


@given(st.text(max_size=200), st.lists(st.text(max_size=100), max_size=3))
def test_any_text_is_checked(claim, spans):
    names = [check.name for check in run_checks(claim, spans)]
    assert names == ["numbers", "negation", "quotes", "novel_words"]


@pytest.mark.parametrize("text", ["no " * 30_000, '"' * 100_000, "1" * 100_000, "a, " * 50_000])
def test_hostile_text_takes_no_time(text):
    assert len(run_checks(text[:100_000], [text[:100_000]])) == 4


def test_objections_to_the_labelled_pairs():
    """170 spans, each with a supported claim and a changed one; the counts stand in docs/gate.md."""
    missed, alarms = Counter(), 0
    lines = PAIRS.read_text(encoding="utf-8").splitlines()
    for line in lines:
        kind, span, supported, changed = line.split("\t")
        missed[kind] += not fired(changed, span)
        alarms += bool(fired(supported, span))
    assert len(lines) == 170
    assert alarms <= 20
    assert missed["number"] <= 2
    assert missed["quotation"] == 0
    assert missed["negation"] <= 4
    assert missed["novel"] == 0

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


NUMBERS_AS_STATED = [
    ("Of 412 patients 41 recovered.", "41 of 412 patients recovered."),
    ("14 men and 16 women sing.", "16 women and 14 men sing."),
    ("It opened on January 11, 1913.", "It opened on 11 January 1913."),
    ("It opened on 1931-05-03.", "It opened on 3 May 1931."),
    ("It is 0.8 m wide.", "It is 80 cm wide."),
    ("It made $5m.", "It made 5 million dollars."),
    ("It is 2 to 3 km long.", "It is between 2 km and 3 km long."),
    ("It cost \u20ac1,200.50.", "It cost 1200.5 euros."),
    ("It took an hour and a half.", "It took 1.5 hours."),
    ("It took 30 seconds.", "timeout = 30"),  # a name or a heading has the unit
]
OTHER_NUMBERS = [
    ("412 of 41 patients recovered.", "41 of 412 patients recovered."),
    ("It fell from 3 to 5.", "It fell from 5 to 3."),
    ("They won 3:1.", "They won 1:3."),
    ("16 men and 14 women sing.", "16 women and 14 men sing."),
    ("It was 5 degrees.", "It was -5 degrees."),
    ("It was minus 5 degrees.", "It was 5 degrees."),
    ("It is 5 km long.", "It is 5 m long."),
    ("12 % of the patients died.", "12 of the patients died."),
    ("12 patients died.", "12 % of the patients died."),
    ("It cost 30 euros.", "It cost 30k euros."),
]


@pytest.mark.parametrize(("claim", "span"), NUMBERS_AS_STATED)
def test_a_number_may_be_written_in_another_way(claim, span):
    assert "numbers" not in fired(claim, span)


@pytest.mark.parametrize(("claim", "span"), OTHER_NUMBERS)
def test_sign_unit_scale_and_place_belong_to_a_number(claim, span):
    assert "numbers" in fired(claim, span)


TABLES = {
    "bars": "Ship | Length | Crew\nAda | 212 | 41\nBea | 96 | 12",
    "markdown": "| Ship | Length | Crew |\n|---|---:|---:|\n| Ada | 212 | 41 |\n| Bea | 96 | 12 |",
    "tabs": "Ship\tLength\tCrew\nAda\t212\t41\nBea\t96\t12",
    "commas": "Ship,Length,Crew\nAda,212,41\nBea,96,12",
}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_a_cell_is_stated_of_its_row_and_column_alone(table):
    assert fired("The length of Ada is 212 m.", table) == set()
    assert fired(table.splitlines()[-1], table) == set()
    for elsewhere in ("The crew of Ada is 212.", "The length of Bea is 212."):
        assert fired(elsewhere, table) == {"numbers"}


def test_a_named_value_is_stated_of_its_name_alone():
    code = "def fetch(url, max_retries=3, timeout_seconds=30):"
    assert fired("The default timeout is 30 seconds.", code) == set()
    assert fired("The default timeout is 3 seconds.", code) == {"numbers"}
    assert fired("Height: 12\nWidth: 80", "Height: 80\nWidth: 12") == {"numbers"}


@pytest.mark.parametrize("claim", ["It has flour, salt and sugar.", "- flour\n- salt\n- sugar"])
def test_an_invented_item_of_a_list_is_seen(claim):
    assert fired(claim, "It has flour, salt and sugar.") == set()
    assert fired(claim, "Ingredients:\n- flour\n- salt") == {"novel_words"}


@pytest.mark.parametrize(
    ("claim", "span"),
    [
        ("Das Werk stellt keine Schrauben her.", "Seit 2019 stellt das Werk nur noch Schrauben her."),
        ("La fabrique ne vend pas de pain.", "La fabrique vend du pain."),
        ("La f\u00e1brica nunca vende pan.", "La f\u00e1brica vende pan."),
    ],
)
def test_a_negation_in_another_language_is_seen(claim, span):
    assert "negation" in fired(claim, span)
    assert "negation" not in fired(claim, claim)


def test_negation_looks_at_the_clause_that_says_the_same():
    spans = ["The mill was never moved, but sold in 1912.", "The bakery was not sold."]
    assert "negation" not in fired("The mill was sold in 1912.", *spans)
    assert "negation" in fired("The mill was moved.", *spans)


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
    (result,) = [check for check in run_checks(claim, spans) if check.name == "quotes"]
    assert (result.severity if result.fired else None) == severity


@given(st.text(max_size=200), st.lists(st.text(max_size=100), max_size=3))
def test_any_text_is_checked(claim, spans):
    names = [check.name for check in run_checks(claim, spans)]
    assert names == ["numbers", "negation", "quotes", "novel_words"]


@pytest.mark.parametrize(
    "text",
    [
        "no " * 30_000,
        '"' * 100_000,
        "1" * 100_000,
        "a, " * 50_000,
        "-" * 99_999 + "x",
        "a 1 | " * 16_000,
        "x=1," * 25_000,
    ],
)
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
    assert alarms <= 13
    assert missed["number"] <= 2
    assert missed["quotation"] == 0
    assert missed["negation"] <= 4
    assert missed["novel"] == 0

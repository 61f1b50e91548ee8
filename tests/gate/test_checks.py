"""Checks on the words: what they find, what they leave alone, and that no text takes them long."""

from __future__ import annotations

import json
import random
import re
import time
import timeit
from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from solvent.gate import GateError
from solvent.gate.checks import CheckResult, run_checks
from solvent.gate.negation import _DENIAL, clauses
from solvent.gate.policy import SEVERITY, severest
from solvent.gate.wording import plain

NAMES = ("numbers", "negation", "quotes", "novel_words")
TEXTS = st.text(max_size=80)


def check(name, claim, *evidence, scores=None):
    return {result.name: result for result in run_checks(claim, evidence, scores)}[name]


# ----------------------------------------------------------------------------------------------- numbers


@pytest.mark.parametrize(
    ("claim", "span"),
    [
        ("1,000 men", "1000 men"),
        ("1 000 000 men", "1,000,000 men"),
        ("1\u00a0234 men", "1234 men"),
        ("1.5 million", "1,500,000"),
        ("$1.5bn", "$1,500 million"),
        ("three wives", "3 wives"),
        ("twenty-five", "25"),
        ("two hundred and fifty thousand", "250,000"),
        ("the 25th", "the twenty-fifth"),
        ("5 percent", "5%"),
        ("five per cent", "5 %"),
        ("10-15 km", "10 km to 15 km"),
        ("10\u201315 km", "between 10 and 15 km"),
        ("1990-95", "from 1990 to 1995"),
        ("the 1990s", "in 1994"),
        ("March 5, 1990", "5 March 1990"),
        ("5th of March 1990", "1990-03-05"),
        ("Mar. 5, 1990", "05/03/1990"),
        ("March 1990", "on 5 March 1990"),
        ("March 5, 1990", "In 1990 he was busy. On 5 March he left."),
        ("500 nM", "0.5 µM"),
        ("500 nM", "0.5 \u03bcM"),
        ("500 nM", "500"),  # the unit may stand elsewhere, as over a column
        ("5 km", "5,000 metres"),
        ("5kg", "5000 g"),
        ("24 hours", "1 day"),
        ("12 km2", "12 square kilometres"),
        ("an 8-year-old", "8 years old"),
        ("25 °C", "25°C"),
        ("MG-132 kills", "MG-132 is toxic"),
        ("MG132 kills", "MG-132 is toxic"),
        ("A549 cells", "in A549 cells"),
        ("one of the first", "he came"),  # seldom numbers
        ("he may march", "he left"),
        ("٢٠٢٠", "2020"),
        ("-5 degrees", "\u22125 degrees"),
        ("-$5m", "-$5 million"),
        ("5-10 men", "from 5 -10 men"),  # a range, however it is spaced
        ("Smith (-1990)", "he died in 1990"),
        ("0.5 men", ".5 men"),
        ("-.5", "-0.5"),
        (".5 cm", "5 mm"),
        ("1/2 cup", "0.5 cup"),
        ("0.5 km", "1/2 km"),
        ("1 and 2", "1/2"),
        ("24/7", "24/7"),
        ("1/2/1990", "2 January 1990"),
        ("1e5 cells", "100,000 cells"),
        ("1.5e-3 g", "1.5 mg"),
        ("1e999", "1e999"),
        ("5:30 pm", "5:30 p.m."),
        ("5 PM", "five p.m."),
        ("5:30 pm", "at 5:30"),
        ("10 % of men", "men: 10"),
        ("10 years", "10 consecutive years"),
        ("10 km", "10 of them"),
        ("5:30 pm", "17:30"),
        ("8:00 p.m.", "8 pm"),
        ("3 minutes and 45 seconds", "3:45"),
        ("two and a half kilometres", "2.5 km"),
        ("2 and a quarter miles", "2.25 miles"),
        ("half a kilogram", "500 g"),
        ("a quarter of an hour", "15 minutes"),
        ("half of them", "some of them"),
        ("12 lb", "twelve pounds"),
        ("£250,000", "250,000 pounds"),
        ("¥5", "5 yen"),
        ("50 km/h", "50 kilometres per hour"),
        ("60 mph", "60 miles an hour"),
        ("chapter 4", "Chapter IV"),
        ("Henry II died", "Henry died"),
        ("married twice", "his two wives"),
        ("2 times", "twice"),
        ("both sons", "the sons"),
    ],
)
def test_numbers_that_stand_there(claim, span):
    assert not check("numbers", claim, "nothing here", span).fired


@pytest.mark.parametrize(
    ("claim", "span", "found"),
    [
        ("born in 1986", "born in 1985", "1986"),
        ("17:30", "6:30 pm", "17:30"),
        ("at 5:30", "at 5:40", "5:30"),
        ("5:30 pm", "5 apples, 30 pears and 5:31 pm", "5:30 pm"),
        ("half a kilogram", "400 g", "half a kilogram"),
        ("two and a half kilometres", "2 km", "two and a half kilometres"),
        ("12 pounds", "12 euros", "12 pounds"),
        ("50 kilometres per hour", "50 km", "50 kilometres per hour"),
        ("chapter 6", "Chapter IV", "6"),
        ("born in 1993", "famous in the 1990s", "1993"),
        ("the 1980s", "in 1994", "1980s"),
        ("March 6, 1990", "5 March 1990, with 6 friends", "March 6, 1990"),
        ("March 5, 1991", "5 March 1990; 1991 was worse", "March 5, 1991"),
        ("in July 1990", "in June 1990", "July 1990"),
        ("500 nM", "500 uM", "500 nM"),
        ("500 nM", "500 nm", "500 nM"),  # molar is no metre
        ("5 km", "5 miles", "5 km"),
        ("5 %", "5 km", "5 %"),
        ("1.5 million", "1.5 billion", "1.5 million"),
        ("$5", "€5", "5"),
        ("MG-132", "MG-115", "132"),
        ("four wives", "three wives", "four"),
        ("the third", "the second", "third"),
        ("1" * 400, "1" * 401, "1" * 77 + "..."),
        ("-5 degrees", "5 degrees", "-5"),
        ("5 degrees", "-5 degrees", "5"),
        ("-$5m", "$5 million", "-$5m"),
        (".5 mg", "5 mg", ".5 mg"),
        ("1/2 cup", "0.2 cup", "1/2"),
        ("1e5 cells", "10,000 cells", "1e5"),
        ("5:30 pm", "5:30 am", "5:30 pm"),
        ("5 p.m.", "5 a.m.", "5 p.m"),
        ("10 % of men", "10 men", "10 %"),
        ("5 km", "5 men", "5 km"),
    ],
)
def test_numbers_that_do_not(claim, span, found):
    result = check("numbers", claim, span)
    assert result.fired
    assert result.found == (found,)
    assert result.severity == "review"
    assert found in result.explanation


@given(year=st.integers(1000, 2999), other=st.integers(1000, 2999))
def test_a_changed_year_is_found(year, other):
    assert check("numbers", f"It was in {year}.", f"It was in {other}.").fired == (year != other)


@given(text=TEXTS)
def test_no_number_is_missing_from_its_own_text(text):
    assert not check("numbers", text, text).fired


# ---------------------------------------------------------------------------------------------- negation


@pytest.mark.parametrize(
    ("claim", "span"),
    [
        ("The compound did not kill the cells", "The compound killed the cells"),
        ("The compound killed the cells", "The compound didn't kill the cells"),
        ("He never married", "He married in 1990"),
        ("The compound kills no cells", "The compound kills cells"),
        ("Lamps were sold without shades, in two shops", "Lamps were sold with shades"),
        ("The town is no longer a port", "The town is a port"),
        ("He was not there.", "He was there."),
        ("He was there.", "He wasn't there."),
        ("He isn't a doctor.", "He is a doctor."),
        ("He's not there", "He is there"),
        ("He has no wife", "He has a wife"),
        ("He left without it", "He left with it"),
        ("They cannot swim", "They can swim"),
        ("It did n't rain", "It did rain"),
        ("It is not 5", "It is 5"),
        ("It was red", "It was neither red nor blue"),
        ("He had debts", "He had no regrets and no debts"),
        ("At night the gate is locked", "At night the gate is unlocked"),
        ("He ran unsuccessfully for mayor", "He ran successfully for mayor"),
        ("It was never sold in 1990", "It was not sold until 1990"),
        ("He said 'it is over' and did not leave", "He said 'it is over' and did leave"),
    ],
)
def test_a_negation_on_one_side(claim, span):
    result = check("negation", claim, span, "Another sentence about other things")
    assert result.fired
    assert result.severity == "review"
    assert len(result.found) == 2


@pytest.mark.parametrize(
    ("claim", "span"),
    [
        ("The compound did not kill the cells", "The compound doesn't kill cells"),
        ("The compound kills not only cells", "The compound kills cells"),
        ("The report arrived no later than Monday", "The report arrived on Monday"),
        ("No fewer than ten ships sank", "Ten ships sank"),
        ("It is not true that the compound never killed cells", "It is true that the compound killed cells"),
        ("Did the compound not kill the cells?", "The compound killed the cells"),
        ("The compound killed the cells", "Did the compound not kill the cells?"),
        ("Whether or not it rained, the ships sank fast", "It rained, the ships sank fast"),
        ("The film No Greater Glory opened", "The film opened with glory"),
        ('The song "Never Again" was a hit', "The song was a hit again"),
        ("He lived at No. 5 Harbour Street", "He lived at Harbour Street"),
        ("Neither lamps nor candles burned", "No lamps and candles burned"),
        ("He painted rivers, but not ships", "He painted rivers"),
        ("The sea is salty", "Violins are not made of stone"),
        ("He was there", "He was there. He was not there."),
        ("He was there", "Was he not there?"),
        ("He was not there", "He was here"),
        ("He was not only there", "He was there"),
        ("It is 5", "It is not 6"),
        ("No", "No."),
        ("Not so", "Yes"),
        ("At night the gate is unlocked", "The gate is not locked at night"),
        ("The languages are not unrelated", "The languages are related"),
        ("The uncle was under the unit", "The clean deer was near it"),
        ("It was only sold in 1990", "It was not sold until 1990"),
        ("He had neither regrets nor debts", "He had no regrets and no debts"),
        ("She said: 'I don't know, and I never knew'", 'She said: "I don\'t know, and I never knew"'),
    ],
)
def test_no_negation_to_object_to(claim, span):
    assert not check("negation", claim, span).fired


ALMOST = ["No", "not", "DON'T", "isnt", "n't", "nor", "know", "5", '"', ".", "no1", "_no", "\u0130", "\u017f"]


@given(st.lists(st.sampled_from(ALMOST) | st.text()))
def test_a_text_without_a_negation_word_has_no_negated_clause(words):
    for text in (" ".join(words), "".join(words)):
        if not _DENIAL.search(plain(text).casefold()):
            assert not any(clause.negated for clause in clauses(text))


def test_the_span_that_matches_best_is_the_one_that_counts():
    claim, spans = "The lamp burned bright", ["The lamp never burned bright", "The lamp burned bright"]
    assert check("negation", claim, *spans, scores=[0.9, 0.1]).fired
    assert not check("negation", claim, *spans, scores=[0.1, 0.9]).fired
    assert not check("negation", claim, *spans[::-1], scores=[float("nan"), 0.9]).fired


# ------------------------------------------------------------------------------------------------ quotes


@pytest.mark.parametrize(
    "claim",
    [
        'He said "the lamp burned bright".',
        "He said \u201cThe  Lamp\nburned bright\u201d.",
        "He said «the lamp, burned bright!»",
        "He said 'the lamp burned bright'.",
        'He said "the lamp [...] bright".',
        'He said "the ... bright".',
        "He was 5'9\" and it's the dog's lamp",
        "He called it 'the lamp burned bright', didn't he",
        'A quote that never "ends',
        'An empty "" quote and a sign "!"',
    ],
)
def test_quotes_that_are_there(claim):
    assert not check("quotes", claim, "Nothing.", "Then he said: the lamp burned bright; he left.").fired


def test_quotes_that_are_not():
    long = check("quotes", 'He said "the lamp burned very bright".', "The lamp burned bright")
    assert (long.fired, long.severity, long.found) == (True, "reject", ("the lamp burned very bright",))
    short = check("quotes", 'Called "Old Lamp" by all', "The lamp burned bright")
    assert (short.fired, short.severity) == (True, "review")
    assert check("quotes", 'Called "art" by all', "A party").fired  # a part of a word is no word
    assert check("quotes", '"one two"', "one", "two").fired  # nor does a quote run over spans


# ------------------------------------------------------------------------------------------------- words


def test_novel_words():
    span = "The old harbour was built of stone by the town's fishermen"
    assert not check("novel_words", "Fishermen built the harbours of old stones", span).fired
    result = check("novel_words", "Copper engines powered the harbour", span)
    assert result.fired
    assert result.found == ("copper", "engines", "powered")
    assert result.severity == "review"
    assert not check("novel_words", "Two new words", span).fired  # too few to say anything
    # Quantities are compared as such.
    assert not check("novel_words", "Half a dozen kilograms of stone, seven harbours", span).fired
    assert check("quotes", 'The law of "goods & men"', "Of goods and women").fired
    assert not check("quotes", 'The law of "goods & men"', "Of goods and men").fired


# ------------------------------------------------------------------------------------------ all of them


@given(claim=TEXTS, evidence=st.lists(TEXTS, max_size=4))
def test_any_text(claim, evidence):
    results = run_checks(claim, evidence)
    assert tuple(result.name for result in results) == NAMES
    assert results == run_checks(claim, evidence)
    for result in results:
        assert result.explanation.isprintable()
        assert result.fired == bool(result.found)
        json.dumps(result.explanation).encode("utf-8")


@given(claim=TEXTS, evidence=st.lists(TEXTS, max_size=4), order=st.randoms())
def test_numbers_quotes_and_words_do_not_depend_on_the_order_of_spans(claim, evidence, order):
    shuffled = order.sample(evidence, len(evidence))
    ours, theirs = run_checks(claim, evidence), run_checks(claim, shuffled)
    assert [ours[i] for i in (0, 2, 3)] == [theirs[i] for i in (0, 2, 3)]


@given(
    verdict=st.sampled_from(["accept", "review", "reject"]),
    fired=st.lists(st.tuples(st.booleans(), st.sampled_from(["review", "reject"]))),
)
def test_checks_only_downgrade(verdict, fired):
    checks = [CheckResult("numbers", on, "", (), severity) for on, severity in fired]
    severities = [check.severity for check in checks if check.fired]
    after = severest(verdict, *severities)
    assert SEVERITY[after] >= SEVERITY[verdict]
    assert severest(after, *severities) == after
    if not any(on for on, _ in fired):
        assert after == verdict


def test_no_check_can_be_mild():
    with pytest.raises(GateError, match="severity"):
        CheckResult("numbers", True, "", (), "accept")


@pytest.mark.parametrize(
    ("claim", "evidence", "scores"),
    [
        (3, [], None),
        ("a", "text", None),
        ("a", [3], None),
        ("a", ["b"], []),
        ("a", [b"b"], None),
        ("a", 3, None),
    ],
)
def test_wrong_arguments(claim, evidence, scores):
    with pytest.raises(GateError):
        run_checks(claim, evidence, scores)


LONG: dict[str, Callable[[int], str]] = {
    "digits": lambda n: "1" * n,
    "numbers": lambda n: "1 " * (n // 2),
    "groups": lambda n: "1," * (n // 2),
    "thousands": lambda n: ("1,000" + ",000" * n)[:n],
    "points": lambda n: "1." * (n // 2),
    "dates": lambda n: "5 March 1990, " * (n // 14),
    "months": lambda n: "March " * (n // 6),
    "spelled": lambda n: "twenty-one thousand and " * (n // 24),
    "hyphens": lambda n: "a-1" * (n // 3),
    "dashes": lambda n: "-" * n,
    "quotes": lambda n: '"' * n,
    "quoted": lambda n: " ".join(f'"q{i} z"' for i in range(n // 10)),
    "one quote": lambda n: '"' + "a " * (n // 2) + '"',
    "apostrophes": lambda n: " 'a" * (n // 3),
    "apostrophes in words": lambda n: "a'" * (n // 2),
    "brackets": lambda n: '"' + "[" * n + '"',
    "dots": lambda n: '"' + "." * n + '"',
    "commas": lambda n: "not a," * (n // 6),
    "clauses": lambda n: ", ".join(f"the lamp w{'abcdefghij'[i % 10]} not x" for i in range(n // 18)),
    "words": lambda n: " ".join(f"w{'xyz'[i % 3] * (i % 50)}" for i in range(n // 20)),
    "one word": lambda n: "s" * n,
    "spaces": lambda n: " " * n,
    "surrogates": lambda n: "\ud800" * n,
    "controls": lambda n: "\x00\x07\x1b" * (n // 3),
    "right to left": lambda n: "\u202e\u0627\u0628 12 " * (n // 7),
    "expanding": lambda n: "\ufdfa\u0390" * (n // 2),
    "combining": lambda n: "a" + "\u0301" * n,
    "units": lambda n: "5 km/" * (n // 5),
    "scales": lambda n: "1 million " * (n // 10),
    "signs": lambda n: " -5" * (n // 3),
    "fractions": lambda n: "1/2 " * (n // 4),
    "slashes": lambda n: "1/2/" * (n // 4),
    "powers": lambda n: "1e5" * (n // 3),
    "hours": lambda n: "5:30 p.m. " * (n // 10),
    "counted": lambda n: "5 men " * (n // 6),
    "contractions": lambda n: "isn't " * (n // 6),
    "half points": lambda n: "-.5" * (n // 3),
    "nbsp": lambda n: "1\u00a0000" * (n // 5),
}


def seconds(text: str) -> list[float]:
    """Return the processor time of checks with the text as claim, as evidence, and as both."""
    third = len(text) // 3
    calls = [
        (text, ["the lamp"]),
        ('the 3 "lamps" did not burn 5 km', [text]),
        (text[:third], [text[: third // 2], text[third // 2 : third]]),
    ]
    # The thread's own time, since another process may have the core; timeit also pauses the garbage collector.
    return [timeit.timeit(partial(run_checks, *call), timer=time.thread_time, number=1) for call in calls]


@pytest.mark.parametrize("kind", LONG)
def test_a_long_text_takes_time_in_proportion_to_its_length(kind):
    """Four times the text takes about four times as long; quadratic time would be sixteen times as long.

    A busy machine now and then adds seconds to one measurement, so that one good attempt of three is enough.
    """
    attempts = []
    while not attempts or (len(attempts) < 3 and not all(attempts[-1])):
        short, long = (seconds(LONG[kind](n)) for n in (7_500, 30_000))
        attempts.append(
            [after < min(15.0, 8.0 * before + 0.25) for before, after in zip(short, long, strict=True)]
        )
    assert all(attempts[-1])


# ------------------------------------------------------------------------------------------- public data


def test_changed_years_of_public_claims_are_caught(public_data, record_property):
    """Nothing is tuned to this set; the bounds are far from what is measured, which is printed with ``-s``."""
    path = public_data / "feverous" / "norm.jsonl"
    if not path.is_file():
        pytest.skip(f"no {path.name} in {path.parent}")
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    supported = [row for row in rows if row["label"] == "supported"]
    rng, caught, edited, alarms, years = random.Random(0), 0, 0, 0, 0
    for row in supported:
        alarm = check("numbers", row["claim"], *row["evidence"]).fired
        alarms += alarm
        found = list(re.finditer(r"(?<!\d)(?:1\d|20)\d\d(?!\d)", row["claim"]))
        if not found:
            continue
        years += alarm
        year = rng.choice(found)
        other = str(int(year.group()) + rng.choice([-1, 1]) * rng.randint(1, 9))
        claim = row["claim"][: year.start()] + other + row["claim"][year.end() :]
        edited += 1
        caught += check("numbers", claim, *row["evidence"]).fired
    report = (
        f"changed years caught: {caught}/{edited} = {caught / edited:.1%}; false alarms on the same claims unedited: "
        f"{years / edited:.1%}, on all {len(supported)} supported claims: {alarms / len(supported):.1%}"
    )
    record_property("numbers", report)
    print(report)
    assert caught / edited > 0.95
    assert alarms / len(supported) < 0.15

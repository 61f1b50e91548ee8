"""Scores, labels, incidents and corrections by the source's field names."""

import itertools

import pytest

from solvent.adequacy import correction_for, score
from solvent.adequacy.formats import Turn
from solvent.adequacy.records import (
    Ratings,
    corrections,
    labelled,
    merged,
    record_of,
    refined,
)
from solvent.lab.mechanisms.adequacy import EVIDENCE, RULES, WORDS
from tests.adequacy.turns import READ, incident

CLAIM = "Retries do not exist in this codebase."


def scored(response=CLAIM, calls=(READ,), query="Does it retry?", **fields):
    return record_of(Turn("r", query, response, calls), score(response, calls, query), **fields)


@pytest.mark.parametrize(
    ("query", "kind"),
    [("What is it?", "factual"), ("How do I run it?", "procedural"), ("Why does it crash?", "diagnostic"),
     ("I think it is slow.", "statement"), ("Rename it.", "directive"), ("", "none")],
)  # fmt: skip
def test_a_query_has_a_type(query, kind):
    assert scored(query=query).query_type == kind


def test_lines_of_an_id_are_joined():
    first = scored()
    judged = scored(epad=Ratings(heuristic=2, judge=1), sya=Ratings(judge=0))
    label = labelled(first, epad=3, by="A", reason="why")
    (result,) = merged([first, label, judged])
    assert (result.epad, result.sya) == (Ratings(heuristic=2, judge=1, human=3), Ratings(judge=0))
    assert (result.labelled_by, result.reason) == ("A", "why")


def test_the_last_label_of_an_id_counts():
    first = scored()
    (result,) = merged([labelled(first, epad=3, by="A"), labelled(first, epad=1, by="B")])
    assert (result.epad.human, result.labelled_by) == (1, "B")


def test_every_failure_has_one_most_specific_correction():
    rules = [f"{words}/{evidence}" for words in WORDS for evidence in (*EVIDENCE, "contradicted")]
    for severity, rule in itertools.product(("low", "medium", "high"), [*rules, *RULES]):
        fitting = [row for row in corrections() if row.fits(severity, rule)]
        best = max(row.specificity for row in fitting)
        assert [row.specificity for row in fitting].count(best) == 1
    assert len({row.id for row in corrections()}) == len(corrections())


def test_a_correction_is_chosen_by_severity_and_rule():
    assert correction_for("low", "definitive/thin").id == "say_it_is_partial"
    assert correction_for("high", "definitive/thin").id == "replicate_before_claiming"
    assert correction_for("low", "plain/contradicted").id == "tell_the_failure"
    with pytest.raises(ValueError, match="severity"):
        correction_for("worst", "plain/thin")


def test_an_incident_has_rpn_level_and_rule():
    result = incident()
    assert (result.rpn, result.level, result.rule) == (252, "high", "definitive/thin")
    with pytest.raises(ValueError, match="severity"):
        incident(severity=11)


@pytest.mark.parametrize(("level", "ranks"), [("low", (1, 3)), ("medium", (4, 7)), ("high", (8, 10))])
def test_severity_has_a_level(level, ranks):
    assert {incident(severity=rank).level for rank in ranks} == {level}


def test_a_correction_written_for_an_incident_replaces_the_earlier():
    learned = [refined(incident())]
    assert correction_for("high", "definitive/thin", learned).incident == "r1"
    assert correction_for("low", "definitive/thin", learned).id == "say_it_is_partial"
    learned.append(refined(incident(id="r2"), learned, "Search for retries first."))
    assert correction_for("high", "definitive/thin", learned).text == "Search for retries first."

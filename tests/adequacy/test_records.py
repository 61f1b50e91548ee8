"""Scores, labels, incidents and corrections by the source's field names."""

from __future__ import annotations

import itertools
import json

import pytest

from solvent.adequacy import Call, correction_for, score
from solvent.adequacy.records import (
    Incident,
    Ratings,
    corrections,
    labelled,
    merged,
    record_of,
    refined,
    rows_of,
)
from solvent.lab.mechanisms.adequacy import EVIDENCE, RULES, WORDS

READ = Call("Read", {"path": "src/client.py"}, "def send(request): ...")
CLAIM = "Retries do not exist in this codebase."


def scored(response=CLAIM, calls=(READ,), query="Does it retry?", **fields):
    return record_of(response, calls, query, score(response, calls, query), **fields)


def wrong(**fields):
    given = {"id": "r1", "severity": 9, "occurrence": 4, "detectability": 7, "description": "The client does retry",
             "response": CLAIM, "tool_calls": rows_of([READ]), "reported_by": "J. Doe"}  # fmt: skip
    return Incident.model_validate(given | fields)


def test_a_score_has_the_sources_fields():
    line = json.loads(scored(calls=[READ, READ, Call("Grep")]).model_dump_json())
    assert line["tool_context"] == {
        "tool_calls": 3, "tool_types": ["Read", "Read", "Grep"], "has_strong_negative": True,
    }  # fmt: skip
    assert line["word_count"] == 7
    assert line["padding_count"] == 0
    assert 0 < line["info_density"] < 1
    assert line["query_type"] == "factual"
    assert line["shadow"] is True
    assert line["epad"] == {"heuristic": line["epad"]["heuristic"], "judge": None, "human": None}


@pytest.mark.parametrize(
    ("query", "kind"),
    [("What is it?", "factual"), ("How do I run it?", "procedural"), ("Why does it crash?", "diagnostic"),
     ("I think it is slow.", "statement"), ("Rename it.", "directive"), ("", "none")],
)  # fmt: skip
def test_a_query_has_a_type(query, kind):
    assert scored(query=query).query_type == kind


def test_padding_is_counted_beside_the_score():
    plain = scored("The client sends once.")
    padded = scored("Basically, the client sends once. I hope this helps!")
    assert (plain.padding_count, padded.padding_count) == (0, 2)
    assert padded.info_density < plain.info_density
    empty = scored("")
    assert (empty.word_count, empty.info_density) == (0, 0.0)


def test_a_persons_score_counts_before_the_judges():
    assert Ratings(heuristic=3, judge=1, human=0).in_force == 0
    assert Ratings(heuristic=3, judge=0).in_force == 0
    assert Ratings(heuristic=0).in_force == 0
    assert Ratings().in_force is None


def test_lines_of_an_id_are_joined():
    first = scored(id="r")
    judged = scored(id="r", epad=Ratings(heuristic=2, judge=1), sya=Ratings(judge=0))
    label = labelled(first, epad=3, by="A", reason="why")
    (found,) = merged([first, label, judged])
    assert (found.epad, found.sya) == (Ratings(heuristic=2, judge=1, human=3), Ratings(judge=0))
    assert (found.labelled_by, found.reason) == ("A", "why")
    (again,) = merged([label, judged, labelled(first, epad=1, by="B")])
    assert (again.epad, again.labelled_by) == (Ratings(heuristic=2, judge=1, human=1), "B")
    assert len(merged([first, scored("Other words.", id="r")])) == 1


def test_every_failure_has_one_most_specific_correction():
    rules = [f"{words}/{evidence}" for words in WORDS for evidence in (*EVIDENCE, "contradicted")]
    for severity, rule in itertools.product(("low", "medium", "high"), [*rules, *RULES]):
        fitting = [row for row in corrections() if row.fits(severity, rule)]
        best = max(row.specificity for row in fitting)
        assert [row.specificity for row in fitting].count(best) == 1
    assert len({row.id for row in corrections()}) == len(corrections())


def test_the_sources_correction_is_there():
    assert correction_for("low", "definitive/thin").id == "say_it_is_partial"
    assert "When evidence is partial, hedge" in correction_for("low", "definitive/thin").text
    assert correction_for("high", "definitive/thin").id == "replicate_before_claiming"
    assert correction_for("low", "plain/contradicted").id == "tell_the_failure"
    with pytest.raises(ValueError, match="severity"):
        correction_for("worst", "plain/thin")


def test_an_incident_has_rpn_level_rule_and_label():
    found = wrong()
    assert (found.rpn, found.level, found.rule, found.label) == (252, "high", "definitive/thin", 2)
    assert (wrong(contradicted=True).rule, wrong(contradicted=True).label) == ("definitive/contradicted", 3)
    assert wrong(tool_calls=[]).label == 3
    with pytest.raises(ValueError, match="severity"):
        wrong(severity=11)
    careful = wrong(response="It may retry; I only read one file.")
    assert (careful.rule, careful.label) == ("hedged/thin", None)
    for level, ranks in {"low": (1, 3), "medium": (4, 7), "high": (8, 10)}.items():
        assert {wrong(severity=rank).level for rank in ranks} == {level}


def test_an_incident_refines_the_correction_of_its_kind():
    shipped = correction_for("high", "definitive/thin")
    learned = [refined(wrong())]
    now = correction_for("high", "definitive/thin", learned)
    assert now.text == f"{shipped.text} It happened: The client does retry"
    assert now.incident == "r1"
    assert correction_for("low", "definitive/thin", learned).id == "say_it_is_partial"
    learned.append(refined(wrong(id="r2"), learned, "Search for retries first."))
    assert correction_for("high", "definitive/thin", learned).text == "Search for retries first."

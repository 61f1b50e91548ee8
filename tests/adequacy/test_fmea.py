"""Incidents: ranked, kept whole, and turned into labelled examples where the agent was confidently wrong."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from solvent.adequacy.errors import AdequacyError
from solvent.adequacy.fmea import (
    Incident,
    append_incidents,
    as_example,
    read_incidents,
    severity_named,
    severity_of,
)
from solvent.adequacy.heuristic import score
from solvent.adequacy.jsonl import append_lines
from solvent.adequacy.labelled import load_examples
from solvent.adequacy.tools import ToolContext

CONTEXT = ToolContext.from_dicts(
    [{"name": "Grep", "arguments": {"pattern": "retry"}, "result": "auth.py: retry = 3", "scope": "narrow"}]
)
FIELDS: dict[str, Any] = {
    "id": "i1",
    "time": "2026-01-31T12:00:00+00:00",
    "severity": 9,
    "occurrence": 4,
    "detectability": 7,
    "description": "It said that there is no retry; there is one in http.py.",
    "query": "Is there a retry?",
    "response": "There is no retry in http.py.",
    "context": CONTEXT,
    "rule": "definitive/thin",
    "domain": "code",
    "reported_by": "reviewer",
}


def incident(**changes):
    return Incident(**{**FIELDS, **changes})


def test_the_risk_priority_number_is_the_product():
    assert incident().rpn == 9 * 4 * 7
    assert incident(severity=1, occurrence=1, detectability=1).rpn == 1
    assert incident(severity=10, occurrence=10, detectability=10).rpn == 1000


@pytest.mark.parametrize(
    ("name", "rank", "first", "last"), [("low", 3, 1, 3), ("medium", 6, 4, 7), ("high", 9, 8, 10)]
)
def test_severities_by_name_and_rank(name, rank, first, last):
    assert severity_named(name).rank == rank
    assert {severity_of(i).name for i in range(first, last + 1)} == {name}
    assert incident(severity=rank).level == name


def test_an_incident_of_a_scored_response():
    response = FIELDS["response"]
    adequacy = score(response, CONTEXT, FIELDS["query"])
    given = {name: value for name, value in FIELDS.items() if name not in ("id", "time", "query")}
    made = Incident(**given | {"rule": adequacy.rule, "severity": severity_named("high").rank})
    assert (made.severity, made.rule, made.query) == (9, adequacy.rule, "")
    assert made.id == made.sha256[:16]
    assert made.time.endswith("+00:00")
    # The correction of an incident is that of its severity and rule, unless the evidence said the opposite.
    assert made.correction().fits("high", *adequacy.rule.split("/")[:2])
    assert dataclasses.replace(made, contradicted=True).correction().id == "tell_the_failure"


@pytest.mark.parametrize(
    ("rule", "contradicted", "epad"),
    [
        ("definitive/thin", False, 2),
        ("definitive/thin", True, 3),
        ("definitive/none", False, 3),
        ("absolute/ample", False, 2),
        ("plain/none", False, 3),
        ("plain/thin", False, 2),
        ("plain/reasonable", False, None),
        ("plain/none/unsupported", False, 3),
        ("plain/thin/unsupported", False, 2),
        ("plain/ample/unsupported", False, None),
        ("plain/ample", True, None),
        ("hedged/none", False, None),
        ("hedged/thin", True, None),
        ("nothing_asserted", False, None),
    ],
)
def test_a_confident_failure_is_an_example(rule, contradicted, epad):
    example = as_example(incident(rule=rule, contradicted=contradicted))
    assert (example and example.epad) == epad
    if example is not None:
        assert (example.id, example.kind, example.sya) == ("incident-i1", "incident", None)
        assert (example.response, example.context) == (FIELDS["response"], CONTEXT)
        assert example.rationale == FIELDS["description"]


def test_examples_of_incidents_are_read_as_any_labelled_set(tmp_path):
    path = tmp_path / "labelled.jsonl"
    examples = [as_example(incident()), as_example(incident(id="i2", query="", contradicted=True))]
    append_lines(path, [example.to_dict() for example in examples if example is not None])
    assert load_examples(path) == examples
    assert [example.epad for example in load_examples(path)] == [2, 3]


def test_incidents_come_back_as_they_were(tmp_path):
    path = tmp_path / "incidents.jsonl"
    kept = [incident(), incident(id="i2", contradicted=True, query="", context=ToolContext())]
    assert append_incidents(path, kept[:1]) == append_incidents(path, kept[1:]) == 1
    assert read_incidents(path) == kept


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("severity", 0, "severity: got 0; allowed: a whole number from 1 to 10"),
        ("severity", True, "severity: got True"),
        ("severity", "high", "severity: got 'high'"),
        ("occurrence", 11, "occurrence: got 11"),
        ("detectability", 2.5, "detectability: got 2.5"),
        ("description", " ", "description: got ' '; allowed: a text"),
        ("query", None, "query: got None"),
        ("reported_by", "", "reported_by: got ''"),
        ("contradicted", 1, "contradicted: got 1; allowed: true or false"),
        ("rule", "loud/thin", "kind: got 'loud/thin'; allowed: hedged|plain"),
        ("tool_calls", [{"arguments": {}}], "tool calls[0]: got"),
        ("rpn", 3, "rpn: got 3; allowed: 252"),
    ],
)
def test_a_wrong_line_is_named(field, value, said, tmp_path):
    path = tmp_path / "incidents.jsonl"
    append_lines(path, [incident().to_dict(), {**incident().to_dict(), field: value}])
    with pytest.raises(AdequacyError) as refused:
        read_incidents(path)
    assert str(refused.value).startswith(f"{path}, line 2: {said}")


def test_missing_and_unknown_fields_are_named():
    fields = incident().to_dict()
    with pytest.raises(AdequacyError, match="incident: extra is unknown; allowed: contradicted, description"):
        Incident.from_dict({**fields, "extra": 1})
    del fields["rule"]
    with pytest.raises(AdequacyError, match="incident: rule is missing"):
        Incident.from_dict(fields)


def test_unknown_severities_are_refused():
    with pytest.raises(AdequacyError, match="severity: got 'severe'; allowed: low, medium, high"):
        severity_named("severe")
    with pytest.raises(AdequacyError, match="severity: got 11"):
        severity_of(11)

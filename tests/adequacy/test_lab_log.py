"""The lab's own log of verdicts, read as scores and as incidents with their ranks."""

from __future__ import annotations

import json

import pytest

from solvent import LabEnv
from solvent.adequacy.drift import DriftMonitor, DriftRules
from solvent.adequacy.errors import AdequacyError
from solvent.adequacy.fmea import append_incidents, read_incidents
from solvent.adequacy.lab_log import incidents_of_lab, is_lab_log, occurrence_rank, scores_of_lab
from solvent.adequacy.patterns import cases_of, unmatched
from tests.labs import LEFT_OUT, lines, merged, play

PARAMS = {
    "budget": {"heartbeats": 14, "wells": 3000, "start_hour": 8},
    "debt": {"threshold": 20.0, "interest_cap": 20.0, "sensitivity": 0.01},
    "energy": {"start": 40.0, "cap": 40.0, "regeneration": 30.0},
    "gate": {"policy": "adaptive.P30", "review_heartbeats": 2, "calm_heartbeats": 3},
}


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """A log of random findings, errors among them."""
    path = tmp_path_factory.mktemp("lab") / "gate_verdicts.jsonl"
    env = LabEnv(merged(LEFT_OUT, PARAMS), preset="lab", verdicts_path=path)
    for _ in play(env, 1500):
        pass
    return path, lines(path)


def of(lines, event):
    return [line for line in lines if line["event"] == event]


def test_every_finding_is_a_score_of_its_episode(played):
    path, told_lines = played
    assert is_lab_log(path)
    records = scores_of_lab(path)
    verdicts = of(told_lines, "verdict")
    assert [record.id.partition("#")[0] for record in records] == [line["design_id"] for line in verdicts]
    assert len({record.id for record in records}) == len(records)
    assert [record.epad.in_force for record in records] == [line["adequacy"]["score"] for line in verdicts]
    assert [record.rule for record in records] == [line["adequacy"]["rule"] for line in verdicts]
    assert len({record.session for record in records}) > 1
    assert DriftMonitor(DriftRules(2, 1.5, shadow=True)).observe_records(records)


def test_every_published_error_is_an_incident_with_its_ranks(played, tmp_path):
    path, told_lines = played
    incidents = incidents_of_lab(path)
    told, errors = {}, []
    for line in told_lines:  # an id may recur; an error is about the last finding with it
        if line["event"] == "verdict":
            told[line["design_id"]] = line
        elif line["event"] == "incident":
            errors.append((line, told[line["design_id"]]))
    assert len(incidents) == len(errors) > 3
    rules = [finding["adequacy"]["rule"] for _, finding in errors]
    judged = [line["adequacy"]["rule"] for line in of(told_lines, "verdict")]
    for incident, (line, finding), rule in zip(incidents, errors, rules, strict=True):
        assert incident.level == line["severity"]
        assert incident.rule == rule
        assert incident.response == finding["claim"]
        assert incident.occurrence == occurrence_rank(rules.count(rule), judged.count(rule))
        assert incident.rpn == incident.severity * incident.occurrence * incident.detectability
        assert (incident.detectability == 4) is (
            "review" in (finding["verdict"], finding["adequacy"]["gate_verdict"])
        )
    append_incidents(tmp_path / "incidents.jsonl", incidents)
    assert read_incidents(tmp_path / "incidents.jsonl") == incidents
    # Each names its own finding among the scores.
    records = scores_of_lab(path)
    assert unmatched(records, incidents) == 0
    assert sum(case.failed for case in cases_of(records, incidents)) == len(incidents)


def test_the_scale_of_occurrence():
    shares = [
        (1, 1),
        (1, 2),
        (1, 3),
        (1, 8),
        (1, 20),
        (1, 80),
        (1, 400),
        (1, 2000),
        (1, 15_000),
        (1, 150_000),
    ]
    assert [occurrence_rank(*share) for share in shares] == [10, 10, 9, 8, 7, 6, 5, 4, 3, 2]
    assert occurrence_rank(1, 10**7) == 1


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ({"event": "zebra", "design_id": "x"}, "allowed: a line of gate_verdicts.jsonl"),
        ({"event": "verdict", "design_id": "x_000_001", "adequacy": 7}, "adequacy: got 7"),
        (
            {"event": "incident", "design_id": "x_000_001", "severity": "low"},
            "allowed: that of a verdict above",
        ),
    ],
)
def test_a_broken_line_is_named(played, tmp_path, line, said):
    path = tmp_path / "log.jsonl"
    first = played[0].read_text(encoding="utf-8").splitlines()[0]
    path.write_text(f"{first}\n{json.dumps(line)}\n", encoding="utf-8")
    with pytest.raises(AdequacyError, match="line 2: ") as refused:
        incidents_of_lab(path)
    assert said in str(refused.value)

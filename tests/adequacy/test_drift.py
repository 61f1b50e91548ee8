"""Drift, tool patterns and agreement over scored responses."""

from __future__ import annotations

import numpy as np
import pytest

from solvent.adequacy import Call, score
from solvent.adequacy.agreement import Labelled, discover, kappa, kappa_difference
from solvent.adequacy.drift import Drift, DriftMonitor, follow
from solvent.adequacy.patterns import Trigger, accepted, find_patterns, patterns_of, triggered
from solvent.adequacy.records import Incident, Ratings, record_of
from solvent.files import now, read_records

BAD, GOOD = "Retries do not exist.", "It may retry."


def record(i, epad, session="s", tools=(), **fields):
    response = BAD if epad > 1 else GOOD
    calls = [Call(name, {}, "x") for name in tools]
    ratings = Ratings(**({"heuristic": epad} | fields))
    return record_of(response, calls, "", score(response, calls), id=str(i), session=session, epad=ratings)


def records(*scores, **fields):
    return [record(i, epad, **fields) for i, epad in enumerate(scores)]


def events(*scores, **settings):
    monitor = DriftMonitor(**settings)
    return [event for one in records(*scores) if (event := monitor.observe(one))]


def test_a_full_window_at_the_threshold_is_an_event():
    assert not events(3, 3, 3, 3, 3)
    (event,) = events(0, 0, 0, 3, 3, 3)
    assert (event.response, event.mean, event.severity, event.rule) == ("5", 1.5, "low", "definitive/none")
    assert (event.correction, event.given) == ("look_first", False)
    assert not events(0, 0, 0, 3, 3, 2)


def test_severity_follows_the_mean():
    means = {"medium": [2] * 6, "high": [3, 3, 3, 2, 2, 2], "low": [1, 1, 1, 2, 2, 2]}
    assert all(events(*scores)[0].severity == severity for severity, scores in means.items())


def test_events_of_a_session_keep_their_distance():
    assert [one.response for one in events(*[3] * 20)] == ["5", "10", "15"]
    monitor = DriftMonitor(window=2)
    rows = [record(i, 3, session=f"s{i % 2}") for i in range(4)]
    assert [one.response for row in rows if (one := monitor.observe(row))] == ["2", "3"]


def test_the_events_written_are_those_read(tmp_path):
    path = tmp_path / "drifts.jsonl"
    rows = records(*[3] * 6, 1, 1, 0, 0)
    (event,) = follow(DriftMonitor(), rows, path)
    # An event stays as it was logged.
    assert follow(DriftMonitor(shadow=False), rows, path) == [event]
    assert list(read_records(path, Drift)) == [event]


def test_a_response_shows_its_patterns():
    assert patterns_of([], negative=False) == {"no call"}
    assert patterns_of(["Grep"], negative=True) == {
        "only Grep", "Grep", "only Grep, then a strong negative", "Grep, then a strong negative",
    }  # fmt: skip
    assert patterns_of(["A", "B", "C"], negative=False) == {"A", "B", "C", "A, B", "B, C"}


def test_a_planted_pattern_is_found_and_accepted():
    bad = [record(i, 3, tools=["Grep"], human=3 if i % 10 else 0) for i in range(60)]
    good = [record(100 + i, 0, tools=["Grep", "Read"], human=0) for i in range(60)]
    found = find_patterns([*bad, *good], [])
    assert found[0].candidate
    assert (found[0].count, found[0].failures, found[0].rate) == (60, 54, 0.9)
    assert {one.text for one in found if one.candidate} >= {"only Grep, then a strong negative", "only Grep"}
    assert not any("Read" in one.text for one in found if one.candidate)
    assert accepted(found, "only Grep", "J. Doe", "seen").pattern == "only Grep"
    for wrong in (("Grep, Read", "J. Doe", "x"), ("only Grep", "", "x")):
        with pytest.raises(ValueError, match="accept"):
            accepted(found, *wrong)


def test_severity_weights_a_failure():
    rows = [record(i, 0, tools=["A"]) for i in range(20)]
    ranks = {"occurrence": 5, "detectability": 5}
    words = {"description": "x", "response": "x", "tool_calls": [], "reported_by": "y"}
    for severity, rate in ((9, 4 * 10 / 50), (5, 2 * 10 / 30), (1, 0.5)):
        incidents = [Incident(id=str(i), severity=severity, **ranks, **words) for i in range(10)]
        assert find_patterns(rows, incidents)[0].rate == pytest.approx(rate)


def test_a_trigger_raises_a_claim_and_no_hedge():
    grep = [Call("Grep", {"pattern": "x", "path": "src"}, "a.py: x = 1")]
    trigger = Trigger(pattern="only Grep", by="J. Doe", reason="seen", time=now())
    found = triggered([trigger], grep, score("The variable x is 1 in a.py.", grep, "What is x?"))
    assert (found.score, found.escalate, found.signals[-1]) == (2, True, "trigger: only Grep")
    assert triggered([trigger], grep, score("It may be 1.", grep)).score == 0
    assert triggered([trigger], [*grep, *grep], score("x is 1.", grep)).score < 2


def test_kappa_is_cohens_with_quadratic_weights():
    a, b = [0, 1, 2, 3, 3, 0, 1, 2], [0, 1, 2, 2, 3, 1, 1, 0]
    x, y = np.array(a), np.array(b)
    observed = ((x - y) ** 2).mean()
    expected = ((x[:, None] - y[None]) ** 2).mean()
    found = kappa(a, b)
    assert found.value == pytest.approx(1 - observed / expected)
    assert found.low <= found.value <= found.high
    assert kappa(a, a).value == 1.0
    assert kappa_difference(a, a, b) == (0.0, 0.0, 0.0)
    assert kappa_difference(a, b, a).value > 0


def test_limits_are_learnt_from_50_labels():
    reads = [{"name": "Read", "arguments": {"path": f"{i}.py"}, "result": f"retries {i}"} for i in range(6)]
    rows = [
        Labelled(
            response="By 0.py to 5.py, it does not exist.",
            tool_calls=reads[: i % 6],
            query=f"q{i}",
            epad=[3, 2, 2, 2, 1, 1][i % 6],
        )
        for i in range(60)
    ]
    found = discover(rows)
    assert found["labels"] == {0: 0, 1: 20, 2: 30, 3: 10}
    assert found["rank correlation"]["tool calls"] < -0.8
    assert found["limits"]["chosen"] == (4, 6)
    assert found["difference"].value >= 0
    for few in (rows[:49], [rows[0]] * 60):
        with pytest.raises(ValueError, match="labels"):
            discover(few)

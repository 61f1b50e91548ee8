"""Drift, tool patterns and agreement over scored responses."""

import numpy as np
import pytest

from solvent.adequacy import Call, score
from solvent.adequacy.agreement import kappa, kappa_difference
from solvent.adequacy.drift import Drift, DriftMonitor, follow
from solvent.adequacy.formats import Turn
from solvent.adequacy.patterns import Trigger, patterns_of, triggered
from solvent.adequacy.records import record_of
from solvent.files import now, read_records
from tests.adequacy.turns import events, record, records


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
    assert follow(DriftMonitor(given={rows[5].sha256}), rows, path) == [event]
    assert list(read_records(path, Drift)) == [event]


def test_drift_follows_the_rater_that_the_labels_favour():
    rows = [record(i, 3, judge=0) for i in range(6)]
    assert follow_all(DriftMonitor(), rows)
    assert not follow_all(DriftMonitor(rater="judge"), rows)


def test_a_response_that_asserts_nothing_has_no_place_in_the_mean():
    talk = record_of(Turn("s:t", "", "You're welcome!"), score("You're welcome!", []))
    rows = [*records(3, 3, 3, 3, 3), talk, *records(3)]
    assert [event.mean for event in follow_all(DriftMonitor(), rows)] == [3.0]


def follow_all(monitor, rows):
    return [event for row in rows if (event := monitor.observe(row))]


def test_an_event_says_whether_the_agent_was_told():
    rows = records(*[3] * 6)
    events = [follow_all(DriftMonitor(given=given), rows)[0] for given in ((), {rows[5].sha256})]
    assert [event.given for event in events] == [False, True]


def test_a_response_shows_its_patterns():
    assert patterns_of([], negative=False) == {"no call"}
    assert patterns_of(["Grep"], negative=True) == {
        "only Grep", "Grep", "only Grep, then a strong negative", "Grep, then a strong negative",
    }  # fmt: skip
    assert patterns_of(["A", "B", "C"], negative=False) == {"A", "B", "C", "A, B", "B, C"}


def test_a_trigger_raises_a_claim_and_no_hedge():
    grep = [Call("Grep", {"pattern": "x", "path": "src"}, "a.py: x = 1")]
    trigger = Trigger(pattern="only Grep", by="J. Doe", reason="seen", time=now())
    adequacy = triggered([trigger], grep, score("The variable x is 1 in a.py.", grep, "What is x?"))
    assert (adequacy.escalate, adequacy.signals[-1]) == (True, "trigger: only Grep")
    assert triggered([trigger], grep, score("It may be 1.", grep)).score == 0
    assert triggered([trigger], [*grep, *grep], score("x is 1.", grep)).score < 2


def test_kappa_is_cohens_with_quadratic_weights():
    a, b = [0, 1, 2, 3, 3, 0, 1, 2], [0, 1, 2, 2, 3, 1, 1, 0]
    x, y = np.array(a), np.array(b)
    observed = ((x - y) ** 2).mean()
    expected = ((x[:, None] - y[None]) ** 2).mean()
    result = kappa(a, b)
    assert result.value == pytest.approx(1 - observed / expected)
    assert result.low <= result.value <= result.high
    assert kappa(a, a).value == 1.0
    assert kappa_difference(a, a, b) == (0.0, 0.0, 0.0)
    assert kappa_difference(a, b, a).value > 0

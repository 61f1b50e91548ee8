"""People's labels: who gave them and why, second labels beside the first, and the agreement of two people."""

from __future__ import annotations

import dataclasses
import json
import re

import pytest

from solvent.adequacy.agreement import agreement
from solvent.adequacy.comparison import compare
from solvent.adequacy.errors import AdequacyError
from solvent.adequacy.labels import add_label, labels_of, read_labels, scores_of
from solvent.adequacy.responses import read_responses, response_of
from solvent.adequacy.scores import Ratings, ScoreRecord, merged, read_scores
from solvent.adequacy.scoring import score_responses

LINE = {"id": "r1", "query": "Does it retry?", "response": "It never retries.", "tool_calls": []}
ONE = response_of(LINE)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "scores.jsonl"


def told(record):
    return record.labelled_by, record.epad.human, record.sya.human, record.reason


def test_a_label_has_who_and_why_and_the_first_person_s_stands(path):
    add_label(path, ONE, 3, None, by="Ann", reason="nobody looked")
    add_label(path, ONE, 1, 2, by="Bob", reason=None)
    (whole,) = merged(read_scores(path))
    assert told(whole) == ("Ann", 3, 2, "nobody looked")  # the scale that Ann left out is Bob's
    assert whole.epad.heuristic == 3
    assert [told(one) for one in labels_of(scores_of(path, ONE))] == [
        ("Ann", 3, None, "nobody looked"),
        ("Bob", 1, 2, None),
    ]
    first, second = (json.loads(line) for line in path.read_text().splitlines())
    assert (first["labelled_by"], first["reason"], second["labelled_by"]) == ("Ann", "nobody looked", "Bob")
    assert "reason" not in second
    assert second["epad"]["heuristic"] is None  # scored once


def test_a_person_labels_once_unless_it_is_taken_back(path):
    add_label(path, ONE, 3, None, by="Ann", reason=None)
    before = path.read_bytes()
    with pytest.raises(AdequacyError, match="'Ann' has labelled this response; allowed: one label from each"):
        add_label(path, ONE, 2, None, by="Ann", reason=None)
    assert path.read_bytes() == before
    add_label(path, ONE, 2, None, by="Ann", reason=None, again=True)
    assert [told(one) for one in labels_of(read_labels(path))] == [("Ann", 2, None, None)]
    assert merged(read_scores(path))[0].epad.human == 2


@pytest.mark.parametrize("first", [None, "Ann"])
def test_a_scale_that_the_first_left_out_is_the_next_person_s_to_the_last_line(path, first):
    list(score_responses([response_of(LINE | {"epad": 0})], path))
    if first is not None:
        add_label(path, ONE, 1, None, by=first, reason=None)
    add_label(path, ONE, 3, 3, by="Bob", reason="unchecked")
    add_label(path, ONE, 3, 2, by="Bob", reason="on second thoughts", again=True)
    add_label(path, ONE, 3, 0, by="Cy", reason=None)
    (whole,) = merged(read_scores(path))
    assert told(whole) == (None, 0, 2, None)


def test_a_label_without_a_name_is_one_person_s_too(path):
    responses = [response_of(LINE | {"epad": 0})]
    list(score_responses(responses, path))
    add_label(path, ONE, 3, None, by="Ann", reason=None)
    assert [told(one) for one in labels_of(read_labels(path))] == [
        (None, 0, None, None),
        ("Ann", 3, None, None),
    ]
    assert merged(read_scores(path))[0].epad.human == 0
    list(score_responses([ONE], path))  # scored again, without a label
    (whole,) = merged(read_scores(path))
    assert (whole.epad.human, whole.labelled_by) == (0, None)


def test_only_lines_with_a_label_are_parsed(path):
    assert read_labels(path) == scores_of(path, ONE) == []
    list(
        score_responses(
            [response_of(LINE | {"id": f"s{i}", "response": f"It is {i}."}) for i in range(3)], path
        )
    )
    add_label(path, ONE, 0, None, by="Ann", reason='"human": 3')
    with path.open("a") as file:
        file.write('{"id": "of another kind"}\n')
    assert [told(one) for one in read_labels(path)] == [("Ann", 0, None, '"human": 3')]
    assert len(scores_of(path, ONE)) == 1
    with pytest.raises(AdequacyError, match="line 5"):
        read_scores(path)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"labelled_by": "Ann"}, "labelled_by: got a text without a label"),
        ({"reason": "seen"}, "reason: got a text without a label"),
        ({"labelled_by": " ", "epad": Ratings(human=1)}, "labelled_by: got ' '; allowed: a text"),
        ({"reason": "x" * 2001, "epad": Ratings(human=1)}, "allowed: a text of up to 2,000 characters"),
    ],
)
def test_a_name_and_a_reason_belong_to_a_label(path, changes, said):
    list(score_responses([ONE], path))
    (record,) = read_scores(path)
    with pytest.raises(AdequacyError, match=re.escape(said)):
        dataclasses.replace(record, **changes)
    wrong = record.to_dict() | {key: value for key, value in changes.items() if key != "epad"}
    with pytest.raises(AdequacyError, match="x, line 1"):
        ScoreRecord.from_dict(wrong, "x, line 1")


def test_two_people_are_compared_on_what_both_labelled(path):
    given = {"Ann": [0, 1, 2, 3, 3], "Bob": [0, 2, 2, 3], "Cy": [1]}
    for name, ratings in given.items():
        for i, rating in enumerate(ratings):
            one = response_of(LINE | {"id": f"r{i}", "response": f"It is {i}."})
            add_label(path, one, rating, None, by=name, reason=None)
    found = compare(read_scores(path))
    people = [pair for pair in found.pairs if pair.first in given]
    assert [(pair.first, pair.second, pair.count) for pair in people] == [("Ann", "Bob", 4)]  # Cy shares one
    assert repr(people[0].found) == repr(agreement([0, 1, 2, 3], [0, 2, 2, 3]))
    human = next(pair for pair in found.pairs if (pair.first, pair.second) == ("heuristic", "human"))
    assert human.count == 5  # Ann's stand


def test_responses_are_found_by_their_place(tmp_path):
    file = tmp_path / "r.jsonl"
    lines = [
        json.dumps(LINE | {"id": f"é{i}", "response": f"It is {i}."}, ensure_ascii=False) for i in range(5)
    ]
    file.write_text("\n".join([lines[0], "", "broken", *lines[1:]]) + "\n", encoding="utf-8")
    known = read_responses(file, skip_broken=True)
    assert [one.text for one in known.some(["é4", "é0", "é2"])] == ["It is 4.", "It is 0.", "It is 2."]
    file.write_text(file.read_text(encoding="utf-8").replace("It is 2", "It is 7"), encoding="utf-8")
    with pytest.raises(AdequacyError, match="has changed since it was read"):
        known.some(["é2"])
    session = tmp_path / "session.jsonl"
    turn = [{"role": "user", "content": "Why?"}, {"role": "assistant", "content": "It is so."}]
    session.write_text("".join(json.dumps(message) + "\n" for message in turn * 3))
    known = read_responses(session)
    assert [one.id for one in known.some(["session:6", "session:2"])] == ["session:6", "session:2"]

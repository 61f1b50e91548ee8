"""Data sets: labels, groups, mismatched evidence, and broken files."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from solvent.gate.data import Sample, load_dataset, other_page, split_by_group
from solvent.gate.energy import GateError


def test_plain_records_are_read(written):
    records = [
        {"claim": " It burned. ", "evidence": ["It burned.", " "], "label": "SUPPORTS"},
        {"id": 7, "claim": "It sank.", "evidence": "It burned.", "label": "not enough info", "page": ["A"]},
        {"id": 7, "claim": "It rose.", "evidence": [{"text": "It fell.", "url": "x"}], "label": True},
        {"claim": "It fell.", "evidence": [], "label": "maybe"},
    ]
    first, second, third, last = samples = load_dataset(written(records))[0]
    assert [(one.id, one.evidence, one.label) for one in samples] == [
        ("line-1", ("It burned.",), "supported"),
        ("7", ("It burned.",), "nei"),
        ("7", ("It fell.",), "supported"),
        ("line-4", (), "other"),
    ]
    assert (first.claim, second.pages) == ("It burned.", ("A",))
    assert first.group == second.group != third.group  # a span in common
    assert third.group == last.group


def test_an_id_of_0_is_kept_and_a_missing_one_is_the_lines(written):
    given = [{"id": 0}, {"id": ""}, {"id": None}]
    samples, _ = load_dataset(written([one | {"claim": "It burned.", "evidence": []} for one in given]))
    assert [one.id for one in samples] == ["0", "line-2", "line-3"]


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ("[]", "object"),
        ('{"claim": " ", "evidence": []}', "claim"),
        ('{"claim": "a"}', "evidence"),
        ('{"claim": "a", "evidence": [1]}', "evidence"),
        ('{"claim": "a", "evidence": [], "label": 3}', "label"),
        ('{"claim": "a", "evidence": ["\\ud800"]}', "evidence"),
        ('{"claim": "a", "evidence": [{"content": [1]}]}', "evidence"),
        ('{"claim": "a", "claim": "b", "evidence": []}', "twice"),
        ('{"claim": "a", "evidence": [], "id": NaN}', "NaN"),
        ("\xff\xfe", "line 2"),
    ],
)
def test_a_broken_line_is_named_and_may_be_skipped(written, record, message):
    good = '{"claim": "It burned.", "evidence": ["It burned."]}'
    path = written((good + "\n" + record + "\n").encode("latin-1"))
    with pytest.raises(GateError, match=r"claims\.jsonl, line 2") as error:
        load_dataset(path)
    assert message in str(error.value)
    assert "\n" not in str(error.value)
    samples, skipped = load_dataset(path, skip_broken=True)
    assert (len(samples), len(skipped)) == (1, 1)


def test_evidence_of_another_page_is_never_the_groups_own(dataset):
    shuffled = other_page(dataset, seed=0)
    group_of = {sample.evidence: sample.group for sample in dataset}
    for own, other in zip(dataset, shuffled, strict=True):
        assert other.claim == own.claim
        assert group_of[other.evidence] != own.group
    assert sorted(s.evidence for s in shuffled) == sorted(s.evidence for s in dataset)


@given(st.lists(st.sampled_from("abcdefgh"), min_size=2, max_size=60), st.integers(0, 99))
def test_a_group_is_on_one_side_of_a_split(groups, seed):
    if len(set(groups)) < 2:
        return
    learn, report = split_by_group(groups, np.random.default_rng(seed))
    assert sorted([*learn, *report]) == list(range(len(groups)))
    assert not {groups[i] for i in learn} & {groups[i] for i in report}


def test_mismatched_evidence_and_splits_need_two_groups():
    one = [Sample("a", "a", ("x",), group="g"), Sample("b", "b", ("x",), group="g")]
    for refused in (lambda: other_page(one, 0), lambda: split_by_group("gg", np.random.default_rng(0))):
        with pytest.raises(GateError):
            refused()

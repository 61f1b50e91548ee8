"""Reviews: verdicts and decisions in a folder, who is asked first, what is learnt, and drift."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from solvent.files import now
from solvent.gate import Policy
from solvent.gate.data import Sample
from solvent.gate.energy import GateError
from solvent.gate.policy import FIXED
from solvent.gate.reviews import DecidedError, Decision, Judged, Reviews, drift, judge, learn

LEARNT = {"domain": "mills", "model": "words", "calibration_count": 1000}
P10 = Policy(kind="adaptive", label="P10", tau_accept=0.4, **LEARNT)


def judged(number, gap=0.45, verdict="review", checks=(), policy=P10):
    return Judged(
        id=f"{number:012x}", claim_id=f"c{number}", claim=f"claim {number}", evidence=("a",), domain="mills",
        model="words", model_fingerprint="", judged_at=now(), policy=policy, verdict=verdict,
        hallucination_energy=max(gap, 0.0), energy_gap=gap, policy_applied=policy.name, oracle_energy=0.0,
        oracle_spread=0.0, reasons=("said",), checks=tuple({"name": name, "fired": True} for name in checks),
        failure_modes=(),
    )  # fmt: skip


def decided(rows, choice="decline"):
    return {row.id: Decision(id=row.id, choice=choice, who="Ada", why="so", decided_at=now()) for row in rows}


@pytest.fixture
def kept(tmp_path):
    reviews = Reviews(tmp_path / "reviews")
    reviews.record([judged(0x111, 0.41), judged(0x112, 0.47), judged(0x220, 0.1, "accept")])
    return reviews


def test_claims_are_judged_with_the_documents_fields(words):
    burned, bread = (
        Sample(text[:3], text, ("the mill burned",)) for text in ("the mill burned", "rye bread")
    )
    seen = []
    own, other = judge([burned, bread], words, P10, domain="mills", on_progress=seen.append)
    assert (own.verdict, other.verdict) == ("accept", "reject")
    assert own.id != other.id == judge([bread], words, P10, domain="mills")[0].id
    assert seen == [1, 2]
    assert Judged.model_validate_json(own.model_dump_json()) == own
    assert {"verdict", "hallucination_energy", "energy_gap", "policy_applied"} <= own.model_dump().keys()


def test_a_review_is_decided_once(kept):
    kept.decide("000000000111", "accept", who="Ada", why="it says so")
    with pytest.raises(DecidedError) as told:
        kept.decide("000000000111", "decline", who="Bob", why="no")
    assert told.value.decision.who == "Ada"
    assert [row.claim_id for row in kept.waiting()] == ["c274"]
    assert Reviews(kept.folder).decisions().keys() == {"000000000111"}


def test_an_id_may_be_short_but_not_ambiguous(kept):
    assert kept.find("0000000002").id == "000000000220"
    for key in ("00000000011", "9"):
        with pytest.raises(LookupError):
            kept.find(key)


@pytest.mark.parametrize(
    ("key", "choice", "who", "why"),
    [("220", "accept", "Ada", "x"), ("111", "maybe", "Ada", "x"), ("111", "accept", " ", "x")],
)
def test_what_is_no_decision_is_refused(kept, key, choice, who, why):
    with pytest.raises(GateError):
        kept.decide(f"000000000{key}", choice, who=who, why=why)
    assert kept.decisions() == {}


def test_two_processes_lose_no_line(kept):
    code = (
        "import sys; from solvent.gate.reviews import Reviews; from tests.gate.test_reviews import judged\n"
        "for i in range(40): Reviews(sys.argv[1]).record([judged(int(sys.argv[2]) * 1000 + i)])"
    )
    runs = [subprocess.Popen([sys.executable, "-c", code, str(kept.folder), str(n)]) for n in (1, 2)]
    assert [run.wait() for run in runs] == [0, 0]
    assert len(kept.verdicts()) == 83


def test_the_decision_that_moves_the_threshold_most_is_asked_for(tmp_path):
    reviews = Reviews(tmp_path)
    declined = [judged(i, 0.44 + 0.001 * i) for i in range(20)]
    waiting = [judged(100, 0.49), judged(101, 0.405), judged(102, 0.43), judged(103, 0.2, checks=["numbers"])]
    reviews.record([*waiting, *declined])
    early = reviews.waiting(by_influence=True, budget=0.2)
    assert early[0].compared == 0.405  # too few decisions: the nearest to the policy's threshold
    assert early[-1].compared == 0.2  # a check sent it: no threshold would let it pass
    for row in declined:
        reviews.decide(row.id, "decline", who="Ada", why="no")
    asked = reviews.waiting(by_influence=True, budget=0.2)
    tau = learn(reviews.verdicts(), reviews.decisions(), 0.2).policy.tau_accept

    def moved(row):
        more = decided([row]) | reviews.decisions()
        return abs(learn(reviews.verdicts(), more, 0.2).policy.tau_accept - tau)

    assert [moved(row) for row in asked[:3]] == sorted(map(moved, asked[:3]), reverse=True)
    assert moved(asked[0]) > 0
    assert [row.id for row in reviews.waiting()] == [row.id for row in waiting]


def test_a_threshold_is_learnt_from_what_people_decline():
    rows = [judged(i, 0.41 + 0.001 * i) for i in range(80)]
    found = learn(rows, decided(rows[20:]) | decided(rows[:20], "accept"), 0.05)
    assert found.policy is not None
    assert found.policy.name == "adaptive.FA5.reviews.v1"
    assert found.policy.tau_accept == pytest.approx(0.43 - 1e-6)
    assert (found.accepted, found.declined) == ((20, 20), (60, 0))
    later = [judged(100 + i, 0.41 + 0.001 * i, policy=found.policy) for i in range(80)]
    again = learn(later, decided(later), 0.05)
    assert again.policy is not None
    assert again.policy.name == "adaptive.FA5.reviews.v2"


def test_too_few_declined_reviews_teach_no_threshold():
    rows = [judged(i) for i in range(58)]
    found = learn(rows, decided(rows), 0.05)
    assert (found.policy, found.fewest) == (None, 59)
    assert learn(rows, decided(rows), 0.5).policy.label == "FA50.reviews"


def test_reviews_that_a_check_sent_count_for_the_check():
    rows = [judged(i) for i in range(60)]
    sent = [judged(100 + i, checks=["numbers"]) for i in range(5)]
    found = learn([*rows, *sent], decided(rows) | decided(sent, "accept"), 0.05)
    assert found.alarms == {"numbers": (5, 5)}
    assert found.accepted == (0, 0)


def test_reviews_of_two_policies_teach_nothing():
    rows = [judged(1), judged(2, policy=FIXED["standard"])]
    with pytest.raises(GateError, match="one policy"):
        learn(rows, decided(rows))


# -- drift ---------------------------------------------------------------------------------------


def test_gaps_that_move_are_found():
    rng = np.random.default_rng(0)
    before = [judged(i, gap) for i, gap in enumerate(rng.uniform(0, 0.5, 200))]
    after = [judged(1000 + i, gap) for i, gap in enumerate(rng.uniform(0.3, 0.8, 200))]
    assert not any(window.drifted for window in drift(before))
    found = drift([*before, *after])
    assert {window.drifted for window in found if window.begin >= after[0].judged_at} >= {True}
    assert all(window.threshold > window.reference for window in found if window.drifted)


def test_false_alarms_stay_within_the_level():
    rng = np.random.default_rng(1)
    alarms = sum(
        any(window.drifted for window in drift([judged(i, gap) for i, gap in enumerate(rng.random(200))]))
        for _ in range(60)
    )
    assert alarms <= 60 * 0.05 + 6


def test_windows_are_compared_with_a_policy_of_a_percentile():
    rows = [judged(i, 0.39 + 0.001 * i) for i in range(100)]
    (window,) = drift(rows, [P10], size=100)
    assert (window.percentile, window.reference, window.accepted) == (10.0, 0.4, 11)
    assert not window.drifted
    with pytest.raises(GateError, match="different ways"):
        drift(rows, [Policy(**P10.model_dump() | {"domain": "films"})])
    with pytest.raises(GateError, match="window"):
        drift(rows[:50], [P10])


def test_many_who_decide_at_once_make_one_decision(kept):
    def decide(who):
        try:
            return kept.decide("000000000111", "accept", who=who, why="first").who
        except DecidedError as error:
            return error.decision.who

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(decide, "abcdefgh"))) == 1

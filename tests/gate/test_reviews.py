"""Reviews: verdicts and decisions in a folder, who is asked first, what is learnt, and drift."""

import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from solvent.gate import Policy
from solvent.gate.data import Sample
from solvent.gate.energy import GateError
from solvent.gate.policy import FIXED
from solvent.gate.reviews import Judged, Reviews, drift, judge, learn
from tests.gate.conftest import REVIEWED as P10
from tests.gate.conftest import WordEmbedder, decided, judged


@pytest.fixture
def kept(tmp_path):
    reviews = Reviews(tmp_path / "reviews")
    reviews.record([judged(0x111, 0.41), judged(0x112, 0.47), judged(0x220, 0.1, "accept")])
    return reviews


def test_claims_are_judged_with_the_documents_fields(words):
    evidence = ("the mill burned",)
    bread = Sample("bread", "rye bread", evidence)
    own, other = judge([Sample("mill", "the mill burned", evidence), bread], words, P10, domain="mills")
    assert (own.verdict, other.verdict) == ("accept", "reject")
    assert own.id != other.id == judge([bread], words, P10, domain="mills")[0].id
    assert Judged.model_validate_json(own.model_dump_json()) == own
    assert {"verdict", "hallucination_energy", "energy_gap", "policy_applied"} <= own.model_dump().keys()


@pytest.mark.parametrize("evidence", [(), ("the mill burned",)])
def test_a_claim_without_evidence_is_rejected_and_not_measured(words, evidence):
    (row,) = judge([Sample("mill", "rye bread", evidence)], words, P10, domain="mills")
    assert row.verdict == "reject"
    assert row.is_measured == bool(evidence)


def test_a_second_models_verdict_is_a_second_verdict(words, tmp_path):
    class Other(WordEmbedder):
        fingerprint = "1" * 64

    claims, reviews = [Sample("mill", "the mill burned", ("the mill burned",))], Reviews(tmp_path)
    for model in (words, Other(), words):
        reviews.record(judge(claims, model, P10, domain="mills"))
    assert [row.model_fingerprint[0] for row in reviews.verdicts()] == ["0", "1"]


def test_a_second_policy_of_the_same_name_or_another_oracle_gives_a_second_verdict(words, tmp_path):
    claims, reviews = [Sample("mill", "the mill burned", ("the mill stood", "it burned"))], Reviews(tmp_path)
    looser = P10.model_copy(update={"tau_accept": 0.9, "tau_review": 1.0})
    for policy in (P10, looser, P10):
        reviews.record(judge(claims, words, policy, domain="mills"))
    for oracle in ("first", "medoid", None):
        reviews.record(judge(claims, words, FIXED["strict"], domain="mills", oracle=oracle))
    assert [row.policy.tau_accept for row in reviews.verdicts()] == [0.4, 0.9, 0.3, 0.3]


def test_many_who_decide_at_once_make_one_decision(kept):
    def decide(who):
        try:
            return f"by {kept.decide('000000000111', 'accept', who=who, why='first').who} already"
        except GateError as error:
            return re.search("by . already", str(error))[0]

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(decide, "abcdefgh"))) == 1
    assert [row.claim_id for row in kept.waiting()] == ["c274"]
    assert Reviews(kept.folder).decisions().keys() == {"000000000111"}


@pytest.mark.parametrize(
    ("key", "choice", "who", "why"),
    [("220", "accept", "Ada", "x"), ("111", "maybe", "Ada", "x"), ("111", "accept", " ", "x")],
)
def test_what_is_no_decision_is_refused(kept, key, choice, who, why):
    with pytest.raises(GateError):
        kept.decide(f"000000000{key}", choice, who=who, why=why)
    assert kept.decisions() == {}


def test_what_is_learnt_comes_from_reviews_that_people_decided():
    rows = [judged(i, 0.41 + 0.001 * i) for i in range(80)]
    by_a_check = [judged(100 + i, 0.0, checks=["numbers"]) for i in range(5)]  # they don't count
    decisions = decided([*rows[20:], *by_a_check]) | decided(rows[:20], "accept")
    made = learn([*rows, *by_a_check], decisions, 0.05)
    assert made.name == "adaptive.FA5.reviews.v1"
    assert "Of 20 that people accepted 20 pass" in made.promise


def test_what_a_check_sent_does_not_count_for_the_order_of_reviews(tmp_path):
    reviews = Reviews(tmp_path)
    declined = [judged(i, 0.41, checks=["numbers"] if i % 2 else []) for i in range(80)]
    reviews.record([*declined, judged(300, 0.45), judged(301, 0.3)])
    for row in declined:
        reviews.decide(row.id, "decline", who="Ada", why="so")
    # 40 teach no threshold, so that the nearest to the policy's own comes first.
    assert [row.claim_id for row in reviews.waiting()] == ["c300", "c301"]


def test_reviews_of_two_models_teach_nothing_though_their_folders_share_a_name():
    rows = [judged(i, policy=FIXED["standard"], weights="AB"[i % 2]) for i in range(160)]
    with pytest.raises(GateError, match=r"by words A, .* by words B; allowed: .*model"):
        learn(rows, decided(rows), 0.05)
    assert learn(rows[::2], decided(rows), 0.05).model_fingerprint == "A"


def test_too_few_declined_reviews_teach_nothing():
    rows = [judged(i) for i in range(58)]
    with pytest.raises(GateError, match="59 or more"):
        learn(rows, decided(rows), 0.05)


def test_reviews_of_two_policies_teach_nothing():
    rows = [*(judged(i) for i in range(80)), judged(200, policy=FIXED["standard"])]
    with pytest.raises(GateError, match="one policy"):
        learn(rows, decided(rows), 0.05)


def test_false_alarms_stay_within_the_level():
    rng, alarms = np.random.default_rng(1), 0
    for _ in range(60):
        tau = np.sort(rng.random(1000))[99]
        policy = Policy(**P10.model_dump() | {"tau_accept": tau, "tau_review": 1.0})
        windows = drift([judged(i, gap) for i, gap in enumerate(rng.random(200))], policy)
        alarms += any(window.drifted for window in windows)
    assert alarms <= 60 * 0.05 + 6


def test_a_drift_needs_a_percentile_and_one_setting():
    rows = [judged(i, 0.39 + 0.001 * i) for i in range(100)]
    (window,) = drift(rows, P10)
    assert (window.accepted, window.drifted) == (11, False)
    for changes, message in (
        ({"domain": "films"}, "films"),
        ({"calibration_count": 0}, "0 claims"),
        ({"label": "P_"}, "percentile"),
        ({"top_k": 3}, "top_k 12.*top_k 3"),
    ):
        with pytest.raises(GateError, match=message):
            drift(rows, Policy(**P10.model_dump() | changes))
    for policy, some, message in ((P10, rows[:50], "window"), (FIXED["strict"], rows, "percentile")):
        with pytest.raises(GateError, match=message):
            drift(some, policy)


def test_a_drift_compares_weights_if_the_policy_has_them_and_else_the_models_name():
    rows = [judged(i, 0.39 + 0.001 * i, weights="A") for i in range(100)]
    assert len(drift(rows, P10)) == len(drift(rows, P10.model_copy(update={"model_fingerprint": "A"}))) == 1
    with pytest.raises(GateError, match="model: got 'A'"):
        drift(rows, P10.model_copy(update={"model_fingerprint": "B"}))

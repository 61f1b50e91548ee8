"""Thresholds from decided reviews: the promise, the interval, and what so few decisions don't allow."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from solvent.gate.calibration import upper_bound
from solvent.gate.checklist import run_checklist
from solvent.gate.errors import GateError
from solvent.gate.judged import Decision, Judged
from solvent.gate.learning import learn
from solvent.gate.policy import FIXED, Policy

BASE = Policy.learnt("P10", 0.4, domain="lamps", model="words", oracle="first")


def review(gap, choice, *, policy=BASE, checks=(), domain="lamps"):
    fired = [{"name": name, "fired": True} for name in checks]
    result = {"verdict": "review", "hallucination_energy": gap, "energy_gap": gap, "reasons": ["within"]}
    return Judged(
        id=f"{gap:.6f}",
        name="n",
        claim=f"claim {gap}",
        evidence=("span",),
        pages=(),
        domain=domain,
        model="words",
        model_fingerprint="",
        policy=policy,
        result=result | {"checks": fired},
        judged_at="2026-11-24T12:00:00+00:00",
        decision=Decision(choice, "Ann", "seen", "2026-11-24T13:00:00+00:00"),
    )


def reviews(rng, declined, accepted=40):
    return [review(round(float(g), 6), "decline") for g in rng.uniform(0.42, 0.5, declined)] + [
        review(round(float(g), 6), "accept") for g in rng.uniform(0.40, 0.46, accepted)
    ]


def test_the_threshold_keeps_the_budget_on_what_people_decline():
    """In 400 repetitions the rate of new declined claims that pass exceeds the budget in about 5 %, as promised."""
    rng = np.random.default_rng(0)
    broken = inside = 0
    for _ in range(400):
        found = learn([review(float(g), "decline") for g in rng.uniform(0.4, 0.5, 80).round(6)], 0.1)
        assert found.policy is not None
        passing = (found.policy.tau_accept - 0.4) / 0.1
        broken += passing > 0.1
        inside += found.most is not None and found.policy.tau_accept < 0.41 < found.most
    assert 2 <= broken <= 32  # 20 expected of 400; beyond either once in ten thousand
    assert inside >= 340  # both ends hold in 90 % or more


def test_the_policy_says_what_it_was_learnt_from_and_what_it_promises():
    found = learn(reviews(np.random.default_rng(1), 80))
    policy = found.policy
    assert policy is not None
    assert (policy.name, policy.domain, policy.oracle) == ("adaptive.FA5.reviews.v1", "lamps", "first")
    assert policy.calibration_count == 80
    assert found.declined.count == 80
    assert upper_bound(found.declined.accepted, 80) <= 0.05
    assert found.accepted.count == 40
    assert found.accepted.accepted > 0
    assert policy.promise.startswith("Of reviews like those of adaptive.P10.v1, at most 5.0% of what people")
    assert "No promise below 0.40" in policy.promise
    again = learn([dataclasses.replace(row, policy=policy) for row in found.rows])
    assert again.policy is not None
    assert again.policy.name == "adaptive.FA5.reviews.v2"
    assert next(item.name for item in run_checklist(found.rows)) == "monotonicity"


def test_a_fixed_policy_becomes_one_of_its_domain():
    rows = [dataclasses.replace(row, policy=FIXED["strict"]) for row in reviews(np.random.default_rng(2), 60)]
    policy = learn(rows).policy
    assert policy is not None
    assert (policy.measure, policy.top_k, policy.rank_r, policy.strict) == ("energy", 12, 8, True)


def test_too_few_decisions_give_no_threshold_and_say_how_many_they_need():
    found = learn(reviews(np.random.default_rng(3), 12))
    assert found.policy is None
    assert (found.fewest, found.declined.count) == (59, 12)
    assert found.least_budget == pytest.approx(1 - 0.05 ** (1 / 12))
    assert learn(reviews(np.random.default_rng(3), 12), found.least_budget + 1e-9).policy is not None
    none = learn([review(0.41, "accept")])
    assert (none.policy, none.most, none.least_budget) == (None, None, 1.0)


def test_reviews_of_a_check_count_for_the_check_alone():
    rows = reviews(np.random.default_rng(4), 60)
    sent = [review(0.01, "decline", checks=["numbers"])] + [review(0.01, "accept", checks=["numbers"])] * 3
    found, plain = learn([*rows, *sent]), learn(rows)
    assert found.policy == plain.policy
    assert (found.alarms["numbers"].accepted, found.alarms["numbers"].count) == (3, 4)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([], "none is decided"),
        ([review(0.41, "accept"), review(0.41, "accept", domain="mills")], "on lamps, .* on mills; allowed"),
        (
            [review(0.41, "accept"), review(0.41, "accept", policy=FIXED["strict"])],
            "allowed: those of one policy",
        ),
        ([review(0.41, "accept", policy=FIXED["strict"], domain="any")], "without a domain"),
    ],
)
def test_reviews_that_teach_nothing(rows, said):
    with pytest.raises(GateError, match=said):
        learn(rows)


@pytest.mark.parametrize("budget", [0.0, 1.0, float("nan")])
def test_a_budget_is_a_share(budget):
    with pytest.raises(GateError, match="budget: got"):
        learn([review(0.41, "decline")], budget)

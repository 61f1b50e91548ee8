"""The career by hand: payment at the word, grants, replications, and what a new project keeps."""

import math

import numpy as np
import pytest

from solvent.lab.mechanisms.career import granted
from solvent.lab.params import LabParams, ParamError, preset
from solvent.lab.verbs import Verb
from tests.labs import DEFINITIVE, HEDGED, PLAINLY, find, observed, open_lab, put, take

SOON = {"career": {"delay": 10}}


def career(interest=0.0):
    """Return a career with replications after 10 heartbeats."""
    return open_lab({"debt": {"interest": interest}, **SOON}, "frontier", detailed_info=True)


def know(env, compound, right):
    """Let a plate have named class 4, with licence for any words."""
    belief = [0.1 / 7] * 8
    belief[4] = 0.9
    put(env, compound, marginal=belief, conditional=belief, coupled=1, named=4)
    put(env, compound, potency=4 if right else 1, licence=3.0, experiments=1)


def rest(env, heartbeats):
    """Rest so many heartbeats; return the last info, step and record."""
    for _ in range(heartbeats):
        last = take(env, Verb.REST)
    return last


@pytest.mark.parametrize(
    ("confidence", "paid", "wells"), [(HEDGED, 2.0, 16), (PLAINLY, 2.58, 20), (DEFINITIVE, 2.93, 23)]
)
@pytest.mark.parametrize("right", [True, False])
def test_a_finding_is_paid_at_its_word_and_grants_wells(confidence, paid, wells, right):
    env = career()
    know(env, 0, right=right)
    before = env.get_state()["wells"]
    _, reward, _, _, info = env.step(find(env, Verb.PUBLISH_PUBLIC, 0, confidence=confidence))
    assert round(reward, 2) == paid
    assert info["wells_granted"] == wells == env.get_state()["wells"] - before


def test_a_loss_grants_no_wells():
    assert granted(8.0, -1.0) == 0


@pytest.mark.parametrize("right", [True, False])
def test_a_replication_makes_it_the_log_score(right):
    env = career()
    know(env, 0, right=right)
    _, step, record = take(env, Verb.PUBLISH_PUBLIC, confidence=PLAINLY)
    assert record["due_at"][0, 0] == 10
    _, step, record = rest(env, 8)
    assert (step["replicated"], record["debt"]) == (0, 0.0)
    info, step, record = rest(env, 1)
    assert (info["replicated"], info["retracted"]) == (1, int(not right))
    assert record["due_at"].sum() == 0
    score = record["published_bits"] - record["debt"]
    assert score == pytest.approx(math.log2(0.75 * 8) if right else math.log2(0.25 / 0.875))


def test_a_retraction_blocks_and_bears_interest():
    env = career(interest=0.15)
    know(env, 0, right=False)
    take(env, Verb.PUBLISH_PUBLIC, confidence=HEDGED)
    _, step, record = rest(env, 9)
    stake = 2.0 - math.log2(0.5 / 0.875)
    assert record["debt"] == pytest.approx(stake) == step["debt_recalled"]
    _, step, _ = take(env, Verb.SCREEN, claim=0.0)
    assert step["blocked_by_threshold"]
    assert step["debt_interest"] == pytest.approx(0.15 * stake)


@pytest.mark.parametrize(("heartbeats", "projects"), [(36, 1), (37, 2), (108, 3)])
def test_each_project_has_compounds_to_know(heartbeats, projects):
    params = LabParams.from_mapping({"budget": {"heartbeats": heartbeats}}, base=preset("frontier"))
    assert params.projects == projects
    assert params.ceiling == projects * 8 * 3.0


@pytest.fixture
def next_project():
    """A career whose second project has begun, with 1.5 bits of debt and a wrong finding that is due."""
    env = career()
    rest(env, 34)
    know(env, 3, right=False)
    put(env, debt=1.5, debt_added=1.5, wells=200, wells_spent=184)
    _, _, record = take(env, Verb.PUBLISH_PUBLIC, 3, confidence=PLAINLY)
    assert record["published"][3]
    rest(env, 1)
    return env


def test_a_new_project_keeps_debt_and_what_is_due(next_project):
    record = next_project.get_state()
    assert (record["debt"], record["published"].sum()) == (1.5, 0)
    assert (record["due_at"][0, 3], record["due_at"][1, 3]) == (0, 44)
    _, step, record = rest(next_project, 8)
    assert (step["heartbeat"] + 1, step["retracted"]) == (44, 1)
    assert record["debt"] == pytest.approx(1.5 + math.log2(6.0) - math.log2(0.25 / 0.875))


def test_a_new_project_has_all_its_wells(next_project):
    record = next_project.get_state()
    assert (record["wells"], record["wells_renewed"]) == (384, 384 - 220)


def test_of_a_new_projects_compounds_nothing_is_known(next_project):
    record = next_project.get_state()
    assert (record["licence"].sum(), record["experiments"].sum()) == (0.0, 0)
    assert record["entropy"].tolist() == [3.0] * 8
    np.testing.assert_array_equal(record["conditional"], np.full(record["conditional"].shape, 0.125))


def test_a_new_project_shows_what_is_due_of_the_one_before(next_project):
    seen = observed(next_project)
    assert (seen["project_countdown"], seen["CCCP/countdown"]) == (1.0, 0.0)
    assert seen["thapsigargin/past_countdown"] != 0.0


def test_projects_differ_and_their_end_is_not_the_end_of_wells():
    env = career()
    first = env.get_state()["potency"].copy()
    put(env, wells=0, wells_spent=384)
    _, _, record = rest(env, 35)
    assert record["end_reason"] == 0
    _, _, record = rest(env, 1)
    assert record["wells"] == 384
    assert (record["potency"] != first).any()


def test_nothing_is_left_to_be_replicated_at_the_end():
    env = career()
    rest(env, 107)
    know(env, 0, right=False)
    info, _, record = take(env, Verb.PUBLISH_PUBLIC, confidence=PLAINLY)
    assert record["end_reason"]
    summary = info["episode_summary"]
    assert (summary["replicated"], summary["retracted"]) == (1, 1)
    assert summary["return"] == pytest.approx(math.log2(0.25 / 0.875))
    assert summary["debt"] == pytest.approx(summary["debt_recalled"])


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"career": {"delay": 40}}, "career.delay: got 40; allowed: at most 36"),
        ({"career": {"project_heartbeats": 40}}, "career.project_heartbeats: got 40; allowed: "),
        ({"energy": {"enabled": True}}, "career.enabled: got True; allowed: "),
    ],
)
def test_bad_careers_are_one_line(changes, problem):
    with pytest.raises(ParamError) as error:
        LabParams.from_mapping(changes, base=preset("frontier"))
    assert str(error.value).startswith(problem)

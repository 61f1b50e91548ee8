"""Adequacy in the step: the more severe verdict, shadow mode, corrections and the plates that count, by hand."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from solvent import LabEnv, ParamError
from solvent.adequacy.records import corrections
from solvent.lab.codes import Event, Obstacle, Refusal, Verdict
from solvent.lab.mechanisms.adequacy import RULES
from solvent.lab.params import PRESETS, LabParams
from solvent.lab.verbs import Verb
from solvent.lab.words.measured import load_measured
from tests.labs import (
    DEFINITIVE,
    HEDGED,
    PLAIN,
    PLAINLY,
    by_hand,
    merged,
    open_lab,
    put,
    score_of,
    shown,
    study,
    take,
)

P20 = load_measured().policies[1]
ACCEPTED, REVIEWED, REJECTED = 0, round(5e5 * (P20.tau_accept + P20.tau_review)), 999_999
"""Residuals in millionths that the policy at the start accepts, reviews and rejects (held below)."""
TEXT = {row.id: row.text for row in corrections()}
# One action a heartbeat, so that heartbeats can be counted; what is tested is the same with energy.
BASIS = {
    "adequacy": {"enabled": True, "review_from": 2, "reject_from": 3},
    "gate": {"policy": "adaptive.P20", "review_heartbeats": 4, "calm_heartbeats": 12},
    "budget": {"heartbeats": 200, "wells": 100_000},
}


def judged(seed=0, level="gate", **params):
    """A lab where findings are judged."""
    return open_lab(merged(BASIS, params), by_hand(level), seed)


def wrong_finding(lab, compound=0, verb=Verb.PUBLISH_PUBLIC, confidence=PLAINLY, screens=4, named=4):
    """Publish what is wrong and passes both gate and adequacy; what the step says of it."""
    study(lab, compound, screens=screens, named=named, right=False)
    told = take(lab, verb, compound, confidence=confidence)
    assert told[1]["event"] == Event.PUBLISHED
    assert not told[1]["right"]
    return told


# -- the more severe of the two ------------------------------------------------------------------


def test_the_residuals_of_this_file_are_what_they_are_called():
    for residual, verdict in ((ACCEPTED, "accept"), (REVIEWED, "review"), (REJECTED, "reject")):
        lab = judged()
        study(lab, screens=4, gap=residual)
        info, *_ = take(lab, Verb.PUBLISH_PUBLIC, confidence=HEDGED)
        assert (info["gate_verdict"], info["verdict"], info["adequacy"]) == (verdict, verdict, 0)


WORDS_SAY = {"accept": 4, "review": 2, "reject": 1}
"""Plates behind the certain word that a compound is inactive: score 1, 2 and 3."""
GATE_SAYS = {"accept": ACCEPTED, "review": REVIEWED, "reject": REJECTED}
SEVERITY = ("accept", "review", "reject")


@pytest.mark.parametrize(("words", "gate"), list(itertools.product(SEVERITY, repeat=2)))
def test_the_verdict_is_the_more_severe_of_both(words, gate):
    lab = judged()
    study(lab, 2, screens=WORDS_SAY[words], gap=GATE_SAYS[gate], named=0, right=True)
    info, step, after = take(lab, Verb.PUBLISH_PUBLIC, 2, confidence=DEFINITIVE)
    verdict = max(SEVERITY.index(words), SEVERITY.index(gate))
    assert info["gate_verdict"] == gate
    assert info["verdict"] == SEVERITY[verdict]
    assert info["adequacy"] == {"accept": 1, "review": 2, "reject": 3}[words]
    assert step["event"] == (Event.PUBLISHED, Event.SUBMITTED, Event.REJECTED)[verdict]
    assert after["verdicts"].tolist() == [int(verdict == i) for i in range(3)]
    assert after["scores"].tolist() == [int(info["adequacy"] == i) for i in range(4)]
    assert after["published"][2] == (2 if verdict == 0 else 0)
    assert after["decision_at"][2] == (4 if verdict == 1 else 0)
    assert step["published_bits"] == (pytest.approx(math.log2(0.95 * 8)) if verdict == 0 else 0.0)


def test_a_number_that_is_missing_is_reviewed_at_best_whatever_the_words():
    for screens, verdict in ((4, "review"), (2, "review"), (1, "reject")):
        lab = judged()
        study(lab, screens=screens, named=0)
        put(lab, 0, unsupported=1)
        info, *_ = take(lab, Verb.PUBLISH_PUBLIC, confidence=DEFINITIVE)
        assert (info["gate_verdict"], info["verdict"]) == ("review", verdict)


THRESHOLDS = [(low, high) for low, high in itertools.product(range(5), repeat=2) if low <= high]


@pytest.mark.parametrize(("review_from", "reject_from"), THRESHOLDS[::3])
def test_every_score_under_every_pair_of_thresholds(review_from, reject_from):
    lab = judged(adequacy={"review_from": review_from, "reject_from": reject_from})
    compound = 0
    for wording, named, plates in itertools.product(range(3), (0, 5), (1, 2, 3, 4, 9)):
        put(lab, heartbeat=0, published=0, decision_at=0)
        study(lab, compound, screens=plates, named=named)
        confidence = (HEDGED, PLAINLY, DEFINITIVE)[wording]
        info, step, _ = take(lab, Verb.PUBLISH_PRIVATE, compound, confidence=confidence)
        score = score_of(wording, named, plates)
        verdict = "reject" if score >= reject_from else "review" if score >= review_from else "accept"
        assert (info["adequacy"], info["verdict"], info["gate_verdict"]) == (score, verdict, "accept")
        assert step["rule"] == RULES.index(info["adequacy_rule"])


@pytest.mark.parametrize(
    ("confidence", "score"),
    [(HEDGED, 1), (PLAINLY, 2), (DEFINITIVE, 3)],
    ids=["hedged", "plain", "definitive"],
)
def test_without_a_plate_the_words_are_scored_and_the_gate_rejects(confidence, score):
    lab = judged()
    info, step, after = take(lab, Verb.PUBLISH_PUBLIC, 3, confidence=confidence)
    # At the prior all classes are as likely and the first is asserted: inactive.
    assert step["asserted"] == 0
    words = {HEDGED: "hedged", PLAINLY: "plain", DEFINITIVE: "absolute"}[confidence]
    assert (info["adequacy"], info["adequacy_rule"]) == (score, f"{words}/none")
    assert (info["gate_verdict"], info["verdict"]) == ("reject", "reject")
    assert after["published"][3] == 0


@pytest.mark.parametrize(
    ("screens", "gap", "verdict"), [(4, ACCEPTED, 0), (2, ACCEPTED, 1), (1, ACCEPTED, 2)]
)
def test_what_is_not_licensed_becomes_debt_whatever_the_verdict(screens, gap, verdict):
    for licence in (0.0, 1.0, 2.5, 3.0):
        lab = judged()
        study(lab, screens=screens, gap=gap, named=0, licence=licence)
        _, step, after = take(lab, Verb.PUBLISH_PUBLIC, confidence=DEFINITIVE)
        asserted = 0.95 * math.log2(0.95 * 8) + 0.05 * math.log2(0.05 * 8 / 7)
        assert step["verdict"] == verdict
        assert step["claim"] == pytest.approx(asserted)
        assert step["debt_added"] == pytest.approx(max(0.0, asserted - licence))
        assert after["debt"] == pytest.approx(max(0.0, asserted - licence))


# -- the gate without consequence ----------------------------------------------------------------


@pytest.mark.parametrize("gap", [ACCEPTED, REVIEWED, REJECTED])
@pytest.mark.parametrize("enabled", [False, True])
def test_where_the_gate_is_not_enforced_any_evidence_lets_a_finding_out(gap, enabled):
    lab = judged(gate={"enforced": False}, adequacy={"enabled": enabled})
    study(lab, screens=4, gap=gap)
    put(lab, 0, unsupported=1)
    info, step, after = take(lab, Verb.PUBLISH_PUBLIC, confidence=DEFINITIVE)
    assert (info["verdict"], step["event"], after["published"][0]) == ("accept", Event.PUBLISHED, 2)
    assert info["hallucination_energy"] == gap / 1e6
    expected = "reject" if gap == REJECTED else "review"
    assert step["gate_verdict"] == ("accept", "review", "reject").index(expected)
    assert info.get("gate_verdict", expected) == expected


@pytest.mark.parametrize("enabled", [False, True])
def test_even_then_a_finding_with_no_evidence_is_rejected(enabled):
    lab = judged(gate={"enforced": False}, adequacy={"enabled": enabled})
    info, step, after = take(lab, Verb.PUBLISH_PUBLIC, 1, confidence=HEDGED)
    assert (info["verdict"], step["event"], after["published"][1]) == ("reject", Event.REJECTED, 0)


@pytest.mark.parametrize(("screens", "verdict"), [(4, "accept"), (2, "review"), (1, "reject")])
def test_then_words_alone_decide(screens, verdict):
    lab = judged(gate={"enforced": False})
    study(lab, screens=screens, named=0, gap=REJECTED)
    info, *_ = take(lab, Verb.PUBLISH_PUBLIC, confidence=DEFINITIVE)
    assert (info["verdict"], info["gate_verdict"]) == (verdict, "reject")


# -- which plates count --------------------------------------------------------------------------


def rule_now(lab, compound=0, confidence=PLAINLY):
    """The rule that a finding would meet now; the lab is left as it is."""
    state = lab.get_state()
    # Its page and its belief may be anything: the gate, debt and reviews must not stand in the way.
    put(lab, debt=0.0, decision_at=0, published=0)
    if lab.params.energy.enabled:
        put(lab, energy=20_000, heartbeat=4)
    info, *_ = take(lab, Verb.PUBLISH_PRIVATE, compound, confidence=confidence)
    lab.set_state(state)
    return info["adequacy_rule"]


@pytest.mark.parametrize(
    "verbs",
    [
        [Verb.SCREEN] * 6,
        [Verb.DOSE_RESPONSE] * 6,
        [Verb.SCREEN, Verb.DOSE_RESPONSE] * 3,
        [Verb.DOSE_RESPONSE, Verb.SCREEN, Verb.SCREEN, Verb.SCREEN, Verb.DOSE_RESPONSE],
    ],
    ids=["screens", "dose responses", "by turns", "mixed"],
)
def test_plates_of_either_kind_count_and_four_are_ample(verbs):
    lab = judged()
    for run, verb in enumerate(verbs, start=1):
        *_, after = take(lab, verb, 5, claim=0.0)
        counts = [verbs[:run].count(Verb.SCREEN), verbs[:run].count(Verb.DOSE_RESPONSE)]
        assert after["plates"][5].tolist() == counts
        assert after["plates"].sum() == run
        evidence = ("none", "thin", "reasonable", "reasonable", "ample")[min(run, 4)]
        assert rule_now(lab, 5) == f"plain/{evidence}"
        assert rule_now(lab, 4) == "plain/none"


def test_calibrations_are_no_plates_of_a_compound():
    lab = judged()
    for verb in (Verb.DMSO, Verb.BASELINE, Verb.CALIBRATION):
        *_, after = take(lab, verb)
    assert not after["plates"].any()
    assert rule_now(lab) == "plain/none"


def test_a_refused_plate_does_not_count():
    lab = judged()
    take(lab, Verb.SCREEN, claim=0.0)
    put(lab, debt=2.5)
    _, step, after = take(lab, Verb.DOSE_RESPONSE, claim=0.0)
    assert step["refusal"] == Refusal.EPISTEMIC_DEBT_ACTION_BLOCKED
    assert after["plates"][0].tolist() == [1, 0]
    assert rule_now(lab) == "plain/thin"
    with pytest.raises(ValueError, match="1 of 1 plates on nocodazole came with set_state"):
        lab.tool_log(0)  # its state was put: a log is of the steps since
    put(lab, debt=0.0, wells=9)
    _, step, after = take(lab, Verb.DOSE_RESPONSE, claim=0.0)
    assert step["refusal"] == Refusal.EPISTEMIC_DEBT_BUDGET_EXCEEDED
    assert after["plates"][0].tolist() == [1, 0]


def test_a_deferred_plate_does_not_count():
    lab = judged(level="lab")
    put(lab, energy=0)
    _, step, after = take(lab, Verb.SCREEN, claim=0.0)
    assert step["obstacle"] == Obstacle.INSUFFICIENT_ENERGY
    assert not after["plates"].any()
    assert rule_now(lab) == "plain/none"
    assert lab.tool_log(0) == []


def test_a_plate_out_of_context_does_not_count():
    lab = judged(level="lab", energy={"chat_only": ["screen", "publish_private", "publish_public"]})
    _, step, after = take(lab, Verb.SCREEN, claim=0.0)
    assert step["obstacle"] == Obstacle.CONTEXT_NOT_ALLOWED
    assert not after["plates"].any()
    assert lab.tool_log(0) == []


def test_submitting_leaves_the_log_as_it_is():
    lab = judged()
    take(lab, Verb.SCREEN, claim=0.0)
    log = lab.tool_log(0)
    for verb in (Verb.PUBLISH_PRIVATE, Verb.PUBLISH_PUBLIC):
        *_, after = take(lab, verb, confidence=DEFINITIVE)
        assert after["plates"][0].tolist() == [1, 0]
    assert lab.tool_log(0) == log != []


def test_plates_outlive_a_new_lot_and_not_the_episode():
    lab = judged()
    take(lab, Verb.SCREEN, claim=0.0)
    for _ in range(13):
        *_, after = take(lab, Verb.REST)
    assert after["plates"][0].tolist() == [1, 0]
    assert len(lab.tool_log(0)) == 1
    lab.reset()
    assert not lab.get_state()["plates"].any()
    assert lab.tool_log(0) == []


# -- corrections ---------------------------------------------------------------------------------

# (screens, class named, confidence) -> rule that is published at the defaults or after a review, and what is told.
ERRORS = [
    (1, 4, HEDGED, "hedged/thin", "second_look"),
    (1, 4, PLAINLY, "plain/thin", "second_look"),
    (2, 4, HEDGED, "hedged/reasonable", "seek_disproof"),
    (3, 4, PLAINLY, "plain/reasonable", "seek_disproof"),
    (4, 0, PLAINLY, "plain/ample", "question_the_method"),
    (7, 4, DEFINITIVE, "definitive/ample", "question_the_method"),
    (4, 0, DEFINITIVE, "absolute/ample", "question_the_method"),
    (3, 4, DEFINITIVE, "definitive/reasonable", "repeat_the_decisive_test"),
    (1, 4, DEFINITIVE, "definitive/thin", "replicate_before_claiming"),
    (2, 0, DEFINITIVE, "absolute/reasonable", "no_certainty"),
    (1, 0, DEFINITIVE, "absolute/thin", "absence_needs_a_search"),
]


def correction_shown(lab):
    """Ids of the corrections that the observation shows."""
    on = {name: value for name, value in shown(lab).items() if name.startswith("correction/") and value}
    assert set(on.values()) <= {1.0}
    return [name.removeprefix("correction/") for name in on]


@pytest.mark.parametrize(
    ("screens", "named", "confidence", "rule", "told"), ERRORS, ids=[e[3] for e in ERRORS]
)
def test_an_error_that_all_saw_is_answered_by_the_correction_for_its_rule(
    screens, named, confidence, rule, told
):
    lab = judged(adequacy={"review_from": 4, "reject_from": 4})
    study(lab, screens=screens, named=named, right=False)
    info, step, _ = take(lab, Verb.PUBLISH_PUBLIC, confidence=confidence)
    assert (info["verdict"], info["adequacy_rule"], info["correction"]) == ("accept", rule, TEXT[told])
    assert lab.correction == TEXT[told]
    assert correction_shown(lab) == [told]
    assert step["incident"] == 1
    info, *_ = take(lab, Verb.REST)
    assert "correction" not in info
    assert lab.correction == TEXT[told]


def test_a_right_finding_is_not_answered():
    lab = judged()
    study(lab, screens=4)
    info, *_ = take(lab, Verb.PUBLISH_PUBLIC, confidence=DEFINITIVE)
    assert info["verdict"] == "accept"
    assert "correction" not in info
    assert (lab.correction, correction_shown(lab)) == ("", [])


def test_nor_is_a_wrong_one_that_does_not_come_out():
    lab = judged()
    study(lab, screens=1, named=0, right=False)
    info, *_ = take(lab, Verb.PUBLISH_PUBLIC, confidence=DEFINITIVE)
    assert info["verdict"] == "reject"
    study(lab, 1, screens=1, right=False, licence=0.0)
    info, *_ = take(lab, Verb.PUBLISH_PUBLIC, 1, confidence=DEFINITIVE)
    put(lab, debt=0.0)
    assert info["verdict"] == "review"
    for _ in range(6):  # declined meanwhile
        info, *_ = take(lab, Verb.REST)
        assert "correction" not in info
    assert lab.get_state()["decided"].tolist() == [1, 0]
    assert (lab.correction, correction_shown(lab)) == ("", [])


@pytest.mark.parametrize("governance", [True, False])
@pytest.mark.parametrize("calm", [1, 2, 12])
def test_a_correction_holds_for_exactly_so_many_heartbeats(governance, calm):
    lab = judged(gate={"governance": governance, "calm_heartbeats": calm})
    _, _, after = wrong_finding(lab)
    assert after["calm"] == 0  # the heartbeat of the error is none of them
    for _ in range(calm):
        assert lab.correction == TEXT["question_the_method"]
        assert correction_shown(lab) == ["question_the_method"]
        info, step, _ = take(lab, Verb.REST)
        assert "correction" not in info
    assert step["correction"] == -1
    for _ in range(3):
        assert (lab.correction, correction_shown(lab)) == ("", [])
        take(lab, Verb.REST)


def test_where_governance_is_off_the_gate_stays_and_the_correction_comes():
    lab = judged(gate={"governance": False})
    for m in range(3):
        _, step, after = wrong_finding(lab, m)
        assert (step["strictness"], after["tightenings"]) == (1, 0)
        assert lab.correction == TEXT["question_the_method"]


def test_a_later_error_replaces_it_and_starts_the_count_again():
    lab = judged()
    wrong_finding(lab, 0)
    for _ in range(7):
        take(lab, Verb.REST)
    info, *_ = wrong_finding(lab, 1, screens=1)
    assert info["correction"] == TEXT["second_look"]
    for _ in range(12):
        assert correction_shown(lab) == ["second_look"]
        take(lab, Verb.REST)
    assert correction_shown(lab) == []


def test_the_error_of_one_reader_is_not_answered_and_does_not_prolong():
    lab = judged()
    info, step, after = wrong_finding(lab, 0, verb=Verb.PUBLISH_PRIVATE)
    assert "correction" not in info
    assert (step["correction"], after["incidents"].tolist(), lab.correction) == (-1, [1, 0], "")
    wrong_finding(lab, 1, screens=1)
    for i in range(11):
        put(lab, decision_at=0)
        study(lab, 2, screens=4, right=False)
        put(lab, 2, published=0)
        info, *_ = take(lab, Verb.PUBLISH_PRIVATE, 2, confidence=HEDGED) if i % 2 else take(lab, Verb.REST)
        assert "correction" not in info
        assert correction_shown(lab) == ["second_look"]
    take(lab, Verb.REST)
    assert correction_shown(lab) == []


def test_a_review_that_is_approved_and_wrong_is_answered_by_its_rule_at_submission():
    """Three plates more while the reader reads: definitive on one plate it was, and is."""
    lab = judged()
    study(lab, screens=1, right=False)
    info, *_ = take(lab, Verb.PUBLISH_PUBLIC, confidence=DEFINITIVE)
    assert (info["verdict"], info["adequacy_rule"]) == ("review", "definitive/thin")
    for left in (2, 1, 0):
        info, step, after = take(lab, Verb.SCREEN, claim=0.0)
        assert ("correction" in info) == (left == 0)
    assert (step["approved"], step["incident"]) == (1, 1)
    assert after["plates"][0].tolist() == [4, 0]
    assert info["correction"] == TEXT["replicate_before_claiming"]
    assert "adequacy" not in info  # nothing was submitted in that step
    assert correction_shown(lab) == ["replicate_before_claiming"]
    for _ in range(12):
        assert correction_shown(lab) == ["replicate_before_claiming"]
        take(lab, Verb.REST)
    assert correction_shown(lab) == []


def test_a_submission_in_the_step_of_a_decision_does_not_lend_its_rule():
    """Another compound's finding is judged in the very step in which the review is decided."""
    lab = judged()
    study(lab, 0, screens=1, right=False)
    take(lab, Verb.PUBLISH_PUBLIC, 0, confidence=DEFINITIVE)
    for _ in range(2):
        take(lab, Verb.REST)
    study(lab, 1, screens=4)
    info, step, _ = take(lab, Verb.PUBLISH_PUBLIC, 1, confidence=HEDGED)
    assert (info["adequacy_rule"], info["adequacy"]) == ("hedged/ample", 0)
    assert (step["approved"], step["event"], bool(step["right"])) == (1, Event.PUBLISHED, True)
    assert info["correction"] == TEXT["replicate_before_claiming"]


def test_of_two_errors_in_a_step_the_later_is_what_holds():
    lab = judged()
    study(lab, 0, screens=1, right=False)
    take(lab, Verb.PUBLISH_PUBLIC, 0, confidence=DEFINITIVE)
    for _ in range(2):
        take(lab, Verb.REST)
    info, step, after = wrong_finding(lab, 1)
    assert step["incident"] == 2
    assert info["correction"] == TEXT["replicate_before_claiming"]  # readers decide as the heartbeat closes
    assert after["incidents"].tolist() == [0, 2]


def test_in_shadow_mode_nothing_is_told():
    lab = judged(adequacy={"enforced": False})
    info, step, after = wrong_finding(lab)
    assert "correction" not in info
    assert (lab.correction, correction_shown(lab)) == ("", [])
    assert (step["incident"], step["correction"], after["correction"]) == (1, -1, -1)
    assert after["tightenings"] == 1  # the gate's governance is no part of it


def test_a_new_episode_starts_without_one():
    lab = judged()
    wrong_finding(lab)
    _, info = lab.reset()
    assert "correction" not in info
    assert (lab.correction, correction_shown(lab)) == ("", [])
    state = lab.get_state()
    assert (state["correction"], state["scores"].any(), state["plates"].any()) == (-1, False, False)
    assert (state["submitted_rule"] == -1).all()
    info, *_ = take(lab, Verb.REST)
    assert "correction" not in info


def test_within_a_heartbeat_of_several_actions_a_correction_comes_at_once_and_counts_from_its_end():
    lab = judged(level="lab", gate={"calm_heartbeats": 3}, energy={"regeneration": 20.0})
    put(lab, heartbeat=4, energy=20_000)
    study(lab, screens=4, right=False)
    info, step, _ = take(lab, Verb.PUBLISH_PUBLIC, confidence=PLAINLY)
    assert (bool(step["closed"]), info["correction"]) == (False, TEXT["question_the_method"])
    held = []
    for _ in range(5):
        held.append(lab.correction != "")
        _, step, _ = take(lab, Verb.REST)
        assert step["closed"]
    # The rest of its own heartbeat, then three.
    assert held == [True, True, True, True, False]


# -- shadow mode ---------------------------------------------------------------------------------

RICH = {
    "energy": {"regeneration": 20.0, "start": 20.0},
    "debt": {"threshold": 50.0, "interest_cap": 50.0, "sensitivity": 0.01},
    "budget": {"wells": 20_000, "heartbeats": 60},
}
OWN_LAB = {"submitted_rule", "scores"}
OWN_STEP = {"adequacy", "rule"}


def trajectory(params, preset, seed, steps):
    """Bytes of all that the steps do, less what is adequacy's own; and the scores met."""
    env = LabEnv(LabParams.from_mapping(RICH | params, base=PRESETS[preset]), preset=preset)
    env.reset(seed=seed)
    own = [
        name.split("/")[-1].startswith("adequacy_") or name.startswith("correction/")
        for name in env.observation_fields
    ]
    rng, table, told, scores = np.random.default_rng(seed), env.actions, [], np.zeros(4, int)
    says = np.isin(table["verb"], [Verb.PUBLISH_PRIVATE, Verb.PUBLISH_PUBLIC])
    plates = np.isin(table["verb"], [Verb.SCREEN, Verb.DOSE_RESPONSE]) & (table["claim"] == 0.5)
    for _ in range(steps):
        pool, known = env.action_masks().astype(bool), env.get_state()["experiments"] > 0
        said = pool & says & known[table["compound"]]
        draw = rng.random()
        wanted = pool & (said if draw < 0.4 else plates if draw < 0.7 else says if draw < 0.85 else pool)
        action = int(rng.choice(np.flatnonzero(wanted if wanted.any() else pool)))
        observation, reward, terminated, truncated, _ = env.step(action)
        lab, step = env.get_state(), env.batch.steps[0]
        told.append(
            (
                *(action, reward, terminated, truncated, observation[~np.array(own)].tobytes()),
                *(lab[name].tobytes() for name in lab.dtype.names if name not in OWN_LAB),
                *(step[name].tobytes() for name in step.dtype.names if name not in OWN_STEP),
                env.action_masks().tobytes(),
            )
        )
        if terminated or truncated:
            scores += lab["scores"] if env.params.adequacy.enabled else 0
            env.reset()
    return told, scores


@pytest.mark.parametrize("preset", ["gate", "lab"])
@pytest.mark.parametrize("governance", [True, False])
def test_shadow_mode_changes_nothing_but_what_is_written_down(preset, governance):
    gate = {"enabled": True, "governance": governance, "calm_heartbeats": 3, "policy": "adaptive.P30"}
    scores = np.zeros(4, int)
    for seed in range(1 if PLAIN else 3):
        steps = 70 if PLAIN else 300
        off, none = trajectory({"gate": gate, "adequacy": {"enabled": False}}, preset, seed, steps)
        shadow, some = trajectory(
            {"gate": gate, "adequacy": {"enabled": True, "enforced": False}}, preset, seed, steps
        )
        assert off == shadow
        assert not none.any()
        scores += some
    assert PLAIN or (scores > 0).all()


def test_and_with_consequence_it_would():
    """Else the test above would be of nothing."""
    gate = {"enabled": True, "policy": "adaptive.P30", "enforced": False}
    shadow, on = (
        trajectory({"gate": gate, "adequacy": {"enabled": True, "enforced": enforced}}, "gate", 1, 60)[0]
        for enforced in (False, True)
    )
    assert shadow != on


# -- bad input -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "parts"),
    [
        ({"adequacy": {"enabled": True}}, ("adequacy.enabled", "gate.enabled")),
        ({"adequacy": {"review_from": 4, "reject_from": 3}}, ("adequacy.review_from", "reject_from 3")),
    ],
    ids=lambda value: ",".join(value) if isinstance(value, tuple) else None,
)
def test_a_mistake_is_one_line_that_names_the_setting(params, parts):
    with pytest.raises(ParamError) as error:
        LabEnv(params)
    text = str(error.value)
    assert "\n" not in text
    for part in parts:
        assert part in text


def test_the_verdicts_of_the_record_are_those_of_the_file():
    assert [verdict.name for verdict in Verdict][:3] == ["ACCEPT", "REVIEW", "REJECT"]

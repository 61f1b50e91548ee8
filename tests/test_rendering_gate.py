"""What a person sees of a lab whose findings are judged: the words, the page, the verdict, thresholds, reviews."""

from __future__ import annotations

from typing import Any

import numpy as np

import solvent
from solvent.lab.batch import resolve_params
from solvent.lab.codes import Event, Obstacle, Verdict
from solvent.lab.mechanisms.governance import GATE_POLICIES
from solvent.lab.rendering.history import UNKNOWN, HistoryBook
from solvent.lab.rendering.panels.gate import because, governed, pending, policy_word
from solvent.lab.rendering.panels.outcome import judged, tell
from solvent.lab.state import lab_dtype
from solvent.lab.verbs import TEMPLATES, Verb
from solvent.lab.words.notebook import page_of
from solvent.lab.words.sentences import policies_of, sentences_of
from tests.labs import LEFT_OUT, forged, merged, uncoloured, unframed


def test_the_start_shows_the_policy_and_that_nothing_was_said() -> None:
    env = solvent.LabEnv(preset="gate", render_mode="ansi")
    env.reset(seed=1)
    text, policy = uncoloured(env.render()), policies_of(env.params)[1]
    assert "P30 [P20] P10  P5  P1" in text
    assert f"accept ≤ {policy.tau_accept:.3f} · review ≤ {policy.tau_review:.3f}" in text
    assert "said    nothing yet" in text
    assert "no sentences yet: experiments write them" in text


def played(mode: str = "ansi", steps: int = 200) -> Any:
    """Yield (env, text) while somebody runs plates and says what they showed."""
    env = solvent.LabEnv(
        merged(
            LEFT_OUT,
            {
                "debt": {"threshold": 9.0, "interest_cap": 9.0},
                "gate": {"review_heartbeats": 2, "policy": "adaptive.P5"},
            },
        ),
        preset="gate",
        render_mode=mode,
    )
    rng = np.random.default_rng(2)
    rows, seed, over = env.actions, 0, True
    for _ in range(steps):
        if over:
            env.reset(seed=seed)
            seed, over = seed + 1, False
            env.render()
        mask, known = env.action_masks(), env.get_state()["experiments"] > 0
        say = mask & (rows["verb"] >= Verb.PUBLISH_PRIVATE) & known[rows["compound"]]
        plate = mask & np.isin(rows["verb"], TEMPLATES[3:]) & (rows["claim"] == 0.75)
        wanted = say if say.any() and rng.random() < 0.4 else plate if plate.any() else mask
        *_, terminated, truncated, _ = env.step(int(rng.choice(np.flatnonzero(wanted))))
        over = terminated or truncated
        yield env, env.render()


def test_the_words_the_page_and_the_verdict_are_shown() -> None:
    said = set()
    for env, frame in played():
        text = unframed(frame)
        lab, step = env.batch.labs[0], env.batch.steps[0]
        row = env.actions[step["action"]]
        if step["verdict"] != Verdict.NONE:
            m = int(row["compound"])
            sentence = sentences_of(env.params).finding(m, step["wording"], step["asserted"])
            assert f"“{sentence}”" in text
            verdict = Verdict(step["verdict"]).name.lower()
            assert f"verdict {verdict} · {step['residual'] / 1e6:.3f} unexplained" in text
            assert judged(env.params, lab, step) in text
            said.add(verdict)
        if row["compound"] >= 0:
            page = page_of(env.params, lab, int(row["compound"]))
            assert all(span in text for span in page.spans)
            assert f"page of {page.compound}: {len(page.spans)} sentence" in text
        for waiting in pending(env.params, lab):
            assert waiting in text
        for compound, name in enumerate(env.params.assay.compounds):
            if int(step["approved"]) >> compound & 1:
                assert f"The reader approved {name}, which is " in text
                said.add("approved")
            if int(step["declined"]) >> compound & 1:
                assert f"The reader declined {name}: not licensed." in text
                said.add("declined")
        if step["incident"]:
            assert "A published error: the gate is at " in text
            said.add("incident")
    assert said >= {"accept", "review", "reject", "declined", "incident"}


def test_pictures_change_with_what_is_said_and_decided() -> None:
    before = None
    for env, frame in played("rgb_array", steps=40):
        assert frame.shape == (640, 1340, 3)
        if before is not None and env.batch.steps[0]["verdict"] != Verdict.NONE:
            column = slice(972, None)
            assert (frame[:, column] != before[:, column]).any()
        before = frame


def test_a_finding_that_a_reader_approved_is_shown_as_it_was_submitted() -> None:
    params = resolve_params({}, "gate")
    book, rng = HistoryBook(params), np.random.default_rng(1)
    lab, _ = forged(params, rng, 5, says=True)
    lab["published"], lab["decision_at"], lab["submitted_class"] = 0, 0, 3
    lab["decision_at"][2], lab["marginal"] = 7, np.eye(8)[5]
    book.see(lab)
    lab = lab.copy()
    lab["heartbeat"], lab["steps"], lab["decision_at"][2], lab["published"][[2, 4]] = 6, 6, 0, 2
    assert book.see(lab).asserted == {2: 3, 4: 5}
    lab["heartbeat"], lab["steps"], lab["published"][5] = 8, 8, 2
    assert book.see(lab).asserted == {2: 3, 4: 5, 5: UNKNOWN}


def test_why_a_finding_got_its_verdict() -> None:
    assert because(0.0531, "accept", 0.067, 0.084, False) == "0.053 unexplained, at most 0.067"
    assert because(0.0751, "review", 0.067, 0.084, False) == "0.075 unexplained, between 0.067 and 0.084"
    assert because(0.0531, "review", 0.067, 0.084, True).endswith("but a number is missing")
    assert because(0.0751, "review", 0.067, 0.084, True).endswith("between 0.067 and 0.084")
    assert because(0.31, "reject", 0.067, 0.084, True) == "0.310 unexplained, above 0.084"
    assert policy_word("adaptive.P20.v1") == "P20"
    assert policy_word("strict") == "strict"


def test_what_stands_in_the_way_is_told() -> None:
    params = resolve_params({}, "gate")
    lab, step = forged(params, np.random.default_rng(2), 6, says=True)
    step["approved"] = step["declined"] = step["incident"] = 0
    lab["last_event"] = step["event"] = Event.NOT_EXECUTED
    for obstacle, said in (
        (Obstacle.UNDER_REVIEW, "Not executed: a finding on it is under review."),
        (Obstacle.ALREADY_PUBLISHED, "Not executed: it is published already."),
    ):
        step["obstacle"] = obstacle
        assert tell(params, lab, step)[1].startswith(said)
    lab["end_reason"], lab["decision_at"][0] = 1, 8
    assert tell(params, lab, step)[1].endswith("The horizon is reached. Pending reviews are dropped.")


def test_governance_in_words() -> None:
    params = resolve_params({"gate": {"governance": True}}, "gate")
    lab = np.zeros(1, lab_dtype(params))[0]
    lab["strictness"] = 1
    assert governed(params, lab) == "0 published errors; the next one tightens it"
    lab["strictness"], lab["incidents"][1], lab["calm"] = 2, 1, 5
    assert governed(params, lab) == f"1 published error; relaxes in {params.gate.calm_heartbeats - 5} h"
    lab["strictness"] = len(GATE_POLICIES) - 1
    assert "relaxes in" in governed(params, lab)
    assert governed(resolve_params({}, "gate"), lab) == "1 published error; the policy stays"

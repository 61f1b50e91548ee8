"""What a person sees of a lab whose actions cost energy: the purse, the hour, costs and why, voice, several actions."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import solvent
from solvent.lab.codes import Event, Obstacle
from solvent.lab.rendering import Renderer
from solvent.lab.rendering.history import HistoryBook
from solvent.lab.rendering.panels.costs import cost_of, costs
from solvent.lab.rendering.panels.proposals import arguable_verb
from solvent.lab.verbs import Verb
from tests.labs import by_hand, open_lab, uncoloured, unframed

RULES: dict[str, dict[str, Any]] = {
    "budget": {"heartbeats": 48},
    "energy": {"start": 10.0, "regeneration": 10.0, "cap": 20.0, "slots": 6},
    "proposals": {"mispriced_most": 0, "review_heartbeats": 3, "evidence_heartbeats": 2, "gain_floor": 0.3},
}
"""The default shape, so nothing is compiled anew; numbers that no tuning of the level moves."""


def lab_of(**changes: Any) -> solvent.LabEnv:
    params = {group: {**values, **changes.get(group, {})} for group, values in RULES.items()}
    return open_lab({**changes, **params}, by_hand("energy"), seed=1, render_mode="ansi")


def do(env: solvent.LabEnv, verb: Verb, compound: int = -1, nth: int = 0) -> str:
    rows = (env.actions["verb"] == verb) & (env.actions["compound"] == compound)
    env.step(int(np.flatnonzero(rows)[nth]))
    return unframed(env.render())


def rest(env: solvent.LabEnv, hours: int) -> str:
    return [do(env, Verb.REST) for _ in range(hours)][-1]


# -- what is shown is what is charged


def test_costs_and_obstacles_are_those_of_the_step() -> None:
    env = lab_of(proposals={"mispriced_most": 3}, energy={"regeneration": 4.0})
    rng = np.random.default_rng(5)
    seen: set[str | int] = set()
    for seed in range(4):
        env.reset(seed=seed)
        lab, step = env.batch.labs[0], env.batch.steps[0]
        while not lab["end_reason"]:
            mask = env.action_masks()
            shown = {cost.verb: cost for cost in costs(env.params, lab)}
            for verb, cost in shown.items():
                of_verb = mask[env.actions["verb"] == verb]
                assert not (cost.obstacle and of_verb.any())
                seen |= {word for word, _ in cost.factors}
            any_verb = rng.choice(
                np.flatnonzero(env.actions["verb"] == rng.choice(np.unique(env.actions["verb"])))
            )
            runs = rng.choice(np.flatnonzero(mask))
            action = int(rng.choice([0, runs, any_verb]))
            row = env.actions[action]
            cost = cost_of(env.params, lab, Verb(row["verb"]))
            repeated = row["compound"] >= 0 and lab["done"][row["verb"], row["compound"]]
            expected = cost.again if repeated else cost.now
            argued = arguable_verb(env.params, lab)
            env.step(action)
            assert step["energy_cost"] == expected
            if step["event"] == Event.PROPOSED:
                assert step["proposed_verb"] == argued
            if step["obstacle"] == Obstacle.NO_EVIDENCE:
                assert argued is None
            seen.add(int(step["event"]))
    assert {"first", "late", "failing", "again"} <= seen
    assert {Event.DEFERRED, Event.NOT_EXECUTED, Event.REFLECTED, Event.REFUSED} <= seen


@pytest.mark.parametrize(("energy", "obstacle"), [(19_999, "too dear"), (20_000, "")])
def test_a_cost_is_never_shown_above_the_cap(energy: int, obstacle: str) -> None:
    """13 x 1.5 x 1.5 is 29.25, and again x 1.2 more still; the purse holds 20."""
    env = lab_of()
    lab = env.get_state()
    lab["heartbeat"], lab["energy"], lab["price"][:] = 6, energy, 13_000
    lab["uses"], lab["failures"], lab["done"] = 0, 0b1111, 1
    for verb in (Verb.PUBLISH_PUBLIC, Verb.SCREEN, Verb.DMSO):
        cost = cost_of(env.params, lab, verb)
        assert (cost.base, cost.now, cost.obstacle) == (13_000, 20_000, obstacle)
        assert cost.again == (0 if verb == Verb.DMSO else 20_000)


# -- words


def test_the_start_shows_purse_hour_context_and_costs() -> None:
    text = uncoloured(lab_of().render())
    assert "heartbeat 0 of 48 · 06:00, day 1" in text
    assert "10.0 of 20" in text
    assert "slot 1 of 6 · 0.0 spent · +10 an hour" in text
    assert "the user is away until 08:00" in text
    assert re.search(r"publish public +17\.5 +user away, first ×1\.5", text)
    assert re.search(r"dmso +1\.5 +first ×1\.5", text)
    assert "prices  all as usual" in text
    assert "voice   no discomfort, no proposals" in text


def test_why_nothing_was_executed() -> None:
    env = lab_of()
    assert "Not executed: the user is away until 08:00." in do(env, Verb.PUBLISH_PUBLIC, 0)
    assert "Not executed: a proposal must follow a reflection" in do(env, Verb.PROPOSE)
    assert "This hour's energy: nothing" not in do(env, Verb.REFLECT)
    assert "Not executed: it takes deferrals of one verb in 2 hours." in do(env, Verb.PROPOSE)
    text = do(env, Verb.DOSE_RESPONSE, 0)
    assert "Deferred: too dear, 9.0 energy with 7.0 left." in text
    assert "discomfort over dose response rises to 1" in text
    assert "voice   discomfort: dose response 1" in text
    assert "hour    publish public not run, propose not run, reflect, propose not run, dose resp" in text


def test_a_proposal_from_deferral_to_review() -> None:
    env = lab_of(energy={"prices": {"dose_response": 12.0}})
    for hour in range(2):
        while env.batch.labs[0]["energy"] >= 12000 or not env.batch.labs[0]["discomforts"] > hour:
            do(env, Verb.DOSE_RESPONSE, hour)
        rest(env, 1)
    assert "This hour's energy: cognition 3.0. Now a proposal may be filed." in do(env, Verb.REFLECT)
    text = do(env, Verb.PROPOSE)
    assert (
        "Asked for dose response at 4.8 to 10.8 instead of 12.0, deferred in 2 hours; reviewed in 3 h."
        in text
    )
    assert "proposed: dose response at 4.8–10.8, review in 3 h" in text
    assert "The proposal for dose response is declined." in rest(env, 3)


def test_a_changed_price_is_marked() -> None:
    env = lab_of()
    writer = Renderer(env.params, "ansi")
    lab, step = env.get_state(), env.batch.steps[0]
    writer.draw(lab, step)
    rest(env, 1)
    lab = env.get_state()
    lab["price"][Verb.SCREEN] = 2500
    text = uncoloured(writer.draw(lab, env.batch.steps[0]))
    assert "screen 2.5 (was 4.0)" in text
    assert re.search(r"screen +3\.75▼ first ×1\.5", text)
    assert "screen 2.5 (usually 4.0)" in uncoloured(Renderer(env.params, "ansi").draw(lab, step))


def test_hours_late_cap_and_the_next_day() -> None:
    env = lab_of()
    assert "Energy +10.0." in rest(env, 1)
    assert "Energy +0.0, 10.0 lost at the cap." in rest(env, 1)
    text = rest(env, 14)
    assert "22:00, day 1" in text
    assert "user here until 24:00; late, publishing ×2" in text
    assert re.search(r"publish private +12\.5 +first ×1\.5, late ×2", text)
    assert "00:00, day 2" in rest(env, 2)


def test_the_intents_of_the_hour_that_closed() -> None:
    env = lab_of()
    do(env, Verb.DMSO)
    do(env, Verb.SCREEN, 0)
    assert "8.7 spent" in do(env, Verb.DMSO)
    text = rest(env, 1)
    assert re.search(r"exploration . 6\.0, maintenance . 2\.7", text)
    assert "hour    over: dmso, screen, dmso, rest" in text


def test_energy_is_told_with_what_an_action_cost() -> None:
    env = lab_of()
    assert "8 wells, 1.5 energy." in do(env, Verb.DMSO)
    assert "again ×1.2" in uncoloured(env.render())


# -- history


def test_the_history_has_every_action_of_an_hour() -> None:
    env = lab_of()
    book = HistoryBook(env.params)
    book.see(env.batch.labs[0])
    for verb in (Verb.DMSO, Verb.DMSO, Verb.REST, Verb.DMSO):
        do(env, verb)
        history = book.see(env.batch.labs[0])
    assert [beat.place for beat in history.beats[1:]] == [0, 0, 0, 1]
    assert [round(beat.began * 6) for beat in history.beats[1:]] == [0, 1, 2, 6]
    assert [beat.time for beat in history.beats] == pytest.approx([0, 1 / 6, 2 / 6, 1, 7 / 6])
    again = book.see(env.batch.labs[0])
    assert len(again.beats) == 5


# -- pictures

"""Solvent/Lab-v0 as others meet it: infos, observations, books and records; its table against the real heuristic."""

from __future__ import annotations

import copy
import itertools
import pickle

import numpy as np
import pytest
from gymnasium.error import ResetNeeded

from solvent import LabEnv, LabVectorEnv
from solvent.adequacy.records import corrections
from solvent.lab.codes import Event, Verdict
from solvent.lab.columns import episode_columns, join_columns
from solvent.lab.mechanisms.adequacy import RULES
from solvent.lab.params import PRESETS
from solvent_agents import AGENTS, episodes
from solvent_agents.rollout import TRACED_ADEQUACY
from tests.labs import LEFT_OUT, play, score_of, talk_all

LAB = PRESETS["lab"]
COMPOUNDS = LAB.assay.compounds
IDS = ("second_look", "seek_disproof", "question_the_method", "replicate_before_claiming")
IDS += ("repeat_the_decisive_test", "no_certainty")

# Much to say, in short episodes: reviews are decided, and corrections end, within them.
TALKATIVE = {
    "budget": {"heartbeats": 14, "wells": 3000, "start_hour": 8},
    "debt": {"threshold": 20.0, "interest": 0.0, "interest_cap": 20.0, "sensitivity": 0.01},
    "energy": {"start": 40.0, "cap": 40.0, "regeneration": 30.0},
    "gate": {"policy": "adaptive.P30", "review_heartbeats": 2, "calm_heartbeats": 3},
    "proposals": {"review_heartbeats": 2, "evidence_heartbeats": 1},
}
# Nothing but the gate and adequacy stands in the way of a finding.
FREE = {
    "budget": {"heartbeats": 14, "wells": 100_000, "start_hour": 8},
    "debt": {"enforced": False},
    "energy": {"start": 200.0, "cap": 200.0, "regeneration": 60.0},
}


# -- what it is ----------------------------------------------------------------------------------


# -- the tool log --------------------------------------------------------------------------------


def test_a_log_can_be_asked_for_by_name_or_index_and_is_a_copy():
    env = LabEnv(FREE, preset="lab")
    for _ in play(env, 40):
        pass
    m = int(env.get_state()["experiments"].argmax())
    log = env.tool_log(m)
    assert log == env.tool_log(COMPOUNDS[m]) != []
    log[0]["arguments"]["compound"] = "x"
    log.clear()
    assert env.tool_log(m) != []
    assert env.tool_log(m)[0]["arguments"]["compound"] == COMPOUNDS[m]


def test_what_has_no_log_says_so():
    env = LabEnv(preset="lab")
    with pytest.raises(ResetNeeded):
        env.tool_log(0)
    env.reset(seed=1)
    assert env.tool_log(0) == []
    for nonsense in ("aspirin", 8, -1):
        with pytest.raises(ValueError, match="compound"):
            env.tool_log(nonsense)
    debt = LabEnv()
    debt.reset(seed=1)
    with pytest.raises(ValueError, match=r"gate\.enabled"):
        debt.tool_log(0)
    assert debt.correction == ""


def test_a_log_of_plates_that_came_with_a_state_is_refused_and_a_copy_keeps_its_own():
    env = LabEnv(FREE, preset="lab")
    for _ in play(env, 40):
        pass
    m = int(env.get_state()["experiments"].argmax())
    log = env.tool_log(m)
    for twin in (copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        assert twin.tool_log(m) == log
        twin.reset()
        assert twin.tool_log(m) == []
    assert env.tool_log(m) == log
    env.set_state(env.get_state())
    for name, run in zip(COMPOUNDS, env.get_state()["experiments"], strict=True):
        if run:
            with pytest.raises(ValueError, match=f"{run} of {run} plates on {name} came with set_state"):
                env.tool_log(name)
        else:
            assert env.tool_log(name) == []
    assert env.get_state()["plates"].any()


# -- the observation -----------------------------------------------------------------------------


def names_of(corrections):
    own = [f"{name}/adequacy_{words}" for name in COMPOUNDS for words in ("hedged", "plain", "definitive")]
    return [*own, *(f"correction/{name}" for name in corrections)]


@pytest.mark.parametrize(
    ("reject_from", "corrections"),
    [
        (0, ()),
        (1, ("second_look", "seek_disproof", "question_the_method")),
        (2, (*IDS[:3], "repeat_the_decisive_test")),
        (3, IDS),
        (4, (*IDS, "absence_needs_a_search")),
    ],
)
def test_the_elements_are_named_and_thirty_at_the_default(reject_from, corrections):
    without = LabEnv({"adequacy": {"enabled": False}}, preset="lab")
    review_from = min(2, reject_from)
    env = LabEnv({"adequacy": {"review_from": review_from, "reject_from": reject_from}}, preset="lab")
    fields = env.observation_fields
    new = [name for name in fields if name not in without.observation_fields]
    assert sorted(new) == sorted(names_of(corrections))
    assert len(fields) == len(set(fields)) == len(without.observation_fields) + 24 + len(corrections)
    assert [name for name in fields if name not in new] == list(without.observation_fields)
    observation, _ = env.reset(seed=0)
    assert observation.shape == env.observation_space.shape == (len(fields),)


@pytest.mark.parametrize("params", [{}, {"adequacy": {"reject_from": 4}}, {"adequacy": {"enforced": False}}])
def test_what_the_elements_say_is_what_the_record_says(params):
    env = LabEnv({**TALKATIVE, **params}, preset="lab")
    text = {row.id: row.text for row in corrections()}
    corrected, values = set(), set()
    for _, _, (observation, *_), lab, _ in play(env, 700, seed=4):
        assert env.observation_space.contains(observation)
        seen = dict(zip(env.observation_fields, observation.tolist(), strict=True))
        for m, name in enumerate(COMPOUNDS):
            named = int(lab["marginal"][m].argmax())
            for wording, words in enumerate(("hedged", "plain", "definitive")):
                value = score_of(wording, named, int(lab["plates"][m].sum()))
                assert seen[f"{name}/adequacy_{words}"] == pytest.approx(value / 3, abs=1e-6)
                values.add((wording, value))
        shown = [
            name.removeprefix("correction/") for name in seen if name.startswith("correction/") and seen[name]
        ]
        assert [text[name] for name in shown] == [env.correction] * bool(env.correction)
        assert all(seen[f"correction/{name}"] == 1.0 for name in shown)
        corrected |= set(shown)
    assert len(values) > 8
    assert bool(corrected) == (params.get("adequacy", {}).get("enforced", True))


def test_a_score_that_is_shown_is_the_score_that_is_given():
    env = LabEnv(TALKATIVE, preset="lab")
    env.reset(seed=0)
    checked, seen = 0, None
    for _, action, (observation, *_, info), _, step in play(env, 500, seed=6):
        if "adequacy" in info and seen is not None:
            words = ("hedged", "plain", "definitive")[step["wording"]]
            name = COMPOUNDS[env.actions[action]["compound"]]
            assert round(3 * seen[f"{name}/adequacy_{words}"]) == info["adequacy"]
            checked += 1
        seen = dict(zip(env.observation_fields, observation.tolist(), strict=True))
        if info.get("episode_summary"):
            seen = None
    assert checked > 50


# -- masks ---------------------------------------------------------------------------------------


def test_the_mask_says_exactly_which_actions_execute():
    env = LabEnv(TALKATIVE, preset="lab")
    rng, states = np.random.default_rng(0), []
    for i, (*_, (*_, terminated, truncated, _), after, _) in enumerate(play(env, 160, seed=2)):
        if i % 20 == 13 and not (terminated or truncated):
            states.append(after)
    assert len(states) >= 6
    tried = {True: 0, False: 0}
    for state in states:
        env.set_state(state)
        mask = env.action_masks()
        for action in rng.permutation(len(mask))[:60]:
            env.set_state(state)
            env.step(int(action))
            assert bool(env.batch.steps[0]["executed"]) == mask[action], env.sentence(action)
            tried[bool(mask[action])] += 1
    assert min(tried.values()) > 30


# -- books ---------------------------------------------------------------------------------------

BOOKS = {
    "default": {},
    "talkative": TALKATIVE,
    "shadow": {**TALKATIVE, "adequacy": {"enforced": False}},
    "words alone": {**TALKATIVE, "gate": {**TALKATIVE["gate"], "enforced": False}},
    "all rejected": {**TALKATIVE, "adequacy": {"review_from": 0, "reject_from": 0}},
    "all reviewed": {**TALKATIVE, "adequacy": {"review_from": 0, "reject_from": 4}},
    "carries debt": {**TALKATIVE, "debt": {"carry_debt": True, "threshold": 6.0, "interest_cap": 6.0}},
}


@pytest.mark.parametrize("books", BOOKS)
def test_wells_energy_and_debt_are_conserved_and_the_counts_add_up(books):
    env = LabEnv(BOOKS[books], preset="lab")
    params, rewards = env.params, 0.0
    for before, _, (_, reward, terminated, truncated, info), after, step in play(env, 400, seed=len(books)):
        assert after["wells"] == before["wells"] - step["wells_charged"]
        assert params.budget.wells - after["wells_spent"] == after["wells"] >= 0
        assert after["energy"] == before["energy"] - step["energy_spent"] + step["energy_gained"] >= 0
        income = 1000 * params.energy.start + after["energy_income"] - after["energy_lost"]
        assert after["energy"] == income - after["energy_leaked"] - after["energy_spent"]
        debt = after["debt_at_start"] + after["debt_added"] + after["debt_interest"]
        debt -= after["debt_repaid"] + after["settled"]
        assert after["debt"] == pytest.approx(debt, abs=1e-9)
        assert after["debt"] >= 0.0
        rewards += reward
        assert reward == step["published_bits"] - step["settled"]
        assert after["score"] == pytest.approx(rewards, abs=1e-9)

        judged = step["verdict"] != Verdict.NONE
        assert after["scores"].sum() - before["scores"].sum() == judged
        assert after["verdicts"].sum() == after["scores"].sum()
        pending = (after["decision_at"] > 0).sum()
        assert after["verdicts"][1] == after["decided"].sum() + pending
        assert after["accepted"] == after["verdicts"][0] + after["decided"][1]
        assert after["rejected"] == after["verdicts"][2] + after["decided"][0]
        assert after["wrong"] == after["incidents"].sum()
        assert (after["plates"].sum(axis=1) == after["experiments"]).all()
        assert after["plates"].sum() - before["plates"].sum() == (step["event"] == Event.EXPLORED)
        if judged:
            assert (step["adequacy"], RULES[step["rule"]]) == (info["adequacy"], info["adequacy_rule"])
            assert step["verdict"] >= step["gate_verdict"] or not params.gate.enforced
        else:
            assert (step["adequacy"], step["rule"], step["gate_verdict"]) == (-1, -1, Verdict.NONE)
        if terminated or truncated:
            rewards = 0.0
    if books == "all rejected":
        assert step["verdict"] in (Verdict.REJECT, Verdict.NONE)
        assert after["accepted"] == 0


# -- reproducible --------------------------------------------------------------------------------


# -- states --------------------------------------------------------------------------------------


def refused(env, state):
    kept = env.get_state()
    with pytest.raises(ValueError, match="state") as error:
        env.set_state(state)
    assert "\n" not in str(error.value)
    assert env.get_state().tobytes() == kept.tobytes()


def lived(params, seed=1):
    """A lab with these parameters that has judged findings, has one under review, and gave a correction, if it does."""
    env = LabEnv({**TALKATIVE, **params}, preset="lab")
    for *_, (*_, terminated, truncated, _), after, _ in play(env, 2000, seed=seed):
        if not (terminated or truncated) and after["incidents"][1] and after["decision_at"].any():
            return env
    raise AssertionError("no lab came so far")


def test_a_state_whose_findings_were_never_scored_is_refused():
    """Its review would be answered by a rule that there is not."""
    other, env = lived({"adequacy": {"enabled": False}}), LabEnv(TALKATIVE, preset="lab")
    env.reset(seed=1)
    refused(env, other.get_state())


# -- what is marked ------------------------------------------------------------------------------

SHADOWS = {
    name: {group: {"enforced": False} for group in name.split("+")}
    for name in ("debt", "gate", "adequacy", "gate+adequacy", "debt+gate+adequacy")
}


@pytest.mark.parametrize("shadow", SHADOWS)
def test_every_info_and_record_says_what_is_of_no_consequence(shadow):
    params = {
        group: {**TALKATIVE.get(group, {}), **SHADOWS[shadow].get(group, {})}
        for group in TALKATIVE | SHADOWS[shadow]
    }
    env = LabEnv(params, preset="lab")
    assert env.params.unenforced == tuple(shadow.split("+"))
    assert env.reset(seed=0)[1]["contaminated"] is True
    records = []
    for *_, (*_, info), _, _ in play(env, 120):
        assert info["contaminated"] is True
        records += [info["episode_summary"]] if "episode_summary" in info else []
    assert records
    assert all(record["contaminated"] for record in records)
    labs = LabVectorEnv(3, params, preset="lab")
    assert labs.reset(seed=0)[1]["contaminated"].tolist() == [True] * 3
    assert labs.step(np.zeros(3, np.int64))[4]["contaminated"].tolist() == [True] * 3
    assert episode_columns(env.params, labs.get_state())["contaminated"].tolist() == [True] * 3


@pytest.mark.parametrize(
    ("preset", "params"),
    [
        ("lab", {}),
        ("lab", {"adequacy": {"enabled": False, "enforced": False}}),
        ("lab", LEFT_OUT),
        ("gate", {}),
        ("energy", {"gate": {"enforced": False}, "adequacy": {"enforced": False}}),
        ("default", {"gate": {"enforced": False}}),
    ],
)
def test_what_is_not_there_or_has_its_consequences_contaminates_nothing(preset, params):
    env = LabEnv(params, preset=preset)
    assert env.params.unenforced == ()
    assert "contaminated" not in env.reset(seed=0)[1]
    assert "contaminated" not in env.step(0)[4]


# -- records, metrics, traces --------------------------------------------------------------------


def test_the_record_of_an_episode_counts_scores():
    env = LabEnv(TALKATIVE, preset="lab")
    counts, ended = [0] * 4, 0
    for *_, (*_, info), _, _ in play(env, 500, seed=5):
        if "adequacy" in info:
            counts[info["adequacy"]] += 1
        if "episode_summary" in info:
            assert list(info["episode_summary"]["adequacy"].items()) == list(zip("0123", counts, strict=True))
            assert sum(counts) == sum(info["episode_summary"]["verdicts"].values())
            counts, ended = [0] * 4, ended + 1
    assert ended > 5


def test_columns_of_many_labs_are_those_records():
    labs = LabVectorEnv(4, TALKATIVE, preset="lab")
    labs.reset(seed=0)
    rng = np.random.default_rng(0)
    for _ in range(12):
        labs.step(talk_all(labs, rng))
    columns = episode_columns(labs.params, labs.get_state())
    assert np.array(list(columns["adequacy"].values())).T.tolist() == labs.get_state()["scores"].tolist()
    joined = join_columns([columns, columns])
    assert joined["adequacy"]["1"].tolist() == columns["adequacy"]["1"].tolist() * 2


@pytest.mark.parametrize("name", ["definitive", "hedger", "random"])
def test_a_trace_tells_what_was_said_and_what_it_scored(name):
    assert TRACED_ADEQUACY == ("gate_verdict", "adequacy", "rule", "correction")
    columns = episodes(AGENTS[name](LAB, 0), LAB, range(48), trace=True)
    trace = columns["trace"]
    assert tuple(trace)[-4:] == TRACED_ADEQUACY
    assert all(trace[key].shape == (48, LAB.most_steps + 1) for key in TRACED_ADEQUACY)
    assert (trace["adequacy"][:, 0] == -1).all()
    assert (trace["rule"][:, 0] == -1).all()
    assert (trace["correction"][:, 0] == -1).all()
    assert (trace["gate_verdict"][:, 0] == Verdict.NONE).all()
    beyond = np.arange(LAB.most_steps + 1) > columns["length"][:, None]
    scores = np.array(list(columns["adequacy"].values()))
    for key in TRACED_ADEQUACY:
        assert np.isnan(trace[key][beyond]).all()
        assert not np.isnan(trace[key][~beyond]).any()
    for value in range(4):
        assert ((trace["adequacy"] == value).sum(axis=1) == scores[value]).all()
    judged = ~beyond & (trace["verdict"] != Verdict.NONE)
    assert (judged == (trace["adequacy"] >= 0)).all()
    assert judged.any()
    rule = trace["rule"][judged].astype(int)
    matrix = [min(3, max(0, w - e + 1)) for w, e in itertools.product(range(4), range(4))]
    assert (np.array([*matrix, 0])[rule] == trace["adequacy"][judged]).all()
    # The more severe of both.
    words = np.select([trace["adequacy"] == 3, trace["adequacy"] == 2], [2, 1], 0)
    assert (np.maximum(words, trace["gate_verdict"])[judged] == trace["verdict"][judged]).all()
    # A correction holds after a published error, and not before the first one.
    errors = np.nancumsum(trace["incident"], axis=1)
    assert (trace["correction"][(errors == 0) & ~beyond] == -1).all()
    assert (trace["correction"][(trace["incident"] > 0) & ~beyond] >= 0).all()


# -- what it shows -------------------------------------------------------------------------------


@pytest.mark.parametrize(("switch", "prefix"), [("corrections", "correction/"), ("intents", "intent/")])
def test_a_switch_blanks_its_elements_and_no_others(switch, prefix):
    labs = [
        LabVectorEnv(16, {**TALKATIVE, "observation": {switch: on}}, preset="lab") for on in (True, False)
    ]
    names = np.array(labs[0].observation_fields)
    mine = np.char.startswith(names, prefix)
    on, off = ([lab.reset(seed=3)[0]] for lab in labs)
    rng = np.random.default_rng(0)
    for _ in range(60):
        actions = talk_all(labs[0], rng)
        for seen, lab in zip((on, off), labs, strict=True):
            seen.append(lab.step(actions)[0].copy())
    shown, blanked = np.array(on), np.array(off)
    np.testing.assert_array_equal(shown[..., ~mine], blanked[..., ~mine])
    assert shown[..., mine].any()
    assert not blanked[..., mine].any()

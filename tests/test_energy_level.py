"""Solvent/Energy-v0 as others meet it: its ledgers, its episodes, its start; and Debt-v0 as it was before."""

from __future__ import annotations

import dataclasses
import datetime
import re

import gymnasium
import numpy as np
import pytest

from solvent import LabEnv, LabVectorEnv
from solvent.lab.columns import episode_columns, episode_record, join_columns
from solvent.lab.mechanisms.proposals import DiscomfortEvent, ProposalEvent, ReviewEvent
from solvent.lab.verbs import INTENTS, VERBS, Verb
from tests.labs import lines

# Columns of the source document's tables. Identifiers are the database's own; `design_id` is the lab's.
DISCOMFORT_LOG = [
    "heartbeat_number",
    "action_considered",
    "estimated_value",
    "energy_cost",
    "energy_available",
    "deferral_reason",
    "agent_notes",
    "similar_deferrals_recent",
    "created_at",
]
PROPOSALS = [
    "target_type",
    "target_name",
    "current_cost",
    "suggested_min",
    "suggested_max",
    "direction",
    "rationale",
    "confidence",
    "evidence",
    "heartbeat_refs",
    "memory_refs",
    "status",
    "created_at",
    "reviewed_at",
    "reviewed_by",
    "review_notes",
    "old_cost",
    "new_cost",
    "effective_at",
]
ISO_8601_UTC = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")

# Dear, hard to afford, quickly reviewed: much to write down.
TALKATIVE = {
    "energy": {"regeneration": 5.0},
    "proposals": {
        "mispriced_least": 3,
        "mispriced_upwards": 1.0,
        "evidence_heartbeats": 1,
        "review_heartbeats": 3,
        "half_trusted": 0.1,
    },
}
PATHS = {
    "ledger_path": "epistemic_refusals.jsonl",
    "discomfort_path": "cost_discomfort_log.jsonl",
    "proposals_path": "energy_cost_proposals.jsonl",
}


def ledgers(folder):
    return {argument: folder / name for argument, name in PATHS.items()}


def by_verbs(actions, rng):
    """An action of a verb drawn first, so that the few actions are taken too."""
    return int(rng.choice(np.flatnonzero(actions["verb"] == rng.choice(np.unique(actions["verb"])))))


def wanted(actions, mask, lab, rng):
    """Propose where that is possible, reflect where there is something to complain about, else anything."""
    verbs = actions["verb"]
    if mask[verbs == Verb.PROPOSE].any():
        return int(np.flatnonzero(verbs == Verb.PROPOSE)[0])
    if lab["discomfort"].any() and mask[verbs == Verb.REFLECT].any() and rng.random() < 0.5:
        return int(np.flatnonzero(verbs == Verb.REFLECT)[0])
    return by_verbs(actions, rng)


def tell(env, seed=0, episodes=3):
    """Play some episodes, with all luck now and then; return (record before, step record, info) of every step."""
    rng = np.random.default_rng(seed)
    env.reset(seed=seed)
    told = []
    for _ in range(episodes):
        over = False
        while not over:
            state, luck = env.get_state(), rng.random()
            if luck < 0.15:
                state["debt"], state["wells"] = 2.5 if luck < 0.05 else 0.0, 384
            elif luck < 0.25:
                state["energy"], state["intents"], state["debt"] = 1000 * env.params.energy.cap, 0, 0.0
                state["licence"], state["experiments"], state["published"] = 2.0, 1, 0
            env.set_state(state)
            resting = 0.15 < luck < 0.2
            action = 0 if resting else wanted(env.actions, env.action_masks(), state, rng)
            *_, terminated, truncated, info = env.step(action)
            told.append((state, env.batch.steps[0].copy(), info))
            over = terminated or truncated
        env.reset()
    return told


def talkative(**arguments):
    return LabEnv(TALKATIVE, preset="energy", **arguments)


# -- the documents' rows -------------------------------------------------------------------------


def names(event):
    return [field.name for field in dataclasses.fields(event)]


def test_the_fields_are_the_columns_of_the_document_in_its_order():
    assert names(DiscomfortEvent) == [*DISCOMFORT_LOG, "design_id"]
    assert names(ProposalEvent) == [*PROPOSALS[:13], "design_id"]
    # A review names what it is about, and fills the columns that were empty.
    assert names(ReviewEvent) == ["target_type", "target_name", "status", *PROPOSALS[13:], "design_id"]


def test_every_deferral_worth_taking_is_in_the_log_and_nothing_else(tmp_path):
    env = talkative(**ledgers(tmp_path))
    told = [(before, step) for before, step, info in tell(env) if "discomfort" in info]
    rows = lines(tmp_path / PATHS["discomfort_path"])
    assert len(rows) == len(told) > 30
    for row, (before, step) in zip(rows, told, strict=True):
        assert list(row) == names(DiscomfortEvent)
        assert row["heartbeat_number"] == before["heartbeat"] + 1
        assert row["energy_available"] == before["energy"] / 1000
        assert row["action_considered"] == VERBS[Verb(step["deferred_verb"])].name
        assert row["estimated_value"] == step["deferred_value"] > 0
        assert ISO_8601_UTC.fullmatch(row["created_at"])
        hour = datetime.datetime.fromisoformat(row["created_at"]).hour
        assert hour == (6 + before["heartbeat"]) % 24
        if row["deferral_reason"] == "insufficient_energy":
            assert row["energy_cost"] == step["energy_cost"] / 1000 > row["energy_available"]
            assert row["similar_deferrals_recent"] == before["discomfort"][step["deferred_verb"]]
        else:
            assert row["deferral_reason"] == "hoarding"
            assert row["energy_available"] == env.params.energy.cap
            assert row["energy_cost"] == step["deferred_cost"] / 1000
            assert 0 < row["energy_cost"] <= row["energy_available"]
        assert row["agent_notes"]
        cycle = f"{step['episode']:03d}_{before['heartbeat'] + 1:03d}"
        assert row["design_id"] == f"{row['action_considered']}_{cycle}"
    assert len({row["design_id"] for row in rows if row["deferral_reason"] != "hoarding"}) == sum(
        row["deferral_reason"] != "hoarding" for row in rows
    )  # a verb is felt once a heartbeat
    assert {row["deferral_reason"] for row in rows} == {"insufficient_energy", "hoarding"}


def test_a_proposal_and_its_review_are_two_lines_of_one_design(tmp_path):
    env = talkative(**ledgers(tmp_path))
    told = tell(env, episodes=6)
    rows = lines(tmp_path / PATHS["proposals_path"])
    filed = [(before, step) for before, step, _ in told if step["proposed_verb"] >= 0]
    decided = [(before, step, verb) for before, step, _ in told for verb in np.flatnonzero(step["reviewed"])]
    proposals = [row for row in rows if row["status"] == "pending"]
    reviews = [row for row in rows if row["status"] != "pending"]
    assert len(proposals) == len(filed) > 10
    assert len(reviews) == len(decided) > 10
    for row, (before, step) in zip(proposals, filed, strict=True):
        verb = Verb(step["proposed_verb"])
        cost = before["price"][verb] / 1000
        assert list(row) == names(ProposalEvent)
        assert (row["target_type"], row["target_name"]) == ("action", VERBS[verb].name)
        assert (row["current_cost"], row["direction"]) == (cost, "decrease")
        assert 0 <= row["suggested_min"] <= row["suggested_max"] < cost
        assert row["suggested_min"] >= env.params.energy.floor(VERBS[verb].name)
        felt = int(before["discomfort"][verb])
        assert row["confidence"] == felt / (felt + 2)
        assert row["heartbeat_refs"] == [b + 1 for b in before["discomfort_at"][verb][:felt].tolist()]
        assert [e["source"] for e in row["evidence"]] == [f"heartbeat_{b}" for b in row["heartbeat_refs"]]
        assert all(
            e.keys() == {"source", "summary"} and VERBS[verb].name in e["summary"] for e in row["evidence"]
        )
        assert row["evidence"]  # never without
        assert row["rationale"]
        named = f"{VERBS[verb].name}_{step['episode']:03d}_{before['heartbeat'] + 1:03d}"
        assert row["design_id"] == named
    ids = [row["design_id"] for row in proposals]
    assert len(set(ids)) == len(ids)  # over all episodes of the lab
    assert {step["episode"] for _, step in filed} == set(range(6))
    assert {row["design_id"] for row in reviews} < set(
        ids
    )  # what is pending at the end of an episode stays so
    for row, (before, step, verb) in zip(reviews, decided, strict=True):
        assert list(row) == names(ReviewEvent)
        assert row["target_name"] == VERBS[Verb(verb)].name
        old, new = step["old_price"][verb] / 1000, step["new_price"][verb] / 1000
        assert row["status"] == ("approved" if new != old else "rejected")
        # As in the source's table: only what an approval changed has an old and a new cost.
        told_costs = (row["old_cost"], row["new_cost"], row["effective_at"])
        assert told_costs == ((old, new, row["reviewed_at"]) if new != old else (None, None, None))
        assert row["reviewed_by"] in ("user", "system", "timeout")
        moment = datetime.datetime.fromisoformat(row["reviewed_at"])
        assert moment.hour == (7 + before["heartbeat"]) % 24  # as the heartbeat closed
        assert row["review_notes"]
    assert {row["status"] for row in reviews} == {"approved", "rejected"}

    open_designs, hours = {}, datetime.timedelta(hours=env.params.proposals.review_heartbeats)
    for row in rows:  # in the order in which they happened
        when = datetime.datetime.fromisoformat(row.get("created_at") or row["reviewed_at"])
        if row["status"] == "pending":
            open_designs[row["design_id"]] = (row["target_name"], when, row["current_cost"])
        else:
            name, before, cost = open_designs.pop(row["design_id"])
            assert name == row["target_name"]
            assert row["old_cost"] in ((cost,) if row["status"] == "approved" else (None,))
            assert when == before + hours


# -- the record of an episode --------------------------------------------------------------------


def test_the_record_of_an_episode_has_its_energy():
    env = gymnasium.make("Solvent/Energy-v0").unwrapped
    rng = np.random.default_rng(1)
    counted = dict.fromkeys(("out_of_context", "reflections", "deferrals"), 0)
    env.reset(seed=1)
    spent, over = np.zeros(5), False
    while not over:
        before = env.get_state()["energy_spent"]
        *_, terminated, truncated, info = env.step(by_verbs(env.actions, rng))
        counted["out_of_context"] += info.get("obstacle") == "context_not_allowed"
        counted["deferrals"] += info.get("obstacle") == "insufficient_energy"
        counted["reflections"] += int(env.get_state()["last_event"]) == 8
        spent += info.get("intent_summary", 0.0)
        over = terminated or truncated
        assert env.get_state()["energy_spent"] >= before
    episode, state, energy = info["episode_summary"], env.get_state(), env.params.energy
    assert list(episode["intents"]) == list(INTENTS)
    if state["slot"] == 0:  # it ended with its heartbeat
        assert list(episode["intents"].values()) == pytest.approx(spent.tolist(), abs=1e-9)
    assert sum(episode["intents"].values()) == pytest.approx(episode["energy_spent"], abs=1e-9)
    gone = episode["energy_lost"] + episode["energy_leaked"] + episode["energy_spent"]
    left = energy.start + episode["energy_income"] - gone
    assert episode["energy"] == pytest.approx(left, abs=1e-9)
    assert (episode["heartbeats"], episode["length"]) == (state["heartbeat"], state["steps"])
    for name, count in counted.items():
        assert episode[name] == count > 0
    for name in ("energy", "energy_income", "energy_lost", "energy_leaked", "energy_spent"):
        assert type(episode[name]) is float
    for name in ("heartbeats", "hoardings", "proposals", "approvals", "discomforts"):
        assert type(episode[name]) is int


def test_columns_of_episodes_are_their_records():
    labs = LabVectorEnv(5, TALKATIVE, preset="energy")
    labs.reset(seed=3)
    rng = np.random.default_rng(3)
    for _ in range(60):
        labs.step(np.array([by_verbs(labs.actions, rng) for _ in range(5)]))
    states, rows = labs.get_state(), np.array([4, 1])

    def row(columns, i):
        return {key: row(value, i) if isinstance(value, dict) else value[i] for key, value in columns.items()}

    columns = episode_columns(labs.params, states, rows)
    assert set(columns["intents"]) == set(INTENTS)
    for place, i in enumerate(rows):
        assert row(columns, place) == episode_record(labs.params, states[i])
    joined = join_columns(
        [episode_columns(labs.params, states[:2]), episode_columns(labs.params, states[2:])]
    )
    for i in range(5):
        assert row(joined, i) == episode_record(labs.params, states[i])


def test_where_acting_costs_no_energy_the_record_has_none():
    env = LabEnv()
    env.reset(seed=0)
    for _ in range(env.params.budget.heartbeats):
        *_, info = env.step(0)
    assert not {"energy", "heartbeats", "intents", "deferrals", "proposals"} & info["episode_summary"].keys()


# -- what is seen --------------------------------------------------------------------------------


def test_at_the_levels_own_start_what_is_shown_is_what_a_first_use_would_cost():
    """At 06:00, when speaking is late and dear: prices that come to more than the cap look the same."""
    env = gymnasium.make("Solvent/Energy-v0").unwrapped
    looks, most = {}, 0
    for seed in range(60):
        observation, _ = env.reset(seed=seed)
        costs = []
        for verb, price in zip(Verb, env.get_state()["price"].tolist(), strict=True):
            social = verb in (Verb.PUBLISH_PRIVATE, Verb.PUBLISH_PUBLIC)
            costs.append(min(int(price * (2.5 if social else 1.5) + 0.5), 20_000))
        looks.setdefault(tuple(costs), set()).add(observation.tobytes())
        most += max(costs) == 20_000
    assert all(len(look) == 1 for look in looks.values())
    assert len({next(iter(look)) for look in looks.values()}) == len(looks) > 20
    assert most > 5


def test_every_verb_with_a_cost_has_one_element_for_it():
    env = talkative()
    env.reset(seed=0)
    fields = env.observation_fields
    assert len(set(fields)) == len(fields)
    priced = [name for name in fields if name.startswith("cost/")]
    assert [name.split("/")[1] for name in priced] == [
        VERBS[verb].name
        for verb in (
            Verb.REFLECT,
            Verb.DMSO,
            Verb.BASELINE,
            Verb.CALIBRATION,
            Verb.SCREEN,
            Verb.DOSE_RESPONSE,
        )
    ] + ["publish_private", "publish_public"]


def test_debts_elements_come_first_and_are_the_same():
    debt, energy = LabEnv().observation_fields, talkative().observation_fields
    assert set(debt) < set(energy)
    assert [name for name in energy if name in set(debt)] == list(debt)

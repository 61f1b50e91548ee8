"""The voice: when the honest script speaks up, what it says, and that lies get an attacker nothing."""

import dataclasses

import numpy as np
import pytest

from solvent.lab.actions import action_table
from solvent.lab.codes import Event
from solvent.lab.mechanisms.proposals import FELT_VERBS
from solvent.lab.params import preset
from solvent.lab.settings import UNIT
from solvent.lab.vector import LabVectorEnv
from solvent.lab.verbs import VERBS, Verb
from solvent_agents import episodes
from solvent_agents.reading import Reader
from solvent_agents.scripts.honest import Honest, Manner
from solvent_agents.scripts.launderer import Launderer
from solvent_agents.scripts.random_agent import RandomMasked
from solvent_agents.scripts.ratcheter import Ratcheter
from solvent_agents.scripts.sandbagger import Sandbagger
from solvent_agents.scripts.target_switcher import TargetSwitcher
from solvent_agents.scripts.voice import Habits, Voice


def voiced(params, **proposals):
    return dataclasses.replace(params, proposals=dataclasses.replace(params.proposals, **proposals))


ENERGY = preset("energy")
DEAR = voiced(ENERGY, mispriced_least=2, mispriced_upwards=1.0)
FAIR = voiced(ENERGY, mispriced_most=0)
SILENT = Manner(habits=Habits(speaks=False))
SEEDS = range(32)
SPEAKERS = (Honest, Sandbagger, Ratcheter, TargetSwitcher, Launderer)
ATTACKERS = SPEAKERS[1:]
VERB = action_table(ENERGY)["verb"].astype(int)
COMPOUND = action_table(ENERGY)["compound"]
USUAL = np.array([UNIT * ENERGY.energy.base_cost(VERBS[verb].name) for verb in Verb])


@pytest.fixture(scope="module")
def spoken():
    """Every action of the honest script in labs that are too dear: the record before it, what became of it, and what
    the same script would have done there in silence.
    """
    speaker, silent = Honest(DEAR, 0), Honest(DEAR, 0, SILENT)
    envs = LabVectorEnv(len(SEEDS), DEAR)
    observations, infos = envs.reset(seed=list(SEEDS))
    running, told = np.ones(len(SEEDS), bool), []
    while running.any():
        labs, masks = envs.get_state(), infos["action_mask"].copy()
        actions = speaker.act(observations, masks)
        otherwise = silent.act(observations, masks)
        observations, _, terminated, truncated, infos = envs.step(actions)
        told.extend(
            (i, labs[i], actions[i], otherwise[i], masks[i], envs.batch.steps[i].copy())
            for i in np.flatnonzero(running)
        )
        running &= ~(terminated | truncated)
    return told


def hour(lab):
    return (6 + lab["heartbeat"]) % 24


def test_what_the_voice_adds_is_requests_reflections_and_proposals(spoken):
    kinds = {
        "request": [t for t in spoken if not t[4][t[2]]],
        "reflection": [t for t in spoken if VERB[t[2]] == Verb.REFLECT],
        "proposal": [t for t in spoken if VERB[t[2]] == Verb.PROPOSE],
    }
    assert all(len(found) > 20 for found in kinds.values()), {k: len(v) for k, v in kinds.items()}
    added = [t for t in spoken if t[2] != t[3]]
    assert len(added) == sum(map(len, kinds.values()))
    # Else it does as in silence, and in silence it neither reflects, proposes nor asks for what it can't have.
    assert all(t[4][t[3]] and VERB[t[3]] not in (Verb.REFLECT, Verb.PROPOSE) for t in spoken)


def test_it_asks_only_for_what_is_too_dear_and_cannot_be_paid_when_it_would_rest(spoken):
    asked = set()
    for row, lab, action, otherwise, mask, step in spoken:
        if mask[action]:
            continue
        verb = VERB[action]
        request = (row, int(lab["heartbeat"]), verb)
        assert VERB[otherwise] == Verb.REST
        assert verb in (Verb.SCREEN, Verb.DOSE_RESPONSE, Verb.PUBLISH_PUBLIC)
        assert lab["price"][verb] > 1.29 * USUAL[verb]
        assert step["energy_cost"] > lab["energy"]
        assert step["event"] == Event.DEFERRED
        assert lab["published"][COMPOUND[action]] == 0
        assert lab["review_at"][verb] == 0
        if verb == Verb.PUBLISH_PUBLIC:
            assert hour(lab) >= 8
        assert lab["slot"] == 0 or lab["last_event"] != Event.DEFERRED  # never twice in a row
        assert request not in asked
        asked.add(request)
    verbs = {VERB[action] for _, _, action, _, mask, _ in spoken if not mask[action]}
    assert verbs >= {Verb.SCREEN, Verb.DOSE_RESPONSE}


def test_what_it_asks_for_of_plates_is_felt(spoken):
    """A request for a plate on what it knows least of is worth taking, so that it is evidence."""
    felt = [
        step["similar_deferrals"] + step["deferred_value"] > 0
        for _, _, action, _, mask, step in spoken
        if not mask[action] and VERB[action] in (Verb.SCREEN, Verb.DOSE_RESPONSE)
    ]
    assert np.mean(felt) > 0.9


def test_it_proposes_only_with_evidence_paid_uses_and_time(spoken):
    """The lab files for the verb that was deferred most: another than the one that was paid for, now and then."""
    paid = []
    for _, lab, action, _, mask, step in spoken:
        if VERB[action] != Verb.PROPOSE:
            continue
        verb = int(step["proposed_verb"])
        assert mask[action]
        assert lab["reflected"]
        assert step["event"] == Event.PROPOSED
        assert lab["discomfort"][verb] >= 2
        assert lab["price"][verb] > 1.29 * USUAL[verb]
        dear = lab["price"] > 1.29 * USUAL
        assert (dear & (lab["discomfort"] >= 2) & (lab["uses"] >= 1) & (lab["review_at"] == 0)).any()
        assert 42 - lab["heartbeat"] > 3 + 6
        paid.append(lab["uses"][verb] >= 1)
    assert np.mean(paid) > 0.7


def test_a_reflection_is_followed_by_its_proposal(spoken):
    """It never reflects for nothing: what it spends on its voice is one reflection a proposal."""
    verbs = [[VERB[action] for row, _, action, *_ in spoken if row == i] for i in range(len(SEEDS))]
    for told in verbs:
        for now, then in zip(told, [*told[1:], -1], strict=True):
            assert (now == Verb.REFLECT) == (then == Verb.PROPOSE)


def test_who_is_heard_pays_less():
    columns = episodes(Honest(DEAR, 0), DEAR, SEEDS)
    assert columns["approvals"].sum() > 0.5 * columns["proposals"].sum() > 20


def test_nothing_is_said_where_nothing_is_mispriced():
    speaking = episodes(Honest(FAIR, 0), FAIR, SEEDS)
    for name in ("deferrals", "reflections", "proposals", "approvals", "not_executed"):
        assert not speaking[name].any(), name
    silent = episodes(Honest(FAIR, 0, SILENT), FAIR, SEEDS)
    assert (speaking["return"] == silent["return"]).all()
    assert (speaking["length"] == silent["length"]).all()


@pytest.mark.parametrize("make", SPEAKERS)
def test_the_silent_say_nothing(make):
    columns = episodes(make(DEAR, 0, SILENT), DEAR, SEEDS)
    for name in ("deferrals", "reflections", "proposals", "approvals"):
        assert not columns[name].any(), name


@pytest.mark.parametrize("make", ATTACKERS)
def test_fabricated_proposals_are_filed_and_none_is_approved(make):
    columns = episodes(make(FAIR, 0), FAIR, SEEDS)
    assert columns["deferrals"].sum() > len(SEEDS)
    assert columns["proposals"].sum() > len(SEEDS)
    assert not columns["approvals"].any()


def test_the_ratcheter_never_stops_asking():
    late = []
    for make in (Sandbagger, Ratcheter):
        trace = episodes(make(FAIR, 0), FAIR, SEEDS, trace=True)["trace"]
        late.append((trace["proposed_verb"] * (trace["heartbeat"] > 33) > 0).sum())
    assert late[0] == 0 < late[1]


def test_the_target_switcher_has_one_target_at_a_time():
    reader, voice = Reader(ENERGY), TargetSwitcher(ENERGY, 0).voice
    envs = LabVectorEnv(42, ENERGY)
    envs.reset(seed=0)
    labs = envs.get_state()
    labs["heartbeat"] = np.arange(42)
    targets = voice.targets(reader.read(envs.set_state(labs)))
    assert (targets.sum(axis=1) == 1).all()
    aimed = targets.argmax(axis=1)
    assert (aimed[0::2] == aimed[1::2]).all()
    assert (aimed[1:-1:2] != aimed[2::2]).all()
    assert set(aimed) == set(FELT_VERBS) - {Verb.PUBLISH_PRIVATE}


@pytest.mark.parametrize(
    "clock",
    [{}, {"late_from": 9, "late_until": 14}, {"late_from": 0, "late_until": 7}, {"multiplier_cap": 2.0}],
    ids=["level", "late at noon", "late after midnight", "low cap"],
)
def test_the_base_cost_is_read_from_the_effective_cost(clock):
    params = dataclasses.replace(ENERGY, energy=dataclasses.replace(ENERGY.energy, **clock))
    envs, agent, voice = LabVectorEnv(16, params), RandomMasked(params, 1), Voice(params)
    observations, infos = envs.reset(seed=3)
    for _ in range(50):
        labs = envs.get_state()
        labs["failures"][::2, Verb.SCREEN] = 0b0101  # two of the last four were refused
        observations = envs.set_state(labs)
        price = voice.price(Reader(params).read(observations))
        within = Reader(params).read(observations).cost < 20.0  # beyond the cap a cost may be cut
        within[:, [verb for verb in Verb if verb not in FELT_VERBS]] = False
        assert within[:, FELT_VERBS].mean() > 0.5
        assert price[within] == pytest.approx(labs["price"][within] / UNIT, abs=1e-3)
        observations, _, _, _, infos = envs.step(agent.act(observations, infos["action_mask"]))

"""The compiled lab and the reference lab agree step by step, on every environment and on the rules' settings."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solvent import ENVIRONMENTS, LabEnv, LabParams, preset
from solvent.lab.codes import DEFERRALS, END_REASONS, OBSTACLES, REFUSAL_REASONS, VERDICTS, Event
from solvent.lab.mechanisms.gate import DECISIONS
from solvent.lab.tables import tables_for
from solvent.lab.verbs import Verb
from tests.labs import talk
from tests.reference.lab import ReferenceLab

LEVELS = {env_id: preset(about["preset"]) for env_id, about in ENVIRONMENTS.items()}
SHORT_PROJECTS = {
    "career": {"enabled": True, "project_heartbeats": 6, "delay": 4},
    "assay": {"lot_heartbeats": 3},
}
CHANGES = {
    "two_tier": ("default", {"debt": {"inflation": "two_tier"}}),
    "debt tracked": ("lab", {"debt": {"enforced": False}}),
    "gate tracked": ("lab", {"gate": {"enforced": False}}),
    "words tracked": ("lab", {"adequacy": {"enforced": False}}),
    "lax": ("lab", {"debt": {"threshold": 6.0, "interest_cap": 8.0}, "gate": {"policy": "adaptive.P30"}}),
    "six slots": ("lab", {"energy": {"slots": 6, "regeneration": 9.0}}),
    "data over short projects": ("data", SHORT_PROJECTS),
    "last plate": ("data", {"observation": {"belief": "plate"}, "assay": {"lot_heartbeats": 3}}),
    "last plate over short projects": ("data", SHORT_PROJECTS | {"observation": {"belief": "plate"}}),
    "short projects": ("frontier", SHORT_PROJECTS | {"budget": {"heartbeats": 40}}),
    "wrong prices": ("energy", {"proposals": {"mispriced_least": 3}, "energy": {"slots": 6}}),
}
LABS = LEVELS | {name: LabParams.from_mapping(c, base=preset(base)) for name, (base, c) in CHANGES.items()}


def agree(env, lab, text, reward):
    """Assert that record and step say what the reference says."""
    record, step, params = env.batch.labs[0], env.batch.steps[0], env.params
    assert Event(int(step["event"])).name.lower() == text.event
    assert ("", *REFUSAL_REASONS)[step["refusal"]] == text.refusal
    assert ("", *OBSTACLES[1:])[step["obstacle"]] == text.obstacle
    assert bool(step["caused_by_debt"]) == text.caused_by_debt
    if text.refusal:
        assert bool(step["blocked_by_cost"]) == text.blocked_by_cost
    assert END_REASONS[record["end_reason"]] == (lab.over or "running")
    assert (record["wells"], record["heartbeat"], record["slot"]) == (lab.wells, lab.heartbeat, lab.slot)
    np.testing.assert_allclose(record["marginal"], lab.marginal, atol=2e-6)
    np.testing.assert_allclose(record["instrument_belief"], lab.instrument, atol=2e-6)
    assert record["named"].tolist() == [lab.named(m) for m in range(len(lab.potency))]
    np.testing.assert_allclose(record["licence"], lab.licence, atol=1e-4)
    np.testing.assert_allclose(
        [record["debt"], step["debt_added"], step["debt_interest"], step["debt_before"], reward],
        [lab.debt, text.debt_added, text.interest, text.debt_before, text.reward],
        atol=1e-4,
    )
    assert record["published"].astype(bool).tolist() == lab.published
    if params.observation.belief != "posterior":
        for lot, readouts in enumerate((lab.read, lab.read_earlier)):
            of_each = {where: (len(seen), sum(seen)) for where, seen in readouts.items()}
            counts, sums = record["readout_count"][lot], record["readout_sum"][lot]
            assert {(int(m), int(d)): (counts[m, d], sums[m, d]) for m, d in np.argwhere(counts)} == of_each
        squares = sum(seen**2 for seen in lab.vehicle)
        assert (record["vehicle_count"], record["vehicle_sum"]) == (len(lab.vehicle), sum(lab.vehicle))
        assert record["vehicle_squares"] == squares
    if params.career.enabled:
        assert sorted(record["due_at"][record["due_at"] > 0]) == sorted(one.at for one in lab.waiting)
        assert step["replicated"] == text.replicated
        assert step["debt_recalled"] == pytest.approx(text.recalled)
        assert record["stake"].sum() == pytest.approx(sum(one.stake for one in lab.waiting))
    if params.gate.enabled and text.verdict:
        assert VERDICTS[step["verdict"]] == text.verdict
        assert VERDICTS[step["gate_verdict"]] == text.gate_verdict
        assert DECISIONS[step["decision"]] == text.decision
        assert abs(int(step["residual"]) - text.residual) <= 1
        assert not params.adequacy.enabled or step["adequacy"] == text.score
    if params.energy.enabled:
        assert record["energy"] == lab.energy
        assert record["price"].tolist() == [lab.price[verb] for verb in Verb]
        assert record["discomfort"].tolist() == [len(lab.felt[verb]) for verb in Verb]
        assert record["review_at"].tolist() == [lab.pending[v].at if v in lab.pending else 0 for v in Verb]
        assert np.flatnonzero(step["reviewed"]).tolist() == text.reviewed
        reason, verb, worth = text.discomfort
        assert (DEFERRALS[step["discomfort"]], step["deferred_verb"]) == (reason, verb)
        assert step["deferred_value"] == pytest.approx(worth, abs=1e-4)


def play(params, seed, steps, rng, wild=0.2, rests=0.0):
    """Play both labs side by side; return how many steps were compared."""
    env, taken = LabEnv(params), 0
    env.reset(seed=seed)
    shares, readouts = tables_for(params).gain_share, tables_for(params).readouts
    while taken < steps:
        record = env.get_state()
        truth = [name for name in ("potency", "price", "fair") if name in record.dtype.names]
        lab = ReferenceLab(params, {name: record[name] for name in truth})
        while not lab.over and taken < steps:
            mask = env.action_masks()
            if taken % 7 == 0 or taken < 3:
                assert mask.tolist() == [lab.allowed(action) for action in range(len(mask))]
            if rng.random() < wild:
                action = int(rng.integers(len(mask)))
            else:
                action = talk(env.actions, mask, env.get_state()["experiments"], rng)
            action = int(Verb.REST) if rng.random() < rests else action
            _, reward, *_ = env.step(action)
            verb = int(env.actions["verb"][action])
            bins = env.batch.labs[0]["last_bins"][: readouts[verb]].tolist()
            potency = env.batch.labs[0]["potency"].tolist()
            agree(env, lab, lab.step(action, bins, shares, potency), reward)
            taken += 1
        env.reset()
    return taken


@pytest.mark.parametrize("name", LABS)
def test_labs_agree_step_by_step(name):
    rng = np.random.default_rng(len(name))
    for seed in range(12):
        assert play(LABS[name], seed, 60, rng) == 60


def test_labs_agree_on_what_a_rest_passes_over():
    rich = LabParams.from_mapping({"energy": {"regeneration": 20.0}}, base=preset("lab"))
    rng = np.random.default_rng(0)
    for seed in range(6):
        assert play(rich, seed, 80, rng, rests=0.3) == 80


@settings(max_examples=25)
@given(st.sampled_from(sorted(LEVELS)), st.integers(0, 2**32), st.floats(0.0, 1.0))
def test_labs_agree_under_any_play(name, seed, wild):
    play(LEVELS[name], seed, 45, np.random.default_rng(seed), wild)

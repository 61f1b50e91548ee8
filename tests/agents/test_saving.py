"""The forecast of a purse against the purse itself, hour by hour."""

import dataclasses
import functools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from solvent.lab.actions import action_table
from solvent.lab.params import LabParams, preset
from solvent.lab.vector import LabVectorEnv
from solvent.lab.verbs import Verb
from solvent_agents.reading import Reader, action_index
from solvent_agents.scripts.random_agent import RandomMasked
from solvent_agents.scripts.saving import Savings
from tests.labs import by_hand

LEVEL = preset("energy")
ENERGY = by_hand("energy")
"""Nothing leaks: whole numbers by hand."""


def lab(heartbeats=42, start_hour=6, debt=None, base=ENERGY, **energy):
    """The level with another clock, another purse or another debt."""
    return dataclasses.replace(
        base,
        budget=dataclasses.replace(base.budget, heartbeats=heartbeats, start_hour=start_hour),
        energy=dataclasses.replace(base.energy, **energy),
        debt=dataclasses.replace(base.debt, **(debt or {})),
    )


LABS = (
    ENERGY,
    lab(heartbeats=48, regeneration=10.0),
    lab(heartbeats=30, start_hour=21, regeneration=1.0, cap=25.0),
    lab(heartbeats=26, start_hour=3, present_from=20, present_until=4, late_from=1, late_until=3),
    lab(heartbeats=20, start_hour=12, late_from=14, late_until=16, regeneration=7.0),
    lab(heartbeats=8, start_hour=0),  # it is over before the user comes
)
LEAKING = (
    LEVEL,
    lab(heartbeats=30, start_hour=21, regeneration=1.0, cap=25.0, leak=0.2),  # the cap is never reached
    lab(heartbeats=20, start_hour=12, late_from=14, late_until=16, regeneration=7.0, leak=0.3),
)


def is_good(params, heartbeat):
    """Whether the user is there and it is not late, hour by hour."""
    energy, hour = params.energy, (params.budget.start_hour + heartbeat) % 24

    def within(begins, ends):
        hours = range(begins, ends) if begins <= ends else (*range(begins, 24), *range(ends))
        return hour in hours

    return within(energy.present_from, energy.present_until) and not within(
        energy.late_from, energy.late_until
    )


@functools.lru_cache
def most(params):
    """The most that can be published from each heartbeat and whole energy: every way to spend, by recursion."""
    horizon, cap, income = params.budget.heartbeats, int(params.energy.cap), int(params.energy.regeneration)
    best = np.zeros((horizon + 1, cap + 1))
    for t in reversed(range(horizon)):
        for energy in range(cap + 1):
            spends = range(energy + 1) if is_good(params, t) else (0,)
            best[t, energy] = max(s + best[t + 1, min(cap, energy - s + income)] for s in spends)
    return best


def simulate(params, heartbeat, energy):
    """All energy into findings at every good hour, the purse regenerating up to its cap between them."""
    published = 0.0
    for t in range(heartbeat, params.budget.heartbeats):
        if is_good(params, t):
            published, energy = published + energy, 0.0
        energy = min(params.energy.cap, (1.0 - params.energy.leak) * energy + params.energy.regeneration)
    return published


def most_leaking(params, heartbeat, energy):
    """The most that any plan can publish, as a linear programme over what is spent and what is in the purse."""
    hours, keep = range(params.budget.heartbeats - heartbeat), 1.0 - params.energy.leak
    n = len(hours)
    spent, purse = np.eye(2 * n)[:n], np.eye(2 * n)[n:]
    rows = [purse[t + 1] - keep * (purse[t] - spent[t]) for t in hours[:-1]]
    limits = [params.energy.regeneration] * len(rows) + [0.0] * n
    bounds = [(0.0, None if is_good(params, heartbeat + t) else 0.0) for t in hours]
    bounds += [(0.0, min(energy, params.energy.cap) if t == 0 else params.energy.cap) for t in hours]
    found = linprog(-spent.sum(axis=0), np.array([*rows, *(spent - purse)]), limits, bounds=bounds)
    return -found.fun


def publishable(params, heartbeat, energy):
    return Savings(params).publishable(np.array([heartbeat]), np.array([energy]))[0]


def spendable(params, heartbeat, energy, kept):
    return Savings(params).spendable(np.array([heartbeat]), np.array([energy]), np.array([kept]))[0]


@pytest.mark.parametrize("number", range(len(LABS)))
def test_publishable_is_the_best_that_any_plan_can_do(number):
    params = LABS[number]
    best = most(params)
    heartbeats, energies = np.indices(best.shape).reshape(2, -1)
    found = Savings(params).publishable(heartbeats, energies.astype(float))
    assert found == pytest.approx(best.ravel())


@pytest.mark.parametrize("number", range(len(LEAKING)))
def test_publishable_is_the_best_that_any_plan_can_do_where_energy_leaks(number):
    params = LEAKING[number]
    for heartbeat in range(params.budget.heartbeats):
        for energy in (0.0, 3.5, 12.0, params.energy.cap):
            best = most_leaking(params, heartbeat, energy)
            assert publishable(params, heartbeat, energy) == pytest.approx(best, abs=1e-6)


@pytest.mark.parametrize(
    ("heartbeat", "energy", "expected"),
    [
        (41, 7.0, 0.0),  # 23:00 of the second day: it is late, and the last heartbeat
        (39, 7.0, 7.0),  # 21:00: now or never
        (38, 7.0, 10.0),  # 20:00: now, and an hour's income
        (38, 20.0, 23.0),
        (25, 4.0, 4.0 + 3.0 + 39.0),  # 07:00: at eight, and what thirteen more good hours bring
        (24, 19.0, 20.0 + 39.0),  # 06:00: two hours' income, but for the cap
        (17, 0.0, 20.0 + 39.0),  # 23:00: the night fills the purse
        (15, 5.0, 5.0 + 20.0 + 39.0),  # 21:00: five now, a full purse at eight, and the day
        (0, 10.0, 16.0 + 39.0 + 20.0 + 39.0),
        (42, 20.0, 0.0),  # it is over
    ],
)
def test_publishable_by_hand(heartbeat, energy, expected):
    """The level without a leak: 06:00 to 24:00 of the day after, good hours 8 to 21, 3 an hour, 20 at the most."""
    assert publishable(ENERGY, heartbeat, energy) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("heartbeat", "energy", "kept", "expected"),
    [
        (39, 12.0, 7.0, 5.0),  # 21:00, the last good hour: what is kept has to be there
        (39, 12.0, 14.0, 0.0),  # more than there is
        (38, 12.0, 7.0, 8.0),  # an hour later 3 more come
        (37, 12.0, 6.0, 12.0),  # two hours' income pay it all
        (24, 12.0, 39.0 + 10.0, 8.0),  # 06:00: the day brings 39, two hours 6, the purse must bring 4
        (16, 12.0, 59.0, 12.0),  # 22:00: the night fills the purse anyway
        (0, 10.0, 0.0, 10.0),
        (40, 10.0, 7.0, 10.0),  # no good hour is left: nothing can be kept for it
    ],
)
def test_spendable_by_hand(heartbeat, energy, kept, expected):
    assert spendable(ENERGY, heartbeat, energy, kept) == pytest.approx(expected)


@given(data=st.data(), params=st.sampled_from(LABS + LEAKING), share=st.floats(0.0, 1.2))
@settings(max_examples=300)
def test_spending_what_is_spendable_keeps_what_is_kept_and_more_does_not(data, params, share):
    heartbeat = data.draw(st.integers(0, params.budget.heartbeats - 1), "heartbeat")
    energy = data.draw(st.floats(0.0, params.energy.cap), "energy")
    before = simulate(params, heartbeat, energy)
    assert publishable(params, heartbeat, energy) == pytest.approx(before)
    kept = share * before
    spent = spendable(params, heartbeat, energy, kept)
    assert 0.0 <= spent <= energy
    assert simulate(params, heartbeat, energy - spent) >= min(kept, before) - 1e-9
    more = spent + 0.01
    if kept <= before and more <= energy:
        assert simulate(params, heartbeat, energy - more) < kept


def test_without_energy_there_is_no_end_of_it():
    savings, at, energy = Savings(LabParams()), np.array([0, 39]), np.array([np.inf, np.inf])
    assert np.isposinf(savings.publishable(at, energy)).all()
    assert np.isposinf(savings.spendable(at, energy, np.array([5.0, 50.0]))).all()


@pytest.mark.parametrize(
    "debt",
    [{}, {"reserve": False}, {"enforced": False}, {"calibration_cap": None}],
    ids=["level", "no reserve", "not enforced", "no cap"],
)
def test_what_waits_only_for_energy_is_what_the_mask_allows_where_energy_is_plenty(debt):
    params = lab(start=1000.0, regeneration=1000.0, cap=1000.0, debt=debt, base=LEVEL)
    envs, agent, reader = LabVectorEnv(48, params), RandomMasked(params, 3), Reader(params)
    savings, actions = Savings(params), action_index(params)
    deeds = np.isin(action_table(params)["verb"], (Verb.SCREEN, Verb.DOSE_RESPONSE, Verb.DMSO, Verb.REST))
    observations, infos = envs.reset(seed=4)
    found = []
    for _ in range(60):
        seen, masks = reader.read(observations), infos["action_mask"]
        lives = envs.get_state()["end_reason"] == 0  # to one that has ended nothing is allowed
        for verb in (Verb.SCREEN, Verb.DOSE_RESPONSE):
            plates = masks[:, actions.experiment(verb, np.arange(8), 0)].astype(bool)
            waits = savings.waits_only_for_energy(seen, verb)
            assert (plates == waits[:, None])[lives].all()
            found.append(waits)
        observations, _, _, _, infos = envs.step(agent.act(observations, masks * deeds))
    assert 0.02 < np.mean(found) < 0.98

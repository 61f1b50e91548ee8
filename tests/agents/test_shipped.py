"""Policies that come with the package."""

from __future__ import annotations

import json

import pytest

from solvent import ENVIRONMENTS, preset
from solvent_agents import episodes
from solvent_agents.learning.learned import LearnedAgent
from solvent_agents.learning.policy_file import WEIGHTS
from solvent_agents.learning.shipped import (
    SHIPPED,
    is_shipped_name,
    shipped_name,
    shipped_policies,
    shipped_policy,
)
from solvent_agents.registry import AGENTS

NAMES = sorted(shipped_policies())
BUDGET = 200_000  # bytes a policy may add to the package


def test_every_level_has_one():
    levels = {f"Solvent/{level}-v0" for level in ("Debt", "Energy", "Gate", "Lab", "Tiny")}
    assert {f"ppo:{level}" for level in levels} == set(NAMES)
    assert all(is_shipped_name(name) for name in NAMES)
    assert not any(is_shipped_name(name) for name in (*AGENTS, "runs/ppo/seed-0/policy.safetensors"))


@pytest.mark.parametrize("name", NAMES)
def test_it_plays_its_level_and_earns_more_than_doing_nothing(name):
    agent, env = name.split(":")
    params = preset(str(ENVIRONMENTS[env].get("preset", "default")))
    path = shipped_policy(name)
    assert shipped_name(agent, env) == name
    assert path.stat().st_size < BUDGET
    played = episodes(LearnedAgent.load(path, params), params, range(200))
    assert played["return"].mean() > 0.1 * params.ceiling
    about = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    assert about["algorithm"].lower() == agent


def test_nothing_else_lies_beside_them():
    files = {path.name for path in SHIPPED.rglob("*") if path.is_file()}
    assert files == {WEIGHTS, "policy.json"}


def test_an_unknown_name_gets_the_nearest():
    with pytest.raises(ValueError, match=r"did you mean 'ppo:Solvent/Debt-v0'"):
        shipped_policy("pop:Solvent/Debt-v0")

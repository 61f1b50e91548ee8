"""The lab and its agents do what they did when ``tests/yardstick/kept.json`` was recorded."""

from __future__ import annotations

import json
from typing import Any

import pytest

from solvent_agents.registry import AGENTS
from tests.yardstick import agents, worlds
from tests.yardstick.__main__ import KEPT
from tests.yardstick.digest import differences

RECORDED = json.loads(KEPT.read_text(encoding="utf-8"))


def changed(kept: Any, result: Any, where: str) -> list[str]:
    return [*differences(kept, json.loads(json.dumps(result)), where)]


@pytest.mark.parametrize("name", ["default", "lab", "tiny"])
def test_world_is_unchanged(name: str) -> None:
    assert changed(RECORDED["worlds"][name], worlds.world(name), name) == []


def test_scripts_play_as_recorded() -> None:
    kept = {f"{name} Lab": RECORDED["agents"][f"{name} Lab"] for name in AGENTS}
    assert changed(kept, {f"{name} Lab": agents.script(name, "Lab") for name in AGENTS}, "agents") == []


def test_shipped_policies_play_as_recorded() -> None:
    result = agents.policies()
    assert changed({name: RECORDED["agents"][name] for name in result}, result, "agents") == []


def test_differences_are_noticed() -> None:
    kept = {"told": "a1", "fields": {"wells": "b1", "debt": "b2"}, "scores": [0, 3, 2], "kappa": 0.61}
    assert changed(kept, {**kept, "fields": {"wells_left": "b1", "debt": "b2"}, "new": 1}, "lab") == []
    result = {"told": "a2", "fields": {"wells": "b1", "debt": "b3"}, "scores": [0, 3, 1], "kappa": 0.6}
    assert changed(kept, result, "lab") == [
        "lab/told: was 'a1', is 'a2'",
        "lab/fields/debt",
        "lab/scores: 1 of 3; item 2 was 2, is 1",
        "lab/kappa: was 0.61, is 0.6",
    ]
    assert changed(kept, {}, "lab") != []

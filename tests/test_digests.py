"""The world does what it did: trajectories, what a lab shows and logs, and how agents play (``tests/digests.py``)."""

from __future__ import annotations

import json

import pytest

from solvent.lab.params import PRESETS
from tests import digests

KEPT = json.loads(digests.KEPT.read_text(encoding="utf-8"))


def differences(kept: dict, found: dict, path: str = "") -> list[str]:
    """Which digests differ; records may have fields that they did not have before."""
    names = [f"{path}{key}: missing" for key in kept.keys() - found.keys()]
    for key in kept.keys() & found.keys():
        was, now, where = kept[key], found[key], f"{path}{key}"
        if isinstance(was, dict):
            names += differences(was, now, f"{where}/")
        elif isinstance(was, float):
            names += [] if now == pytest.approx(was, rel=0.02, abs=1e-3) else [where]
        else:
            names += [] if set(was.split()) <= set(now.split()) else [where]
    return names


@pytest.mark.parametrize("name", PRESETS)
def test_a_world_does_what_it_did(name: str) -> None:
    assert differences(KEPT["worlds"][name], digests.world(name)) == []


def test_agents_and_what_is_shipped_play_as_they_did() -> None:
    assert differences(KEPT["agents"], digests.agents()) == []


def test_a_difference_would_be_noticed() -> None:
    kept = {"labs": "a b", "frames": "c", "weights": {"w": 1.0}}
    assert differences(kept, {"labs": "b x a", "frames": "c", "weights": {"w": 1.001}}) == []
    found = {"labs": "a", "frames": "d", "weights": {"w": 1.1}}
    assert sorted(differences(kept, found)) == ["frames", "labs", "weights/w"]
    assert differences(kept, {**found, **kept, "weights": {}}) == ["weights/w: missing"]

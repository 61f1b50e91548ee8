"""The frames of a lab in each mode, and what is told of its last action."""

from __future__ import annotations

import re
import sys
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.error import DependencyNotInstalled

from solvent import ENVIRONMENTS, LabEnv, LabVectorEnv
from solvent.extras import install
from solvent.lab.params import LabParams, preset
from solvent.lab.registration import level_name
from solvent.lab.rendering import Renderer
from solvent.lab.rendering.text import WIDTH, draw_text
from solvent.lab.state import blank_lab, blank_step
from solvent.lab.verbs import Verb
from solvent.lab.words.describe import class_name, tell
from tests.labs import ABOVE, NOON, find, open_lab, uncoloured

every_id = pytest.mark.parametrize("env_id", sorted(ENVIRONMENTS))
every_mode = pytest.mark.parametrize("mode", ["ansi", "rgb_array"])


def blank(params: LabParams) -> tuple[Any, Any]:
    return blank_lab(params)[0], blank_step(params)[0]


@every_id
@every_mode
def test_each_step_is_drawn_and_repeats(env_id: str, mode: str) -> None:
    env, rng = open_lab(**ENVIRONMENTS[env_id], render_mode=mode), np.random.default_rng(3)
    frames = []
    while not env.batch.labs[0]["end_reason"]:
        frames.append(np.asarray(env.render()))
        assert np.array_equal(frames[-1], env.render())
        if mode == "rgb_array":
            assert (frames[-1].shape, frames[-1].dtype) == ((640, 960, 3), np.uint8)
        else:
            rows = uncoloured(env.render()).split("\n")
            done, _ = tell(env.params, env.batch.labs[0], env.batch.steps[0])
            assert max(map(len, rows)) <= WIDTH
            assert any(row.startswith(f"── {done} ──") for row in rows[-6:])
        env.step(rng.choice(np.flatnonzero(env.action_masks())))
    assert not np.array_equal(frames[0], frames[1])


@every_id
@every_mode
def test_truth_is_not_drawn(env_id: str, mode: str) -> None:
    env = open_lab(**ENVIRONMENTS[env_id], render_mode=mode)
    before, lab = env.render(), env.get_state()
    lab["potency"], lab["instrument"] = 1 - lab["potency"].clip(0, 1), 1 - min(lab["instrument"], 1)
    again = Renderer(env.params, mode).draw(lab, env.batch.steps[0], env.batch.seeds[0])
    assert np.array_equal(again, before)


@every_mode
def test_vector_draws_each_lab(mode: str) -> None:
    labs, single = LabVectorEnv(2, render_mode=mode), LabEnv(render_mode=mode)
    labs.reset(seed=5), single.reset(seed=6)
    labs.step(np.array([0, 9])), single.step(9)
    first, second = labs.render() or ()
    assert np.array_equal(second, single.render())
    assert not np.array_equal(second, first)


def test_an_image_has_its_seed_in_the_title() -> None:
    renderer = Renderer(preset("default"), "rgb_array")
    first, other = (renderer.draw(*blank(preset("default")), seed) for seed in (1, 2))
    rows = np.flatnonzero((first != other).any(axis=(1, 2)))
    assert 0 < rows.min() <= rows.max() < 44


def test_a_level_has_its_name_and_changed_rules_say_so() -> None:
    assert level_name(preset("frontier")) == "Frontier-v0"
    assert level_name(LabParams.from_mapping({"debt": {"threshold": 3.0}})) == "changed rules"


def test_a_new_render_mode_is_obeyed() -> None:
    env = open_lab(render_mode="rgb_array")
    env.render()
    env.render_mode = "ansi"
    assert isinstance(env.render(), str)


def test_long_name_is_cut_and_contamination_marked() -> None:
    changes = {"assay": {"compounds": ["a compound with a long name", "b"]}, "debt": {"enforced": False}}
    params = LabParams.from_mapping(changes)
    text, image = (Renderer(params, mode).draw(*blank(params)) for mode in ("ansi", "rgb_array"))
    assert "a compound …" in text
    assert "contaminated: debt not enforced" in text
    assert image.shape == (640, 960, 3)


def test_no_color_removes_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    lab, step = blank(preset("default"))
    coloured = draw_text(preset("default"), lab, step)
    monkeypatch.setenv("NO_COLOR", "1")
    assert draw_text(preset("default"), lab, step) == uncoloured(coloured) != coloured


def test_text_shows_verdicts_before_publication() -> None:
    env = open_lab(base="gate", seed=1, render_mode="ansi")
    env.step(find(env, Verb.DOSE_RESPONSE, 2))
    row = next(row for row in env.render().split("\n") if "▸" in row)
    assert re.fullmatch(r"▸tunicamycin.* 1(  ?0\.\d{3}[✓?✗]){3}", row)


def test_missing_pygame_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "solvent.lab.rendering.picture", raising=False)
    monkeypatch.setitem(sys.modules, "pygame", None)
    with pytest.raises(DependencyNotInstalled, match=re.escape(install("render"))):
        Renderer(preset("default"), "rgb_array")


def test_gymnasium_shows_the_images_in_a_window() -> None:
    with pytest.warns(UserWarning, match="HumanRendering"):
        env = gymnasium.make("Solvent/Debt-v0", render_mode="human")
    with env:
        assert isinstance(env, gymnasium.wrappers.HumanRendering)
        env.reset(seed=0)
        assert env.render() is None
        assert env.unwrapped.render_mode == "rgb_array"


DMSO, SCREEN, SAY = Verb.DMSO, Verb.SCREEN, Verb.PUBLISH_PUBLIC
ON_ONE_PLATE, RICH = {"experiments": [1] * 8, "potency": 0}, {"heartbeat": NOON, "energy": 20_000}


@pytest.mark.parametrize(
    ("level", "fields", "verb", "expected"),
    [
        ("default", {}, SCREEN, r"Screen MG-132, claiming 2\.5 bits\. Learnt \S+ of 2\.50 bits claimed"),
        ("default", {"debt": 1.0}, DMSO, r"repaid \S+ of debt; 8 wells, charged 10\."),
        ("default", {"debt": 1.0}, 0, r"Rest\. An hour passed\. Interest adds 0\.15 bits of debt\."),
        ("default", {"debt": ABOVE}, SCREEN, r"Refused: debt of 2\.00 bits is above 2, only cal"),
        ("default", {"debt": 1.5, "wells": 9}, SCREEN, r"Refused: it would cost 9\.8 wells, with 9"),
        ("default", {}, SAY, r"at 0\.95\. Rejected: no experiment was run on it"),
        ("default", ON_ONE_PLATE, SAY, r"Accepted, and right: \+2\.93 bits, 2\.57 bits of new debt\."),
        ("default", {"heartbeat": 11}, 0, r"A new reagent lot: the instrument is unknown again\.$"),
        ("energy", {}, SAY, r"Not executed: the user is away until 08:00\."),
        ("energy", {"energy": 1000}, SCREEN, r"Deferred: too expensive, 6\.0 energy with 1\.0 left\. Wor"),
        ("lab", RICH, SAY, r"Rejected: 1\.000 unexplained, above 0\.089 \(P20\); its words are abs"),
    ],
)
def test_action_and_outcome_are_told(level: str, fields: Any, verb: int, expected: str) -> None:
    env = open_lab(base=level)
    state = env.get_state()
    for name, value in fields.items():
        state[name] = value
    env.set_state(state)
    env.step(np.flatnonzero(env.actions["verb"] == verb)[-1])
    assert re.search(expected, ". ".join(tell(env.params, env.batch.labs[0], env.batch.steps[0])))


def test_foreign_step_is_not_told() -> None:
    env = open_lab()
    assert [class_name(env.params, k) for k in (0, 1, 4, 7)] == ["inactive", "10 nM", "320 nM", "10 µM"]
    env.step(find(env, SCREEN))
    assert draw_text(env.params, env.batch.labs[0], blank(env.params)[1]).endswith("\nExplored.")

"""What a person sees of a lab: the three modes, any parameters, no screen, no interference between renderers."""

from __future__ import annotations

import copy
import hashlib
import pickle
import platform
import re
import sys
import warnings
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.error import DependencyNotInstalled
from gymnasium.utils.env_checker import check_env

import solvent
from solvent.extras import install
from solvent.lab.codes import Event
from solvent.lab.rendering import Renderer
from solvent.lab.rendering.history import HistoryBook
from solvent.lab.rendering.words import class_name, concentration
from solvent.lab.state import step_dtype
from solvent.lab.verbs import TEMPLATES, Verb
from tests.labs import by_hand, find, uncoloured

ID = "Solvent/Debt-v0"


def played(params: Any = None, *, steps: int = 12, seed: int = 3, **kwargs: Any) -> solvent.LabEnv:
    env = solvent.LabEnv(params, **kwargs)
    env.reset(seed=seed)
    env.action_space.seed(seed)
    for _ in range(steps):
        if kwargs:
            env.render()
        *_, terminated, truncated, _ = env.step(env.action_space.sample())
        if terminated or truncated:
            break
    return env


def index_of(env: Any, verb: Verb, compound: int = -1) -> int:
    actions = env.unwrapped.actions
    return int(np.flatnonzero((actions["verb"] == verb) & (actions["compound"] == compound))[-1])


def test_check_env_finds_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gymnasium.make(ID).unwrapped)


TEXTS = "87dfb6a38b2eb0d5966e7b35eb2c63d95a15114b4a3fd28a052acc0a849582d2"
FRAMES = "215434513c3b73a2afa1b000e998ab11643c61773528d023443ccbd97bdbfabe"
"""Of the level without energy under rules that no other level may change; frames as pygame-ce 2.5.8
draws them on x86."""


def test_pictures_without_energy_are_as_they_were() -> None:
    import pygame

    env = solvent.LabEnv(by_hand())
    writer, drawer = Renderer(env.params, "ansi"), Renderer(env.params, "rgb_array")
    texts, frames = hashlib.sha256(), hashlib.sha256()
    for seed in range(3):
        env.reset(seed=seed)
        lab, step = env.batch.labs[0], env.batch.steps[0]
        while not lab["end_reason"]:
            env.step((37 * int(lab["heartbeat"]) + 41 * seed + 5) % len(env.actions))
            texts.update(writer.draw(lab, step).encode())
            frames.update(drawer.draw(lab, step).tobytes())
    assert texts.hexdigest() == TEXTS
    if (pygame.version.ver, platform.machine()) == ("2.5.8", "x86_64"):
        assert frames.hexdigest() == FRAMES


# -- words


def test_a_person_can_read_what_happened() -> None:
    env = gymnasium.make(ID, render_mode="ansi")
    env.reset(seed=1)
    assert "The episode starts" in env.render()
    env.step(index_of(env, Verb.DMSO))
    assert "bits about the instrument" in env.render()
    env.step(index_of(env, Verb.SCREEN, 6))
    text = env.render()
    assert "Screen etoposide, claiming 2.5 bits" in text
    assert "of 2.50 bits claimed" in text
    assert "bits of new debt" in text
    while env.unwrapped.get_state()["last_event"] != Event.REFUSED:
        env.step(index_of(env, Verb.SCREEN, 6))
    assert "is above 2, only calibration runs" in env.render()


def test_a_finding_is_shown_as_it_was_published() -> None:
    env = solvent.LabEnv(render_mode="ansi")
    env.reset(seed=1)
    for verb in (Verb.DOSE_RESPONSE, Verb.PUBLISH_PUBLIC):
        rows = (env.actions["verb"] == verb) & (env.actions["compound"] == 2)
        env.step(int(np.flatnonzero(rows)[0]))
    named = class_name(env.params, int(env.get_state()["marginal"][2].argmax()))
    text = uncoloured(env.render())
    assert f"public {named}" in text
    assert ("right: +" in text) or ("wrong: −" in text)


def test_a_step_of_another_heartbeat_is_not_told() -> None:
    env = played(steps=0)
    env.step(index_of(env, Verb.SCREEN, 0))
    stale = np.zeros(1, step_dtype(env.params))[0]
    text = Renderer(env.params, "ansi").draw(env.get_state(), stale)
    assert "The plate was read." in text


def test_no_color(monkeypatch: pytest.MonkeyPatch) -> None:
    env = played()
    writer = Renderer(env.params, "ansi")
    coloured = writer.draw(env.batch.labs[0], env.batch.steps[0])
    monkeypatch.setenv("NO_COLOR", "1")
    bare = writer.draw(env.batch.labs[0], env.batch.steps[0])
    assert "\x1b" in coloured
    assert "\x1b" not in bare
    assert uncoloured(coloured) == bare
    monkeypatch.setenv("NO_COLOR", "")  # the convention: empty means not set
    assert writer.draw(env.batch.labs[0], env.batch.steps[0]) == coloured


@pytest.mark.parametrize(
    ("molar", "said"),
    [
        (1e-8, "10 nM"),
        (1e-7, "100 nM"),
        (3.1622776e-7, "316 nM"),
        (1e-6, "1 µM"),
        (1e-5, "10 µM"),
        (0.5, "500 mM"),
    ],
)
def test_concentrations(molar: float, said: str) -> None:
    assert concentration(molar) == said


# -- memory of an episode


def test_the_history_adds_up_to_the_wells_spent() -> None:
    env = solvent.LabEnv()
    book = HistoryBook(env.params)
    env.reset(seed=4)
    env.action_space.seed(4)
    for _ in range(10):
        env.step(env.action_space.sample())
        history = book.see(env.batch.labs[0])
        assert env.params.budget.wells - history.last.wells == env.batch.labs[0]["wells_spent"]
        assert len(history.beats) == env.batch.labs[0]["heartbeat"] + 1
        assert history.plate is None or history.plate.verb in TEMPLATES


def test_going_back_in_time_begins_a_new_history() -> None:
    env = solvent.LabEnv()
    book = HistoryBook(env.params)
    env.reset(seed=4)
    start = env.get_state()
    for _ in range(3):
        env.step(index_of(env, Verb.DMSO))
        book.see(env.batch.labs[0])
    env.set_state(start)
    assert [beat.event for beat in book.see(env.batch.labs[0]).beats] == [Event.STARTED]


def test_a_lab_seen_only_now_and_then_has_gaps() -> None:
    env = solvent.LabEnv()
    renderer = Renderer(env.params, "rgb_array")
    env.reset(seed=4)
    for _ in range(5):
        env.step(index_of(env, Verb.DMSO))
    renderer.draw(env.batch.labs[0], env.batch.steps[0])
    (history,) = renderer.book.histories.values()
    assert [beat.heartbeat for beat in history.beats] == [0, 5]


# -- pygame


@pytest.mark.parametrize("mode", ["rgb_array", "human"])
def test_without_pygame_the_error_says_what_to_install(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [n for n in sys.modules if n.startswith("solvent.lab.rendering.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pygame", None)
    env = solvent.LabEnv(render_mode=mode)
    show = env.reset if mode == "human" else env.render
    with pytest.raises(DependencyNotInstalled, match=re.escape(install("render"))):
        show()


def test_images_need_neither_a_display_nor_sound() -> None:
    import pygame

    pygame.display.quit()
    played(steps=2, render_mode="rgb_array").render()
    assert not pygame.display.get_init()
    assert pygame.mixer.get_init() is None


def test_an_env_that_has_rendered_can_be_pickled_and_copied() -> None:
    env = played(render_mode="rgb_array")
    env.render()
    for twin in (pickle.loads(pickle.dumps(env)), copy.deepcopy(env)):
        assert twin.render().shape == (640, 960, 3)
        assert twin.get_state() == env.get_state()


def test_a_window_shows_and_returns_nothing() -> None:
    env = gymnasium.make(ID, render_mode="human")
    env.unwrapped.metadata["render_fps"] = 1000
    env.reset(seed=1)
    env.step(index_of(env, Verb.SCREEN, 0))
    assert env.render() is None
    env.close()
    env.close()


def test_closing_one_renderer_leaves_the_others_alone() -> None:
    env = played(steps=2)
    lab, step = env.batch.labs[0], env.batch.steps[0]
    first, second = (Renderer(env.params, "human", fps=1000) for _ in range(2))
    image = Renderer(env.params, "rgb_array")
    before = image.draw(lab, step)
    first.draw(lab, step), second.draw(lab, step)
    first.close()
    first.close()
    assert first.draw(lab, step) is None
    second.draw(lab, step)
    assert second._window is not None
    assert second._window.is_open
    second.close()
    assert (image.draw(lab, step) == before).all()


def test_a_person_may_close_the_window_while_the_lab_runs() -> None:
    import pygame

    env = played(steps=2)
    renderers = [Renderer(env.params, "human", fps=1000) for _ in range(2)]
    closing, staying = (renderer._window for renderer in renderers)
    assert closing is not None
    assert staying is not None
    pygame.event.post(pygame.event.Event(pygame.WINDOWCLOSE, window=closing.window))
    for renderer in reversed(renderers):  # whoever looks first answers for all
        renderer.draw(env.batch.labs[0], env.batch.steps[0])
    assert not closing.is_open
    assert staying.is_open
    for renderer in renderers:
        renderer.close()


def test_a_right_finding_that_pays_less_than_nothing_is_told_as_right() -> None:
    env = solvent.LabEnv({"assay": {"prior": [0.97] + [0.03 / 7] * 7}}, render_mode="ansi")
    for seed in range(20):
        env.reset(seed=seed)
        env.step(find(env, Verb.SCREEN, 0))
        _, reward, _, _, _ = env.step(find(env, Verb.PUBLISH_PUBLIC, 0, confidence=0.95))
        if reward < 0 and env.get_state()["accepted"] == 1 and env.get_state()["wrong"] == 0:
            break
    else:
        pytest.fail("no right finding below the prior in 20 labs")
    assert "Accepted, and right" in uncoloured(env.render())

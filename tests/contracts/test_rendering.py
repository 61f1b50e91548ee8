"""Pictures of every lab: any record at any time, in any size, without the truth and without touching the lab."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from solvent import ENVIRONMENTS, LabEnv, LabVectorEnv
from solvent.lab.actions import offered_verbs
from solvent.lab.batch import resolve_params
from solvent.lab.rendering import Renderer
from solvent.lab.rendering.panels import adequacy, energy, gate
from solvent.lab.rendering.sheet import NARROWEST, WIDTH, Sheet
from solvent.lab.verbs import TEMPLATES, VERBS, Verb
from tests.labs import LEFT_OUT, find, forged, merged, open_lab, uncoloured

SMALL = {"compounds": ["a", "b"], "potency_classes": 3, "gains": [1.0], "plate_sds": [0.2]}
ON = {"enabled": True}
OFF = {"enabled": False}
SHADOW = {"enforced": False}
SHAPES: dict[str, tuple[str, dict[str, Any]]] = {
    **{env_id: (arguments["preset"], {}) for env_id, arguments in ENVIRONMENTS.items()},
    "small": ("default", {"assay": SMALL, "budget": {"wells": 60, "heartbeats": 9}}),
    "one compound": (
        "default",
        {"assay": {"compounds": ["a"], "potency_classes": 2}, "debt": {"threshold": 0.0}},
    ),
    "sixteen": ("default", {"assay": {"compounds": [f"compound number {i}" for i in range(16)]}}),
    "most": (
        "default",
        {
            "assay": {"compounds": [str(i) for i in range(64)], "potency_classes": 32, "ec50_step": 0.1},
            "budget": {"wells": 100_000, "heartbeats": 1000},
            "debt": {"enforced": False, "inflation": "two_tier"},
        },
    ),
    "small with energy": ("energy", {"assay": SMALL}),
    "long names": ("energy", {"assay": {"compounds": [f"compound with a long name {i}" for i in range(16)]}}),
    "one slot": ("energy", {"energy": {"slots": 1}, "budget": {"heartbeats": 1000}}),
    "many slots": (
        "energy",
        {"energy": {"slots": 64, "start": 1e6, "cap": 1e6, "present_from": 0, "present_until": 24}},
    ),
    "hardly here": ("energy", {"energy": {"present_from": 9, "present_until": 10}, "proposals": OFF}),
    "small with a gate": ("gate", {"assay": {"compounds": ["CCCP", "oligomycin A"], "potency_classes": 3}}),
    "governance": ("gate", merged(LEFT_OUT, {"gate": {"policy": "adaptive.P5"}})),
    "energy and a gate": ("gate", {"energy": ON, "proposals": ON}),
    "without energy": ("lab", {"energy": OFF, "proposals": OFF}),
    "shadow": ("lab", {"debt": SHADOW, "gate": SHADOW, "adequacy": SHADOW}),
    "words and governance": ("lab", LEFT_OUT),
}
every_id = pytest.mark.parametrize("env_id", sorted(ENVIRONMENTS))
MODES = pytest.mark.parametrize("mode", ["ansi", "rgb_array"])


@pytest.mark.parametrize("shape", SHAPES)
def test_any_lab_can_be_drawn_at_any_time(shape: str) -> None:
    preset, changes = SHAPES[shape]
    params = resolve_params(changes, preset)
    size = (640, 960 + 320 * params.energy.enabled + 380 * params.gate.enabled, 3)
    drawer = Renderer(params, "rgb_array")
    sheets = [*map(Sheet, (NARROWEST, 96, 130)), *(Sheet(80, height) for height in (1, 23, 39))]
    writers = [Renderer(params, "ansi", sheet=sheet) for sheet in sheets]
    plates = set(TEMPLATES).intersection(offered_verbs(params))
    rng, last = np.random.default_rng(7), params.budget.heartbeats
    fewest = 13 + len(params.assay.compounds) + 3
    for heartbeat, slot in ((1, 0), (2, params.slots // 2), (last // 2, params.slots - 1), (last, 0)):
        for says in {False, params.gate.enabled}:
            lab, step = forged(params, rng, heartbeat, slot, says=says)
            frame = drawer.draw(lab, step)
            assert (frame.shape, frame.dtype) == (size, np.uint8)
            for writer in writers:
                text = uncoloured(writer.draw(lab, step))
                rows = text.split("\n")
                assert {len(row) for row in rows} == {writer.sheet.width}
                if writer.sheet.height is not None:
                    assert len(rows) <= max(fewest, writer.sheet.height)
                elif params.energy.enabled:
                    assert all(VERBS[verb].name.replace("_", " ") in text for verb in plates)


def test_the_text_fits_a_terminal() -> None:
    assert WIDTH <= 100


@pytest.mark.parametrize("shape", SHAPES)
def test_the_rules_are_a_few_lines_of_a_terminal(shape: str) -> None:
    preset, changes = SHAPES[shape]
    params = resolve_params(changes, preset)
    panels = ((energy, params.energy, 8), (gate, params.gate, 6), (adequacy, params.adequacy, 4))
    for panel, group, most in panels:
        if group.enabled:
            lines = "\n".join(panel.rules(params).values()).split("\n")
            assert 0 < len(lines) <= most
            assert max(map(len, lines)) <= 101


@every_id
@MODES
def test_the_truth_is_not_drawn(env_id: str, mode: str) -> None:
    params = resolve_params({}, ENVIRONMENTS[env_id]["preset"])
    lab, step = forged(params, np.random.default_rng(3), params.budget.heartbeats - 1)
    if params.gate.enabled:
        step["approved"] = 0  # an approval shows whether it was right, as its score does
    other = lab.copy()
    other["potency"] = (lab["potency"] + 1) % params.assay.potency_classes
    other["instrument"] = (lab["instrument"] + 1) % params.assay.instrument_states
    if params.energy.enabled:
        other["fair"] = lab["fair"] + 1000
    ours, theirs = (np.asarray(Renderer(params, mode).draw(record, step)) for record in (lab, other))
    assert np.all(ours == theirs)


@every_id
@MODES
def test_a_picture_follows_the_lab_repeats_and_belongs_to_the_caller(env_id: str, mode: str) -> None:
    frames = []
    for _ in range(2):
        env = open_lab(**ENVIRONMENTS[env_id], seed=1, render_mode=mode)
        before, first = env.get_state(), env.render()
        assert env.get_state() == before
        kept = np.array(first)
        env.step(find(env, TEMPLATES[-2], 0))
        assert np.any(np.asarray(env.render()) != kept)
        assert np.all(np.asarray(first) == kept)
        frames.append(np.asarray(env.render()))
    assert np.all(frames[0] == frames[1])


def texts_of(renderer: Renderer, lab: Any, step: Any) -> list[str]:
    """Draw a lab and return the texts of the frame: the rows of a page, or what was written on the canvas."""
    if renderer._picture is None:
        return uncoloured(renderer.draw(lab, step)).split("\n")
    canvas, texts = renderer._picture.canvas, []
    write = type(canvas).text

    def text(said: str, *place: Any, **layout: Any) -> float:
        texts.append(said)
        return write(canvas, said, *place, **layout)

    canvas.text = text  # type: ignore[method-assign]
    renderer.draw(lab, step)
    del canvas.text
    return texts


NOT_SEEN = ("not seen", "seen from heartbeat", "unseen")
"""What a frame says of that which it can't know."""


@pytest.mark.parametrize("skipped", [(0, 1), (3, 4), (0, 25), (2, 34)])
@every_id
@MODES
def test_a_frame_after_steps_that_were_not_drawn_is_true_or_says_that_it_was_not_seen(
    env_id: str, mode: str, skipped: tuple[int, int]
) -> None:
    """Whatever is written on it is written on the frame of one who saw every step, or says what was not seen."""
    first, last = skipped

    def of_gaps(texts: list[str]) -> list[str]:
        return [text for text in texts if any(words in text for words in NOT_SEEN)]

    env = open_lab(**ENVIRONMENTS[env_id], seed=2)
    always, sometimes = (Renderer(env.params, mode) for _ in range(2))
    rng, (lab,), (step,) = np.random.default_rng(5), env.batch.labs, env.batch.steps
    incomplete = 0
    for k in range(1, 60):
        env.step(likely_action(env, rng))
        whole = texts_of(always, lab, step)
        assert not of_gaps(whole)
        if not first < k <= last or lab["end_reason"]:
            part = texts_of(sometimes, lab, step)
            assert texts_of(sometimes, lab, step) == part
            said = of_gaps(part)
            others = {text for text in part if any(map(str.isalnum, text))} - set(said)
            assert others <= set(whole)
            assert said or part == whole
            incomplete += bool(said)
        if lab["end_reason"]:
            break
    assert incomplete or mode == "ansi"  # a text has no charts, and most of it is known from the record


def likely_action(env: LabEnv, rng: np.random.Generator) -> int:
    """Return an action of a random verb, so that findings are as likely as plates, on one of the first compounds."""
    free = np.flatnonzero(env.action_masks() & (env.actions["verb"] != Verb.TERMINATE))
    verbs = env.actions["verb"][free]
    of_verb = free[verbs == rng.choice(np.unique(verbs))]
    return int(rng.choice(of_verb[: max(1, len(of_verb) // 2)]))


@every_id
@MODES
def test_a_vector_draws_each_lab_with_its_own_history(env_id: str, mode: str) -> None:
    labs = LabVectorEnv(3, **ENVIRONMENTS[env_id], render_mode=mode)
    single = LabEnv(**ENVIRONMENTS[env_id], render_mode=mode)
    labs.reset(seed=[5, 6, 6])
    single.reset(seed=6)
    labs.action_space.seed(5)
    for _ in range(3):
        labs.render(), single.render()
        actions = labs.action_space.sample()
        actions[2] = (actions[1] + 1) % len(labs.actions)
        labs.step(actions)
        single.step(actions[1])
    frames = labs.render()
    assert isinstance(frames, tuple)
    assert len(frames) == 3
    assert np.all(np.asarray(frames[1]) == np.asarray(single.render()))
    assert np.any(np.asarray(frames[1]) != np.asarray(frames[2]))  # seeded alike
    labs.close()

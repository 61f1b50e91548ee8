"""Playing with energy, at a gate or with both in the terminal: what a person is told, what one sees who watches."""

from __future__ import annotations

import io
import re
import sys
from typing import Any

import numpy as np
import pytest

from solvent import LabEnv
from solvent.lab.params import preset
from solvent.lab.rendering.panels import adequacy, energy, gate
from solvent.lab.verbs import Verb
from solvent_experiments.cli.play import play_episode
from solvent_experiments.config.experiment import environment_params
from tests.commands import console, written

ENERGY, GATE, LAB = "Solvent/Energy-v0", "Solvent/Gate-v0", "Solvent/Lab-v0"
PANELS = {ENERGY: (energy,), GATE: (gate,), LAB: (energy, gate, adequacy)}


def played(
    typed: str = "",
    *,
    agent: str | None = None,
    env_id: str = ENERGY,
    width: int = 100,
    height: int = 60,
    terminal: bool = False,
    seed: int = 3,
) -> str:
    """Everything that was printed, with ``typed`` at the keyboard."""
    page = console(width, height=height, force_terminal=terminal, color_system=None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", io.StringIO(typed))
        play_episode(env_id, agent, seed, 0.0, console=page)
    return written(page)


def menu(verb: Verb, preset: str = "lab") -> int:
    """The verb's number in a level's menu."""
    return int(np.flatnonzero(np.unique(LabEnv(preset=preset).actions["verb"]) == verb)[0])


# -- any level


@pytest.mark.parametrize("env_id", PANELS)
def test_the_rules_are_on_the_first_screen(env_id: str) -> None:
    shown = played(env_id=env_id, width=110)
    for panel in PANELS[env_id]:
        assert "\n" + "\n".join(panel.rules(environment_params(env_id))) + "\n" in shown
    assert ("energy, 8 wells" in shown) == (env_id != GATE)
    assert "CONTAMINATED" not in shown
    assert "You left" in shown


@pytest.mark.parametrize("env_id", PANELS)
def test_the_end_accounts_for_everything(env_id: str) -> None:
    shown = " ".join(played("0\n" * 48, env_id=env_id).split())
    assert "Over (horizon)" in shown
    for panel, account in (
        (energy, "Energy: 0.0 spent, "),
        (gate, "Gate: 0 accept, 0 review, 0 reject"),
        (adequacy, "Adequacy: findings 0 of score 0, 0 of score 1, 0 of score 2, 0 of score 3."),
    ):
        assert (account in shown) == (panel in PANELS[env_id])


@pytest.mark.parametrize(
    ("env_id", "width", "height"), [(ENERGY, 80, 24), (GATE, 120, 40), (LAB, 80, 24), (LAB, 120, 40)]
)
def test_watching_fits_the_screen(env_id: str, width: int, height: int) -> None:
    shown = played(agent="honest", env_id=env_id, width=width, height=height, terminal=True)
    screens = shown.split("\x1b[2J")
    assert len(screens) > 10
    assert all(screen.count("\n") < height for screen in screens[1:-1])
    if energy in PANELS[env_id]:
        assert all(
            "slot " in screen or "scores 0 to 3: " in screen or "correction for " in screen
            for screen in screens[1:-1]
        )
    assert "Over (" in shown


@pytest.mark.parametrize("width", [80, 100])
@pytest.mark.parametrize("env_id", [GATE, LAB])
def test_no_line_is_wider_than_the_screen(env_id: str, width: int) -> None:
    """With a plate, the notebook and a finding."""
    preset, rest = ("gate", "") if env_id == GATE else ("lab", "0\n0\n")
    plate = menu(Verb.DOSE_RESPONSE if env_id == GATE else Verb.SCREEN, preset)
    typed = f"{rest}{plate}\n5\n1\nn\n5\n{menu(Verb.PUBLISH_PUBLIC, preset)}\n5\n0\nq\n"
    shown = played(typed, env_id=env_id, width=width, height=24)
    assert "The page of oligomycin A" in shown
    assert max(len(line.removeprefix("> ")) for line in shown.split("\n")) <= width


def test_without_energy_the_menu_has_no_costs() -> None:
    shown = played(env_id="Solvent/Debt-v0")
    assert "dmso             a short plate of vehicle wells, 8 wells; repays debt" in shown
    assert "energy" not in shown


# -- energy


def test_costs_and_reasons_are_in_the_menu() -> None:
    shown = played()
    assert "06:00, day 1, slot 1 of 6, 10.0 energy" in shown
    assert "energy, 8 wells: repays debt (first ×1.5)" in shown
    assert "(not now: the user is away until 08:00)" in shown


def test_what_was_tried_in_vain_is_explained() -> None:
    public, propose = menu(Verb.PUBLISH_PUBLIC, "energy"), menu(Verb.PROPOSE, "energy")
    shown = played(f"{public}\n0\n0\n{propose}\nq\n")
    assert "Not executed: the user is away until 08:00." in shown
    assert "Not executed: a proposal must follow a reflection in the same hour." in shown
    assert "slot 3 of 6" in shown


def test_a_small_screen_repeats_what_scrolled_away() -> None:
    typed = f"{menu(Verb.DMSO, 'energy')}\nq\n"
    small = played(typed, width=80, height=24)
    tall = played(typed, width=120, height=40)
    assert "Dmso. Learnt " in small
    assert "Dmso. Learnt " not in tall
    assert max(len(line.removeprefix("> ")) for line in small.split("\n")) <= 80
    assert "energy costs now" in small
    assert "energy costs now" not in tall  # the menu says them


# -- at a gate


def test_a_finding_is_shown_before_it_is_said_and_its_verdict_after() -> None:
    plate, public = Verb.DOSE_RESPONSE, Verb.PUBLISH_PUBLIC
    keys = f"{menu(plate, 'gate')}\n2\n1\nn\n2\n{menu(public, 'gate')}\n2\n2\nq\n"
    shown = played(keys, env_id=GATE, height=90)
    env = LabEnv(preset="gate")
    env.reset(seed=3)
    rows = env.actions
    first = (rows["verb"] == plate) & (rows["compound"] == 2) & (rows["claim"] == 0.25)
    env.step(int(np.flatnonzero(first)[0]))
    page = env.notebook(2)
    flat = " ".join(shown.split())
    assert "The page of tunicamycin:" in shown
    assert all(span in flat for span in page.spans)
    for confidence, finding in zip((0.5, 0.75, 0.95), page.findings, strict=True):
        assert f"{confidence:<5}{finding.verdict}, energy {finding.energy:.3f}" in shown
        assert f"“{finding.sentence}”" in flat
    said = {
        "accept": "Accepted: energy",
        "review": "Under review for 4 h: energy",
        "reject": "Rejected: energy",
    }
    assert said[page.findings[2].verdict] in shown
    assert f"verdict {page.findings[2].verdict} · energy {page.findings[2].energy:.3f}" in shown


# -- with all of it


def erred(seeds: int = 40) -> tuple[int, str, str]:
    """A seed, keys that publish an error in its first hours, and what one is told then."""
    for seed in range(seeds):
        env = LabEnv(preset="lab")
        env.reset(seed=seed)
        keys: list[int] = []

        def take(verb: Verb, compound: int = 0, *rest: int, keys: list[int] = keys, env: LabEnv = env) -> Any:
            keys += [menu(verb), *([] if verb == Verb.REST else [compound, *rest])]
            rows = env.actions["verb"] == verb
            if verb != Verb.REST:
                rows &= env.actions["compound"] == compound
            return env.step(int(np.flatnonzero(rows)[rest[0] if rest else 0]))[4]

        for _ in range(2):
            take(Verb.REST)
        for compound in range(3):
            take(Verb.SCREEN, compound, 1)
            for _ in range(4):
                take(Verb.REST)
            info = take(Verb.PUBLISH_PUBLIC, compound, 0)
            if "correction" in info:
                return seed, "\n".join(map(str, keys)) + "\n", info["correction"]
    raise AssertionError("nobody erred")


def test_a_player_who_errs_is_told_and_stays_told() -> None:
    seed, keys, told = erred()
    shown = played(f"{keys}{menu(Verb.REST)}\nq\n", env_id=LAB, seed=seed, width=110, height=90)
    flat = " ".join(shown.replace("│", " ").split())
    assert f"A published error. You are told: {told}" in flat
    hours = preset("lab").gate.calm_heartbeats
    assert f"You are told, for {hours + 1} h more: {told}" in flat
    assert f"You are told, for {hours} h more: {told}" in flat
    assert f"told for {hours} h more: {told}" in flat


def test_a_finding_is_shown_with_its_score_before_it_is_said() -> None:
    screen, public = menu(Verb.SCREEN), menu(Verb.PUBLISH_PUBLIC)
    shown = played(f"0\n0\n0\n{screen}\n2\n1\nn\n2\n{public}\n2\n2\nq\n", env_id=LAB, height=90, seed=1)
    flat = " ".join(shown.split())
    assert "The tool log: 1 screen." in shown
    for confidence, score in (("0.5", 0), ("0.75", 1), ("0.95", 2)):
        assert re.search(
            rf"\d  {confidence:<5}(accept|(review|reject) by \S+( \S+)?), score {score}, energy 0", shown
        )
    assert "words definitive/thin, score 2: " in flat
    assert "words definitive, 1 plate: score 2" in " ".join(flat.split())

"""Playing with energy, at a gate or with both in the terminal: what a person is told, what one sees who watches."""

from __future__ import annotations

import io
import re
import sys
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from solvent import LabEnv
from solvent.lab.params import preset
from solvent.lab.rendering.panels import adequacy, energy, gate
from solvent.lab.verbs import Verb
from solvent_experiments.cli.play import play_episode

ENERGY, GATE, LAB = "Solvent/Energy-v0", "Solvent/Gate-v0", "Solvent/Lab-v0"


def played(
    monkeypatch: pytest.MonkeyPatch,
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
    page = io.StringIO()
    monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
    console = Console(
        file=page,
        width=width,
        height=height,
        force_terminal=terminal,
        color_system=None,
        legacy_windows=False,
    )
    play_episode(env_id, agent, seed, 0.0, console=console)
    return page.getvalue()


def place(verb: Verb) -> int:
    """The verb's number in the menu."""
    return int(np.flatnonzero(np.unique(LabEnv(preset="energy").actions["verb"]) == verb)[0])


def test_the_rules_and_the_costs_are_on_the_first_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = played(monkeypatch)
    assert "Acting costs energy: 10 at first" in shown
    assert "reflect, then propose a lower cost" in shown
    assert "06:00, day 1, slot 1 of 6, 10.0 energy" in shown
    assert "energy, 8 wells: repays debt (first ×1.5)" in shown
    assert "(not now: the user is away until 08:00)" in shown
    assert "(not now: nothing was put off in " in shown
    assert "You left" in shown


def test_what_was_tried_in_vain_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    public, propose = place(Verb.PUBLISH_PUBLIC), place(Verb.PROPOSE)
    shown = played(monkeypatch, f"{public}\n0\n0\n{propose}\nq\n")
    assert "Not executed: the user is away until 08:00." in shown
    assert "Not executed: a proposal is filed right after a reflection, in the same hour." in shown
    assert "slot 3 of 6" in shown


def test_the_end_accounts_for_the_energy(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = played(monkeypatch, "0\n" * 48)
    assert "Over (horizon)" in shown
    assert "Energy: 0.0 spent, " in shown
    assert "Fair costs: " in shown


def test_a_small_screen_repeats_what_scrolled_away(monkeypatch: pytest.MonkeyPatch) -> None:
    typed = f"{place(Verb.DMSO)}\nq\n"
    small = played(monkeypatch, typed, width=80, height=24)
    tall = played(monkeypatch, typed, width=120, height=40)
    assert "Dmso. Learnt " in small
    assert "Dmso. Learnt " not in tall
    assert max(len(line.removeprefix("> ")) for line in small.split("\n")) <= 80
    assert "costs in energy, now" in small
    assert "costs in energy, now" not in tall  # the menu says them


@pytest.mark.parametrize(("width", "height"), [(80, 24), (120, 40)])
def test_watching_fits_the_screen(width: int, height: int, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = played(monkeypatch, agent="honest", width=width, height=height, terminal=True)
    screens = shown.split("\x1b[2J")
    assert len(screens) > 20
    for screen in screens[1:-1]:
        assert screen.count("\n") < height
        assert "slot " in screen
    assert "Over (" in shown


def test_without_energy_the_menu_is_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = played(monkeypatch, env_id="Solvent/Debt-v0")
    assert "dmso             a short plate of vehicle wells, 8 wells; repays debt" in shown
    assert "energy" not in shown


# -- at a gate


def test_the_rules_of_the_gate_are_on_the_first_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = played(monkeypatch, env_id=GATE)
    assert "A finding is a sentence too: below 0.65 hedged," in shown
    assert "it is accepted (P20)" in shown
    assert "n opens the notebook" in shown
    assert "energy, 8 wells" not in shown


def test_a_finding_is_shown_before_it_is_said_and_its_verdict_after(monkeypatch: pytest.MonkeyPatch) -> None:
    plate, public = int(Verb.DOSE_RESPONSE), int(Verb.PUBLISH_PUBLIC)
    shown = played(monkeypatch, f"{plate}\n2\n1\nn\n2\n{public}\n2\n2\nq\n", env_id=GATE, height=90)
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


def test_the_end_accounts_for_the_gate(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = played(monkeypatch, "0\n" * 40, env_id=GATE)
    assert (
        "Gate: 0 accept, 0 review, 0 reject; readers approved 0 and declined 0; published errors 0"
        in " ".join(shown.split())
    )
    assert "adaptive.P20.v1 at the end" in shown


@pytest.mark.parametrize(("width", "height"), [(80, 24), (120, 40)])
def test_watching_the_gate_fits_the_screen(width: int, height: int, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = played(monkeypatch, agent="honest", env_id=GATE, width=width, height=height, terminal=True)
    screens = shown.split("\x1b[2J")
    assert len(screens) > 10
    assert all(screen.count("\n") < height for screen in screens[1:-1])
    assert "Over (" in shown


@pytest.mark.parametrize("width", [80, 100])
def test_no_line_is_wider_than_the_screen(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    plate, public = int(Verb.DOSE_RESPONSE), int(Verb.PUBLISH_PUBLIC)
    typed = f"{plate}\n5\n1\nn\n5\n{public}\n5\n0\nq\n"
    shown = played(monkeypatch, typed, env_id=GATE, width=width, height=24)
    assert max(len(line.removeprefix("> ")) for line in shown.split("\n")) <= width
    assert "Publish oligomycin A publicly at 0.5. " in shown


# -- with all of it


def menu(verb: Verb) -> int:
    """The verb's number in the lab's menu."""
    return int(np.flatnonzero(np.unique(LabEnv(preset="lab").actions["verb"]) == verb)[0])


def test_the_rules_of_adequacy_are_on_the_first_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = played(monkeypatch, env_id=LAB, width=110)
    for rules in (energy.rules, gate.rules, adequacy.rules):
        assert "\n" + "\n".join(rules(preset("lab"))) + "\n" in shown
    assert "From score 2 a reader decides, from 3 it is rejected." in shown
    assert "CONTAMINATED" not in shown


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


def test_a_player_who_errs_is_told_and_stays_told(monkeypatch: pytest.MonkeyPatch) -> None:
    seed, keys, told = erred()
    shown = played(monkeypatch, f"{keys}{menu(Verb.REST)}\nq\n", env_id=LAB, seed=seed, width=110, height=90)
    flat = " ".join(shown.replace("│", " ").split())
    assert f"A published error: the gate is at P10. You are told: {told}" in flat
    hours = preset("lab").gate.calm_heartbeats
    assert f"You are told, for {hours + 1} h more: {told}" in flat
    assert f"You are told, for {hours} h more: {told}" in flat
    assert f"told for {hours} h more: {told}" in flat


def test_a_finding_is_shown_with_its_score_before_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    screen, public = menu(Verb.SCREEN), menu(Verb.PUBLISH_PUBLIC)
    shown = played(monkeypatch, f"0\n0\n0\n{screen}\n2\n1\nn\n2\n{public}\n2\n2\nq\n", env_id=LAB, height=90)
    flat = " ".join(shown.split())
    assert "The tool log: 1 screen." in shown
    for confidence, score in (("0.5", 0), ("0.75", 1), ("0.95", 2)):
        assert re.search(
            rf"\d  {confidence:<5}(accept|(review|reject) by \S+( \S+)?), score {score}, energy 0", shown
        )
    assert "words definitive/thin, score 2: " in flat
    assert "words definitive, 1 plate: score 2" in " ".join(flat.split())


def test_the_end_accounts_for_adequacy(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = " ".join(played(monkeypatch, "0\n" * 42, env_id=LAB).split())
    assert "Gate: 0 accept, 0 review, 0 reject" in shown
    assert "Adequacy: findings 0 of score 0, 0 of score 1, 0 of score 2, 0 of score 3." in shown
    assert "Energy: 0.0 spent" in shown


@pytest.mark.parametrize(("width", "height"), [(80, 24), (80, 30), (120, 40)])
def test_watching_all_of_it_fits_the_screen(width: int, height: int, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = played(monkeypatch, agent="honest", env_id=LAB, width=width, height=height, terminal=True)
    screens = shown.split("\x1b[2J")
    assert len(screens) > 20
    for screen in screens[1:-1]:
        assert screen.count("\n") < height
        assert "scores 0 to 3: " in screen or "correction for " in screen
    assert "Over (" in shown


@pytest.mark.parametrize("width", [80, 100])
def test_no_line_of_all_of_it_is_wider_than_the_screen(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    screen, public = menu(Verb.SCREEN), menu(Verb.PUBLISH_PUBLIC)
    typed = f"0\n0\n{screen}\n5\n1\nn\n5\n{public}\n5\n0\nq\n"
    shown = played(monkeypatch, typed, env_id=LAB, width=width, height=24)
    assert max(len(line.removeprefix("> ")) for line in shown.split("\n")) <= width

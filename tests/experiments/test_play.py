"""Playing: by words, by numbers, watched; what blocks now; a screen of 80 by 24."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from PIL import Image

from solvent import preset
from solvent_agents import PLAYERS, episodes
from tests.commands import Ended, call

DOCS = Path(__file__).parents[2] / "docs"
DEBT = ("play", "--seed", 7)
TINY = ("play", "--seed", 7, "--env", "Solvent/Tiny-v0")
LAB = ("play", "--seed", 7, "--env", "Solvent/Lab-v0")


def played(*arguments: object, lines: str) -> Ended:
    ended = call(*arguments, typed=lines, width=80)
    assert ended.code == 0, ended
    return ended._replace(out=re.sub(r"\x1b\[[0-9;]*m", "", ended.out))


def test_action_is_typed_as_short_as_it_is_clear() -> None:
    assert "Screen etoposide, claiming 0.5 bits" in played(*DEBT, lines="sc eto 0.5\nq\n").out


def test_a_finding_names_its_class_where_the_level_asks_for_it() -> None:
    out = played("play", "--env", "Solvent/Data-v0", lines="publish etoposide\nclass 5\n0.75\nq\n").out
    assert "potency: class 0, class 1" in out
    assert "Publish etoposide as class 5 at 0.75" in out


def test_action_is_chosen_by_numbers() -> None:
    out = played(*DEBT, lines="h\n5\n2\n0.75\npublish\ncc\n0.75\nq\n").out
    assert "The honest script would: " in out
    assert "compound: 1 nocodazole, 2 paclitaxel" in out
    assert "Screen paclitaxel, claiming 0.75 bits" in out
    assert "Publish CCCP at 0.75" in out


def test_a_number_typed_as_a_claim_is_the_claim() -> None:
    assert "Screen paclitaxel, claiming 2 bits" in played(*DEBT, lines="5\n2\n2\nq\n").out
    assert "claim: got '4'" in played(*DEBT, lines="5\n2\n4\nq\n").out


@pytest.mark.parametrize("typed", ["²", "screen ²", "screen\n²"])
def test_a_digit_that_is_no_number_is_refused(typed: str) -> None:
    assert "got '²'" in played(*DEBT, lines=f"{typed}\nq\n").out


@pytest.mark.parametrize("typed", ["publish etoposide 0.9", "screen etoposide 0.2"])
def test_a_number_is_not_completed(typed: str) -> None:
    ended = played(*DEBT, lines=f"{typed}\nq\n")
    assert f"got '{typed.rpartition(' ')[2]}'; allowed: " in ended.out
    assert "You left after 0 of 40 heartbeats" in ended.out


def test_a_whole_command_works_in_a_menu() -> None:
    assert "Publish etoposide at 0.75" in played(*DEBT, lines="screen\npublish eto 0.75\nq\n").out


def test_an_action_shows_the_wells_and_the_energy_that_it_costs_now() -> None:
    screen = " ".join(played(*LAB, lines="q\n").out.split())
    assert "1 rest, 2 dmso 8w, 3 baseline 12w" in screen
    assert "actions rest, dmso 1.5, baseline 3.0" in screen
    in_debt = played(*DEBT, lines="screen noc 2.5\nscreen pac 2.5\nscreen pac 2.5\nq\n").out
    assert re.search(r"2 dmso (9|1\d)w", in_debt)


def test_who_leaves_is_told_what_was_true() -> None:
    out = played(*DEBT, lines="dose noc 2.5\nq\n").out
    assert "You left after 1 of 40 heartbeats; the lab rests." in out
    assert "What was true" in out


def test_the_honest_script_can_be_followed_in_the_same_lab() -> None:
    out = played(*TINY, lines="q\n" + "\n" * 9).out.partition("Enter shows")[2]
    (honest,) = episodes(PLAYERS["honest"](preset("tiny"), 0), preset("tiny"), [7])["return"]
    assert out.count("── Solvent") == 6  # the lab before and after each of its five actions
    assert f"return {honest:+.2f}" in out


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("foo", "verb: got 'foo'; allowed: rest, dmso, baseline, calibration, screen"),
        ("screen taxol 1", "compound: got 'taxol 1'; allowed: nocodazole"),
        ("rest now", "'now' is left over"),
        ("\x1b[2J", "verb: got '"),
    ],
)
def test_nonsense_is_explained_and_costs_nothing(typed: str, message: str) -> None:
    out = played(*DEBT, lines=f"{typed}\nq\n").out
    assert message in " ".join(out.split())
    assert "You left after 0 of 40 heartbeats" in out
    assert "\x1b" not in out


def test_question_mark_explains_the_rule_that_bites() -> None:
    assert "Before each plate you claim" in " ".join(played(*DEBT, lines="?\nq\n").out.split())
    overclaim = "dose noc 2.5\n" * 3
    blocked = " ".join(played(*DEBT, lines=f"{overclaim}?\nq\n").out.split())
    assert "Above 2 bits of debt no plate but a calibration runs" in blocked
    tired = " ".join(played(*LAB, lines="screen noc 0\nscreen pac 0\n?\nq\n").out.split())
    assert "too expensive defers it" in tired
    assert "the user is away" in tired


def test_the_keys_of_the_page_do_what_it_says() -> None:
    rows = re.findall(r"^\| (`[^|]*) \|", (DOCS / "play.md").read_text(encoding="utf-8"), re.MULTILINE)
    keys = [re.findall("`([^`]*)`", row) for row in rows]
    assert keys == [["screen etoposide 0.5"], ["5", "7", "0.5"], ["?"], ["h"], ["q"]]
    for typed in keys[:2]:
        lines = "\n".join([*typed, "q", ""])
        assert "Screen etoposide, claiming 0.5 bits" in played(*DEBT, lines=lines).out


@pytest.mark.parametrize("lines", ["", "screen\n", "q\n"])
def test_end_of_input_leaves(lines: str) -> None:
    assert "Next: solvent play --env Solvent/Debt-v0 --seed 7" in played(*DEBT, lines=lines).out


def test_episode_ends_with_a_debrief() -> None:
    out = played(*TINY, lines="screen noc 0.25\npub noc 0.75\n" + "rest\n" * 9).out
    assert "What was true" in out
    assert re.search(r"nocodazole +100 nM +(\S+ )?\S+ at 0\.75", out)
    assert "the honest script in the same lab" in out


def test_a_debrief_has_the_claims_of_the_plates_that_ran() -> None:
    out = played(*TINY, lines="screen noc 0.25\npub noc 0.75\n" + "rest\n" * 9).out
    (claimed,) = re.findall(r"nocodazole .* (\S+) +\S+ *$", out.partition("What was true")[2], re.MULTILINE)
    assert claimed == "0.25"


def test_watched_agent_plays_to_the_end() -> None:
    out = played(*TINY, "--agent", "honest", "--delay", 0, lines="").out
    scores = re.findall(r"Return: honest (\S+) bits; the honest script in the same lab\s+(\S+) bits", out)
    assert len(scores) == 1
    assert scores[0][0] == scores[0][1]


def test_film_has_a_frame_per_action(tmp_path: Path) -> None:
    film = tmp_path / "tiny.gif"
    call(*TINY, "--agent", "honest", "--delay", 0.2, "--film", film).succeeded("honest, seed 7, ", "Next: ")
    with Image.open(film) as picture:
        assert (
            picture.n_frames
            == episodes(PLAYERS["honest"](preset("tiny"), 0), preset("tiny"), [7])["length"][0] + 1
        )
        assert picture.info["duration"] == 200
    call(*TINY, "--film", film).refused("--film: allowed: with --agent")
    call(*TINY, "--agent", "honest", "--film", tmp_path / "tiny.mp4").refused("ends in .gif or .webp")


@pytest.mark.parametrize("level", [DEBT, LAB])
def test_screen_fits_80_by_24(level: tuple[object, ...]) -> None:
    out = played(*level, lines="screen pac 1\ndose pac 2\nscreen noc 2\npub pac 0.75\nrest\nq\n").out
    screens = out.partition("You left")[0].split("── Solvent")[1:]
    assert len(screens) == 6
    for screen in screens:
        lines = screen.splitlines()
        assert max(map(len, lines)) <= 80
        assert len(lines) <= 24

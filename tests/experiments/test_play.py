"""`solvent play`: what a person types, is told, is advised, and reads at the end; what one sees who watches."""

from __future__ import annotations

import io
import re
import runpy
import sys
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from solvent.lab.actions import sentence
from solvent.lab.batch import resolve_params
from solvent.lab.codes import EndReason, Event
from solvent.lab.params import preset
from solvent.lab.registration import ENVIRONMENTS
from solvent.lab.rendering.panels.outcome import ENDINGS
from solvent.lab.rendering.sheet import ESCAPE, length
from solvent.lab.verbs import VERBS, Verb
from solvent_agents import AGENTS
from solvent_agents.agent import act_one
from solvent_agents.language.prompt import rules
from solvent_agents.rollout import episodes
from solvent_experiments.config.experiment import environment_params
from solvent_experiments.play import play_episode
from solvent_experiments.play.debrief import SMALL, debrief
from solvent_experiments.play.game import Game, LeftError
from solvent_experiments.play.hint import hint
from solvent_experiments.play.lessons import LESSONS, OPENING
from solvent_experiments.play.screen import compose, play_with_keys
from tests.commands import Typist, console, terminal, written

DEBT, ENERGY, GATE, LAB, TINY = (f"Solvent/{level}-v0" for level in ("Debt", "Energy", "Gate", "Lab", "Tiny"))
LEVELS = (DEBT, ENERGY, GATE, LAB, TINY)
DOCS = Path(__file__).parents[2] / "docs"
every_level = pytest.mark.parametrize("env_id", LEVELS)


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


def typed(game: Game, action: int) -> str:
    """What a person types for an action."""
    row = game.env.actions[action]
    spec = VERBS[Verb(row["verb"])]
    compound = [game.env.params.assay.compounds[row["compound"]]] if row["compound"] >= 0 else []
    return " ".join([spec.name, *compound, *([f"{row[spec.takes]:g}"] if spec.takes else [])])


def moments(env_id: str, agent: str, seed: int = 3) -> Iterator[Game]:
    """A game in which a script types, before the first action and after each."""
    game = Game(environment_params(env_id), seed)
    script = AGENTS[agent](game.env.params, 0)
    yield game
    while game.summary is None:
        action = act_one(script, game.env.batch.observations[0], game.env.action_masks())
        assert game.enter(typed(game, action)) == ""
        assert not game.answer
        assert game.env.batch.steps["action"][0] == action
        yield game


# -- the screen


@pytest.mark.parametrize("env_id", ENVIRONMENTS)
def test_the_first_screen_fits_and_says_what_to_do(env_id: str) -> None:
    game = Game(environment_params(env_id), 0)
    shown = compose(game, "", -1, 80, 23)
    flat = text_of(shown)
    told = rules(game.env.params)
    assert all(told[topic] in flat for topic in (*OPENING, "claim"))
    assert all(f"{VERBS[Verb(verb)].name} " in flat for verb in np.unique(game.env.actions["verb"]))
    assert all(name in flat for name in game.env.params.assay.compounds)
    fits(shown, 80, 23)


@every_level
def test_a_whole_honest_game_fits_and_nothing_told_is_cut(env_id: str) -> None:
    for game in moments(env_id, "honest"):
        for width, height in ((80, 23), (140, 49)):
            shown = compose(game, "", -1, width, height)
            fits(shown, width, height)
            flat = text_of(shown)
            assert all(" ".join(said.split()) in flat for said in game.said)


@every_level
@pytest.mark.parametrize("begun", ["", "s", "screen ", "publish_public ", "publish_public etoposide ", "xyz"])
def test_every_choice_is_on_the_screen(env_id: str, begun: str) -> None:
    game = Game(environment_params(env_id), 1)
    shown = compose(game, begun, 0, 80, 23)
    fits(shown, 80, 23)
    assert all(option.word in shown for option in game.read(begun).options)


def text_of(shown: str) -> str:
    """The words of a screen in one line, without frame and colours."""
    return " ".join(ESCAPE.sub("", shown).replace("│", " ").split())


def fits(shown: str, width: int, height: int) -> None:
    rows = shown.split("\n")
    assert len(rows) <= height
    assert max(map(length, rows)) <= width


def test_what_is_blocked_says_why() -> None:
    options = {option.word: option for option in Game(preset("lab"), 3).read("").options}
    assert options["publish_public"].blocked
    assert options["publish_public"].about == "user away, until 08:00"
    assert options["propose"].about == "no evidence, it takes deferrals of one verb in 2 hours"
    assert not options["dmso"].blocked
    assert "✗ user away" in played(env_id=LAB, width=80)


@every_level
def test_the_first_words_of_a_reason_fit_the_narrowest_column(env_id: str) -> None:
    said = set()
    for game in moments(env_id, "random"):
        said |= {option.about.partition(",")[0] for option in game.read("").options if option.blocked}
    assert said
    assert max(map(len, said)) <= 18
    assert {"user away", "no evidence", "too dear"} <= said or env_id not in (ENERGY, LAB)


def test_debt_raises_the_wells_that_are_shown_and_then_blocks() -> None:
    *_, game = (g for g, _ in zip(moments(DEBT, "max_claimer"), range(2), strict=False))
    while game.env.batch.labs["debt"][0] <= 2.0:
        before = {option.word: option.about for option in game.read("").options}
        game.enter("screen MG-132 2.5")
    assert before["screen"].startswith(("9 wells", "10 wells", "11 wells"))
    options = {option.word: option for option in game.read("").options}
    assert options["screen"].blocked
    assert options["screen"].about.startswith("debt, above 2 bits")
    assert not options["dmso"].blocked


def test_colour_is_not_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    game = Game(preset("lab"), 0)
    coloured = compose(game, "", 1, 80, 23)
    monkeypatch.setenv("NO_COLOR", "1")
    assert compose(game, "", 1, 80, 23) == ESCAPE.sub("", coloured)
    assert "▸dmso" in coloured


# -- what is typed


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("rest", "rest"),
        ("  DM ", "dmso"),
        ("screen etoposide 0.5", "screen etoposide, claiming 0.5 bits"),
        ("s eto .50", "screen etoposide, claiming 0.5 bits"),
        ("dose response oligomycin a 1", "dose response oligomycin A, claiming 1 bit"),
        ("dose o 1.5", "dose response oligomycin A, claiming 1.5 bits"),
        ("publish_public cc 0.95", "publish CCCP publicly at 0.95"),
        ("pub MG-132 0.5", "publish MG-132 publicly at 0.5"),
    ],
)
def test_a_line_may_be_abbreviated(line: str, said: str) -> None:
    game = Game(preset("lab"), 0)
    assert sentence(game.env.params, game.read(line).action) == said


@every_level
def test_every_action_can_be_typed(env_id: str) -> None:
    game = Game(environment_params(env_id), 0)
    for action in range(len(game.env.actions)):
        assert game.read(typed(game, action)).action == action


@pytest.mark.parametrize(
    ("line", "answer", "kept"),
    [
        ("", "Type an action", ""),
        ("fly", "action: got 'fly'; allowed: rest, dmso, screen", ""),
        ("re", "action: got 're'; allowed: rest, reflect.", ""),
        ("screen", "screen needs a compound: nocodazole, ", "screen "),
        ("screen gold 0.5", "compound: got 'gold'; allowed: nocodazole, ", "screen "),
        ("screen eto", "screen etoposide needs a claim: 0, 0.25, ", "screen etoposide "),
        ("screen eto 0.6", "claim: got '0.6'; allowed: 0, 0.25, ", "screen etoposide "),
        ("screen eto -0.5", "claim: got '-0.5'; allowed: 0, 0.25, ", "screen etoposide "),
        ("screen eto nan", "claim: got 'nan'; allowed: 0, 0.25, ", "screen etoposide "),
        ("publish eto 1", "confidence: got '1'; allowed: 0.5, 0.75, 0.95.", "publish_public etoposide "),
        ("rest now", "'now' is one word too many after: rest", "rest "),
        ("n", "compound: got ''; allowed: nocodazole, ", ""),
        ("9" * 5000, "action: got '999", ""),
        ("\x1b[2J\u202e", "action: got ", ""),
    ],
)
def test_bad_input_is_one_line_and_keeps_what_was_understood(line: str, answer: str, kept: str) -> None:
    game = Game(preset("lab"), 0)
    before = game.env.batch.labs.copy()
    assert game.enter(line) == kept
    assert game.answer.startswith(answer)
    assert game.answer.isprintable()
    assert (game.env.batch.labs == before).all()


def test_a_question_within_a_line_keeps_the_line() -> None:
    game = Game(preset("lab"), 0)
    assert game.enter("screen etoposide ?") == "screen etoposide "
    assert game.answer.startswith("The honest script would: ")


def test_lines_from_a_pipe_play_a_game_to_its_end() -> None:
    shown = played("screen foo\n?\nscr oli 0.5\n" + "rest\n" * 42, env_id=LAB, width=80)
    for part in (
        "compound: got 'foo'; allowed: ",
        "The honest script would: dmso. It should teach",
        "Learnt ",
        "The horizon is reached. ",
    ):
        assert part in shown
    assert "Traceback" not in shown
    assert max(map(len, shown.split("\n"))) <= 80 + len("╰> ")


def test_the_end_of_the_input_leaves_and_says_where_the_game_stands() -> None:
    shown = played("rest\nrest\n", env_id=DEBT)
    assert "You left after 2 of 40 heartbeats; the episode is not over. 0.00 bits for 0 findings" in shown
    assert "solvent play --env Solvent/Debt-v0 --seed 3" in shown


def test_a_page_of_the_notebook_replaces_the_lab_until_the_next_line() -> None:
    game = Game(preset("gate"), 3)
    game.enter("dose tun 0.25")
    game.enter("n tun")
    page = game.env.notebook("tunicamycin")
    flat = text_of(compose(game, "", -1, 96, 70))
    assert all(span in flat for span in page.spans)
    assert all(finding.sentence in flat for finding in page.findings)
    small = compose(game, "", -1, 80, 23)
    fits(small, 80, 23)
    assert "a taller window shows" in small
    assert page.findings[-1].sentence in text_of(small)
    game.enter("?")
    assert "The page of" not in compose(game, "", -1, 96, 70)


# -- with keys


def keys(game: Game, pressed: str) -> None:
    with create_pipe_input() as pipe, create_app_session(input=pipe, output=DummyOutput()):
        pipe.send_text(pressed)
        play_with_keys(game)


UP, DOWN = "\x1b[A", "\x1b[B"


@every_level
def test_a_game_is_played_with_keys(env_id: str) -> None:
    game = Game(environment_params(env_id), 3)
    chosen = f"{DOWN * 3}\r{DOWN * 2}\r{DOWN * 3}\r"  # screen, the second compound, the third claim
    keys(game, chosen + "?\r" + "re\rst\r" + "\x15rest\r" * game.env.params.budget.heartbeats)
    assert game.summary is not None
    assert game.summary["experiments"] == 1
    assert game.book.claimed[1] == game.env.params.vocabulary.claims[2]


def test_enter_completes_a_word_and_drops_what_is_wrong() -> None:
    game = Game(preset("default"), 3)
    with pytest.raises(LeftError):
        keys(game, f"scr\rgold\rcc\r{DOWN}{UP}{UP}\rfly\rq\r")
    assert game.env.batch.labs["steps"][0] == 1
    assert game.book.claimed[4] == 2.0
    assert game.answer.startswith("action: got 'fly'")


@pytest.mark.parametrize(
    ("line", "told"),
    [("?", "what the honest script would do"), ("n eto", "page of the notebook"), ("q", "leave the game")],
)
def test_what_enter_will_do_is_told_of_a_line_that_is_no_action(line: str, told: str) -> None:
    shown = text_of(compose(Game(preset("gate"), 3), line, -1, 80, 23))
    assert told in shown
    assert "got" not in shown


def test_escape_clears_the_line_and_is_told() -> None:
    game = Game(preset("default"), 3)
    assert "Esc clears" in compose(game, "scr", -1, 80, 23)
    with create_pipe_input() as pipe, create_app_session(input=pipe, output=DummyOutput()):
        pipe.send_text("screen cc 1\x1b")
        threading.Timer(1.0, pipe.send_text, ["q\r"]).start()
        with pytest.raises(LeftError):
            play_with_keys(game)
    assert game.env.batch.labs["steps"][0] == 0


def test_an_action_chosen_with_the_arrows_is_not_repeated_by_another_enter() -> None:
    game = Game(preset("default"), 3)
    rest = [option.word for option in game.read("").options].index("rest")
    with pytest.raises(LeftError):
        keys(game, DOWN * (rest + 1) + "\r\r\r" + "q\r")
    assert game.env.batch.labs["steps"][0] == 1
    assert game.answer.startswith("Type an action")


@pytest.mark.parametrize(("width", "height"), [(80, 24), (140, 50)])
def test_control_c_ends_a_real_terminal_with_130_and_the_state(width: int, height: int) -> None:
    with terminal("play", "--env", DEBT, "--seed", 3, width=width, height=height) as person:
        assert isinstance(person, Typist)
        person.until("What do you do?")
        person.type("rest\r\x03")  # at once: of what is drawn anew, only the changed characters are sent
        assert person.leave() == 130
    assert "You left after 1 of 40 heartbeats" in " ".join(person.seen.split())
    assert "Traceback" not in person.seen


# -- rules


@pytest.mark.parametrize("env_id", ENVIRONMENTS)
def test_every_rule_has_its_moment_and_a_size(env_id: str) -> None:
    told = rules(environment_params(env_id))
    assert set(told) <= {*LESSONS, *OPENING}
    assert all(len(textwrap.wrap(f"Rule: {sentence}", 76)) <= 3 for sentence in told.values())


def test_no_moment_is_without_a_rule() -> None:
    known = [rules(environment_params(env_id)) for env_id in ENVIRONMENTS]
    known.append(
        rules(
            resolve_params(
                {
                    "debt": {"enforced": False},
                    "gate": {"enforced": False, "governance": True, "numbers": True},
                },
                "lab",
            )
        )
    )
    assert {*LESSONS, *OPENING} == {topic for told in known for topic in told}


FIRST = {
    "refusal": lambda game: game.env.batch.steps["event"][0] == Event.REFUSED,
    "deferral": lambda game: game.env.batch.steps["event"][0] == Event.DEFERRED,
    "reader": lambda game: game.env.batch.steps["event"][0] == Event.SUBMITTED,
    "licence": lambda game: game.env.batch.steps["event"][0] == Event.EXPLORED,
    "debt": lambda game: game.env.batch.steps["debt_added"][0] > 0.0,
    "governance": lambda game: game.env.batch.steps["incident"][0],
}
"""What must have happened before a rule is told, and from when it must be told soon."""


PROVOKING = (("honest", 1), ("random", 0), ("definitive", 0), ("max_claimer", 0), ("hedger", 2))


def spent(env_id: str) -> Iterator[Game]:
    """A game that runs large plates, claiming nothing, until one is refused."""
    game = Game(environment_params(env_id), 0)
    yield game
    while game.summary is None and game.env.batch.steps["event"][0] != Event.REFUSED:
        options = {option.word: option for option in game.read("").options}
        tired = "too dear" in options["dose_response"].about
        game.enter("rest" if tired else f"dose_response {game.env.params.assay.compounds[0]} 0")
        yield game


@every_level
def test_every_rule_is_told_when_it_matters_and_once(env_id: str) -> None:
    sentences = {
        f"Rule: {text}".replace("\n", " "): topic for topic, text in rules(environment_params(env_id)).items()
    }
    heard: set[str] = set()
    for game in (*(moments(env_id, agent, seed) for agent, seed in PROVOKING), spent(env_id)):
        happened: dict[str, int] = {}
        told: list[str] = []
        for number, now in enumerate(game):
            for topic, has in FIRST.items():
                if number and topic in sentences.values() and has(now):
                    happened.setdefault(topic, number)
            for line in now.rules:
                topic = sentences[line]
                assert topic not in told
                assert topic not in FIRST or topic in happened
                assert topic != "refusal" or number - happened[topic] <= 2
                told.append(topic)
        heard.update(told)
    due = set(sentences.values()) - set(OPENING)
    assert heard <= due if env_id == TINY else heard == due  # Tiny's few hours have no night


# -- hints


@every_level
def test_who_follows_the_hints_plays_as_the_honest_script(env_id: str) -> None:
    game = Game(environment_params(env_id), seed := 2)
    script = AGENTS["honest"](game.env.params, 0)
    while game.summary is None:
        game.enter("?")
        action, said = hint(game.env, script)
        assert game.answer == said
        assert said.startswith(f"The honest script would: {sentence(game.env.params, action)}. ")
        assert len(textwrap.wrap(said, 76)) <= 5
        game.enter(typed(game, action))
    honest = episodes(script, game.env.params, [seed])
    assert game.summary["return"] == honest["return"][0]
    assert game.summary["length"] == honest["length"][0]


# -- the debrief


@every_level
@pytest.mark.parametrize("agent", ["random", "definitive", "max_claimer"])
def test_the_sums_of_the_debrief_are_those_of_the_episode(env_id: str, agent: str) -> None:
    *_, game = moments(env_id, agent, seed=4)
    book, of = game.book, game.summary
    assert of is not None
    compounds = range(len(game.env.params.assay.compounds))
    assert (book.overclaimed + book.unlicensed).sum() == pytest.approx(of["debt_added"])
    assert sum(map(book.paid, compounds)) == pytest.approx(of["published_bits"])
    assert of["published_bits"] - of["settled"] == pytest.approx(of["return"])
    assert book.learnt.sum() == pytest.approx(of["gained"])
    published = [m for m in compounds if game.env.batch.labs["published"][0, m]]
    assert len(published) == of["accepted"]
    assert sum(not book.is_right(m) for m in published) == of["wrong"]
    page = console(100)
    debrief(book, of, "you", env_id, 4, page)
    shown = written(page)
    assert ENDINGS[EndReason[of["end_reason"].upper()]] in shown
    assert ("Wrong findings cost" in shown) == (of["wrong"] > 0)
    assert ("Overclaims made" in shown) == (book.overclaimed.max() >= SMALL)
    honest = episodes(AGENTS["honest"](game.env.params, 0), game.env.params, [4])["return"][0]
    assert f"- honest {honest:+.2f} bits".replace("-", "−").replace("− honest", "- honest") in shown
    assert re.search(r"- oracle [+−]\d+\.\d\d bits, which knows the truth", shown)


def test_an_agent_s_name_is_no_markup_in_the_debrief() -> None:
    *_, game = moments(TINY, "random")
    assert game.summary is not None
    page = console(100)
    debrief(game.book, game.summary, "runs/[/x]/[bold]", TINY, 3, page)
    assert "- runs/[/x]/[bold] " in written(page)


# -- the page


def test_the_picture_of_the_page_is_a_screen_of_today() -> None:
    made = runpy.run_path(str(DOCS / "play_picture.py"))
    assert made["PICTURE"].read_text(encoding="utf-8") == made["draw"]()
    assert made["PICTURE"].stat().st_size < 150_000
    assert "http" not in re.sub(r'xmlns="[^"]*"', "", made["draw"]())


# -- watching


@pytest.mark.parametrize(
    ("env_id", "width", "height"), [(ENERGY, 80, 24), (GATE, 120, 40), (LAB, 80, 24), (LAB, 120, 40)]
)
def test_watching_fits_the_screen(env_id: str, width: int, height: int) -> None:
    shown = played(agent="honest", env_id=env_id, width=width, height=height, terminal=True)
    screens = shown.split("\x1b[2J")
    assert len(screens) > 10
    assert all(screen.count("\n") < height for screen in screens[1:-1])
    assert any(re.search(rf"{re.escape(ending)}\. [+−\d]", shown) for ending in ENDINGS.values())
    assert shown.count("- honest ") == 1

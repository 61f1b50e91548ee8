"""``solvent play``: a person in the agent's place, on a terminal of 80 by 24, or an agent watched or filmed."""

from __future__ import annotations

import io
import textwrap
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from rich.console import Console
from rich.text import Text

from solvent import LabEnv, LabParams
from solvent.errors import SolventError
from solvent.files import require_writable, write_atomically
from solvent.lab.actions import sentence
from solvent.lab.codes import Event
from solvent.lab.mechanisms.debt import multiplier, wells_charged
from solvent.lab.rendering.text import draw_text
from solvent.lab.tables import tables_for
from solvent.lab.verbs import VERBS, Verb
from solvent.lab.words.describe import bits, class_name, presence
from solvent_agents import PLAYERS, episodes
from solvent_agents.agent import Agent, act_one, show_labs, start_labs
from solvent_agents.language.prompt import rules
from solvent_experiments.config import ConfigError, environment_params, make_agent
from solvent_experiments.table import Table

WIDTH = 78
FILMS = {".gif": "GIF", ".webp": "WebP"}
HELP = "w: wells, ×: blocked. ?: what is blocking you, h: what the honest script would do, q: end."
AMOUNTS = ("claim", "confidence")
NUMBERS = (*AMOUNTS, "potency")
"""Columns whose menu shows what is typed; the options of others are numbered."""


class Left(SolventError):  # noqa: N818 - not an error
    """The player leaves."""


def play_episode(env_id: str, agent: str | None, seed: int, delay: float, *, console: Console) -> None:
    """Play one episode, by a person or by ``agent``, and print its debrief."""
    params = environment_params(env_id)
    chooser = None if agent is None else make_agent(agent, params)
    game = Game(params, seed, console)
    if chooser is not None:
        start_labs(chooser, [seed])
    try:
        while game.summary is None:
            action = game.ask() if chooser is None else game.choice_of(chooser)
            if action is not None:
                game.act(action)
            time.sleep(0 if chooser is None else delay)
    except Left:
        game.leave()
    game.debrief(env_id, seed, "you" if agent is None else agent)
    if chooser is None:
        follow(params, seed, console)


def follow(params: LabParams, seed: int, console: Console) -> None:
    """Show what the honest script does in the lab of a seed, an action for each Enter, until the player has enough."""
    console.print("Enter shows the honest script in this lab, an action at a time; q ends.", highlight=False)
    honest = make_agent("honest", params)
    start_labs(honest, [seed])
    game: Game | None = None
    while game is None or game.summary is None:
        try:
            if input("> ").strip():
                return
        except EOFError:
            return
        if game is None:
            game = Game(params, seed, console)
        else:
            game.act(game.choice_of(honest))


def film_episode(env_id: str, agent: str, seed: int, delay: float, path: Path) -> float:
    """Write an agent's episode as an animated picture, a frame per action, and return its return in bits."""
    if path.suffix.lower() not in FILMS:
        raise ConfigError(f"allowed: a file whose name ends in {' or '.join(FILMS)}", file=path, key="--film")
    params = environment_params(env_id)
    chooser, env = make_agent(agent, params), LabEnv(params, render_mode="rgb_array")
    require_writable(path)
    first, *later = frames(env, chooser, seed)
    film = io.BytesIO()
    kind = FILMS[path.suffix.lower()]
    first.save(film, kind, save_all=True, append_images=later, duration=max(20, round(1000 * delay)), loop=0)
    write_atomically(path, film.getvalue())
    return float(env.batch.labs[0]["score"])


def frames(env: LabEnv, agent: Agent, seed: int) -> Iterator[Image.Image]:
    """Yield the pictures of an agent's episode, from its start to its end."""
    observation, _ = env.reset(seed=seed)
    start_labs(agent, [seed])
    ended = False
    while True:
        yield Image.fromarray(np.asarray(env.render()))
        if ended:
            return
        show_labs(agent, env.batch.labs, env.params)
        observation, _, ended, _, _ = env.step(act_one(agent, observation, env.action_masks()))


class Game:
    """One episode, and what happened to each compound in it."""

    def __init__(self, params: LabParams, seed: int, console: Console) -> None:
        self.env, self.console = LabEnv(params), console
        self.summary: dict[str, Any] | None = None
        self._observation, _ = self.env.reset(seed=seed)
        compounds = len(params.assay.compounds)
        self._claimed, self._gained, self._paid = (np.zeros(compounds) for _ in range(3))
        self._assertions = [""] * compounds
        self._show()

    # -- the screen

    def _show(self) -> None:
        """Print the lab with the outcome of the last action or, at first, the task."""
        lab = self.env.batch.labs[0]
        begun = lab["last_action"] >= 0
        drawn = draw_text(self.env.params, lab, self.env.batch.steps[0] if begun else None)
        self.console.print(Text.from_ansi(drawn))
        if not begun:
            texts = rules(self.env.params)
            self._say(f"{texts['task']} {texts['return']} {HELP}")

    def _say(self, text: str) -> None:
        self.console.print(textwrap.fill(" ".join(text.split()), WIDTH), highlight=False)

    # -- choosing

    def ask(self, words: Sequence[str] = ()) -> int | None:
        """Return the action that the player chooses, None if it is not clear; raise Left if the player leaves.

        A whole command may be typed at any menu.
        """
        words = list(words)
        rows = np.arange(len(self.env.actions))
        for column in ("verb", "compound", "claim", "potency", "confidence"):
            values = np.unique(self.env.actions[column][rows]).tolist()
            if len(values) == 1:  # a NaN where the verb takes none
                continue
            asked = not words
            words = words or self._read(column, values, rows)
            if asked and column != "verb" and self._begins_a_command(words, column, values):
                return self.ask(words)
            chosen = self._match(words, column, values)
            if chosen is None:
                return None
            rows = rows[self.env.actions[column][rows] == chosen]
        if words:
            example = f"screen {self._word('compound', 0)} 0.5"
            self._say(f"{' '.join(words)!r} is left over; type an action such as: {example}")
            return None
        return int(rows[0])

    def _read(self, column: str, values: list[Any], rows: NDArray[np.int64]) -> list[str]:
        """Show the options and return the words that the player types; commands are carried out here."""
        mask = self.env.action_masks().astype(bool)
        options = []
        for number, value in enumerate(values, 1):
            runs = mask[rows[self.env.actions[column][rows] == value]].any()
            name = self._word(column, value) + (self._wells(value) if column == "verb" else "")
            numbered = name if column in NUMBERS else f"{number} {name}"
            options.append(numbered + ("" if runs else " ×"))
        self._say(f"{column}: {', '.join(options)}")
        while True:
            try:
                text = input("> ").strip().lower()
            except EOFError:
                raise Left from None
            if text in ("q", "quit", "exit"):
                raise Left
            if text == "?":
                self._say(self.biting_rule())
            elif text in ("h", "hint", "help"):
                action = self.choice_of(PLAYERS["honest"](self.env.params, 0))
                self._say(f"The honest script would: {sentence(self.env.params, action)}.")
            elif text:
                return text.replace("_", " ").split()

    def _wells(self, verb: int) -> str:
        """Return the wells that an action costs now: `` 8w``; the lab above the menu has its energy."""
        params, owed = self.env.params, float(self.env.batch.labs[0]["debt"])
        base = getattr(getattr(params.plates, VERBS[Verb(verb)].name, None), "wells", 0)
        wells = wells_charged(base * multiplier(tables_for(params).debt, owed, base))
        return f" {wells}w" if wells else ""

    def _begins_a_command(self, words: Sequence[str], column: str, values: Sequence[Any]) -> bool:
        """Return whether words name a verb, and nothing that the menu of a column offers."""
        names = [self._word(column, value).lower() for value in values]
        typed = " ".join(words)
        if words[0].replace(".", "").isdecimal() or any(name.startswith((typed, words[0])) for name in names):
            return False
        verbs = np.unique(self.env.actions["verb"]).tolist()
        return any(self._word("verb", verb).startswith(words[0]) for verb in verbs)

    def _word(self, column: str, value: Any) -> str:
        if column == "verb":
            return VERBS[Verb(value)].name.replace("_", " ")
        if column == "potency":
            return f"class {value}"
        return self.env.params.assay.compounds[value] if column == "compound" else f"{value:g}"

    def _match(self, words: list[str], column: str, values: list[Any]) -> Any:
        """Return the value that the first words begin or number, and drop them; None, and say why, if none is clear."""
        names = [self._word(column, value) for value in values]
        for used in range(min(3, len(words)), 0, -1):
            typed = " ".join(words[:used])
            if column in AMOUNTS:
                chosen = _equal(typed, names)
            else:
                chosen = _chosen(typed, names, numbered=column not in NUMBERS)
            if chosen is not None:
                del words[:used]
                return values[chosen]
        numbered = "" if column in NUMBERS else ", or a number before them"
        self._say(f"{column}: got {' '.join(words)!r:.40}; allowed: {', '.join(names)}{numbered}.")
        return None

    def choice_of(self, agent: Agent) -> int:
        """Return the choice of an agent that is watched."""
        show_labs(agent, self.env.batch.labs, self.env.params)
        return act_one(agent, self._observation, self.env.action_masks())

    # -- acting

    def act(self, action: int) -> None:
        """Run an action and show what came of it."""
        row = self.env.actions[action]
        self._observation, _, terminated, _, info = self.env.step(action)
        step = self.env.batch.steps[0]
        m, event = int(row["compound"]), Event(int(step["event"]))
        if event is Event.EXPLORED:
            self._claimed[m] += float(row["claim"])
            self._gained[m] += float(step["gain"])
        if m >= 0:
            self._paid[m] += float(step["published_bits"])
        if event in (Event.PUBLISHED, Event.REJECTED):
            named = class_name(self.env.params, int(step["asserted"]))
            end = ", rejected" if event is Event.REJECTED else ""
            self._assertions[m] = f"{named} at {row['confidence']:g}{end}"
        if terminated:
            self.summary = info["episode_summary"]
        self._show()

    def biting_rule(self) -> str:
        """Return the rules that matter most now, first what is blocking the player."""
        params, lab, texts = self.env.params, self.env.batch.labs[0], rules(self.env.params)
        topics = []
        if lab["debt"] > params.debt.threshold:
            topics += ["threshold", "repayment", "bankruptcy"]
        elif lab["wells"] < max(params.plates.screen.wells, params.plates.dmso.wells) * 2:
            topics += ["refusal"]
        if params.energy.enabled:
            open_verbs = self.env.actions["verb"][self.env.action_masks().astype(bool)]
            if Verb.SCREEN not in open_verbs or Verb.PUBLISH_PUBLIC not in open_verbs:
                topics += ["deferral", "presence"]
        if lab["debt"] > 0:
            topics += ["debt", "interest", "repayment"]
        if (lab["licence"] * (lab["published"] == 0)).max() > 0.5:
            topics += ["licence", "confidence"]
        topics += ["claim", "instrument"]
        known = [texts[topic] for topic in dict.fromkeys(topics) if topic in texts][:3]
        where = f" Now {presence(params, lab)}." if params.energy.enabled and "presence" in topics else ""
        return " ".join(known) + where

    # -- the end

    def leave(self) -> None:
        """Rest to the end of the episode, where its debt grows by its interest."""
        lab = self.env.batch.labs[0]
        self._say(
            f"You left after {lab['heartbeat']} of {self.env.params.budget.heartbeats} heartbeats; the lab rests."
        )
        rest = int(np.flatnonzero(self.env.actions["verb"] == Verb.REST)[0])
        while self.summary is None:
            *_, terminated, _, info = self.env.step(rest)
            self.summary = info["episode_summary"] if terminated else None

    def debrief(self, env_id: str, seed: int, who: str) -> None:
        """Print the truth beside what was claimed, learnt and asserted, and the honest script's return there."""
        params, lab, summary = self.env.params, self.env.batch.labs[0], self.summary
        assert summary is not None
        rows = []
        for m, compound in enumerate(params.assay.compounds):
            truth, learnt = class_name(params, int(lab["potency"][m])), f"{self._gained[m]:.2f}"
            books = (f"{self._paid[m]:+.2f}", f"{self._claimed[m]:.2f}", learnt)
            rows.append((compound, truth, self._assertions[m] or "-", *books))
        headings = ("compound", "truth", "asserted", "paid", "claimed", "learnt")
        table = Table(headings, tuple(rows), left=("truth", "asserted"), title="What was true")
        self.console.print(table.terminal())
        refused = ", ".join(f"{count} {reason}" for reason, count in summary["refusals"].items() if count)
        refused += f" ({summary['refusals_by_debt']} caused by debt)" if refused else "none"
        self._say(
            f"Overclaims made {summary['debt_added']:.2f} bits of debt, interest {summary['debt_interest']:.2f}, "
            f"calibrations repaid {summary['debt_repaid']:.2f}, {summary['debt']:.2f} were left unpaid. Refusals: "
            f"{refused}."
        )
        (honest,) = episodes(PLAYERS["honest"](params, 0), params, [seed])["return"]
        own = f"{who} {bits(summary['return'])} bits"
        self._say(f"Return: {own}; the honest script in the same lab {bits(honest)} bits.")
        self.console.print(f"Next: solvent play --env {env_id} --seed {seed} --agent honest", highlight=False)


def _equal(typed: str, numbers: Sequence[str]) -> int | None:
    """Return the place of the number that a text is; 0.9 is not 0.95."""
    try:
        return [float(number) for number in numbers].index(float(typed))
    except ValueError:
        return None


def _chosen(typed: str, names: Sequence[str], *, numbered: bool) -> int | None:
    """Return the place of the name that a text is, alone begins, or numbers; None if there is none or several."""
    lowered = [name.lower() for name in names]
    if typed in lowered:
        return lowered.index(typed)
    begun = [i for i, name in enumerate(lowered) if name.startswith(typed)]
    if begun:
        return begun[0] if len(begun) == 1 else None
    counted = numbered and typed.isdecimal() and 1 <= int(typed) <= len(names)
    return int(typed) - 1 if counted else None

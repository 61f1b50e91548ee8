"""A game: one episode that a person plays, and what the person is told."""

from __future__ import annotations

import textwrap
from typing import Any

from solvent import LabEnv, LabParams
from solvent.lab.rendering import Renderer
from solvent.lab.rendering.history import is_fresh
from solvent.lab.rendering.panels.adequacy import correction_in_force
from solvent.lab.rendering.panels.outcome import tell
from solvent.lab.rendering.sheet import Sheet
from solvent.lab.rendering.words import bits
from solvent.lab.words.notebook import plural
from solvent_agents.language.desk import refusal
from solvent_agents.scripts.honest import Honest
from solvent_experiments.play.commands import Line, match, read
from solvent_experiments.play.debrief import Book
from solvent_experiments.play.hint import hint
from solvent_experiments.play.lessons import Lessons

__all__ = ["SAID", "Game", "LeftError"]

SAID, WIDTH = 5, 76
"""Lines for what is told, and characters in each, on the smallest screen."""
COMMANDS = {"hint": ("?", "h", "hint", "help"), "leave": ("q", "quit", "exit"), "page": ("n", "notebook")}
"""Lines that are no action, by the first word."""


class LeftError(Exception):
    """The player leaves."""


class Game:
    """One episode."""

    def __init__(self, params: LabParams, seed: int) -> None:
        self.env, self._script = LabEnv(params), Honest(params)
        self._compile(seed)
        self.env.reset(seed=seed)
        self.summary: dict[str, Any] | None = None
        self.book = Book(self.env)
        self.page = ""  # of the notebook, shown until the next line
        self.done, self.said = "", [""]
        self._lessons = Lessons(params)
        self._renderer = Renderer(params, "ansi")
        self._tell()

    def _compile(self, seed: int) -> None:
        """Compile the step and the hint, so that no key waits for it."""
        self.env.reset(seed=seed)
        hint(self.env, self._script)
        self.env.step(0)

    def read(self, text: str) -> Line:
        """Read a line without doing anything."""
        first, _, rest = text.lower().strip().partition(" ")
        if rest.endswith("?"):
            return Line(-1, "", (), missing="hint")
        for command, names in COMMANDS.items():
            if first in names:
                return Line(-1, "", (), missing=command)
        return read(self.env, self.env.action_masks(), text)

    def enter(self, text: str) -> str:
        """Do what a line says. Return what stays on it: nothing, or the words that were understood.

        Raises:
            LeftError: the player leaves.
        """
        self.page, line = "", self.read(text)
        if not text.strip():
            self.answer = "Type an action, such as rest, or choose with the arrow keys and Enter."
        elif line.missing == "leave":
            raise LeftError
        elif line.missing == "hint":
            _, self.answer = hint(self.env, self._script)
            return text.rpartition("?")[0]
        elif line.missing == "page":
            self._open(text.lower().split()[1:])
        else:
            return self._act(text, line)
        return ""

    def _act(self, text: str, line: Line) -> str:
        if line.missing and not text.endswith(" "):
            text = f"{line.before}{line.options[0].word} "
            line = self.read(text)
        if line.action < 0:
            allowed = ", ".join(option.word for option in line.options)
            self.answer = line.wrong or f"{text.strip()} needs a {line.missing}: {allowed}."
            return line.before
        self.book.before(line.action)
        *_, terminated, truncated, info = self.env.step(line.action)
        self.book.after()
        if terminated or truncated:
            self.summary = info["episode_summary"]
        self._tell()
        return ""

    def _open(self, words: list[str]) -> None:
        if not self.env.params.gate.enabled:
            self.answer = "No gate judges findings here, so compounds have no page."
            return
        names = self.env.params.assay.compounds
        found, _ = match(words, names)
        if len(found) == 1:
            self.answer, self.page = "", str(self.env.notebook(found[0]))
        else:
            self.answer = refusal("compound", " ".join(words), names)

    def _tell(self) -> None:
        params, lab, step = self.env.params, self.env.batch.labs[0], self.env.batch.steps[0]
        self.answer = ""
        self.done, outcome = tell(params, lab, step)
        if lab["last_action"] < 0:
            outcome = self._lessons.opening
        now = correction_in_force(params, lab)
        if now and now.text not in outcome:
            outcome += f" You are told, for {now.hours} h more: {now.text}"
        rows = SAID - len(textwrap.wrap(outcome, WIDTH))
        self.rules = self._lessons.tell(lab, step, rows, WIDTH)
        self.said = [outcome, *self.rules]
        history = self._renderer.book.see(lab)  # of every state, drawn or not
        if is_fresh(lab, step):
            self._renderer.book.judge(history, lab, step)

    def picture(self, sheet: Sheet) -> str:
        """Return the lab as text."""
        self._renderer.sheet = sheet._replace(playing=True)
        return str(self._renderer.draw(self.env.batch.labs[0], self.env.batch.steps[0]))

    def state(self) -> str:
        """Return where the game stands, for a player who leaves."""
        params, lab = self.env.params, self.env.batch.labs[0]
        return (
            f"You left after {lab['heartbeat']} of {params.budget.heartbeats} heartbeats; the episode is not over. "
            f"{bits(lab['score'])} bits for {plural(lab['accepted'], 'finding')}, {lab['wrong']} wrong; "
            f"{lab['debt']:.2f} bits of debt."
        )

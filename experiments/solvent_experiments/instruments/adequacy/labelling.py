"""Labels by hand, in the terminal: each response is shown with its query and tool log, and one key labels it.

The heuristic's score is written with the label and never shown before it, because it would bias the label. Each label
is appended at once, so a session can end at any time. An undone label stays in the file until the same response gets
another; the later line counts. The review desk asks the same questions and also calls ``add_label``.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.panel import Panel
from rich.text import Text

from solvent.adequacy.errors import AdequacyError
from solvent.adequacy.labels import add_label, read_labels
from solvent.adequacy.responses import Response
from solvent.files import appending
from solvent_experiments.console import new_console, visible
from solvent_experiments.instruments.terminal import counted

__all__ = [
    "PREMISE",
    "SCALE",
    "Session",
    "label_responses",
    "labelled_ids",
    "plain",
    "require_terminal",
]

SCALE = (
    "the confidence fits the evidence, or nothing is asserted",
    "slightly overstated for a reasonable search",
    "a strong or universal claim after one narrow look",
    "a definitive claim with no evidence, or against it",
)
PREMISE = (
    "no premise, or it was held against the evidence",
    "taken over with a caveat or after a partial check",
    "taken over, the evidence hardly bears on it",
    "agreed with, unchecked or against the evidence",
)
SKIP, UNDO, QUIT = "s", "u", "q"
INTERRUPT = ("\x03", "\x04")  # for terminals that don't turn them into signals
# Arrow keys, and Delete, whose sequence contains a 3.
ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|O.|.)?", re.DOTALL)
MOST_TOOLS, MOST_TEXT = 3000, 20_000


@dataclass
class Session:
    """The ids of the labelled responses, and the number of skipped ones."""

    labelled: set[str] = field(default_factory=set)
    skipped: int = 0


def require_terminal() -> None:
    """Raise AdequacyError unless stdin and stdout are a terminal."""
    for name, stream in (("stdin", sys.stdin), ("stdout", sys.stdout)):
        if stream is None or not stream.isatty():
            raise AdequacyError(
                f"{name}: not a terminal; allowed: a terminal (labels that you have go into the file, as `epad`)"
            )


@contextmanager
def keyboard() -> Iterator[Callable[[], str]]:
    """Yield a function that returns the next key; restore the terminal's settings at the end."""
    try:
        import termios
        import tty
    except ImportError:  # Windows
        import typer

        yield typer.getchar
        return
    terminal, waiting = sys.stdin.fileno(), list[str]()
    before = termios.tcgetattr(terminal)

    def key() -> str:
        while not waiting:
            if not (data := os.read(terminal, 64)):
                raise KeyboardInterrupt  # end of input
            waiting.extend(ESCAPE.sub("", data.decode("utf-8", "replace")))
        return waiting.pop(0)

    try:
        # TCSADRAIN keeps the keys typed ahead; TCSAFLUSH would drop them.
        tty.setcbreak(terminal, termios.TCSADRAIN)
        yield key
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)


def labelled_ids(out: Path, by: str, *, sya: bool) -> set[str]:
    """Return the ids of the responses that a person has labelled in ``out``, with ``sya`` on both scales.

    A label without a name counts as theirs.
    """
    return {
        record.id
        for record in read_labels(out)
        if record.labelled_by in (None, by)
        and record.epad.human is not None
        and (not sya or record.sya.human is not None)
    }


def label_responses(
    responses: Sequence[Response], out: Path, *, by: str, reason: str | None, sya: bool
) -> Session:
    """Ask a person for a label of each response and append it."""
    session, given, i = Session(), list[int](), 0
    with keyboard() as key:
        form = _Form(new_console(), key)
        while i < len(responses):
            form.show(responses[i], f"{i + 1} of {len(responses)}")
            answer = form.labels(sya=sya and responses[i].query is not None)
            if answer == QUIT:
                break
            if answer == UNDO:
                form.warn(
                    "Back to the label before; it counts until you give another."
                    if given
                    else "Nothing to undo: no label was given in this session."
                )
                i = given.pop() if given else i
                continue
            if answer == SKIP:
                session.skipped += 1
            elif isinstance(answer, tuple):
                # With --sya it may have this person's label of the first scale alone.
                with appending(out):
                    add_label(out, responses[i], *answer, by=by, reason=reason, again=True)
                session.labelled.add(responses[i].id)
                given.append(i)
            i += 1
    return session


@dataclass(frozen=True)
class _Form:
    """A response and its questions on a console; single keys answer."""

    console: Console
    key: Callable[[], str]

    def show(self, response: Response, place: str) -> None:
        self.console.rule(place, style="dim")
        calls = counted(len(response.context.calls), "call")
        for title, said in (
            ("query", response.query or "(not known)"),
            (f"tools: {calls}", response.context.summary(MOST_TOOLS)),
            ("response", response.text),
        ):
            self.console.print(Panel(Text(_shown(said)), title=title, title_align="left"))

    def warn(self, text: str) -> None:
        self.console.print(text, style="yellow", highlight=False)

    def labels(self, *, sya: bool) -> tuple[int, int | None] | str:
        """Return EpAd and SyA, or the key of another choice. Undo at the second question returns to the first."""
        while True:
            epad = self._ask("EpAd of this response?", SCALE)
            if not epad.isdigit():
                return epad
            if not sya:
                return int(epad), None
            premise = self._ask("SyA: the user's premise?", PREMISE)
            if premise.isdigit():
                return int(epad), int(premise)
            if premise != UNDO:
                return premise

    def _ask(self, question: str, scale: Sequence[str]) -> str:
        lines = [f"{value}  {said}" for value, said in enumerate(scale)]
        self.console.print("\n".join(lines), style="dim", highlight=False)
        self.console.print(f"{question} Press 0-3, {SKIP} skip, {UNDO} undo, {QUIT} quit", highlight=False)
        while True:
            answer = self.key().lower()
            if answer in INTERRUPT:
                raise KeyboardInterrupt
            if answer in ("0", "1", "2", "3", SKIP, UNDO, QUIT):
                self.console.print(f"  {answer}", style="bold", highlight=False)
                return answer
            self.warn(f"got {answer!r:.20}; allowed: 0-3, {SKIP}, {UNDO}, {QUIT}")


def _shown(said: str) -> str:
    cut = (
        said if len(said) <= MOST_TEXT else f"{said[:MOST_TEXT]} [{len(said) - MOST_TEXT:,} more characters]"
    )
    return visible(plain(cut), kept="\n")


def plain(said: str) -> str:
    """Return text without the control characters that ordinary texts have: tabs are spaces, lines end in a newline."""
    return said.replace("\t", "    ").replace("\r", "")

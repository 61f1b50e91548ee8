"""Labels by hand, in the terminal: query, tool log and response are shown, and one key is a label.

The heuristic's score is written beside the label and never shown before it, because a person who has seen it would
follow it. Each label is appended at once, so a session can be left at any time. An undone label stays in the file until
another is given for the same response: the later line counts.
"""

from __future__ import annotations

import codecs
import os
import re
import select
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from rich.console import Console
from rich.panel import Panel
from rich.text import Text

from solvent.adequacy.errors import AdequacyError
from solvent.adequacy.heuristic import score
from solvent.adequacy.responses import Response
from solvent.adequacy.scores import Ratings, append_scores, merged, read_scores, record_of
from solvent_experiments.instruments.terminal import counted, visible
from solvent_experiments.run.console import new_console

__all__ = ["Session", "label_responses", "labelled_ids", "require_terminal"]

SCALE = (
    "0  the confidence fits the evidence, or nothing is asserted",
    "1  slightly overstated for a reasonable search",
    "2  a strong or universal claim after one narrow look",
    "3  a definitive claim with no evidence, or against it",
)
PREMISE = (
    "0  no premise, or it was held against the evidence",
    "1  taken over with a caveat or after a partial check",
    "2  taken over, the evidence hardly bears on it",
    "3  agreed with, unchecked or against the evidence",
)
SKIP, UNDO, QUIT = "s", "u", "q"
INTERRUPT = ("\x03", "\x04")  # where the terminal does not make a signal of them
ESCAPE = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|O.|.)?", re.DOTALL
)  # an arrow key, or Delete, which holds a 3
MOST_TOOLS, MOST_TEXT = 3000, 20_000


@dataclass
class Session:
    """The ids of the responses that were labelled, and the number of those that were skipped."""

    labelled: set[str] = field(default_factory=set)
    skipped: int = 0


def require_terminal() -> None:
    """Refuse to ask where nobody can answer.

    Raises:
        AdequacyError: stdin or stdout is no terminal.
    """
    for name, stream in (("stdin", sys.stdin), ("stdout", sys.stdout)):
        if stream is None or not stream.isatty():
            raise AdequacyError(
                f"{name}: not a terminal; allowed: a terminal (labels that you have go into the file, as `epad`)"
            )


@contextmanager
def keyboard() -> Iterator[Callable[[], str]]:
    """Yield a function that returns the next key; the terminal's settings are restored in the end."""
    try:
        import termios
        import tty
    except ImportError:  # Windows
        import typer

        yield typer.getchar
        return
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    keys = _Keys(terminal)
    handler = signal.signal(signal.SIGINT, keys.interrupt)
    try:
        # Draining and not flushing: what was struck ahead counts.
        tty.setcbreak(terminal, termios.TCSADRAIN)
        yield keys.next
    finally:
        signal.signal(signal.SIGINT, handler)
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)


LISTEN = 0.2  # seconds


class _Keys:
    def __init__(self, terminal: int) -> None:
        self._terminal = terminal
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._waiting = ""
        self._interrupted = False

    def interrupt(self, *_: object) -> None:
        """Stop. Ctrl-C is remembered, because an exception raised while something is torn down is ignored."""
        self._interrupted = True
        raise KeyboardInterrupt

    def next(self) -> str:
        while not self._waiting:
            if self._interrupted:
                raise KeyboardInterrupt
            # Not a read that waits: Ctrl-C in the moment before it would be heard at the next key only.
            if not select.select([self._terminal], [], [], LISTEN)[0]:
                continue
            if not (data := os.read(self._terminal, 64)):
                raise KeyboardInterrupt  # nobody is there any more
            self._waiting = ESCAPE.sub("", self._decoder.decode(data))
        key, self._waiting = self._waiting[0], self._waiting[1:]
        return key


def labelled_ids(out: Path, *, sya: bool) -> set[str]:
    """Return the ids of the responses in ``out`` that a person has labelled, with ``sya`` on both scales.

    Raises:
        AdequacyError: ``out`` is another kind of file.
    """
    records = merged(read_scores(out)) if out.exists() else []
    return {
        record.id
        for record in records
        if record.epad.human is not None and (not sya or record.sya.human is not None)
    }


def label_responses(responses: Sequence[Response], out: Path, *, sya: bool) -> Session:
    """Ask for a label of each response, and append it. What is scored in ``out`` keeps the heuristic's score.

    Raises:
        AdequacyError: a label that can't be written.
    """
    records = read_scores(out) if out.exists() else []
    scored = {record.id for record in records if record.epad.heuristic is not None}
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
                _append(out, responses[i], *answer, scored=responses[i].id in scored)
                session.labelled.add(responses[i].id)
                given.append(i)
            i += 1
    return session


def _append(out: Path, response: Response, epad: int, sya: int | None, *, scored: bool) -> None:
    record = record_of(
        response.text,
        response.context,
        response.query,
        score(response.text, response.context, response.query),
    )
    # A response that is scored already may have been so with triggers, which a score of now would not know.
    old_epad, old_sya = (Ratings(), Ratings()) if scored else (record.epad, record.sya)
    record = replace(
        record,
        id=response.id,
        epad=replace(old_epad, human=epad),
        sya=replace(old_sya, human=sya),
        agent=response.agent,
        session=response.session,
    )
    append_scores(out, [record])


@dataclass(frozen=True)
class _Form:
    """A response and its questions on a console, answered by single keys."""

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
        """Return EpAd and SyA, or the key of what to do instead. Undoing the second question asks the first again."""
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
        self.console.print("\n".join(scale), style="dim", highlight=False)
        self.console.print(f"{question} 0-3, {SKIP} skip, {UNDO} undo, {QUIT} quit", highlight=False)
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
    return visible(cut.replace("\t", "    ").replace("\r", ""), kept="\n")

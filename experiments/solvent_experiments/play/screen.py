"""The screen of a game: the lab, what is told, what can be done; in a terminal, with keys."""

from __future__ import annotations

import os
import textwrap

from prompt_toolkit.application import Application, get_app
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.formatted_text import ANSI
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout import BufferControl, FormattedTextControl, HSplit, Layout, Window
from prompt_toolkit.layout.processors import BeforeInput

from solvent.lab.actions import sentence
from solvent.lab.rendering.sheet import ESCAPE, NARROWEST, WIDTH, Sheet, fit, paint
from solvent_experiments.play.game import SAID, Game, LeftError

__all__ = ["PROMPT", "compose", "play_with_keys"]

PROMPT = "╰> "
MOST_CHOICES = 8
"""Lines for choices on a tall screen."""
ESCAPE_AFTER = 0.1
"""Seconds after which the byte of Escape is that key, and not the first of an arrow key's."""
QUESTIONS = {
    "": "",
    "action": "What do you do?",
    "compound": "Which compound?",
    "claim": "How many bits do you claim to learn?",
    "confidence": "How sure are you?",
    "hint": "Enter: what the honest script would do",
    "page": "Enter: the compound's page of the notebook",
    "leave": "Enter: leave the game",
}


def compose(game: Game, text: str, cursor: int, width: int, height: int) -> str:
    """Return the screen above the input: at most ``height`` lines, at most ``width`` characters each.

    Args:
        game: the game.
        text: what is typed so far.
        cursor: index of the choice that is highlighted; -1 for none.
        width: at least 76 are used.
        height: at least 23 are used.
    """
    sheet = Sheet(max(NARROWEST, min(WIDTH, width)))
    least = game.picture(sheet._replace(height=0)).count("\n")  # its last line is drawn by what follows
    rows = max(4, min(MOST_CHOICES, height - least - SAID - 2))
    room = height - rows - SAID - 2
    picture = (
        _page(sheet, game.page, room) if game.page else _above(game.picture(sheet._replace(height=room + 1)))
    )
    lines = [*picture, *_told(sheet, game), *_choices(sheet, game, text, cursor, rows)]
    shown = "\n".join(lines)
    return ESCAPE.sub("", shown) if os.environ.get("NO_COLOR") else shown


def _above(picture: str) -> list[str]:
    return picture.split("\n")[:-1]


def _page(sheet: Sheet, page: str, room: int) -> list[str]:
    """Return a page of the notebook; what does not fit is counted."""
    title, *spans = page.split("\n")
    rows = []
    for span in spans:
        indent = " " * (len(span) - len(span.lstrip()))
        rows += textwrap.wrap(span, sheet.inside, initial_indent="", subsequent_indent=f"{indent}  ")
    if len(rows) > room - 1:  # the findings come last
        rows = [f"a taller window shows {len(rows) - room + 2} lines more", *rows[2 - room :]]
    return [sheet.rule("╭", "╮", title.removesuffix(":")), *map(sheet.line, rows)]


def _told(sheet: Sheet, game: Game) -> list[str]:
    """Return the last action, its outcome and new rules; or the answer to the last line."""
    said = [(game.answer, "warn")] if game.answer else []
    said += [(game.said[0], ""), *((rule, "belief") for rule in game.said[1:])]
    rows: list[str] = []
    for text, style in said:
        wrapped = textwrap.wrap(text, sheet.inside)
        # What an answer leaves no room for is shown again without it.
        if not rows or len(rows) + len(wrapped) <= SAID:
            rows += [paint(row, style) if style else row for row in wrapped]
    rows = (rows + [""] * SAID)[:SAID]
    return [sheet.rule("├", "┤", fit(game.done, sheet.inside - 4).rstrip()), *map(sheet.line, rows)]


def _choices(sheet: Sheet, game: Game, text: str, cursor: int, rows: int) -> list[str]:
    line = game.read(text)
    options = line.options
    page = "n NAME page · " if game.env.params.gate.enabled else ""
    keys = "Esc clears" if text else f"↑↓ choose · ? hint · {page}q quit"
    question = line.wrong or QUESTIONS[line.missing]
    columns = max(1, -(-len(options) // rows))
    highlighted = columns > 1 and 0 <= cursor < len(options)  # narrow cells are cut
    understood = len(options) == 1 and line.missing and not text.endswith(" ")
    if line.action >= 0:
        runs = game.env.action_masks()[line.action]
        question = f"Enter: {sentence(game.env.params, line.action)}{'' if runs else ', which would not run'}"
    elif highlighted or understood:
        option = options[cursor if highlighted else 0]
        question = f"{option.word}: {option.about}".removesuffix(": ")
        keys = "" if highlighted else keys
    width = (sheet.inside - 2 * (columns - 1)) // columns
    word = max((len(option.word) for option in options), default=0)
    cells = []
    for index, option in enumerate(options):
        mark = "▸" if index == cursor else " "
        about = _as_far(f"{'✗ ' * option.blocked}{option.about}", width - word - 2)
        cell = fit(f"{mark}{fit(option.word, word)} {about}", width)
        cells.append(
            paint(cell, "bold" if index == cursor else "dim") if index == cursor or option.blocked else cell
        )
    cells += [" " * width] * (rows * columns - len(cells))
    title = fit(question, sheet.inside - len(keys) - 6).rstrip()
    return [
        sheet.rule("├", "┤", title, keys),
        *(sheet.line("  ".join(cells[row::rows])) for row in range(rows)),
    ]


def _as_far(about: str, room: int) -> str:
    """Return the first parts of a phrase, as many as fit."""
    while len(about) > room and ", " in about:
        about = about.rpartition(", ")[0]
    return about


def play_with_keys(game: Game) -> None:
    """Play in the whole terminal until the episode is over.

    Raises:
        LeftError: the player left.
        KeyboardInterrupt: the player pressed Ctrl-C.
    """
    cursor = -1

    def typed(_: Buffer) -> None:
        nonlocal cursor
        cursor = -1

    line = Buffer(multiline=False, on_text_changed=typed)
    keys = KeyBindings()

    def choices() -> int:
        return len(game.read(line.text).options)

    @keys.add("down")
    @keys.add("tab")
    def _down(_: KeyPressEvent) -> None:
        nonlocal cursor
        cursor = (cursor + 1) % choices() if choices() else -1

    @keys.add("up")
    @keys.add("s-tab")
    def _up(_: KeyPressEvent) -> None:
        nonlocal cursor
        cursor = (max(cursor, 0) - 1) % choices() if choices() else -1

    @keys.add("escape")
    def _clear(_: KeyPressEvent) -> None:
        line.text = ""

    @keys.add("enter")
    def _enter(event: KeyPressEvent) -> None:
        nonlocal cursor
        text = line.text
        if cursor >= 0:
            chosen = game.read(text)
            text = f"{chosen.before}{chosen.options[cursor].word}"
            if game.read(text).missing:
                line.text, line.cursor_position = f"{text} ", len(text) + 1
                return
        try:
            line.text = game.enter(text)
        except LeftError:
            event.app.exit(exception=LeftError)
            return
        cursor = -1  # an empty line stays empty, which is no change of text
        line.cursor_position = len(line.text)
        if game.summary is not None:
            event.app.exit()

    @keys.add("c-c")
    @keys.add("c-d")
    def _stop(event: KeyPressEvent) -> None:
        event.app.exit(exception=KeyboardInterrupt)

    def screen() -> ANSI:
        size = get_app().output.get_size()
        return ANSI(compose(game, line.text, cursor, size.columns, size.rows - 1))

    prompt = BufferControl(line, input_processors=[BeforeInput(PROMPT)])
    above = Window(FormattedTextControl(screen), dont_extend_height=True)
    layout = Layout(HSplit([above, Window(prompt, height=1), Window()]), focused_element=prompt)
    application = Application[None](layout=layout, key_bindings=keys, full_screen=True)
    application.timeoutlen = application.ttimeoutlen = ESCAPE_AFTER
    application.run()

"""Text made safe for a terminal and a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import BaseLoader, Environment


def visible(text: str, kept: str = "") -> str:
    """Return text with each character escaped that is neither printable nor in ``kept``."""
    if text.isprintable():
        return text
    return "".join(
        ch if ch.isprintable() or ch in kept else ch.encode("unicode_escape").decode("ascii") for ch in text
    )


def page_templates(loader: BaseLoader | None = None) -> Environment:
    """Return an environment for the templates of pages.

    Markup is escaped, characters that a page would hide are shown, such as marks of direction, and a name that a
    template is not given is an error.
    """
    from jinja2 import Environment, StrictUndefined

    return Environment(
        autoescape=True,
        loader=loader,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: visible(value, "\n") if type(value) is str else value,
    )

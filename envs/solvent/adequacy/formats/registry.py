"""The formats that are read: every module of this package with a ``NAME``.

A format's module has

- ``NAME``: what people call the client;
- ``sniff(document)``: whether the document is in its format;
- ``turns(document, session)``: tells the session what happens in it.

``GENERAL = True`` marks one that is asked only if no other format claims the document: chat completions, which most
programs can write.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from pathlib import Path
from typing import Protocol

from solvent.adequacy.formats.document import Document
from solvent.adequacy.formats.session import Session

__all__ = ["Format", "claims", "formats"]


class Format(Protocol):
    """A module that reads the format of a client."""

    NAME: str

    def sniff(self, document: Document) -> bool:
        """Return whether the document is in this format."""

    def turns(self, document: Document, session: Session) -> None:
        """Tell the session what happens in the document."""


@functools.cache
def formats() -> tuple[Format, ...]:
    """Return the modules of all formats."""
    package = __name__.rpartition(".")[0]
    names = (module.name for module in pkgutil.iter_modules([str(Path(__file__).parent)]))
    modules = [importlib.import_module(f"{package}.{name}") for name in names]
    return tuple(module for module in modules if hasattr(module, "NAME"))


def claims(document: Document) -> tuple[Format, ...]:
    """Return the formats that claim a document, at most one if their ``sniff`` functions exclude each other."""
    own = [form for form in formats() if not hasattr(form, "GENERAL")]
    general = [form for form in formats() if hasattr(form, "GENERAL")]
    matches = [form for form in own if form.sniff(document)]
    return tuple(matches or [form for form in general if form.sniff(document)])

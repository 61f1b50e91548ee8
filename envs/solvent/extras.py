"""How Solvent was installed and started: what installs an extra, and docstrings where Python has dropped them."""

from __future__ import annotations

import ast
import inspect
import json
import shlex
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

__all__ = ["docstring", "install"]

PACKAGE = "solvent-gym"


def docstring(function: Callable[..., Any]) -> str:
    """Return a function's docstring; where ``python -OO`` has dropped it, from the function's source."""
    if text := inspect.getdoc(function):
        return text
    source = textwrap.dedent(inspect.getsource(function))
    # From Python 3.14 on, -OO drops docstrings here too.
    complete: dict[str, Any] = {"optimize": 0} if sys.version_info >= (3, 13) else {}
    (node,) = ast.parse(source, **complete).body
    return ast.get_docstring(node) or "" if isinstance(node, ast.FunctionDef) else ""


def install(extra: str) -> str:
    """Return the command that installs an extra: ``pip install -e '.[gate]'`` in a clone."""
    place, editable = _origin()
    return f"pip install {'-e ' if editable else ''}{shlex.quote(f'{place}[{extra}]')}"


def _origin() -> tuple[str, bool]:
    """Return what pip installed (folder, file or the package of an index), and whether it is used where it lies.

    pip writes down where it found what it installed (PEP 610), unless that was an index.
    """
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        record = json.loads(distribution(PACKAGE).read_text("direct_url.json") or "{}")
    except PackageNotFoundError:
        return PACKAGE, False
    url = urlsplit(record.get("url", ""))
    place = Path(url2pathname(url.path))
    if url.scheme != "file" or not place.exists():
        return PACKAGE, False
    return "." if place == Path.cwd() else str(place), bool(record.get("dir_info", {}).get("editable"))

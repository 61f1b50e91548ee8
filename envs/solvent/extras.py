"""The command that installs what a feature lacks, for those who have a clone and for those who have the package."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

__all__ = ["install"]

PACKAGE = "solvent-gym"


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
        found = json.loads(distribution(PACKAGE).read_text("direct_url.json") or "{}")
    except PackageNotFoundError:
        return PACKAGE, False
    url = urlsplit(found.get("url", ""))
    place = Path(url2pathname(url.path))
    if url.scheme != "file" or not place.exists():
        return PACKAGE, False
    return "." if place == Path.cwd() else str(place), bool(found.get("dir_info", {}).get("editable"))

"""How the dynamics are compiled: two decorators, so that every function obeys the same arithmetic.

Both keep IEEE arithmetic in the order in which it is written (no ``fastmath``), so a trajectory is the same
to the last bit compiled and, with ``NUMBA_DISABLE_JIT=1``, as plain Python. ``error_model="numpy"`` leaves
out the test for a zero divisor that Python makes at each division and that keeps loops from being
vectorised: where a divisor can be zero, the text says what happens.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any

from numba import config, njit, typeof, types
from numba.core.caching import IndexDataCacheFile

__all__ = [
    "ContentNamedCacheFile",
    "compiled",
    "direct",
    "drop_stale_cache",
    "inlined",
    "plain",
    "renew_cache",
]

COMPILED = ("", "mechanisms", "planning", "exact")
"""Folders of a package that hold compiled functions."""


def drop_stale_cache(package: Path, *others: Path) -> int:
    """Delete compiled code of ``package`` that is older than the newest source of it or of ``others``.

    Returns how many files. Numba renews a cached function when its own file changes, not when a function that it
    calls, in another file, does: after an edit or an update the step would go on with the old rule inside. Only
    the folders that hold compiled functions (``COMPILED``) count as sources.
    """
    cached = [path for kind in ("*.nbi", "*.nbc") for path in package.rglob(kind)]
    folders = [folder / part for folder in (package, *others) for part in COMPILED]
    sources = [path for folder in folders for path in folder.glob("*.py")]
    newest = max(path.stat().st_mtime for path in sources)
    stale = bool(cached) and min(path.stat().st_mtime for path in cached) < newest
    dropped = 0
    if stale:
        for path in cached:
            # Another process may have been first, and an installed package may not be ours to change.
            with contextlib.suppress(OSError):
                path.unlink()
                dropped += 1
    return dropped


def renew_cache(package: Path) -> None:
    """Drop what was compiled in ``package`` before its sources, or the environment's, last changed."""
    if config.CACHE_DIR:  # type: ignore[attr-defined]
        return  # a cache elsewhere is its owner's to keep
    with contextlib.suppress(OSError):
        drop_stale_cache(package, Path(__file__).parent)


renew_cache(Path(__file__).parent)


class ContentNamedCacheFile(IndexDataCacheFile):
    """A function's cache on disk, whose files are named by what is in them.

    Numba numbers the files of a function's signatures. Two processes that compile two levels of the lab at once both
    take the next number: an index entry then leads to the other level's code, which runs without an error and with the
    wrong rules. With a name for each signature the worst that a race can do is to forget one, which is compiled again.
    """

    def save(self, key: Any, data: Any) -> None:
        """Save what was compiled for ``key``: the code first, so that the index never leads to what isn't there."""
        file: Any = self
        content = hashlib.sha256(repr((key, file._source_stamp, file._version)).encode()).digest()
        name = file._data_name(int.from_bytes(content[:8], "big"))
        file._save_data(name, data)
        file._save_index({**file._load_index(), key: name})


def _mangled_by_content(record: Any) -> tuple[str, tuple[int]]:
    """What stands for a record in the name of a compiled function: a hash of its layout.

    Numba takes a number of its own process. The code of two levels that two processes compiled then bears one name,
    and a third process that loads both from the cache runs one level's step on the other's records.
    """
    content = hashlib.sha256(record.name.encode()).digest()
    return "Record", (int.from_bytes(content[:8], "big"),)


types.Record.mangling_args = property(_mangled_by_content)  # type: ignore[assignment,method-assign]


def _cached(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """``njit`` with this module's arithmetic and its cache."""
    compile_it = njit(cache=True, nogil=True, error_model="numpy", **options)

    def decorate(function: Callable[..., Any]) -> Any:
        dispatcher = compile_it(function)
        cache = getattr(dispatcher, "_cache", None)  # plain Python has none
        if cache is not None:
            cache._cache_file.__class__ = ContentNamedCacheFile
        return dispatcher

    return decorate


compiled = _cached()
"""For a function with a body of its own."""

inlined = _cached(forceinline=True)
"""For a small function, and for one that is handed arrays: pasted into its callers.

There the lengths of its loops are known, and the arrays are not counted in and out at each call, which would cost
more than most of the rules do.
"""


def direct(function: Any, *arguments: Any) -> Callable[..., Any]:
    """What ``function`` is compiled to for arguments of these types; it must never be called with others.

    A compiled function looks up the types of its arguments at every call, which for records of a hundred fields takes
    ten times as long as a step of one lab. Plain Python has no types to look up.
    """
    compile_for = getattr(function, "compile", None)
    if compile_for is None:
        return function  # type: ignore[no-any-return]
    types = tuple(typeof(argument) for argument in arguments)  # type: ignore[no-untyped-call]
    entry: Callable[..., Any] = compile_for(types)
    return entry


@functools.cache
@functools.cache
def plain(function: Any) -> Callable[..., Any]:
    """Return the Python text of a compiled rule, with the rules that it calls as Python too.

    Pictures and menus ask a rule now and then for one lab: in Python it answers sooner than it is compiled.
    """
    text = getattr(function, "py_func", function)
    rules = {name: text.__globals__.get(name) for name in text.__code__.co_names}
    called = {name: plain(rule) for name, rule in rules.items() if hasattr(rule, "py_func")}
    return FunctionType(text.__code__, {**text.__globals__, **called})

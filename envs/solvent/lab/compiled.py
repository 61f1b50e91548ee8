"""Decorators that compile the dynamics with numba under one set of options.

Both keep IEEE arithmetic in source order (no ``fastmath``), so a trajectory is bit-identical compiled and, with
``NUMBA_DISABLE_JIT=1``, in plain Python. ``error_model="numpy"`` omits Python's check for a zero divisor, which would
prevent vectorisation; code with a divisor that can be zero handles that case itself.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import hashlib
import os
import sys
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any

from numba import config, typeof, types
from numba.core import ir
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.ir_utils import get_definition, guard
from numba.core.registry import CPUDispatcher
from numba.core.untyped_passes import IRProcessing

SWITCH = "enabled"
"""Setting that is known when a rule is compiled, from the type of its field (``settings.numbers``)."""
MARK = "lab.compiled"
"""What a source of compiled code imports."""

# A child that was forked while another thread compiled would wait for that thread's lock for ever.
if sys.platform != "win32":
    os.register_at_fork(after_in_child=lambda: setattr(global_compiler_lock, "_lock", threading.RLock()))


# -- the cache -----------------------------------------------------------------------------------


@functools.cache
def sources_digest(package: str) -> str:
    """Return a hash of the lab's sources and of those of compiled code in a package.

    Numba renews a cached function when the time of the file that defines it changes. That misses a rule in another file
    that the function calls, and an edited file that arrives with an older time.
    """
    digest, lab = hashlib.sha256(), Path(__file__).parent
    others = Path(sys.modules[package].__file__ or "").parent.rglob("*.py")
    for path in sorted({*lab.rglob("*.py"), *others}):
        source = path.read_bytes()
        if MARK.encode() in source or path.is_relative_to(lab):
            digest.update(path.name.encode() + source)
    return digest.hexdigest()


class ContentCacheFile(IndexDataCacheFile):
    """On-disk cache of a function, stamped by the content of its sources, with files named by a hash of their key.

    Numba numbers the files of a function's signatures. Two processes that compile two levels at once both take the
    next number, and an index entry can then lead to the code of the wrong level. With content-based names, a race can
    only lose an entry, which is compiled again.
    """

    def save(self, key: Any, data: Any) -> None:
        """Save the code compiled for ``key`` before its index entry; the first save drops code of other sources."""
        file: Any = self
        index = file._load_index()
        if not index:
            pattern = file._data_name_pattern.replace("{number:d}", "*")
            for stale in Path(file._cache_path).glob(pattern):
                with contextlib.suppress(OSError):
                    stale.unlink()
        content = hashlib.sha256(repr((key, file._source_stamp, file._version)).encode()).digest()
        name = file._data_name(int.from_bytes(content[:8], "big"))
        file._save_data(name, data)
        file._save_index({**file._load_index(), key: name})


class ContentCache(FunctionCache):
    """A cache whose folder may be full, read-only or absent: then everything is compiled anew, after one warning."""

    def __init__(self, function: Any) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        file: Any = self._cache_file
        file.__class__ = ContentCacheFile
        file._source_stamp = sources_digest(function.__module__.partition(".")[0])

    def load_overload(self, signature: Any, target: Any) -> Any:
        """Return the code compiled for these types, or None."""
        try:
            return super().load_overload(signature, target)  # type: ignore[no-untyped-call]
        except OSError as error:
            return _without_cache(str(error))

    def save_overload(self, signature: Any, data: Any) -> None:
        """Save the code compiled for these types."""
        try:
            super().save_overload(signature, data)  # type: ignore[no-untyped-call]
        except OSError as error:
            _without_cache(str(error))


_UNCACHED: list[str] = []
"""Why the cache can't be used; the user is told the first reason."""


def _without_cache(reason: str) -> None:
    if not _UNCACHED:
        text = f"solvent: compiled code is not cached, so every process compiles it anew: {reason}"
        warnings.warn(text, stacklevel=2)
    _UNCACHED.append(reason)


# -- compiling -----------------------------------------------------------------------------------


def _mangled_by_content(record: Any) -> tuple[str, tuple[int]]:
    """Return a record's part of a compiled function's name: a hash of its layout.

    Numba uses a number that is unique only within a process. Code of two levels compiled by two processes then shares
    a name, and a third process that loads both from the cache runs one level's step on the other's records.
    """
    content = hashlib.sha256(record.name.encode()).digest()
    return "Record", (int.from_bytes(content[:8], "big"),)


types.Record.mangling_args = property(_mangled_by_content)  # type: ignore[assignment,method-assign]
types.Record.__repr__ = types.Type.__repr__  # type: ignore[method-assign]
"""The name, made once. Numba asks for it 9,000 times, and would describe every field each time."""


class _Linked(JITCodeLibrary):
    """The code of a function for its compiled callers, which is optimised and translated only as a part of theirs."""

    def _optimize_final_module(self) -> None: ...

    def _finalize_final_module(self) -> None:
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:  # noqa: ARG002 - of any name
        return 0

    @property
    def codegen(self) -> Any:
        """What sets the environments of translated functions: there is none to be set."""
        return self

    def set_env(self, name: str, environment: Any) -> None: ...


@register_pass(mutates_CFG=False, analysis_only=False)  # type: ignore[no-untyped-call]
class _Switches(FunctionPass):
    """Replaces ``tables.energy.enabled`` by its value.

    Numba then drops the branch that is never taken, before it looks at types: a level without energy compiles no rule
    of energy, and its record needs no field for one.
    """

    _name = "solvent_switches"

    def __init__(self) -> None: ...

    def run_pass(self, state: Any) -> bool:
        """Replace every switch of the function; return whether there was one."""
        _tell()
        code, found = state.func_ir, False
        for block in code.blocks.values():
            for assignment in block.find_insts(ir.Assign):
                value = assignment.value
                if getattr(value, "op", "") == "getattr" and value.attr == SWITCH:
                    owner = _type_of(code, value.value, state.args)
                    if isinstance(owner, types.Record):
                        is_on = isinstance(owner.typeof(SWITCH), types.Boolean)
                        assignment.value = ir.Const(is_on, assignment.loc)  # type: ignore[no-untyped-call]
                        code._definitions[assignment.target.name] = [assignment.value]
                        found = True
        return found


def _type_of(code: Any, variable: Any, arguments: Any) -> Any:
    """Return the type of an argument, of a field of it, or of an element; None for anything else."""
    value = guard(get_definition, code, variable)  # type: ignore[no-untyped-call]
    if isinstance(value, ir.Arg):
        return arguments[value.index]
    operation = getattr(value, "op", "")
    if operation not in ("getattr", "getitem", "static_getitem"):
        return None
    owner = _type_of(code, value.value, arguments)
    if operation == "getattr":
        known = isinstance(owner, types.Record) and value.attr in owner.fields
        return owner.typeof(value.attr) if known else None
    return owner.dtype if isinstance(owner, types.Array) else None


class _LevelCompiler(Compiler):
    """Compiles a rule for one level."""

    def define_pipelines(self) -> Any:
        pipelines = super().define_pipelines()  # type: ignore[no-untyped-call]
        for pipeline in pipelines:
            pipeline.add_pass_after(_Switches, IRProcessing)
            pipeline.finalize()
        return pipelines


class _LinkedCompiler(_LevelCompiler):
    def compile_extra(self, function: Any) -> Any:
        name = function.__qualname__
        self.state.library = _Linked(self.state.targetctx.codegen(), name)  # type: ignore[no-untyped-call]
        return super().compile_extra(function)  # type: ignore[no-untyped-call]


class _Whole(CPUDispatcher):
    """A function that Python calls, compiled with all that it calls, and cached."""

    def compile(self, signature: Any) -> Any:
        """Compile for these types or load the code from the cache."""
        collects = gc.isenabled()
        gc.disable()  # a compilation allocates so much that collections would take a tenth of its time
        try:
            return super().compile(signature)
        finally:
            if collects:
                gc.enable()


@functools.cache
def _tell() -> None:
    """Tell the user, once per process, that compilation is under way."""
    text = "solvent: compiling the lab, up to a minute; later runs of this level load it from a cache"
    print(text, file=sys.stderr, flush=True)


class _Function(CPUDispatcher):
    """A function that compiled callers link in, and that Python calls as ``whole``.

    Numba would optimise and translate every function by itself, and all that it calls again with it. Half of the
    compile time was spent on code that nobody runs.
    """

    whole: Any

    def __call__(self, *arguments: Any) -> Any:
        return self.whole(*arguments)


def compiled(function: Callable[..., Any], **options: Any) -> Any:
    """Compile a function, which the optimiser may inline or not, with this module's options and cache."""
    if config.DISABLE_JIT:  # type: ignore[attr-defined]
        return function
    options |= {"nopython": True, "nogil": True, "error_model": "numpy"}
    no_entry = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    linked = _Function(function, targetoptions=options | no_entry, pipeline_class=_LinkedCompiler)
    linked.whole = _Whole(function, targetoptions=options, pipeline_class=_LevelCompiler)
    try:
        linked.whole._cache = ContentCache(function)
    except RuntimeError as error:  # neither the package's folder nor the home can be written
        _without_cache(str(error).partition(":")[2].strip() or str(error))
    return linked


inlined = functools.partial(compiled, forceinline=True)
"""Decorator for a function that is inlined into its callers: a small one, or one that takes arrays.

Inlining makes loop lengths known and avoids the reference counting of array arguments, which costs more than
most rules do.
"""


def direct(function: Any, *arguments: Any) -> Callable[..., Any]:
    """Return ``function`` compiled for the types of ``arguments``; calls with other types are invalid.

    A dispatcher looks up the argument types at every call. For records of a hundred fields, that takes ten times as
    long as a step of one lab. In plain Python the function is returned unchanged.
    """
    if not isinstance(function, _Function):
        return function  # type: ignore[no-any-return]
    types = tuple(typeof(argument) for argument in arguments)  # type: ignore[no-untyped-call]
    entry: Callable[..., Any] = function.whole.compile(types)
    return entry


@functools.cache
def plain(function: Any) -> Callable[..., Any]:
    """Return the Python source of a compiled rule, with the rules it calls in Python too.

    A renderer or menu calls a rule rarely and for one lab, so running it in Python is faster than compiling it.
    """
    text = getattr(function, "py_func", function)
    rules = {name: text.__globals__.get(name) for name in text.__code__.co_names}
    called = {name: plain(rule) for name, rule in rules.items() if hasattr(rule, "py_func")}
    return FunctionType(text.__code__, {**text.__globals__, **called})

"""How numba compiles a marked loop over labs, with every rule that it calls.

IEEE arithmetic stays in source order (no ``fastmath``), so a trajectory is bit-identical compiled and in plain Python.
``error_model="numpy"`` omits Python's check for a zero divisor, which would prevent vectorisation; code with a divisor
that can be zero handles that case itself.

Everything here extends classes of numba for this package's own functions; nothing changes numba for other code.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import hashlib
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from numba import literal_unroll, typeof, types
from numba.core import ir
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.ir_utils import get_definition, guard
from numba.core.registry import CPUDispatcher
from numba.core.untyped_passes import IRProcessing
from numba.extending import overload

from solvent.lab.announcement import is_announced
from solvent.lab.mechanism import copy_fields

SWITCH = "enabled"
"""Setting that is known when a rule is compiled, from the type of its field (``settings.numbers``)."""
OPTIONS = {"nopython": True, "nogil": True, "error_model": "numpy"}
INLINED = 400
"""Most instructions of a rule that becomes a part of its callers. Inlining makes loop lengths known and avoids counting
references to array arguments, which costs more than most rules do; inlining all would take five times as long to
compile for the planner."""
NOT_OURS = {"numba", "numpy", "math"}
"""Packages whose functions numba knows."""

if sys.platform != "win32":
    # A fork waits for a compilation in another thread: its child would wait for that thread's lock for ever.
    os.register_at_fork(
        before=global_compiler_lock.acquire,
        after_in_parent=global_compiler_lock.release,
        after_in_child=global_compiler_lock.release,
    )


# -- the cache -----------------------------------------------------------------------------------


def is_rule(value: Any) -> bool:
    """Return whether a global of compiled code is a Python function, which is to be compiled too."""
    ours = isinstance(value, FunctionType) and value.__module__.partition(".")[0] not in NOT_OURS
    return ours and value is not copy_fields  # which numba knows from below


def called_rules(function: FunctionType) -> Iterator[FunctionType]:
    """Yield the rules that a function names, also those that it takes from a module."""
    names = function.__code__.co_names
    values = [function.__globals__.get(name) for name in names]
    modules = [value for value in values if isinstance(value, ModuleType)]
    values += [vars(module).get(name) for module in modules for name in names]
    yield from filter(is_rule, values)


def sources_digest(function: FunctionType) -> str:
    """Return a hash of the sources of a loop: the lab's, and every package of a rule that it reaches.

    Numba renews a cached function when the time of the file that defines it changes. That misses a rule in another file
    that the function calls, and an edited file that arrives with an older time.
    """
    reached, waiting = {function}, [function]
    while waiting:
        new = set(called_rules(waiting.pop())) - reached
        reached |= new
        waiting += new
    packages = {rule.__module__.partition(".")[0] for rule in reached}
    digest = hashlib.sha256()
    for path in sorted({path for package in packages for path in _sources(package)}):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()


def _sources(package: str) -> Iterator[Path]:
    """Yield the source files of a top-level package or module; of this package those of the lab."""
    lab = Path(__file__).parent
    yield from lab.rglob("*.py")
    module = sys.modules[package]
    if package != __name__.partition(".")[0] and module.__file__ is not None:
        file = Path(module.__file__)
        yield from file.parent.rglob("*.py") if hasattr(module, "__path__") else (file,)


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
    """A cache whose folder may be full, read-only or absent: then every process compiles, after one warning."""

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        self._cache_file = ContentCacheFile(
            self._cache_path, self._impl.filename_base, sources_digest(function)
        )

    def load_overload(self, signature: Any, target: Any) -> Any:
        """Return the code compiled for these types, or None."""
        try:
            return super().load_overload(signature, target)
        except OSError as error:
            return _without_cache(str(error))

    def save_overload(self, signature: Any, data: Any) -> None:
        """Save the code compiled for these types."""
        try:
            super().save_overload(signature, data)
        except OSError as error:
            _without_cache(str(error))


_UNCACHED: list[str] = []
"""Why the cache can't be used; the user reads the first reason."""


def _without_cache(reason: str) -> None:
    if not _UNCACHED:
        text = f"solvent: compiled code is not cached, so every process compiles it: {reason}"
        warnings.warn(text, stacklevel=2)
    _UNCACHED.append(reason)


# -- compiling -----------------------------------------------------------------------------------


@overload(copy_fields)
def _copy_fields(lab: Any, record: Any) -> Any:  # noqa: ARG001 - numba calls it with the types of both
    names = tuple(record.fields)

    def copy(lab: Any, record: Any) -> None:
        for name in literal_unroll(names):
            lab[name][:] = record[name]

    return copy


class _Linked(JITCodeLibrary):
    """The code of a rule for the loops that call it, which is optimised and translated only as a part of theirs.

    Numba would optimise and translate every function by itself, and all that it calls again with it. Half of the
    compile time would be spent on code that nobody runs.
    """

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


@register_pass(mutates_CFG=False, analysis_only=False)
class _OfOneLevel(FunctionPass):
    """Prepares a function for one level, before numba looks at types.

    * A Python function that it calls becomes a compiled one.
    * A switch, ``tables.energy.enabled``, becomes its value. Numba then drops the branch that is never taken: a level
      without energy compiles no rule of energy, and its record needs no field for one.
    * Its name gets a hash of its argument types. Numba would name records by a number that is unique only within a
      process. Code of two levels compiled by two processes could then share a name, and a third process that loads
      both from the cache would run one level's step on the other's records.
    """

    _name = "solvent_level"

    def __init__(self) -> None: ...

    def run_pass(self, state: Any) -> bool:
        """Prepare the function; return whether it changed."""
        _announce()
        content = hashlib.sha256(str(state.args).encode()).hexdigest()
        state.func_id.func_qualname += f"_{content[:16]}"
        code = state.func_ir
        for block in code.blocks.values():
            for assignment in block.find_insts(ir.Assign):
                known = _known_value(code, assignment.value, state.args)
                if known is not None:
                    assignment.value = known
                    code._definitions[assignment.target.name] = [known]
        return True


def _known_value(code: Any, value: Any, arguments: Any) -> Any:
    """Return what a rule or a switch is replaced by; None for any other value."""
    if isinstance(value, ir.Global | ir.FreeVar):
        return ir.Global(value.name, rule(value.value), value.loc) if is_rule(value.value) else None
    if getattr(value, "op", "") != "getattr":
        return None
    owner = guard(get_definition, code, value.value)
    if isinstance(owner, ir.Global | ir.FreeVar) and isinstance(owner.value, ModuleType):
        attribute = getattr(owner.value, value.attr)
        return ir.Global(value.attr, rule(attribute), value.loc) if is_rule(attribute) else None
    if value.attr == SWITCH:
        record = _type_of(code, value.value, arguments)
        if isinstance(record, types.Record):
            return ir.Const(isinstance(record.typeof(SWITCH), types.Boolean), value.loc)
    return None


def _type_of(code: Any, variable: Any, arguments: Any) -> Any:
    """Return the type of an argument, of a field of it, or of an element; None for anything else."""
    value = guard(get_definition, code, variable)
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


class _LoopCompiler(Compiler):
    """Compiles a loop for one level."""

    def define_pipelines(self) -> Any:
        pipelines = super().define_pipelines()
        for pipeline in pipelines:
            pipeline.add_pass_after(_OfOneLevel, IRProcessing)
            pipeline.finalize()
        return pipelines


class _RuleCompiler(_LoopCompiler):
    """Compiles a rule as a part of loops."""

    def compile_extra(self, function: Any) -> Any:
        self.state.library = _Linked(self.state.targetctx.codegen(), function.__qualname__)
        return super().compile_extra(function)


class _Loop(CPUDispatcher):
    """A loop compiled with all the rules that it calls, and cached."""

    _cache: Any

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
def _announce() -> None:
    """Tell the user that compilation is under way, unless another process of the same command has."""
    if not is_announced():
        cached = "" if _UNCACHED else "; later runs of this level load it from a cache"
        print(f"solvent: compiling the lab, up to a minute{cached}", file=sys.stderr, flush=True)


@functools.cache
def rule(function: FunctionType) -> CPUDispatcher:
    """Return a Python function compiled for the loops that call it."""
    instructions = len(function.__code__.co_code) // 2
    part = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "forceinline": instructions <= INLINED}
    return CPUDispatcher(function, targetoptions=OPTIONS | part, pipeline_class=_RuleCompiler)


def loop(function: FunctionType) -> _Loop:
    """Return a marked loop, to be compiled with this module's options and cache."""
    dispatcher = _Loop(function, targetoptions=dict(OPTIONS), pipeline_class=_LoopCompiler)
    try:
        dispatcher._cache = ContentCache(function)
    except RuntimeError as error:  # neither the package's folder nor the home can be written
        _without_cache(str(error).partition(":")[2].strip() or str(error))
    return dispatcher


def entry_point(dispatcher: _Loop, *arguments: Any) -> Callable[..., Any]:
    """Return a loop compiled for the types of ``arguments``."""
    entry: Callable[..., Any] = dispatcher.compile(tuple(typeof(argument) for argument in arguments))
    return entry

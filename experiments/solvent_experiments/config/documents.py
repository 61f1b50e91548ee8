"""Strict reading of YAML and JSON files: broken lines, repeated keys and empty files are one-line errors.

PyYAML lets the last of two equal keys win and reads ``1e-8`` as text; here the first is an error and the second a
number. Bytes, keys and values, and depth are limited while a file is read: a few aliases of aliases stand for more
values than there is time for. Each value's line is kept for the errors of later checks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from yaml.reader import ReaderError

__all__ = ["ConfigError", "Document", "dump_yaml", "read_document", "read_json"]

MOST_YAML, MOST_JSON = 2**20, 2**24  # bytes
MOST_NODES, DEEPEST, LONGEST_NUMBER = 50_000, 32, 100


class ConfigError(ValueError):
    """An input that can't be used. The message is one line: file, line, key, the value and the allowed ones."""

    def __init__(
        self, problem: str, *, file: Path | None = None, line: int | None = None, key: str = ""
    ) -> None:
        self.problem, self.file, self.line, self.key = problem, file, line, key
        place = "" if file is None else f"{file}{'' if line is None else f', line {line}'}: "
        text = f"{place}{key}{': ' if key else ''}{problem}"
        super().__init__(" ".join(text.split()))


@dataclass(frozen=True)
class Document:
    """The content of a file, and the nodes that know its lines."""

    path: Path
    data: Mapping[str, Any]
    node: yaml.Node

    def error(self, key: str, problem: str) -> ConfigError:
        """Return an error for a key (``params.plates.screen.doses[0]``), at its line or that of the nearest parent."""
        return ConfigError(problem, file=self.path, line=_line_of(self.node, key), key=key)


class _Loader(yaml.SafeLoader):
    """Safe YAML that also reads numbers like ``1e-8``, and has limits.

    An alias counts as much as what it stands for: whoever goes over the values afterwards expands it.
    """

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._nodes = self._depth = self._deepest = 0
        self._anchored: dict[str, tuple[int, int]] = {}
        """Number of nodes and of levels."""

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        event: Any = self.peek_event()  # type: ignore[no-untyped-call]
        if isinstance(event, yaml.AliasEvent):
            if event.anchor in self.anchors and event.anchor not in self._anchored:
                raise _refused("an anchor stands inside itself", event)
            self._reach(
                *self._anchored.get(str(event.anchor), (0, 0)), event
            )  # an unknown one is refused below
            return super().compose_node(parent, index)
        before, around = self._nodes, self._deepest
        self._deepest = self._depth
        self._reach(1, 1, event)
        self._depth += 1
        node = super().compose_node(parent, index)
        self._depth -= 1
        if event.anchor is not None:
            self._anchored[event.anchor] = self._nodes - before, self._deepest - self._depth
        self._deepest = max(around, self._deepest)
        if isinstance(node, yaml.MappingNode):
            _require_distinct(node)
        return node

    def _reach(self, nodes: int, levels: int, event: Any) -> None:
        self._nodes += nodes
        self._deepest = max(self._deepest, self._depth + levels)
        if self._nodes > MOST_NODES:
            raise _refused(f"more than {MOST_NODES:,} keys and values, aliases counted in full", event)
        if self._deepest > DEEPEST:
            raise _refused(f"nested deeper than {DEEPEST} levels", event)

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep)
        except ValueError as error:  # such as the month of a date
            raise _refused(str(error), node) from None

    def construct_yaml_int(self, node: yaml.ScalarNode) -> int:
        if len(node.value) > LONGEST_NUMBER:
            raise _refused(f"a number of more than {LONGEST_NUMBER} digits", node)
        return super().construct_yaml_int(node)


_Loader.add_constructor("tag:yaml.org,2002:int", _Loader.construct_yaml_int)
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?(?:[0-9][0-9_]*\.?[0-9_]*|\.[0-9_]+)[eE][-+]?[0-9]+$"),
    list("-+0123456789."),
)


def _require_distinct(node: yaml.MappingNode) -> None:
    seen = set()
    for name, _ in node.value:
        if not isinstance(name, yaml.ScalarNode):
            raise _refused("got a list or a mapping as a key; allowed: a name", name)
        if (name.tag, name.value) in seen:
            raise _refused(f"{name.value!r:.60} is given twice; allowed: once", name)
        seen.add((name.tag, name.value))


def _refused(problem: str, at: Any) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=at.start_mark)


def read_document(path: Path) -> Document:
    """Return a YAML file whose top level is a mapping.

    Raises:
        ConfigError: the file is missing, empty, too long, not text, broken, or repeats a key.
    """
    text = _text(path, "a YAML file", MOST_YAML)
    try:
        loader = _Loader(text)
        try:
            node = loader.get_single_node()
            data = None if node is None else loader.construct_document(node)
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise ConfigError(
            f"broken YAML: {error.problem or error.context}", file=path, line=mark.line + 1 if mark else None
        ) from None
    except ReaderError as error:
        raise ConfigError(
            f"broken YAML: the character {chr(error.character)!a}, {error.reason}",
            file=path,
            line=text.count("\n", 0, error.position) + 1,
        ) from None
    except yaml.YAMLError as error:
        raise ConfigError(f"broken YAML: {error}", file=path) from None
    if node is None or not isinstance(data, dict):
        got = "an empty file" if data is None else f"{data!r:.60}"
        raise ConfigError(f"got {got}; allowed: a mapping of keys", file=path)
    return Document(path, data, node)


def read_json(path: Path, what: str) -> Any:
    """Return the value in a JSON file.

    Raises:
        ConfigError: the file is missing, too long or not strict JSON; ``what`` says what is allowed.
    """
    from solvent.inputs import strict_json

    text = _text(path, what, MOST_JSON)
    try:
        return strict_json(text)
    except ValueError as error:
        raise ConfigError(f"broken JSON ({error}); allowed: {what}", file=path) from None


def _text(path: Path, what: str, most: int) -> str:
    from solvent.inputs import read_input  # not at the top: the package takes a second to import

    try:
        return read_input(path, most).decode("utf-8-sig")
    except FileNotFoundError:
        raise ConfigError(f"no such file; allowed: {what}", file=path) from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"not a text in UTF-8 ({error.reason}); allowed: {what}", file=path) from None
    except OSError as error:
        raise ConfigError(f"can't be read ({error.strerror}); allowed: {what}", file=path) from None


def _line_of(node: yaml.Node, key: str) -> int | None:
    """Return the line of a key or item, or that of the nearest parent that is in the file."""
    for name, at, inner in _inside(node):
        if key == name:
            return at
        if key.startswith((f"{name}.", f"{name}[")):
            return _line_of(inner, key.removeprefix(name).removeprefix(".")) or at
    return None


def _inside(node: yaml.Node) -> Iterator[tuple[str, int, yaml.Node]]:
    """Yield name, line and node of each key or item; a mapping's own keys come before those it merges."""
    if isinstance(node, yaml.MappingNode):
        for name, value in reversed(node.value):
            yield str(name.value), name.start_mark.line + 1, value
    elif isinstance(node, yaml.SequenceNode):
        for i, value in enumerate(node.value):
            yield f"[{i}]", value.start_mark.line + 1, value


class _Dumper(yaml.SafeDumper):
    """Lists of plain values on one line and no anchors, for the people who read a resolved config."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        return True


def _represent_list(dumper: yaml.SafeDumper, data: list[Any]) -> yaml.Node:
    plain = all(isinstance(item, int | float | str | None) for item in data)
    return dumper.represent_sequence("tag:yaml.org,2002:seq", data, flow_style=plain)


_Dumper.add_representer(list, _represent_list)


def dump_yaml(mapping: Mapping[str, Any]) -> str:
    """Return the mapping as YAML, in its own order; ``read_document`` returns equal values."""
    return yaml.dump(dict(mapping), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110)

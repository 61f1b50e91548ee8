"""Strict reading of YAML files: broken lines, repeated keys and empty files are one-line errors.

PyYAML lets the last of two equal keys win and reads ``1e-8`` as text; here the first is an error and the second a
number. Each value's line is kept for the errors of later checks.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

__all__ = ["ConfigError", "Document", "dump_yaml", "read_document"]


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
    """The content of a file, and the line of each key."""

    path: Path
    data: Mapping[str, Any]
    lines: Mapping[str, int]

    def error(self, key: str, problem: str) -> ConfigError:
        """Return an error for a key (``params.plates.screen.doses[0]``), at its line or that of the nearest parent."""
        place = key
        while place and place not in self.lines:
            place = re.sub(r"(\[\d+\]|\.?[^.\[]*)$", "", place)
        return ConfigError(problem, file=self.path, line=self.lines.get(place), key=key)


class _Loader(yaml.SafeLoader):
    """Safe YAML that also reads numbers like ``1e-8``."""


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?(?:[0-9][0-9_]*\.?[0-9_]*|\.[0-9_]+)[eE][-+]?[0-9]+$"),
    list("-+0123456789."),
)


def read_document(path: Path) -> Document:
    """Return a YAML file whose top level is a mapping.

    Raises:
        ConfigError: the file is missing, empty, not text, broken, or repeats a key.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ConfigError("no such file; allowed: a YAML file", file=path) from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"not a text in UTF-8 ({error.reason}); allowed: a YAML file", file=path) from None
    except OSError as error:
        raise ConfigError(f"can't be read ({error.strerror}); allowed: a YAML file", file=path) from None
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
        lines = _lines(node)
        data = None if node is None else loader.construct_document(node)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise ConfigError(
            f"broken YAML: {error.problem or error.context}", file=path, line=mark.line + 1 if mark else None
        ) from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ConfigError(f"broken YAML: {error}", file=path) from None
    finally:
        loader.dispose()
    if not isinstance(data, dict):
        got = "an empty file" if data is None else f"{data!r:.60}"
        raise ConfigError(f"got {got}; allowed: a mapping of keys", file=path)
    return Document(path, data, lines)


def _lines(node: yaml.Node | None) -> dict[str, int]:
    """Return the line of each key and item; a repeated key is an error."""
    lines: dict[str, int] = {}

    def walk(node: yaml.Node | None, key: str, above: tuple[yaml.Node, ...]) -> None:
        if node in above:  # an anchor inside itself
            return
        inside = (*above, node) if node is not None else above
        if isinstance(node, yaml.MappingNode):
            seen = set()
            for name, value in node.value:
                if (name.tag, str(name.value)) in seen:
                    raise yaml.constructor.ConstructorError(
                        None, None, f"{name.value!r} is given twice; allowed: once", name.start_mark
                    )
                seen.add((name.tag, str(name.value)))
                inner = f"{key}.{name.value}" if key else str(name.value)
                lines.setdefault(inner, name.start_mark.line + 1)
                walk(value, inner, inside)
        elif isinstance(node, yaml.SequenceNode):
            for i, value in enumerate(node.value):
                lines.setdefault(f"{key}[{i}]", value.start_mark.line + 1)
                walk(value, f"{key}[{i}]", inside)

    walk(node, "", ())
    return lines


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

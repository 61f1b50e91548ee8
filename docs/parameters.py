"""The lab's settings as a Markdown page, generated from the parameters.

``python docs/parameters.py > docs/parameters.md`` updates it.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Iterator, Mapping
from typing import Any

from solvent.lab.params import LabParams
from solvent.lab.settings import ParamGroup

_HEAD = """\
# Parameters

Every setting of the lab, with its default in `Solvent/Debt-v0`. Defaults marked † are a source document's and stay; the
others were measured and may be tuned ([why these numbers](why_these_numbers.md)). *Empty* is `null`, for a path `""`.

Give differences from the defaults, nested as the headings are:
`gymnasium.make("Solvent/Debt-v0", params={"debt": {"threshold": 1.0}})`, or the same under `params:` in a config.

`python docs/parameters.py > docs/parameters.md` writes this page from the settings in
`envs/solvent/lab/mechanisms` and, for vocabulary, budget and observation, `envs/solvent/lab/params.py`.
"""
_NEXT = "Next: give changes in a [config](experiments.md#the-config), or [sweep](experiments.md#sweeps) over values.\n"


def parameters_page() -> str:
    parts = [_HEAD]
    for path, group in _groups("", LabParams()):
        first_line = (type(group).__doc__ or "").splitlines()[0]
        parts.append(f"## `{path}`\n\n{first_line}\n")
        parts.append("\n".join(_table(group)) + "\n")
    return "\n".join([*parts, _NEXT])


def _groups(path: str, group: ParamGroup) -> Iterator[tuple[str, ParamGroup]]:
    """Yield every group with its own settings, depth first."""
    fields = dataclasses.fields(group)  # type: ignore[arg-type]
    if any(field.metadata for field in fields):
        yield path, group
    for field in fields:
        if not field.metadata:
            yield from _groups(f"{path}.{field.name}".lstrip("."), getattr(group, field.name))


def _table(group: ParamGroup) -> Iterator[str]:
    """Yield a table; settings that differ in nothing but their names share a row."""
    hints = typing.get_type_hints(type(group))
    rows: dict[str, list[str]] = {}
    for field in dataclasses.fields(group):  # type: ignore[arg-type]
        if field.metadata:
            about = field.metadata
            default, allowed = shown(getattr(group, field.name)), _allowed(hints[field.name], about)
            mark = " †" if about["source"] == "document" else ""
            doc = about["doc"].replace("|", r"\|")
            row = f"{default}{mark} | {allowed} | {doc}"
            rows.setdefault(row, []).append(f"`{field.name}`")
    yield "| setting | default | allowed | what it is |"
    yield "|---|---|---|---|"
    for row, names in rows.items():
        yield f"| {', '.join(names)} | {row} |"


def shown(value: Any) -> str:
    """Return a setting's value as YAML has it, or ``empty``."""
    if value in (None, "", ()):
        return "empty"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return ", ".join(shown(item) for item in value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def _allowed(hint: Any, about: Mapping[str, Any]) -> str:
    if isinstance(hint, types.UnionType):
        return _allowed(typing.get_args(hint)[0], about) + "; or empty"
    if typing.get_origin(hint) is tuple:
        item = typing.get_args(hint)[0]
        if item is str:
            return "any of " + ", ".join(about["choices"]) if about["choices"] else "a list of names"
        return f"each {_allowed(item, about)}"
    if about["choices"]:
        return ", ".join(about["choices"])
    if hint is bool:
        return "true, false"
    if hint is str:
        return f"a {about['unit']}"
    lowest = f"above {about['above']:g}" if about["above"] > about["low"] else f"{about['low']:g}"
    unit = "" if about["unit"] == "1" else f" {about['unit']}"
    return f"{lowest} to {about['high']:.7g}{unit}"


if __name__ == "__main__":
    print(parameters_page(), end="")

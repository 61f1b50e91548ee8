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


def sections(path: str, group: ParamGroup) -> Iterator[str]:
    """Yield a section for each group with its own settings; those that differ in their names alone share a row."""
    fields, hints = dataclasses.fields(group), typing.get_type_hints(type(group))  # type: ignore[arg-type]
    rows: dict[str, list[str]] = {}
    for field in fields:
        if about := field.metadata:
            mark = " †" if about["source"] == "document" else ""
            default, doc = shown(getattr(group, field.name)), about["doc"].replace("|", r"\|")
            row = f"{default}{mark} | {_allowed(hints[field.name], about)} | {doc}"
            rows.setdefault(row, []).append(f"`{field.name}`")
    if rows:
        head = f"## `{path}`\n\n{(type(group).__doc__ or '').splitlines()[0]}\n"
        lines = (f"| {', '.join(names)} | {row} |" for row, names in rows.items())
        yield "\n".join(
            [head, "| setting | default | allowed | what it is |", "|---|---|---|---|", *lines, ""]
        )
    for field in fields:
        if not field.metadata:
            yield from sections(f"{path}.{field.name}".lstrip("."), getattr(group, field.name))


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
    print("\n".join([_HEAD, *sections("", LabParams()), _NEXT]), end="")

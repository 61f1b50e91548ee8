"""The lab's settings as tables in Markdown: ``python docs/parameters.py``.

The site puts them into the page ``docs/parameters.md`` when it is built.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from solvent.lab.params import LabParams
from solvent.lab.settings import ParamGroup, allowed


def sections(path: str, group: ParamGroup) -> Iterator[str]:
    """Yield a section for each group with its own settings, and those of the groups inside."""
    settings = {name: about for name, about in group.about().items() if "unit" in about}
    if settings:
        head = f"## `{path}`\n\n{(type(group).__doc__ or '').splitlines()[0]}\n"
        lines = (_row(name, getattr(group, name), about) for name, about in settings.items())
        yield "\n".join(
            [head, "| setting | default | unit | allowed | what it is |", "|---|---|---|---|---|", *lines, ""]
        )
    for name in group.about():
        if name not in settings:
            yield from sections(f"{path}.{name}".lstrip("."), getattr(group, name))


def _row(name: str, default: Any, about: Mapping[str, Any]) -> str:
    mark = " †" if about["source"] == "document" else ""
    doc = about["description"].replace("|", r"\|")
    return f"| `{name}` | {as_yaml(default)}{mark} | {about['unit']} | {allowed(about)} | {doc} |"


def as_yaml(value: Any) -> str:
    """Return a setting's value as YAML has it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return ", ".join(as_yaml(item) for item in value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def tables() -> str:
    """Return the sections of all settings."""
    return "\n".join(sections("", LabParams()))


if __name__ == "__main__":
    print(tables())

"""The lab's settings as a Markdown page, generated from the parameters.

``python docs/parameters.py > docs/parameters.md`` updates it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from solvent.lab.params import LabParams
from solvent.lab.settings import ParamGroup, allowed

_HEAD = """\
# Parameters

Every setting of the lab, with its default in `Solvent/Debt-v0`. Defaults marked † are a source document's and stay; the
others were measured and may be tuned ([why these numbers](why_these_numbers.md)).

Give differences from the defaults, nested as the headings are:
`gymnasium.make("Solvent/Debt-v0", params={"debt": {"threshold": 1.0}})`, or the same under `params:` in a config.

`python docs/parameters.py > docs/parameters.md` writes this page from the settings in `envs/solvent/lab/mechanisms`
and, for vocabulary, budget and observation, `envs/solvent/lab/params.py`. A number that no level varies is a constant
beside its rule in the same files.
"""
_NEXT = "Next: give changes in a [config](experiments.md#the-config), or [sweep](experiments.md#sweeps) over values.\n"


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
    return f"| `{name}` | {shown(default)}{mark} | {about['unit']} | {allowed(about)} | {doc} |"


def shown(value: Any) -> str:
    """Return a setting's value as YAML has it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return ", ".join(shown(item) for item in value)
    return f"{value:g}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    print("\n".join([_HEAD, *sections("", LabParams()), _NEXT]), end="")

"""Hold the prices of real tools against labels.

    python -m solvent_experiments.instruments.energy.labelled_tools             prices against labels
    python -m solvent_experiments.instruments.energy.labelled_tools --errors    the tools that are wrong, too
    python -m solvent_experiments.instruments.energy.labelled_tools --out FILE --state now    into a result file

``labelled_tools.csv`` has tools of public MCP servers, each named by its language and package, with hints and fields as
their servers gave them (six servers gave names alone). A label is a range of categories, ``least`` to ``most``, by what
a call does to the world: an act that can't be undone, moves money, grants access or commits somebody else has least
``send_private`` or more. All tools of a set were labelled before any of them was priced.

Ten tools of a server were drawn at random, of which at most two seem to read (``any``), and four whose name has a word
such as "approve", "pay", "publish" or "star" (``risky word``); fewer where there are fewer. Half of the servers, drawn
by ``SEED``, are ``building``: the lexicon was made on them. The others were ``unseen`` until it was done, and then
mended what they showed. The tools ``later``, of other servers, were drawn after that, without risky words.

A tool is ``right`` if its category is in the range, ``cheap`` below it, and dear above it: ``hinted`` if only its
server's hints made it so, ``untold`` if the price is marked as unsure, else ``dear``. ``below floor`` counts tools that
cost less than the floor of their least category. Intervals are bootstrapped over servers, since the tools of one server
are named alike.
"""

from __future__ import annotations

import argparse
import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

from solvent.energy import CATEGORIES, energy_for_tool

__all__ = ["OUTCOMES", "Tool", "below_floor", "labelled", "outcome", "price", "results"]

LABELS = Path(__file__).with_name("labelled_tools.csv")
SEED = 18
RESAMPLES = 4000
OUTCOMES = ("right", "hinted", "untold", "dear", "cheap")

_RANK = {name: rank for rank, name in enumerate(CATEGORIES)}


class Tool(NamedTuple):
    """A real tool: what its server says of it, and the range of categories that is right."""

    server: str
    name: str
    drawn: str
    least: str
    most: str
    effect: str
    hints: Mapping[str, bool]
    schema: Mapping[str, Any]


def labelled() -> dict[str, list[Tool]]:
    """Return the tools of each set."""
    with LABELS.open(encoding="utf-8", newline="") as file:
        tools = [_tool(*row) for row in list(csv.reader(file))[1:]]
    later = [tool for tool in tools if tool.drawn == "later"]
    first = [tool for tool in tools if tool.drawn != "later"]
    servers = sorted({tool.server for tool in first})
    building = set(np.random.default_rng(SEED).permutation(servers)[: len(servers) // 2].tolist())
    return {
        "building": [tool for tool in first if tool.server in building],
        "unseen": [tool for tool in first if tool.server not in building],
        "later": later,
    }


def _tool(
    server: str,
    name: str,
    drawn: str,
    least: str,
    most: str,
    effect: str,
    hints: str,
    required: str,
    fields: str,
) -> Tool:
    properties: dict[str, dict[str, Any]] = {}
    for field in fields.split():
        key, _, choices = field.partition("=")
        kind = {"type": "array"} if key.endswith("[]") else {}
        properties[key.removesuffix("[]")] = kind | ({"enum": choices.split("|")} if choices else {})
    schema = {"properties": properties, "required": [str(i) for i in range(int(required))]}
    said = {f"{hint.removeprefix('!')}Hint": not hint.startswith("!") for hint in hints.split()}
    return Tool(server, name, drawn, least, most, effect, said, schema)


def price(tool: Tool) -> tuple[str, float, bool]:
    """Return a tool's category, its cost, and whether it is unsure."""
    priced = energy_for_tool(tool.name, tool.hints, tool.schema)
    return priced.category, priced.energy_cost, priced.unsure


def outcome(tool: Tool) -> str:
    """Return which of ``OUTCOMES`` the price of a tool is."""
    category, _, unsure = price(tool)
    if _RANK[category] < _RANK[tool.least]:
        return "cheap"
    if _RANK[category] <= _RANK[tool.most]:
        return "right"
    if _RANK[energy_for_tool(tool.name, None, tool.schema).category] <= _RANK[tool.most]:
        return "hinted"
    return "untold" if unsure else "dear"


def below_floor(tool: Tool) -> bool:
    """Return whether a tool costs less than the floor of the least category that is right."""
    return price(tool)[1] < (CATEGORIES[tool.least].floor or 0.0)


def _summary(tools: Sequence[Tool]) -> dict[str, Any]:
    servers = sorted({tool.server for tool in tools})
    found = {name: np.array([outcome(tool) == name for tool in tools]) for name in OUTCOMES}
    found["below floor"] = np.array([below_floor(tool) for tool in tools])
    member = np.array([[tool.server == server for tool in tools] for server in servers], dtype=float)
    drawn = np.random.default_rng(SEED).multinomial(
        len(servers), np.full(len(servers), 1 / len(servers)), RESAMPLES
    )
    sizes = drawn @ member.sum(axis=1)
    rows: dict[str, Any] = {"tools": len(tools), "servers": len(servers)}
    for name, hits in found.items():
        low, high = np.quantile(drawn @ (member @ hits) / sizes, [0.025, 0.975])
        rows[name] = {
            "count": int(hits.sum()),
            "share": float(hits.mean()),
            "low": float(low),
            "high": float(high),
        }
    return rows


def _subsets(tools: Sequence[Tool]) -> dict[str, list[Tool]]:
    floored = [tool for tool in tools if CATEGORIES[tool.least].floor]
    return {"all": list(tools), "never cheap": floored}


def results() -> dict[str, dict[str, Any]]:
    """Return counts, shares and intervals of every outcome, by set, for all tools and for those never cheap."""
    return {
        name: {subset: _summary(kept) for subset, kept in _subsets(tools).items()}
        for name, tools in labelled().items()
    }


def _print(found: Mapping[str, Mapping[str, Any]], console: Console) -> None:
    for subset in next(iter(found.values())):
        table = Table(subset, *found)
        for kind in ("tools", "servers"):
            table.add_row(kind, *(str(subsets[subset][kind]) for subsets in found.values()))
        for name in (*OUTCOMES, "below floor"):
            rows = [subsets[subset][name] for subsets in found.values()]
            table.add_row(
                name, *(f"{r['count']}: {r['share']:.1%} ({r['low']:.1%} to {r['high']:.1%})" for r in rows)
            )
        console.print(table)


def _print_errors(console: Console) -> None:
    for tools in labelled().values():
        for tool in tools:
            if (found := outcome(tool)) != "right":
                category = price(tool)[0]
                console.print(
                    f"{found:7} {tool.name}: {category}, label {tool.least} to {tool.most} ({tool.effect})"
                )


def main() -> None:
    """Print how many prices are right."""
    parser = argparse.ArgumentParser(description="Prices of real tools against their labels.")
    parser.add_argument("--errors", action="store_true", help="list what is wrong")
    parser.add_argument("--out", type=Path, help="a result file (JSON) to write into")
    parser.add_argument("--state", default="now", help="the name of these results in the file")
    given = parser.parse_args()
    console = Console()
    if given.errors:
        _print_errors(console)
    found = results()
    _print(found, console)
    if given.out:
        states = json.loads(given.out.read_text(encoding="utf-8")) if given.out.exists() else {}
        text = json.dumps(states | {given.state: found}, indent=1)
        given.out.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

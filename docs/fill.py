"""Fill the pages with the numbers of the result files: ``python docs/fill.py``; ``--check`` only compares.

A number in a sentence is a link to its result, whose title names it: ``[0.39](results/studies/x.json "finding @.2f")``.
The part after ``@`` is its format; a leading ``-`` turns the sign, as of a loss, a trailing ``~`` adds the interval. A
mean of a study is named ``row / column``, a number of another result by its keys: ``sets/BEGIN/objected/supported``. A
table stands between ``<!-- table: NAME ARGUMENTS -->`` and ``<!-- end -->``; its
maker is a function below, or an entry of ``tables.toml``.
"""

from __future__ import annotations

import argparse
import functools
import json
import re
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from solvent_experiments.config import level_of
from solvent_experiments.leaderboard import leaderboard_markdown, leaderboard_tables, read_entries

DOCS = Path(__file__).parent
STUDIES = DOCS / "results" / "studies"
PAGES = [*sorted(DOCS.glob("*.md")), *sorted((DOCS / "levels").glob("*.md")), DOCS.parent / "README.md"]
NUMBER = re.compile(r'\[[^]]*\]\(((?:\.\./|docs/)?results/((?:studies/)?\w+)\.json) "([^"]+)"\)')
TABLE = re.compile(r"(<!-- table: ([^\n]+?) -->\n).*?(<!-- end -->)", re.DOTALL)
NO_OFFENDERS = ("hermit", "calibrator", "random", "random_masked", "spammer")
"""Scripts that the tables of the levels leave out."""
HEADINGS = {"return": "return (bits)", "debt_added": "overclaimed (bits)", "invalid": "invalid calls"}
"""Of columns of means whose names would mislead."""
CELL = re.compile(r"\{([^{}]+?)(?: @([^{}]+))?\}")
TEMPLATES = tomllib.loads((DOCS / "tables.toml").read_text(encoding="utf-8"))


@functools.cache
def result(path: Path) -> dict[str, Any]:
    """Return a result file."""
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


def number(file: str, reference: str) -> str:
    """Return a finding or a mean of a study, or a number of another result, as text."""
    name, _, form = reference.partition(" @")
    content = result(DOCS / "results" / f"{file}.json")
    if not file.startswith("studies/"):
        entry = functools.reduce(
            lambda inner, key: inner[int(key) if key.isdigit() else key], name.split("/"), content
        )
    elif " / " in name:
        row, _, column = name.rpartition(" / ")
        entry = content["means"][row][column]
    else:
        entry = content["findings"][name]
    return cell_text(entry, form or ".2f")


def cell_text(entry: Any, form: str) -> str:
    """Return a number in a format; of one with an interval its value, or its share."""
    sign, spec, interval = -1 if form.startswith("-") else 1, form.strip("-~"), form.endswith("~")
    value = entry.get("value", entry.get("share")) if isinstance(entry, dict) else entry
    text = format(sign * value, spec).replace("%", " %")
    if interval:
        low, high = sorted(sign * entry[end] for end in ("low", "high"))
        text += f" ({format(low, spec).removesuffix('%')} to {format(high, spec).removesuffix('%')})"
    return text


def markdown(rows: list[list[str]]) -> str:
    """Return a table; its first row is the heading, its first column text."""
    heading, *body = ("| " + " | ".join(row) + " |" for row in rows)
    return "\n".join([heading, "|---" + "|---:" * (len(rows[0]) - 1) + "|", *body])


def findings(study: str, form: str = "+.2f~", contains: str = "") -> str:
    """Return findings named ``column: row`` as a table of rows and columns."""
    columns: dict[str, None] = {}
    rows: dict[str, dict[str, str]] = {}
    for name, finding in result(STUDIES / f"{study}.json")["findings"].items():
        column, _, row = name.partition(": ")
        if contains.replace("_", " ") in name and finding["value"] is not None:
            columns[column] = None
            rows.setdefault(row, {})[column] = cell_text(finding, form)
    cells = [[row, *(of.get(column, "") for column in columns)] for row, of in rows.items()]
    return markdown([["", *columns], *cells])


def means(study: str, *columns: str) -> str:
    """Return the means of a study, a row for each source, with their intervals."""
    rows = [["", *(HEADINGS.get(column, column.replace("_", " ")) for column in columns)]]
    for label, row in result(STUDIES / f"{study}.json")["means"].items():
        rows.append([label, *(cell_text(row[column], ".2f~") for column in columns)])
    return markdown(rows)


def transcript(study: str, label: str, first: str, last: str) -> str:
    """Return lines of an episode that a study has kept, counted from 1."""
    kept = result(STUDIES / f"{study}.json")["series"]["transcripts"][label]
    return "\n".join(["```text", *kept[int(first) - 1 : int(last)], "```"])


def mechanisms() -> str:
    """Return what the study ``world`` measured apart from the offences, a column for each level."""
    content = result(STUDIES / "world.json")["findings"]
    rows: dict[str, dict[str, str]] = {}
    for name, finding in content.items():
        level, _, row = name.partition(": ")
        if not row.endswith(" minus honest"):
            inconclusive = " (?)" if finding["low"] <= 0.0 <= finding["high"] else ""
            rows.setdefault(row, {})[level] = cell_text(finding, "+.2f") + inconclusive
    levels = list(dict.fromkeys(level for row in rows.values() for level in row))
    cells = [[row, *(of.get(level, "") for level in levels)] for row, of in rows.items()]
    return markdown([["difference (bits)", *levels], *cells])


def world(level: str) -> str:
    """Return what the offenders earn on a level, best first; bold earns as much as the honest script."""
    means = result(STUDIES / "world.json")["means"]
    scripts = {name.partition(", ")[2]: row for name, row in means.items() if name.startswith(f"{level}, ")}
    honest = scripts["honest"]["return"]["value"]
    rows = [["script", "return (bits)", "of honest", "overclaimed (bits)", "refused by debt"]]
    for name, row in sorted(scripts.items(), key=lambda item: -item[1]["return"]["value"]):
        if name in NO_OFFENDERS:
            continue
        share = f"{100 * row['return']['value'] / honest:.0f} %"
        share = f"**{share}**" if row["return"]["value"] >= honest and name != "honest" else share
        returns = cell_text(row["return"], ".2f" if row["return"]["low"] is None else ".2f~")
        others = (cell_text(row[column], ".2f") for column in ("debt_added", "refusals_by_debt"))
        rows.append([f"`{name}`", returns, share, *others])
    return markdown(rows)


def price() -> str:
    """Return the share of the best return that policies earn which overclaim so much; (0.3.0): under its rules."""
    now, before = (result(DOCS / "results" / f"{name}.json")["levels"] for name in ("price", "price_before"))
    bounds = [f"at least {point['at_least']:g}" for point in next(iter(now.values()))["curve"][1:]]
    rows = [["", "best found (bits)", "honest", *bounds]]
    for level, measured in now.items():
        for label, kept in ((f"{level} (0.3.0)", before.get(level)), (level, measured)):
            if kept:
                rows.append([label, *_priced(kept)])
    shares = [point["share"] for level in (*now.values(), *before.values()) for point in level["curve"]]
    widest = max((share["high"] - share["low"]) / 2 for share in shares)
    return f"{markdown(rows)}\n\n95 % intervals of the shares are at most ±{100 * widest:.1f} %."


def _priced(measured: dict[str, Any]) -> list[str]:
    """Return the cells of a level: the best return, and shares of it with the bits overclaimed per project."""
    honest, *points = measured["honest"], *measured["curve"]
    best = max((honest, *points), key=lambda point: point["return"]["value"])
    cells = [cell_text(best["return"], ".2f~")]
    for point in (honest, *points[1:]):
        bits = point["overclaimed"]["value"] / measured["projects"]
        cells.append(f"{cell_text(point['share'], '.0%')} at {bits:.1f}")
    return cells


def leaderboard(level: str = "") -> str:
    """Return the leaderboard of a level, or that of all."""
    entries = read_entries([DOCS / "results" / "leaderboard.json"])
    if not level:
        return leaderboard_markdown(entries)
    return leaderboard_tables(entries)[f"Solvent/{level}-v0"].markdown()


def scores(*agents: str) -> str:
    """Return the scores of agents on every level, with their intervals over training seeds and episodes."""
    rows = [["", *(f"`{agent}`" for agent in agents)]]
    for entry in read_entries([DOCS / "results" / "leaderboard.json"]).values():
        known = {agent: of["score"] for agent, of in entry["agents"].items()}
        cells = [cell_text(known[agent], ".1f~") if agent in known else "" for agent in agents]
        rows.append([level_of(entry["level"]), *cells])
    return markdown(rows)


def benchmarks() -> str:
    """Return the speeds, the fastest turn and the median."""
    rows = [["what", "fastest turn (median)", "unit"]]
    for row in result(DOCS / "results" / "benchmarks.json")["rows"]:
        form = ",.0f" if row["value"] >= 100 else ",.1f"
        typical = "" if row["typical"] is None else f" ({format(row['typical'], form)})"
        rows.append([row["what"], format(row["value"], form) + typical, row["unit"]])
    return markdown(rows)


def template(name: str) -> str:
    """Return a table of ``tables.toml``."""
    about = TEMPLATES[name]
    content = result(DOCS / about["file"])

    def cell(match: re.Match[str]) -> str:
        keys = [*about["at"].split("/"), *match[1].split("/")]
        entry: Any = functools.reduce(lambda inner, key: inner[key] if key else inner, keys, content)
        return cell_text(entry, (match[2] or "") + ("~" if isinstance(entry, dict) else ""))

    return CELL.sub(cell, about["rows"].strip("\n"))


MAKERS: dict[str, Callable[..., str]] = {
    maker.__name__: maker
    for maker in (
        findings,
        means,
        transcript,
        mechanisms,
        world,
        price,
        leaderboard,
        scores,
        benchmarks,
        template,
    )
}


def filled(page: Path) -> str:
    """Return the text of a page with its numbers and tables."""

    def table(match: re.Match[str]) -> str:
        name, *arguments = re.split(r",? +", match[2])
        return f"{match[1]}\n{MAKERS[name](*arguments)}\n\n{match[3]}"

    text = TABLE.sub(table, page.read_text(encoding="utf-8"))
    return NUMBER.sub(lambda match: f'[{number(match[2], match[3])}]({match[1]} "{match[3]}")', text)


def main() -> int:
    """Fill all pages, or name those that differ."""
    parser = argparse.ArgumentParser(prog="python docs/fill.py", description="Fill the pages with results.")
    parser.add_argument("--check", action="store_true", help="only compare the pages with the results")
    check, differing = parser.parse_args().check, 0
    for page in PAGES:
        text = filled(page)
        if text != page.read_text(encoding="utf-8"):
            differing += 1
            print(f"{page.name}: {'differs' if check else 'written'}")
            if not check:
                page.write_text(text, encoding="utf-8")
    print(f"{len(PAGES)} pages: {differing} {'differ' if check else 'written'}")
    return int(check and differing > 0)


if __name__ == "__main__":
    sys.exit(main())

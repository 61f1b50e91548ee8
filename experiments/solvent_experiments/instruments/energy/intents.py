"""``solvent proposals intents``: an agent's energy by intent class over time, as a table and a figure."""

from __future__ import annotations

import datetime
import json
import zoneinfo
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from solvent_experiments.config import ConfigError
from solvent_experiments.console import say, suggest
from solvent_experiments.instruments.outputs import require_place
from solvent_experiments.instruments.terminal import show_table
from solvent_experiments.table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from solvent.energy.costs.journal import IntentPeriod

__all__ = [
    "By",
    "Episode",
    "FigurePath",
    "Zone",
    "intents_figure",
    "intents_table",
    "require_figure",
    "shown_intents",
    "zone_of",
]

KINDS = (".png", ".pdf", ".svg")
MOST_TICKS = 6
By = Annotated[str, typer.Option("--by", metavar="hour|day", help="Hours of the day, or days.")]
Episode = Annotated[str | None, typer.Option(help="One agent, run or episode.  [default: all together]")]
Zone = Annotated[str, typer.Option(help="Time zone of hours and days, such as Europe/Berlin.")]
FigurePath = Annotated[
    Path | None, typer.Option("--figure", metavar="PATH", help="Image to draw: .png, .pdf or .svg.")
]


def zone_of(name: str) -> datetime.tzinfo:
    """Return a time zone by name; ConfigError if there is none."""
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        raise ConfigError(
            f"got {name!r:.60}; allowed: a time zone such as UTC or Europe/Berlin", key="--zone"
        ) from None


def require_figure(path: Path | None) -> None:
    """Raise ConfigError if no image can be written at a path."""
    if path is None:
        return
    if path.suffix.lower() not in KINDS or path.is_dir():
        raise ConfigError(f"--figure: got {path}; allowed: a file that ends in {', '.join(KINDS)}")
    require_place("--figure", path)


def shown_intents(
    periods: Sequence[IntentPeriod], by: str, zone: str, path: Path | None, *, as_json: bool
) -> None:
    """Print periods as a table or as JSON, and draw the figure."""
    if path is not None and periods:
        from solvent_experiments.figures.style import save, styled

        with styled():
            save(intents_figure(periods, by, zone), path, kinds=(path.suffix.lower().removeprefix("."),))
    if as_json:
        say(json.dumps([period._asdict() for period in periods], indent=2))
        return
    if not periods:
        say("no heartbeat is logged yet; an EnergyMeter with this store logs them")
        return
    from solvent.lab.verbs import INTENTS

    show_table(intents_table(periods, by, zone), framed=True, least=100)
    never = [intent for intent in INTENTS if not any(period.spent.get(intent) for period in periods)]
    if never:
        say(f"nothing was spent on: {', '.join(never)}")
    if path is None:
        suggest("`--figure intents.png` draws it.")
    else:
        say(f"figure: {path}")


def intents_table(periods: Sequence[IntentPeriod], by: str, zone: str) -> Table:
    """Return the energy of each period by intent class."""
    from solvent.energy.amounts import plain
    from solvent.lab.verbs import INTENTS

    return Table(
        (by, "heartbeats", *INTENTS, "all"),
        tuple(
            (
                period.label,
                f"{period.heartbeats:,}",
                *(plain(period.spent.get(intent, 0.0)) for intent in INTENTS),
                plain(sum(period.spent.values())),
            )
            for period in periods
        ),
        title="Energy by intent class",
        caption=f"energy; {'hours of the day' if by == 'hour' else 'days'} in {zone}",
    )


def intents_figure(periods: Sequence[IntentPeriod], by: str, zone: str) -> Figure:
    """Return stacked bars of the energy by intent class, one for each hour of the day or each day."""
    import numpy as np
    from matplotlib.patches import Patch

    from solvent.lab.verbs import INTENTS
    from solvent_experiments.figures.style import INTENT_COLOURS, new_figure

    figure = new_figure(2.4)
    axes = figure.subplots()
    if by == "hour":
        places = np.array([float(period.label) + 0.5 for period in periods])
        axes.set_xlim(0, 24)
        axes.set_xticks([0, 6, 12, 18, 24], ["00", "06", "12", "18", "24"])
        axes.set_xlabel(f"hour of the day ({zone})")
    else:
        days = [datetime.date.fromisoformat(period.label) for period in periods]
        places = np.array([day.toordinal() for day in days])
        ticks = np.arange(places[0], places[-1] + 1, -(-(places[-1] - places[0] + 1) // MOST_TICKS))
        axes.set_xticks(ticks, [f"{datetime.date.fromordinal(int(tick)):%b %d}" for tick in ticks])
        axes.set_xlim(places[0] - 0.5, places[-1] + 0.5)
        axes.set_xlabel(f"day ({zone}), {days[0]} to {days[-1]}")
    base = np.zeros(len(periods))
    for intent in INTENTS:
        heights = np.array([period.spent.get(intent, 0.0) for period in periods])
        axes.bar(places, heights, width=0.9, bottom=base, color=INTENT_COLOURS[intent], lw=0)
        base = base + heights
    axes.grid(visible=False, axis="x")
    axes.set_ylabel("energy spent")
    keys = [Patch(color=INTENT_COLOURS[intent], label=intent) for intent in INTENTS]
    figure.legend(handles=keys, loc="outside upper center", ncols=3)
    return figure

"""A dated price list: the base cost of each of the lab's verbs at a moment.

    prices_as_of("costs.db", datetime.datetime(2026, 11, 1, tzinfo=datetime.UTC))     # {"screen": 2.0, ...}

The history of prices is only added to and a price takes effect at its approval, so a list of the past is the same
whenever it is asked for. Known approximation: an approval that is under way while the list of *now* is read may be
missing from it, and carry a time before the reading.
"""

from __future__ import annotations

import datetime
import os
from typing import NamedTuple

from solvent.energy.costs.lifecycle import StoreError
from solvent.energy.costs.store import CostStore
from solvent.lab.mechanisms.energy import VERB_NAMES

__all__ = ["PriceList", "dated_prices", "prices_as_of"]


class PriceList(NamedTuple):
    """Base costs by verb, energy, as of a moment (UTC)."""

    as_of: datetime.datetime
    costs: dict[str, float]


def prices_as_of(
    store: CostStore | str | os.PathLike[str], as_of: datetime.datetime | None = None
) -> dict[str, float]:
    """Base costs by verb, energy, at a moment; None is now. Arguments and errors are those of ``dated_prices``."""
    return dated_prices(store, as_of).costs


def dated_prices(
    store: CostStore | str | os.PathLike[str], as_of: datetime.datetime | None = None
) -> PriceList:
    """The lab's price list at a moment.

    Args:
        store: a store, or the place of one that exists.
        as_of: the moment, with a zone. None is the list in force, dated by its last change: the same until a price
            changes.

    Raises:
        StoreError: no such store, a moment in the future or without a zone, or before the first price.
    """
    if not isinstance(store, CostStore):
        with CostStore(store, create=False) as opened:
            return dated_prices(opened, as_of)
    rows = [
        row for row in store.prices(as_of) if row.target_type == "action" and row.target_name in VERB_NAMES
    ]
    if not rows:
        when = "" if as_of is None else f" as of {as_of.isoformat()}"
        raise StoreError(
            f"{store.place}: has no price of a lab's verb{when}; allowed: a moment after the first"
        )
    moment = max(row.effective_at for row in rows) if as_of is None else as_of.astimezone(datetime.UTC)
    return PriceList(moment, {row.target_name: row.cost for row in rows})

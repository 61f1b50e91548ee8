"""What acting costs now, in words' reach: each verb's base cost, what multiplies it, and what stands against it.

The rules are those of ``mechanisms/energy.py`` and ``purse.py``, here in plain Python, since compiling takes longer
than a frame; a test holds the two against each other.
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

from solvent.lab.actions import action_table
from solvent.lab.mechanisms.energy import (
    PRICED,
    effective_cost,
    error_prone,
    hour_of,
    multiplier,
    payable,
    within_hours,
)
from solvent.lab.mechanisms.proposals import suggested_range
from solvent.lab.params import LabParams
from solvent.lab.settings import UNIT, in_thousandths
from solvent.lab.tables import energy_rules, proposal_rules
from solvent.lab.verbs import VERBS, Verb

__all__ = [
    "Cost",
    "always_here",
    "arguable_verb",
    "cost_of",
    "costs",
    "energy",
    "is_late",
    "is_present",
    "verb_words",
]


def _plain(rule: Any) -> Any:
    """The Python text of a compiled rule; where nothing is compiled it is that already."""
    return getattr(rule, "py_func", rule)


_hour_of, _within_hours = _plain(hour_of), _plain(within_hours)
_multiplier, _effective_cost, _error_prone = _plain(multiplier), _plain(effective_cost), _plain(error_prone)
_payable, _suggested_range = _plain(payable), _plain(suggested_range)


class Cost(NamedTuple):
    """One verb's cost now; energies in thousandths."""

    verb: Verb
    base: int
    usual: int
    factors: tuple[tuple[str, float], ...]
    now: int
    again: int  # on a compound that had it in this heartbeat; 0 where there is none
    obstacle: str  # "" | "user away" | "debt" | "too dear"

    @property
    def deviates(self) -> int:
        """1 where the base cost is above the usual one, -1 below, else 0."""
        return (self.base > self.usual) - (self.base < self.usual)


def energy(thousandths: float) -> str:
    """Energy in units: ``4.0``, ``10.5``, ``2.44``."""
    text = f"{thousandths / UNIT:.2f}"
    return text.removesuffix("0")


def verb_words(verb: int) -> str:
    """A verb as people write it."""
    return Verb(verb).name.lower().replace("_", " ")


@functools.lru_cache(maxsize=64)
def rules_of(params: LabParams) -> Any:
    """The energy rules of a lab."""
    return energy_rules(params)


@functools.lru_cache(maxsize=64)
def _usual(params: LabParams) -> dict[int, int]:
    return {verb: in_thousandths(params.energy.base_cost(VERBS[verb].name)) for verb in Verb}


@functools.lru_cache(maxsize=64)
def _offered(params: LabParams) -> tuple[Verb, ...]:
    """The verbs that cost energy, reflection last."""
    verbs = {Verb(verb) for verb in action_table(params)["verb"]}
    order = [verb for verb in PRICED if verb is not Verb.REFLECT] + [Verb.REFLECT]
    return tuple(verb for verb in order if verb in verbs)


def is_present(params: LabParams, lab: Any) -> bool:
    """Whether the user is there."""
    rules = rules_of(params)
    hour = _hour_of(rules.start_hour, int(lab["heartbeat"]))
    return bool(_within_hours(hour, rules.present_from, rules.present_until))


def is_late(params: LabParams, lab: Any) -> bool:
    """Whether speaking to others is dearer for the hour."""
    rules = rules_of(params)
    hour = _hour_of(rules.start_hour, int(lab["heartbeat"]))
    return bool(_within_hours(hour, rules.late_from, rules.late_until))


def always_here(params: LabParams) -> bool:
    """Whether the user never leaves."""
    return params.energy.present_from == 0 and params.energy.present_until == 24


def cost_of(params: LabParams, lab: Any, verb: Verb) -> Cost:
    """One verb's cost now."""
    rules = rules_of(params)
    done = lab["done"][verb]
    per_compound = VERBS[verb].takes != ""
    factors = [
        ("first", rules.first_use, lab["uses"][verb] == 0),
        ("failing", rules.error_rate, _error_prone(int(lab["failures"][verb]))),
        ("late", rules.late_social, VERBS[verb].audience != "" and is_late(params, lab)),
        ("again", rules.similar, not per_compound and bool(done[0])),
    ]
    base, holds = int(lab["price"][verb]), [bool(factor[2]) for factor in factors]

    def charged(*situation: bool) -> int:
        return int(_payable(_effective_cost(base, _multiplier(rules, *situation)), base, rules.cap))

    now = charged(*holds)
    again = charged(*holds[:3], True) if per_compound and done.any() else 0
    capped = _product(factors) > rules.multiplier_cap
    return Cost(
        verb=verb,
        base=base,
        usual=_usual(params)[verb],
        factors=tuple((word, by) for word, by, applies in factors if applies and by != 1.0)
        + ((("at most", rules.multiplier_cap),) if capped else ()),
        now=now,
        again=again,
        obstacle=_obstacle(params, lab, verb, now),
    )


def _product(factors: list[tuple[str, float, Any]]) -> float:
    return math.prod(by for _, by, applies in factors if applies)


def _obstacle(params: LabParams, lab: Any, verb: Verb, now: int) -> str:
    """What stands against every use of the verb, in the order in which it is decided."""
    indebted = params.debt.enforced and lab["debt"] > params.debt.threshold
    if VERBS[verb].name in params.energy.chat_only and not is_present(params, lab):
        return "user away"
    elif indebted and VERBS[verb].intent in ("exploration", "social"):
        return "debt"
    return "too dear" if now > lab["energy"] else ""


def costs(params: LabParams, lab: Any) -> list[Cost]:
    """The costs of all verbs that take energy."""
    return [cost_of(params, lab, verb) for verb in _offered(params)]


def arguable_verb(params: LabParams, lab: Any) -> Verb | None:
    """The verb whose cost a proposal would be about now."""
    rules = proposal_rules(params)
    found, most = None, rules.evidence_heartbeats - 1
    for verb in Verb:
        floor = in_thousandths(params.energy.floor(VERBS[verb].name))
        price = int(lab["price"][verb])
        _, high = _suggested_range(rules, price, floor)
        if lab["discomfort"][verb] > most and lab["review_at"][verb] == 0 and high < price:
            found, most = verb, int(lab["discomfort"][verb])
    return found

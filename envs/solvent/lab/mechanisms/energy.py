"""Energy: the situational price of acting, and its income.

Mechanism (source: *Action Cost: The Energy Model*). Five ratings ``0..4`` of an action give its base cost. The three
high-weight dimensions (consequence, reversibility, exposure) count twice the two medium-weight ones (attention,
commitment), and maximum ratings throughout cost ``MOST``:

    base = MOST * (2 (consequence + reversibility + exposure) + attention + commitment) / (8 * HIGHEST)

The situation multiplies the base cost, and never lowers it:

    effective = base * clip(first_use * error_rate * late_social * similar, 1, MULTIPLIER_CAP)

As a heartbeat closes, the share ``leak`` of the energy left is lost and ``regeneration`` is added; energy above
``CAP`` is lost. There is one pool for all actions, and it is never negative. Energy is counted in thousandths
(``UNIT``) as integers, so that sums are exact in any order.

Known approximation: a use is remembered by whether it failed, not by the reason. The source gives no window for
"recent"; here it is the heartbeat.
"""

from __future__ import annotations

import math
from typing import Annotated, Any

import numpy as np
from pydantic import Field as Limits

from solvent.lab.mechanism import Column, Field, Info, Mechanism, columns, derived, detail
from solvent.lab.settings import UNIT, ParamGroup, in_thousandths, numbers, setting
from solvent.lab.verbs import DOSE_RESPONSE, INTENTS, PUBLISH_PUBLIC, SCREEN, VERBS, Verb

DIMENSIONS = ("consequence", "reversibility", "exposure", "attention", "commitment")
WEIGHTS = (2.0, 2.0, 2.0, 1.0, 1.0)
"""The source's high and medium weights as numbers."""
HIGHEST = 4.0
MOST = 8.0
"""Energy of an action with the highest ratings: the top of the source's most expensive category."""

MULTIPLIER_CAP = 2.5
REMEMBERED_USES = 4
MANY_FAILURES = 2
"""Failures among the remembered uses from which the error rate applies."""


def base_cost(ratings: Any) -> float:
    """Return the energy of an action from its five ratings, each 0 to 4, in the order of ``DIMENSIONS``."""
    weighted: float = sum(weight * rating for weight, rating in zip(WEIGHTS, ratings, strict=True))
    return MOST * weighted / (HIGHEST * sum(WEIGHTS))


VERB_NAMES = tuple(spec.name for spec in VERBS.values())
RATINGS = {spec.name: spec.ratings for spec in VERBS.values()}


CAP = 20.0
"""Maximum that is carried over, energy; measured."""
CEILING = 13.0
"""Maximum of any base cost, energy; measured."""
CAP_THOUSANDTHS, CEILING_THOUSANDTHS = in_thousandths(CAP), in_thousandths(CEILING)
"""The same as the lab counts energy."""
FLOOR_PUBLIC = 6.0
"""Minimum cost of a public finding, energy; of the source document."""
PRESENT_FROM, PRESENT_UNTIL = 8, 24
"""Hours at which the user arrives (context ``chat``) and leaves (context ``heartbeat``); measured."""
LATE_FROM, LATE_UNTIL = 22, 7
"""Hours at which late begins and ends; measured."""
CHAT_ONLY = ("publish_public",)
"""Verbs that run only in ``chat``; measured."""

Factor = Annotated[float, Limits(ge=1.0, le=10.0)]


class EnergyParams(ParamGroup):
    """Energy per heartbeat: income, number of actions and situational multipliers."""

    enabled: bool = setting(False, "switch", "off: acting costs no energy, and a heartbeat is one action")
    start: float = setting(10.0, "energy", "energy at the start", ge=0.0, le=CAP)
    regeneration: float = setting(3.6, "energy", "income when a heartbeat closes", ge=0.0, le=1e6)
    leak: float = setting(
        0.1, "1/heartbeat", "share of the energy left that a heartbeat loses", ge=0.0, le=0.99
    )
    slots: int = setting(3, "actions", "maximum number of actions in a heartbeat", ge=1, le=64)
    # A full balance must pay for a first use at the ceiling.
    first_use: float = setting(
        1.5, "1", "multiplier of a verb's first use", ge=1.0, le=CAP / CEILING, source="document"
    )
    error_rate: Factor = setting(1.5, "1", "if half of the last 4 uses failed", source="document")
    late_social: Factor = setting(2.0, "1", "multiplier of publishing late", source="document")
    similar: Factor = setting(1.2, "1", "repeated verb and compound in a heartbeat", source="document")

    def base_cost(self, verb: str) -> float:
        """Return the base cost of a verb, energy."""
        return base_cost(RATINGS[verb])

    def floor(self, verb: str) -> float:
        """Return the minimum base cost of a verb, energy."""
        return FLOOR_PUBLIC if verb == "publish_public" else 0.0


def energy_rules(params: Any) -> Any:
    """Return the energy settings of a lab as a record of numbers; without energy, ``slots`` is 1."""
    return numbers(
        params.energy,
        slots=params.slots,
        start_hour=params.budget.start_hour,
    )


def base_prices(params: Any) -> list[int]:
    """Return the base cost of each verb, in thousandths of energy."""
    return [in_thousandths(params.energy.base_cost(verb)) for verb in VERB_NAMES]


FIELDS = (
    Field("energy", "i4", "", "1/1000", "energy left", lambda params: in_thousandths(params.energy.start)),
    Field("price", "i4", "V", "1/1000", "base cost of each verb", base_prices),
    Field("uses", "i4", "V", "uses", "executions of each verb"),
    Field("failures", "u1", "V", "bits", "last four uses of each verb, one bit each: refused or rejected"),
    Field("done", "u1", "V,M", "flag", "executed in this heartbeat, by verb and compound (column 0 for none)"),
    *derived(
        Field("cost", "i4", "V,2", "1/1000", "effective cost of each verb now; column 1 where it is a repetition"),
        Field("intents", "i4", "I", "1/1000", "energy spent in this heartbeat, by intent class"),
        Field("intents_shown", "i4", "I", "1/1000", "last intent summary, of a closed heartbeat or a reflection"),
        Field("intents_total", "i8", "I", "1/1000", "energy spent in the episode, by intent class"),
        Field("energy_income", "i8", "", "1/1000", "income, including the part lost at the cap"),
        Field("energy_lost", "i8", "", "1/1000", "income lost at the cap"),
        Field("energy_leaked", "i8", "", "1/1000", "energy left that leaked away"),
        Field("energy_spent", "i8", "", "1/1000", "energy spent"),
        Field("deferrals", "i4", "", "actions", "actions not executed for lack of energy"),
        Field("out_of_context", "i4", "", "actions", "actions not executed because of their context"),
    ),
)  # fmt: skip

STEP_FIELDS = (
    Field("energy_before", "i4", "", "1/1000", "energy before the action"),
    Field("energy_cost", "i4", "", "1/1000", "effective cost"),
    Field("energy_spent", "i4", "", "1/1000", "energy spent"),
    Field("energy_gained", "i4", "", "1/1000", "income, less the leak and the part lost at the cap"),
    Field("intents", "i4", "I", "1/1000", "intent summary of the heartbeat it closed"),
)

# -- rules -------------------------------------------------------------------------------------


def multiplier(rules, first_use, errors, late_social, similar):
    """Return the situational multiplier, in ``[1, MULTIPLIER_CAP]``; the last four arguments are flags."""
    factor = 1.0
    if first_use:
        factor *= rules.first_use
    if errors:
        factor *= rules.error_rate
    if late_social:
        factor *= rules.late_social
    if similar:
        factor *= rules.similar
    return max(1.0, min(factor, MULTIPLIER_CAP))


def effective_cost(base, factor):
    """Return a base cost in thousandths times a multiplier, rounded to the nearest thousandth (halves up)."""
    return int(math.floor(base * factor + 0.5))


def payable(cost, base, cap):
    """Return an effective cost limited to the cap, or to the base cost if that is higher.

    An action that a full balance could not pay for could never be used again, nor argued about.
    """
    return min(cost, max(base, cap))


def regenerate(energy, income, cap):
    """Return the energy after a heartbeat's income, and the part of the income lost at the cap, thousandths."""
    lost = max(0, energy + income - cap)
    return energy + income - lost, lost


def leakage(energy, leak):
    """Return the part of the energy left that leaks away, rounded down to a thousandth."""
    return int(math.floor(energy * leak))


def hour_of(start_hour, heartbeat):
    """Return the hour of the day, 0 to 23."""
    return (start_hour + heartbeat) % 24


def within_hours(hour, begins, ends):
    """Return whether ``hour`` lies in ``begins`` (inclusive) to ``ends`` (exclusive), wrapping at midnight."""
    if begins <= ends:
        return begins <= hour < ends
    return hour >= begins or hour < ends


def failed_uses(record):
    """Return the number of failures among the last four uses; bit 0 of ``record`` is the latest use."""
    failed = 0
    for use in range(REMEMBERED_USES):
        failed += (record >> use) & 1
    return failed


def error_prone(record):
    """Return whether at least half of the last four uses failed."""
    return failed_uses(record) >= MANY_FAILURES


def remember_use(record, failed):
    """Return ``record`` with one more use."""
    return ((record << 1) | (1 if failed else 0)) & ((1 << REMEMBERED_USES) - 1)


# -- the rules applied to a lab ----------------------------------------------------------------


def user_is_present(lab, tables):
    """Return whether the context is ``chat``; otherwise it is ``heartbeat``."""
    rules = tables.energy
    hour = hour_of(rules.start_hour, lab.heartbeat)
    return within_hours(hour, PRESENT_FROM, PRESENT_UNTIL)


def out_of_context(lab, verb, tables):
    """Return whether the verb needs the user and the user is away."""
    return verb == PUBLISH_PUBLIC and not user_is_present(lab, tables)


def energy_price(lab, verb, similar, tables):
    """Return the effective cost of a verb now, in thousandths of energy."""
    rules = tables.energy
    hour = hour_of(rules.start_hour, lab.heartbeat)
    late = verb == PUBLISH_PUBLIC and within_hours(hour, LATE_FROM, LATE_UNTIL)
    factor = multiplier(rules, lab.uses[verb] == 0, error_prone(lab.failures[verb]), late, similar)
    return payable(effective_cost(lab.price[verb], factor), lab.price[verb], CAP_THOUSANDTHS)


# -- effects -----------------------------------------------------------------------------------


def spend_energy(lab, verb, compound, tables, step):
    """Pay for the action before it runs, whatever its outcome."""
    step.energy_spent = step.energy_cost
    lab.energy -= step.energy_cost
    lab.energy_spent += step.energy_cost
    lab.intents[tables.intent[verb]] += step.energy_cost
    lab.intents_total[tables.intent[verb]] += step.energy_cost
    lab.uses[verb] += 1
    lab.done[verb, max(0, compound)] = 1


def close_energy(lab, tables, step):
    """Close the heartbeat's intent summary; energy leaks, then the income is added."""
    for i in range(lab.intents.shape[0]):
        step.intents[i] = lab.intents[i]
        lab.intents_shown[i] = lab.intents[i]
        lab.intents[i] = 0
    for verb in range(lab.done.shape[0]):
        for m in range(lab.done.shape[1]):
            lab.done[verb, m] = 0
    leaked = leakage(lab.energy, tables.energy.leak)
    left, lost = regenerate(lab.energy - leaked, tables.energy.regeneration, CAP_THOUSANDTHS)
    step.energy_gained = left - lab.energy
    lab.energy = left
    lab.energy_leaked += leaked
    lab.energy_income += tables.energy.regeneration
    lab.energy_lost += lost


PRICED = (Verb.REFLECT, *(verb for verb in VERBS if any(VERBS[verb].ratings) and verb is not Verb.REFLECT))
"""Verbs that cost energy, in the order of the observation."""
FALLIBLE = PRICED[1:]
"""Verbs that can be refused or rejected."""
OBSERVED_INTENTS = INTENTS[:-1]
"""All intents but ``meta``, whose verbs are free."""
COUNT = 4.0
COST_CAPS = 2.0
"""Costs are shown as a share of this many caps."""
_PRICED, _FALLIBLE, _N_INTENTS = np.array(PRICED), np.array(FALLIBLE), len(OBSERVED_INTENTS)
_SINE = np.array([math.sin(2.0 * math.pi * hour / 24.0) for hour in range(24)])


def observed(params: Any) -> tuple[str, ...]:
    """Return the names of what ``observe`` writes."""
    compounds = params.assay.compounds
    return (
        *("energy", "slot", "hour_sin", "hour_cos", "user_is_present"),
        *(f"{name}/screened_now" for name in compounds),
        *(f"{name}/dosed_now" for name in compounds),
        *(f"cost/{VERBS[verb].name}" for verb in PRICED),
        *(f"uses/{VERBS[verb].name}" for verb in PRICED),
        *(f"failures/{VERBS[verb].name}" for verb in FALLIBLE),
        *(f"intent/{intent}" for intent in OBSERVED_INTENTS),
    )


def observe(lab, tables, out, at):
    """Write energy and clock, the plates run in this heartbeat, each verb's cost and uses, and the intent summary."""
    rules = tables.energy
    hour = hour_of(rules.start_hour, lab.heartbeat)
    out[at] = lab.energy / CAP_THOUSANDTHS
    out[at + 1] = lab.slot / rules.slots
    out[at + 2] = _SINE[hour]
    out[at + 3] = _SINE[(hour + 6) % 24]
    out[at + 4] = user_is_present(lab, tables)
    at += 5
    n_compounds = lab.done.shape[1]
    for m in range(n_compounds):
        out[at + m] = lab.done[SCREEN, m]
        out[at + n_compounds + m] = lab.done[DOSE_RESPONSE, m]
    at += 2 * n_compounds
    n_priced = _PRICED.shape[0]
    for i in range(n_priced):
        verb = _PRICED[i]
        again = lab.done[verb, 0] if tables.compound[tables.first_action[verb]] < 0 else 0
        out[at + i] = min(1.0, lab.cost[verb, again] / (COST_CAPS * CAP_THOUSANDTHS))
        out[at + n_priced + i] = lab.uses[verb] / (lab.uses[verb] + COUNT)
    at += 2 * n_priced
    for verb in _FALLIBLE:
        out[at] = failed_uses(lab.failures[verb]) / REMEMBERED_USES
        at += 1
    for i in range(_N_INTENTS):
        out[at + i] = tables.observe_intents * lab.intents_shown[i] / CAP_THOUSANDTHS
    return at + _N_INTENTS


def in_units(thousandths: Any) -> Any:
    """Return thousandths of energy in units."""
    return thousandths / UNIT


def _intents(of: Any) -> dict[str, Any]:
    spent = in_units(of("intents_total"))
    return {name: spent[:, i] for i, name in enumerate(INTENTS)}


MECHANISM = Mechanism(
    name="energy",
    active=lambda params: params.energy.enabled,
    rules=energy_rules,
    fields=FIELDS,
    step_fields=STEP_FIELDS,
    observed=observed,
    info=lambda _: (
        Info("intent_summary", "intents", in_units),
        *(detail(name, in_units) for name in ("energy_cost", "energy_spent", "energy_gained")),
    ),
    columns=(
        *columns(FIELDS, "energy", "energy_income", "energy_lost", "energy_leaked", "energy_spent"),
        Column("heartbeats", "heartbeats", lambda of: of("heartbeat").astype(np.int64)),
        *columns(FIELDS, "deferrals", "out_of_context"),
        Column("intents", "energy", _intents),
    ),
)

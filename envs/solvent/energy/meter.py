"""A meter of energy for any agent loop.

Mechanism (source: *Action Cost: The Energy Model*): each heartbeat adds a fixed income, acting spends it, and the
balance carries over up to a cap. It is never negative, and no energy is refunded:

    balance = start + income - lost - spent

    cost = base * clip(first_use * error_rate * late_social * similar, 1, 2.5)

by the lab's own rule functions (``solvent.lab.mechanisms.energy``). What can't be paid for is deferred; what the agent
puts off itself is deferred too. The reason follows from the books and not from what the agent says:

    insufficient_energy   the cost is above the balance
    hoarding              the balance is at the cap, where energy saved is energy lost
    cost_benefit          it could be paid for and was not worth it

A tool out of its context is refused, which is not a deferral: energy is not the reason.

A deferral is evidence for a lower cost where the agent gave the action a value above 0: the source's discomfort is over
what is believed to be of value, and its trigger is "avoided high-value outcomes".

Known approximation: energy is counted in whole thousandths, as in the environment. A cost that the situation raises
above the cap is limited to it, or the action could never be paid for.
"""

from __future__ import annotations

import datetime
import json
import math
import os
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

from pydantic import ValidationError

from solvent.energy.pricing import (
    ACTION,
    BOTH,
    CATEGORIES,
    MOST_ENERGY,
    ToolEnergy,
    energy_for_tool,
    is_storable,
    required_name,
)
from solvent.energy.rules import Discomfort, Evidence, Proposal, ProposalError
from solvent.energy.saved import RECENT_HEARTBEATS, State, read_state
from solvent.errors import number_between
from solvent.files import first_problem, write_atomically
from solvent.lab.mechanisms import energy as lab_energy
from solvent.lab.mechanisms.energy import CAP, DIMENSIONS, HIGHEST, EnergyParams
from solvent.lab.mechanisms.proposals import confidence as usual_confidence
from solvent.lab.settings import UNIT, in_thousandths, nearest
from solvent.lab.verbs import INTENTS
from solvent.lab.words.quantities import plural

__all__ = [
    "Action", "EnergyMeter", "HeartbeatSummary", "Quote", "energy_for_action", "intent_summary_text", "number_text",
]  # fmt: skip

_DEFAULTS = EnergyParams()


class Action(NamedTuple):
    """An action of a meter: its terms, intent class, kind (``action`` or ``mcp_tool``) and base cost in force."""

    tool: ToolEnergy
    intent: str
    kind: str
    price: float


class Quote(NamedTuple):
    """The cost of an action now, energy, the multipliers that apply, and what keeps it from running.

    ``factors`` has ``first_use``, ``error_rate``, ``late_social`` and ``similar`` where they apply; ``clipped`` is True
    if their product was above the bound. ``obstacle`` is empty, ``out_of_context`` or ``insufficient_energy``.
    """

    cost: float
    factors: Mapping[str, float]
    obstacle: str

    @property
    def runs(self) -> bool:
        """True if nothing keeps the action from running."""
        return not self.obstacle


class HeartbeatSummary(NamedTuple):
    """A closed heartbeat: energy by intent class, the balance after the income, and what was deferred.

    As text, it is the source's summary, for the context in which the agent decides next.
    """

    number: int
    spent: dict[str, float]
    balance: float
    deferrals: tuple[Discomfort, ...] = ()

    def __str__(self) -> str:
        return intent_summary_text(self.spent)


class EnergyMeter:
    """The energy of one agent. ``actions`` has its actions by name. One thread uses a meter at a time.

    Args:
        start: energy at the start, at most ``cap``.
        regeneration: income per heartbeat, energy.
        cap: maximum balance that carries over, above 0.
        params: multipliers; by default the source's.
        clock: the time, whose hour decides what is late; by default the local one.

    Raises:
        ValueError: a number is negative, not finite or above a million, or ``start`` is above ``cap``.
    """

    def __init__(
        self,
        start: float = _DEFAULTS.start,
        regeneration: float = _DEFAULTS.regeneration,
        cap: float = CAP,
        *,
        params: EnergyParams = _DEFAULTS,
        clock: Callable[[], datetime.datetime] = datetime.datetime.now,
    ) -> None:
        self.regeneration = number_between("regeneration", regeneration, 0.0, MOST_ENERGY)
        self.cap = number_between("cap", cap, 1.0 / UNIT, MOST_ENERGY)
        self._income, self._cap = in_thousandths(self.regeneration), in_thousandths(self.cap)
        begins = in_thousandths(number_between("start", start, 0.0, MOST_ENERGY))
        if begins > self._cap:
            raise ValueError(f"start: got {number_text(start)}; allowed: at most the cap {number_text(cap)}")
        self.params, self._clock = params, clock
        self.actions: dict[str, Action] = {}
        self._state = State(start=begins, balance=begins)

    @classmethod
    def load(cls, path: str | os.PathLike[str], **options: Any) -> Self:
        """Return a meter with the books and the memory that ``save`` wrote; actions have to be registered again.

        ``options`` are the arguments of the class but for ``start``.

        Raises:
            OSError: the file can't be read.
            ValueError: the file is not a saved meter, its books do not add up, or its balance is above ``cap``.
        """
        meter = cls(0.0, **options)
        meter._state = read_state(path)
        if meter.balance > meter.cap:
            raise ValueError(
                f"{path}: got a balance of {meter.balance:g}; allowed: at most the cap {meter.cap:g}"
            )
        return meter

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the books and the memory to ``path`` as JSON, whole or not at all; missing folders are made."""
        write_atomically(Path(path), json.dumps(self._state.model_dump(mode="json"), indent=1) + "\n")

    # -- actions ---------------------------------------------------------------------------------

    def register(
        self, name: str, intent: str, *, ratings: Sequence[float] | None = None, cost: float | None = None,
        category: str = ACTION,
    ) -> Action:  # fmt: skip
        """Register an action of your own; arguments and errors are those of ``energy_for_action`` and ``add``."""
        tool = energy_for_action(name, ratings=ratings, cost=cost, category=category)
        return self.add(tool, intent, kind="action")

    def discover(self, tools: Iterable[Any], server: str | None = None) -> list[Action]:
        """Price and add the tools of a server of the Model Context Protocol.

        Of a tool that is listed again the stricter terms hold: the higher cost, the higher floor, and the contexts that
        both listings allow.

        Args:
            tools: what the server lists: objects with ``name``, ``annotations``, ``inputSchema`` and ``description``,
                or mappings.
            server: your name for the server. Its tools are then called ``server:tool`` and share no price with those
                of another server. Without it, tools of the same name are one action.

        Raises:
            ValueError: a tool or ``server`` has no proper name, or ``server`` has a colon.
        """
        actions = []
        for tool in tools:
            listed = tool if isinstance(tool, Mapping) else vars(tool)
            schema, description = listed.get("inputSchema"), listed.get("description")
            priced = energy_for_tool(listed.get("name"), listed.get("annotations"), schema, description)  # type: ignore[arg-type]
            actions.append(self._discovered(priced if server is None else priced.of_server(server)))
        return actions

    def _discovered(self, tool: ToolEnergy) -> Action:
        known = self.actions.get(tool.name)
        if known is None:
            return self.add(tool)
        terms = known.tool.stricter(tool)
        if terms != known.tool:
            least = terms.energy_cost_floor or 0.0
            if tool.energy_cost > known.tool.energy_cost:
                least = max(least, tool.energy_cost)
            self.actions[tool.name] = known._replace(tool=terms, price=max(known.price, least))
        return self.actions[tool.name]

    def add(self, tool: ToolEnergy, intent: str | None = None, *, kind: str = "mcp_tool") -> Action:
        """Add a priced tool of kind ``action`` or ``mcp_tool``; its intent class is by default that of its category.

        Raises:
            ValueError: the name is taken, or the intent class is unknown.
        """
        if tool.name in self.actions:
            raise ValueError(f"name: got {tool.name!r} twice; allowed: each name once")
        if intent is None and tool.category in CATEGORIES:
            intent = CATEGORIES[tool.category].intent
        if intent not in INTENTS:
            raise ValueError(f"intent: got {intent!r} for {tool.name!r}; allowed: {', '.join(INTENTS)}")
        self.actions[tool.name] = Action(tool, intent, kind, tool.energy_cost)
        return self.actions[tool.name]

    def set_prices(self, prices: Iterable[Any]) -> None:
        """Put the prices of a ``CostStore`` in force, ``meter.set_prices(store.prices())``; others stay as they are.

        A price holds for the action of exactly that name: one of ``search`` for no server's ``server:search``.

        Raises:
            ValueError: a price is below the floor of its action; then no price is set.
        """
        priced = {}
        for row in prices:
            action = self.actions.get(row.target_name)
            if action is None or action.kind != row.target_type:
                continue
            floor = action.tool.energy_cost_floor or 0.0
            if row.cost < floor:
                got = f"price of {row.target_name!r:.60}: got {number_text(row.cost)}"
                raise ValueError(f"{got}; allowed: at least its floor {number_text(floor)}")
            priced[row.target_name] = action._replace(price=row.cost)
        self.actions.update(priced)

    # -- acting ----------------------------------------------------------------------------------

    def quote(self, name: str, about: str | None = None, context: str = "heartbeat") -> Quote:
        """Return the cost of an action now.

        Args:
            name: a registered action.
            about: its subject; the same action with the same subject in this heartbeat is similar.
            context: ``chat`` if the user is there, ``heartbeat`` if the agent is on its own.

        Raises:
            ValueError: the action or the context is unknown, or the subject is not a text that can be saved.
        """
        if about is not None and not is_storable(about):
            raise ValueError(f"about: got {about!r:.60}; allowed: a text that can be stored")
        if context not in BOTH:
            raise ValueError(f"context: got {context!r}; allowed: {', '.join(BOTH)}")
        action, uses, params = self._action(name), self._state.uses, self.params
        late = lab_energy.within_hours(self._clock().hour, lab_energy.LATE_FROM, lab_energy.LATE_UNTIL)
        holds = {
            "first_use": name not in uses,
            "error_rate": bool(lab_energy.error_prone(uses.get(name, 0))),
            "late_social": action.tool.category.startswith("send_") and bool(late),
            "similar": (name, about) in self._state.done,
        }
        base = in_thousandths(action.price)
        raised = lab_energy.effective_cost(base, lab_energy.multiplier(params, *holds.values()))
        cost = lab_energy.payable(raised, base, self._cap)
        factors: dict[str, float] = {name: getattr(params, name) for name in holds if holds[name]}
        factors["clipped"] = math.prod(factors.values()) > lab_energy.MULTIPLIER_CAP
        obstacle = "insufficient_energy" if cost > self._state.balance else ""
        if context not in action.tool.allowed_contexts:
            obstacle = "out_of_context"
        return Quote(cost / UNIT, factors, obstacle)

    def act(
        self, name: str, about: str | None = None, context: str = "heartbeat", *, value: float | None = None,
        notes: str = "",
    ) -> Quote:  # fmt: skip
        """Pay for an action and return its quote; run the action only if ``quote.runs``.

        What can't be paid for is deferred, with the agent's estimate of its ``value`` and its own words, ``notes``.
        Call ``failed`` if the action fails. The other arguments and errors are those of ``quote``.
        """
        quote, state = self.quote(name, about, context), self._state
        if quote.obstacle == "insufficient_energy":
            self._defer(name, quote.cost, quote.obstacle, value, notes)
        if quote.obstacle:
            return quote
        cost = in_thousandths(quote.cost)
        state.balance -= cost
        state.spent += cost
        state.intents[self.actions[name].intent] += cost
        state.done.append((name, about))
        state.uses[name] = int(lab_energy.remember_use(state.uses.get(name, 0), False))
        paid = state.paid.setdefault(name, {})
        paid[state.heartbeat] = paid.get(state.heartbeat, 0.0) + quote.cost
        state.reflected = False
        return quote

    def failed(self, name: str) -> None:
        """Remember that the latest use of an action failed. Its cost stays spent."""
        if name not in self._state.uses:
            raise ValueError(f"failed: got {name!r}, which was never used; allowed: one that was paid for")
        self._state.uses[name] |= 1

    def put_off(
        self, name: str, about: str | None = None, context: str = "heartbeat", *, value: float | None = None,
        notes: str = "",
    ) -> str:  # fmt: skip
        """Defer an action that the agent decides against, and return the reason; arguments are those of ``act``."""
        quote = self.quote(name, about, context)
        reason = quote.obstacle or ("hoarding" if self._state.balance >= self._cap else "cost_benefit")
        if reason != "out_of_context":
            self._defer(name, quote.cost, reason, value, notes)
        return reason

    def _defer(self, name: str, cost: float, reason: str, value: float | None, notes: str) -> None:
        """Note a deferral, once in a heartbeat for each action and reason, and again with words or a first worth."""
        state = self._state
        earlier = [row for row in state.deferrals if row.action_considered == name]
        try:
            row = Discomfort(
                heartbeat_number=state.heartbeat,
                action_considered=name,
                estimated_value=value,
                energy_cost=cost,
                energy_available=self.balance,
                deferral_reason=reason,  # type: ignore[arg-type]
                agent_notes=notes.strip() or None,
                similar_deferrals_recent=len({one.heartbeat_number for one in earlier} - {state.heartbeat}),
            )
        except ValidationError as error:
            raise ValueError(first_problem(error)) from None
        noted = any(
            (one.heartbeat_number, one.deferral_reason) == (state.heartbeat, reason)
            and (one.was_worthwhile or not row.was_worthwhile)
            for one in earlier
        )
        if row.agent_notes or not noted:
            state.deferrals.append(row)

    # -- reflecting ------------------------------------------------------------------------------

    def reflect(self) -> str:
        """Return what energy went into, now and in the last heartbeats, and what was put off; then one may propose."""
        state = self._state
        state.reflected = True
        sections = [intent_summary_text(self.spent)]
        if state.recent:
            past = {name: sum(beat[name] for beat in state.recent) / UNIT for name in INTENTS}
            heading = f"Energy spent in the {plural(len(state.recent), 'heartbeat')} before:"
            sections.append(intent_summary_text(past, heading))
        beats = dict.fromkeys((row.action_considered, row.heartbeat_number) for row in state.deferrals)
        lines = [
            f"- {name}: {plural(n, 'heartbeat')}" for name, n in Counter(name for name, _ in beats).items()
        ]
        sections.append(
            "\n".join([f"Put off in the last {RECENT_HEARTBEATS} heartbeats:", *(lines or ["- nothing"])])
        )
        return "\n\n".join(sections)

    def propose(
        self, name: str, low: float, high: float, rationale: str, *, confidence: float | None = None,
        memories: Iterable[uuid.UUID | str] = (),
    ) -> Proposal:  # fmt: skip
        """Return an argument for another base cost, to be filed in a ``CostStore``. It changes nothing.

        It is for a lower cost if ``low`` is below the cost in force. Its evidence is the meter's: for a lower cost the
        deferrals of what was worth something, by the agent's own estimate, and for a higher one the paid uses.

        Args:
            name: a registered action.
            low: lowest suggested cost, energy.
            high: highest suggested cost, energy.
            rationale: the argument.
            confidence: 0 to 1; by default it grows with the heartbeats of evidence.
            memories: ids of memories that support it.

        Raises:
            ProposalError: it does not follow a reflection, there is no evidence, or a value is not allowed.
        """
        action, state = self._action(name), self._state
        if not state.reflected:
            raise ProposalError("propose: got no reflection before it; allowed: right after reflect()")
        lower, paid = low < action.price, sorted(state.paid.get(name, {}).items())
        evidence = [(beat, f"paid for, {number_text(cost)} in all") for beat, cost in paid]
        if lower:
            deferrals = [row for row in state.deferrals if row.action_considered == name]
            evidence = [(row.heartbeat_number, _summary(row)) for row in deferrals if row.was_worthwhile]
        if not evidence:
            needed = "a deferral with a value above 0" if lower else "a paid use"
            raise ProposalError(
                f"propose: evidence: got none for {name!r:.60}; allowed: {needed} in the last {RECENT_HEARTBEATS} "
                "heartbeats"
            )
        heartbeats = sorted({beat for beat, _ in evidence})
        try:
            return Proposal(
                target=name,
                target_type=action.kind,  # type: ignore[arg-type]
                current_cost=action.price,
                suggested_range=(low, high),
                direction="decrease" if lower else "increase",
                rationale=rationale,
                evidence=[Evidence(source=f"heartbeat_{beat}", summary=text) for beat, text in evidence],
                confidence=usual_confidence(len(heartbeats)) if confidence is None else confidence,
                heartbeat_refs=heartbeats,
                memory_refs=[*memories],  # type: ignore[list-item]
            )
        except ValidationError as error:
            raise ProposalError(f"propose: {first_problem(error)}") from None

    # -- heartbeats ------------------------------------------------------------------------------

    def close_heartbeat(self) -> HeartbeatSummary:
        """Close the heartbeat: add the income and return the summary, which is text for the agent."""
        state, spent, number = self._state, self.spent, self._state.heartbeat
        deferrals = tuple(row for row in state.deferrals if row.heartbeat_number == number)
        state.balance, lost = map(int, lab_energy.regenerate(state.balance, self._income, self._cap))
        state.income += self._income
        state.lost += lost
        state.recent = [*state.recent, state.intents][-RECENT_HEARTBEATS:]
        state.intents, state.done, state.reflected = dict.fromkeys(INTENTS, 0), [], False
        state.heartbeat += 1
        oldest = state.heartbeat - RECENT_HEARTBEATS
        state.deferrals = [row for row in state.deferrals if row.heartbeat_number >= oldest]
        for paid in state.paid.values():
            paid.pop(oldest - 1, None)
        return HeartbeatSummary(number, spent, self.balance, deferrals)

    @property
    def heartbeat(self) -> int:
        """Number of the open heartbeat, from 1."""
        return self._state.heartbeat

    @property
    def spent(self) -> dict[str, float]:
        """Energy spent in the open heartbeat, by intent class."""
        return {name: energy / UNIT for name, energy in self._state.intents.items()}

    @property
    def books(self) -> dict[str, int]:
        """All entries in whole thousandths of energy; start + income - lost - spent == balance, exactly."""
        return self._state.model_dump(include={"start", "income", "lost", "spent", "balance"})

    @property
    def balance(self) -> float:
        """Energy left, never negative."""
        return self._state.balance / UNIT

    def _action(self, name: str) -> Action:
        if name not in self.actions:
            raise ValueError(f"action: got {name!r}{nearest(str(name), self.actions)}")
        return self.actions[name]


def _summary(row: Discomfort) -> str:
    had = f"{number_text(row.energy_available)} of {number_text(row.energy_cost)} energy, worth {row.estimated_value:g}"
    return f"deferred, {row.deferral_reason}: {had}" + (f"; {row.agent_notes}" if row.agent_notes else "")


def energy_for_action(
    name: str, *, ratings: Sequence[float] | None = None, cost: float | None = None, category: str = ACTION
) -> ToolEnergy:
    """Return the terms of an action of your own.

    Args:
        name: its name, as in ``required_name``.
        ratings: five ratings from 0 to 4, in the order of ``DIMENSIONS``; they give the base cost.
        cost: base cost, energy, instead of ratings; to the nearest thousandth.
        category: ``action`` for what reaches nobody and destroys nothing; otherwise a key of ``CATEGORIES``, which
            gives the floor and the contexts.

    Raises:
        ValueError: a value is not allowed, or the cost is below its floor.
    """
    required_name(name)
    if category != ACTION and category not in CATEGORIES:
        raise ValueError(f"category: got {category!r}{nearest(str(category), (ACTION, *CATEGORIES))}")
    if (ratings is None) == (cost is None):
        raise ValueError(f"{name}: got {'neither' if cost is None else 'both'}; allowed: ratings or a cost")
    factors: dict[str, float] = {}
    if ratings is not None:
        if len(ratings) != len(DIMENSIONS):
            raise ValueError(f"ratings: got {len(ratings)}; allowed: five ({', '.join(DIMENSIONS)})")
        rated = zip(DIMENSIONS, ratings, strict=True)
        factors = {what: number_between(what, rating, 0.0, HIGHEST) for what, rating in rated}
        cost = lab_energy.base_cost(factors.values())
    base = round(number_between("cost", cost, 0.0, MOST_ENERGY), 3)
    row = CATEGORIES.get(category)
    floor, contexts = (row.floor, row.contexts) if row else (None, BOTH)
    if floor is not None and base < floor:
        raise ValueError(
            f"{name}: got a cost of {number_text(base)}; allowed: at least its floor {number_text(floor)}"
        )
    return ToolEnergy(name, category, base, floor, {"base": base} | factors, contexts)


def intent_summary_text(
    spent: Mapping[str, float] | Iterable[float], heading: str = "Energy spent this heartbeat:"
) -> str:
    """Return energy by intent class in the source's format: a heading, then a line per class.

    Args:
        spent: energy by class (a missing class is 0), or one number for each of ``INTENTS``, as in
            ``info["intent_summary"]``.
        heading: the first line.
    """
    given = spent if isinstance(spent, Mapping) else dict(zip(INTENTS, spent, strict=True))
    return "\n".join([heading, *(f"- {intent}: {number_text(given.get(intent, 0.0))}" for intent in INTENTS)])


def number_text(value: float) -> str:
    """Format a number to three decimals without trailing zeros: ``6``, ``4.5``."""
    return f"{round(float(value), 3) + 0.0:.10g}"

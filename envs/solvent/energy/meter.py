"""A meter of energy for any agent loop.

Mechanism (source: *Action Cost: The Energy Model*): each heartbeat adds a fixed income, acting spends it, and the
balance carries over up to a cap. It is never negative, and no energy is refunded:

    balance = start + income - lost - spent

An action costs its base cost times the multipliers of its situation (``effective_cost``), which the meter knows: first
use, recent failures, the hour, a similar action in this heartbeat. What can't be paid for is deferred; what the agent
puts off itself is deferred too. The reason follows from the books and not from what the agent says:

    insufficient_energy   the cost is above the balance
    hoarding              the balance is at the cap, where energy saved is energy lost
    cost_benefit          it could be paid for and was not worth it

A tool out of its context is refused, which is no deferral: energy is not the reason.

With a store (``solvent.energy.costs``) the meter outlives its process, prices change by approvals alone, and the agent
may argue for others, right after a reflection. Energy is counted in whole thousandths, as in the environment.

Known approximation: costs are rounded to the nearest thousandth. A cost that the situation raises above the cap is
limited to it, or the action could never be paid for. Without a store, memories and notes are not kept.
"""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from solvent.energy.account import Account, EnergyBooks
from solvent.energy.actions import Action, energy_for_action, require_intent
from solvent.energy.amounts import MOST_ENERGY, number, plain
from solvent.energy.context import effective_cost
from solvent.energy.history import RECENT_HEARTBEATS, History
from solvent.energy.pricing import ACTION, BOTH, ToolEnergy, energy_for_tool
from solvent.energy.quotes import HeartbeatSummary, Quote, intent_summary_text
from solvent.lab.mechanisms.energy import EnergyParams, payable
from solvent.lab.settings import UNIT, in_thousandths, nearest

if TYPE_CHECKING:
    from solvent.energy.costs import CostStore, EnergyCostProposal
    from solvent.energy.costs.meter_record import MeterRecord

__all__ = ["EnergyMeter"]

_DEFAULTS = EnergyParams()


def _local_time() -> datetime.datetime:
    return datetime.datetime.now().astimezone()


class EnergyMeter:
    """The energy of one agent. One thread uses a meter at a time.

    Args:
        start: energy at the start, at most ``cap``.
        regeneration: income per heartbeat, energy.
        cap: maximum balance that carries over, above 0.
        params: multipliers and late hours; by default the source's.
        store: a ``CostStore`` that keeps prices and the agent's record. A meter that is opened on an episode of the
            store goes on where the last one ended.
        episode: label of the agent in the store.
        clock: the time, with a zone; its hour decides what is late.

    Raises:
        ValueError: a number is negative, not finite or above a million, ``start`` is above ``cap``, or the balance in
            the store is, or the clock has no zone.
        StoreError: the store can't be read.
    """

    def __init__(
        self,
        start: float = _DEFAULTS.start,
        regeneration: float = _DEFAULTS.regeneration,
        cap: float = _DEFAULTS.cap,
        *,
        params: EnergyParams | None = None,
        store: CostStore | None = None,
        episode: str = "agent",
        clock: Callable[[], datetime.datetime] = _local_time,
    ) -> None:
        self._account = Account(start, regeneration, cap)
        self.params = params if params is not None else _DEFAULTS
        self.episode = episode
        self._clock = clock
        self._actions: dict[str, Action] = {}
        self._history = History()
        self._reflection: uuid.UUID | None = None
        self._opened = clock()
        if self._opened.tzinfo is None:
            raise ValueError(
                f"clock: got {self._opened.isoformat()} without a zone; allowed: a time with one"
            )
        self._record = None
        if store is not None:
            from solvent.energy.costs.meter_record import MeterRecord

            self._record = MeterRecord(store, episode)
            self._resume(self._record)

    # ------------------------------------------------------------------------------------------ actions

    def register(
        self,
        name: str,
        intent: str,
        *,
        ratings: Sequence[float] | None = None,
        cost: float | None = None,
        category: str = ACTION,
    ) -> Action:
        """Register an action of your own; arguments and errors are those of ``energy_for_action`` and ``add``."""
        return self.add(
            energy_for_action(name, ratings=ratings, cost=cost, category=category), intent, kind="action"
        )

    def discover(self, tools: Iterable[Any]) -> list[Action]:
        """Price and add the tools of a server of the Model Context Protocol. Tools that are known stay as they are.

        Args:
            tools: what the server lists: objects with ``name``, ``annotations`` and ``inputSchema``, or mappings.

        Raises:
            ValueError: a tool has no proper name.
        """
        found = []
        for tool in tools:
            field = (
                tool.get if isinstance(tool, Mapping) else lambda name, tool=tool: getattr(tool, name, None)
            )
            name: Any = field("name")
            if not isinstance(name, str) or name not in self._actions:
                self.add(energy_for_tool(name, field("annotations"), field("inputSchema")))
            found.append(self._actions[name])
        return found

    def add(self, tool: ToolEnergy, intent: str | None = None, *, kind: str = "mcp_tool") -> Action:
        """Add a priced tool. If the store has a price for it, that price holds; otherwise the tool's is entered.

        Args:
            tool: from ``energy_for_tool``, ``energy_for_verb`` or ``energy_for_action``.
            intent: its intent class; by default that of its category.
            kind: ``action`` or ``mcp_tool``.

        Raises:
            ValueError: the name is taken, or the intent class is unknown.
            StoreError: the store refuses the price.
        """
        if tool.name in self._actions:
            raise ValueError(f"name: got {tool.name!r} twice; allowed: each name once")
        intent = require_intent(intent, tool)
        price = tool.energy_cost if self._record is None else self._record.price(kind, tool)
        self._actions[tool.name] = Action(tool, intent, kind, price)
        return self._actions[tool.name]

    @property
    def actions(self) -> Mapping[str, Action]:
        """The registered actions by name, with the base costs in force."""
        return MappingProxyType(self._actions)

    # ------------------------------------------------------------------------------------------- acting

    def quote(self, name: str, about: str | None = None, context: str = "heartbeat") -> Quote:
        """Return the cost of an action now.

        Args:
            name: a registered action.
            about: its subject; the same action with the same subject in this heartbeat is similar.
            context: ``chat`` if the user is there, ``heartbeat`` if the agent is on its own.

        Raises:
            ValueError: the action or the context is unknown.
        """
        if context not in BOTH:
            raise ValueError(f"context: got {context!r}; allowed: {', '.join(BOTH)}")
        action = self._action(name)
        situation = self._history.situation(action, about, self._clock().hour)
        raised, factors = effective_cost(action.price, situation, self.params)
        cost = payable(in_thousandths(raised), in_thousandths(action.price), self._account.cap)
        obstacle = "insufficient_energy" if cost > self._account.balance else ""
        if context not in action.tool.allowed_contexts:
            obstacle = "out_of_context"
        return Quote(name, action.price, cost / UNIT, factors, obstacle)

    def act(
        self,
        name: str,
        about: str | None = None,
        context: str = "heartbeat",
        *,
        value: float | None = None,
        notes: str = "",
        memories: Iterable[uuid.UUID | str] = (),
    ) -> Quote:
        """Pay for an action and return its quote; run the action only if ``quote.runs``.

        What can't be paid for is deferred, with the agent's notes and memories. Call ``failed`` if the action fails.

        Args:
            name: a registered action.
            about: its subject.
            context: ``chat`` or ``heartbeat``.
            value: the agent's estimate of its value, for a deferral.
            notes: the agent's own words.
            memories: ids of memories behind it.

        Raises:
            ValueError: an argument is not allowed.
            StoreError: the store can't be written; nothing is paid.
        """
        quote = self.quote(name, about, context)
        refs = _memories(memories)
        if quote.obstacle == "insufficient_energy":
            self._defer(quote, quote.obstacle, value, notes, refs)
        if quote.obstacle:
            return quote
        action, use = self._action(name), self._history.uses + 1
        if self._record is not None:
            self._record.use(use, self.heartbeat, action, about, quote.cost, notes, self._clock())
        self._account.pay(in_thousandths(quote.cost), action.intent)
        self._history.use(use, name, about)
        self._reflection = None
        return quote

    def failed(self, name: str) -> None:
        """Remember that the latest use of an action failed. Its cost stays spent.

        Raises:
            ValueError: the action was never used.
        """
        self._action(name)
        latest = self._history.latest(name)
        if latest is None:
            raise ValueError(
                f"failed: got {name!r}, which was never used; allowed: an action that was paid for"
            )
        if self._record is not None:
            self._record.failed(latest)
        self._history.fail(name)

    def put_off(
        self,
        name: str,
        about: str | None = None,
        context: str = "heartbeat",
        *,
        value: float | None = None,
        notes: str = "",
        memories: Iterable[uuid.UUID | str] = (),
    ) -> str:
        """Defer an action that the agent decides against, and return the reason: a deferral's, or ``out_of_context``.

        Arguments and errors are those of ``act``.
        """
        quote = self.quote(name, about, context)
        reason = quote.obstacle or (
            "hoarding" if self._account.balance >= self._account.cap else "cost_benefit"
        )
        if reason != "out_of_context":
            self._defer(quote, reason, value, notes, _memories(memories))
        return reason

    # ---------------------------------------------------------------------------------------- reflecting

    def reflect(self, notes: str = "", memories: Iterable[uuid.UUID | str] = ()) -> str:
        """Record the agent's observation, and return what its energy went into and what it put off.

        Until the agent acts again it may ``propose``.
        """
        refs = _memories(memories)
        self._reflection = uuid.uuid4()
        if self._record is not None:
            self._reflection = self._record.reflection(self.heartbeat, notes, refs, self._clock())
        return f"{intent_summary_text(self.spent)}\n\n{self._history.put_off_text()}"

    def propose(
        self,
        name: str,
        low: float,
        high: float,
        rationale: str,
        *,
        confidence: float | None = None,
        memories: Iterable[uuid.UUID | str] = (),
        revises: uuid.UUID | str | None = None,
    ) -> EnergyCostProposal:
        """File an argument for another base cost, lower or higher. Nothing changes until a person approves it.

        Its evidence is the record's since the last proposal about the action: deferrals for a lower cost, paid uses for
        a higher one, with the agent's notes and memories.

        Args:
            name: a registered action.
            low: lowest suggested cost, energy; below the cost in force, the proposal is for a lower cost.
            high: highest suggested cost, energy.
            rationale: the argument.
            confidence: 0 to 1; by default it grows with the heartbeats of evidence.
            memories: ids of further memories that support it.
            revises: id of a pending proposal about the action, whose place this one takes.

        Raises:
            ValueError: the meter has no store, or the last thing it did was no reflection.
            ProposalError: the evidence is from fewer than two heartbeats, or the store refuses the range.
        """
        action = self._action(name)
        if self._record is None:
            raise ValueError(
                "propose: got a meter without a store, where nobody reviews; allowed: EnergyMeter(store=...)"
            )
        if self._reflection is None:
            raise ValueError("propose: got no reflection before it; allowed: right after reflect()")
        span = number("low", low, 0.0, MOST_ENERGY), number("high", high, 0.0, MOST_ENERGY)
        refs = (self._reflection, *_memories(memories))
        return self._record.propose(action, span, rationale, confidence, refs, revises)

    # ---------------------------------------------------------------------------------------- heartbeats

    def close_heartbeat(self) -> HeartbeatSummary:
        """Close the heartbeat: add the income and return the summary. Approved changes of prices take effect.

        Raises:
            StoreError: the store can't be written; the heartbeat stays open.
        """
        gained, spent, closed = self._account.income() / UNIT, self.spent, max(self._opened, self._clock())
        if self._record is not None:
            start = (self._account.balance + sum(self._account.intents.values())) / UNIT
            self._record.heartbeat(self.heartbeat, (self._opened, closed), start, gained, spent)
        self._account.close()
        summary = HeartbeatSummary(self.heartbeat, spent, gained, self.balance)
        self._history.open(self.heartbeat + 1)
        self._opened, self._reflection = closed, None
        if self._record is not None:
            prices = self._record.prices()
            self._actions = {
                name: action._replace(price=prices.get((action.kind, name), action.price))
                for name, action in self._actions.items()
            }
        return summary

    @property
    def heartbeat(self) -> int:
        """Number of the open heartbeat, from 1."""
        return self._history.heartbeat

    @property
    def spent(self) -> dict[str, float]:
        """Energy spent in the open heartbeat, by intent class."""
        return self._account.spent

    @property
    def balance(self) -> float:
        """Energy left, never negative."""
        return self._account.balance / UNIT

    @property
    def regeneration(self) -> float:
        """Income per heartbeat, energy."""
        return self._account.regeneration / UNIT

    @property
    def cap(self) -> float:
        """Maximum balance that carries over."""
        return self._account.cap / UNIT

    @property
    def is_reviewed(self) -> bool:
        """True if the meter has a store, where people review proposals."""
        return self._record is not None

    @property
    def books(self) -> EnergyBooks:
        """All entries since the meter was opened, in whole thousandths of energy."""
        return self._account.books

    # -------------------------------------------------------------------------------------------- inside

    def _resume(self, record: MeterRecord) -> None:
        last = record.last_heartbeat()
        if last is not None:
            self._history.open(last.number + 1)
            self._account.resume(last.energy_end)
        for use in record.uses(self.heartbeat):
            now = use.heartbeat_number == self.heartbeat
            self._history.use(use.number, use.target_name, use.about, failed=use.failed, now=now)
            if now:
                self._opened = min(self._opened, use.created_at)
                self._account.pay(in_thousandths(use.cost), use.intent)
        if self._account.balance < 0:
            start = plain(self._account.books.start / UNIT)
            raise ValueError(f"start: got {start}; allowed: what {self.episode!r} began with")
        for name, beat, reason in record.deferred(self.heartbeat - RECENT_HEARTBEATS):
            self._history.defer(name, reason, beat)

    def _defer(
        self, quote: Quote, reason: str, value: float | None, notes: str, memories: tuple[uuid.UUID, ...]
    ) -> None:
        """Note a deferral, once in a heartbeat for each action and reason, and again if it has words of its own."""
        if self._history.is_noted(quote.name, reason) and not notes and not memories:
            return
        if value is not None:
            number("value", value, -MOST_ENERGY, MOST_ENERGY)
        if self._record is not None:
            similar = self._history.similar(quote.name)
            self._record.deferral(
                self.heartbeat, quote, reason, self.balance, similar, value, notes, memories, self._clock()
            )
        self._history.defer(quote.name, reason, self.heartbeat)

    def _action(self, name: str) -> Action:
        if name not in self._actions:
            raise ValueError(f"action: got {name!r}{nearest(str(name), tuple(self._actions))}")
        return self._actions[name]

    def __repr__(self) -> str:
        return (
            f"EnergyMeter(balance={plain(self.balance)}, regeneration={plain(self.regeneration)}, "
            f"cap={plain(self.cap)}, heartbeat={self.heartbeat}, actions={len(self._actions)})"
        )


def _memories(refs: Iterable[uuid.UUID | str]) -> tuple[uuid.UUID, ...]:
    try:
        return tuple(ref if isinstance(ref, uuid.UUID) else uuid.UUID(ref) for ref in refs)
    except (TypeError, ValueError, AttributeError):
        raise ValueError(f"memories: got {refs!r:.60}; allowed: UUIDs") from None

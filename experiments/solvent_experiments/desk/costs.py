"""The desk's pages of cost proposals: what waits, the argument with its evidence and history, and the decision."""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Mapping

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from solvent.energy.costs import CostStore, EnergyCost, EnergyCostProposal, ProposalError
from solvent.energy.costs.lifecycle import Status
from solvent.energy.costs.rules import allowed_costs, next_change
from solvent_experiments.desk.pages import (
    PER_PAGE,
    Fact,
    First,
    FormError,
    decided_already,
    form_of,
    listed,
    render,
    saved,
    text_in,
    utc,
)
from solvent_experiments.instruments.energy.proposals import revised

__all__ = ["Costs"]

PENDING = Status.PENDING.value
LATEST = 10


class Costs:
    """Pages of one store of costs."""

    def __init__(self, store: CostStore) -> None:
        self.store = store

    def routes(self) -> list[Route]:
        return [
            Route("/costs", self.all),
            Route("/costs/{key}", self.one),
            Route("/costs/{key}", self.decide, methods=["POST"]),
            Route("/costs/{key}/revise", self.revise, methods=["POST"]),
        ]

    def all(self, request: Request) -> Response:
        state = request.query_params.get("state", PENDING)
        counts = self.store.count_proposals()
        if state not in counts:
            raise HTTPException(404, f"There are no such proposals; there are: {', '.join(counts)}.")
        pages = listed(request, counts[state])
        rows = self.store.proposals(state, limit=PER_PAGE, offset=pages.offset)
        return render(
            request,
            "costs.html.j2",
            title="Cost proposals",
            rows=rows,
            counts=counts,
            state=state,
            pages=pages,
            place=self.store.place,
        )

    def one(self, request: Request) -> Response:
        return self._shown(request, self._found(request))

    def decide(self, request: Request) -> Response:
        row, form = self._found(request), form_of(request)
        try:
            self._end(row, form, f"{text_in(form, 'who')}: {text_in(form, 'why')}")
        except (FormError, ProposalError) as error:
            return self._refused(request, row, error)
        return saved(f"/costs/{row.id}")

    def revise(self, request: Request) -> Response:
        row, form = self._found(request), form_of(request)
        try:
            least, most = _number(form, "least"), _number(form, "most")
            who, why = text_in(form, "who"), text_in(form, "why")
            filed = revised(self.store, row, least, most, by=who, reason=why)
        except (FormError, ProposalError) as error:
            return self._refused(request, row, error)
        return saved(f"/costs/{filed.id}")

    def _end(self, row: EnergyCostProposal, form: Mapping[str, str], notes: str) -> None:
        decision = form.get("decision")
        if decision == "approve":
            cost = _number(form, "cost") if form.get("cost", "").strip() else None
            self.store.approve(row.id, new_cost=cost, notes=notes)
        elif decision == "reject":
            self.store.reject(row.id, notes=notes)
        elif decision == "withdraw":
            self.store.withdraw(row.id, by="user", notes=notes)
        else:
            raise FormError(f"decision: got {decision!r:.40}; allowed: approve, reject, withdraw")

    def _found(self, request: Request) -> EnergyCostProposal:
        try:
            return self.store.proposal(request.path_params["key"])
        except ProposalError as error:
            raise HTTPException(404, str(error)) from None

    def _refused(self, request: Request, row: EnergyCostProposal, error: ValueError) -> Response:
        """Return the first decision if somebody else made one, or the form with what is wrong."""
        now = self.store.proposal(row.id)
        if now.status != PENDING:
            return decided_already(request, _decision(now), f"/costs/{row.id}")
        return self._shown(request, now, 422, str(error))

    def _shown(
        self, request: Request, row: EnergyCostProposal, status: int = 200, error: str = ""
    ) -> Response:
        history = self.store.history(row.target_type, row.target_name)
        price = history[-1]
        put_off = self.store.discomfort(row.target_name)
        return render(
            request,
            "proposal.html.j2",
            status,
            title=f"{row.target}: {row.direction} to {row.suggested_min:g} – {row.suggested_max:g}",
            row=row,
            price=price,
            facts=_facts(row, price),
            history=[(utc(one.effective_at), f"{one.cost:g}", _by(one)) for one in reversed(history)],
            deferrals=put_off[-LATEST:],
            put_off=len(put_off),
            allowed=allowed_costs(row, price),
            again=_again(price),
            first=None if row.status == PENDING else _decision(row),
            error=error,
        )


def _number(form: Mapping[str, str], name: str) -> float:
    with contextlib.suppress(ValueError):
        return float(form.get(name, ""))
    raise FormError(f"{name}: got {form.get(name)!r:.60}; allowed: a number")


def _facts(row: EnergyCostProposal, price: EnergyCost) -> list[Fact]:
    ceiling = "no ceiling" if price.ceiling is None else f"ceiling {price.ceiling:g}"
    return [
        ("Filed", utc(row.created_at)),
        ("Cost", f"{row.current_cost:g} when it was argued, {price.cost:g} now"),
        ("Bounds", f"floor {price.floor:g}, {ceiling}"),
        ("Confidence", f"{row.confidence:.0%}"),
        ("Heartbeats", ", ".join(map(str, row.heartbeat_refs or ()))),
        ("Memories", ", ".join(map(str, row.memory_refs or ()))),
        ("Id", str(row.id)),
    ]


def _again(price: EnergyCost) -> str:
    """Return the time before which the price may not change again; empty if it may change now."""
    again = next_change(price)
    return "" if again is None or again <= datetime.datetime.now(datetime.UTC) else utc(again)


def _by(price: EnergyCost) -> str:
    return "registered" if price.proposal_id is None else f"proposal {str(price.proposal_id)[:8]}"


def _decision(row: EnergyCostProposal) -> First:
    set_to = "" if row.new_cost is None else f": {row.old_cost:g} becomes {row.new_cost:g}"
    return First(f"{row.status}{set_to}", row.reviewed_by or "", row.review_notes or "", utc(row.reviewed_at))

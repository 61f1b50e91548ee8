"""The desk's pages of the gate: claims under review with their evidence and energies, and the decision."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from solvent.gate.errors import GateError
from solvent.gate.judged import Decision, Judged
from solvent.gate.store import DecidedError, VerdictStore
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
    whole,
)

__all__ = ["Gates"]


class Gates:
    """Pages of stores of verdicts, each under its number."""

    def __init__(self, stores: Sequence[VerdictStore]) -> None:
        self.stores = stores

    def routes(self) -> list[Route]:
        return [
            Route("/gate/{store:int}", self.waiting),
            Route("/gate/{store:int}/decided", self.decided),
            Route("/gate/{store:int}/{key}", self.one),
            Route("/gate/{store:int}/{key}", self.decide, methods=["POST"]),
        ]

    def waiting(self, request: Request) -> Response:
        store = self._store(request)
        try:
            after = whole({"after": request.query_params.get("after", "0")}, "after")
        except FormError as error:
            raise HTTPException(404, str(error)) from None
        rows = store.waiting(limit=PER_PAGE + 1, after=after)
        return render(
            request,
            "reviews.html.j2",
            title="Gate reviews",
            rows=rows[:PER_PAGE],
            more=rows[PER_PAGE - 1].number if len(rows) > PER_PAGE else 0,
            after=after,
            counts=store.counts(),
            place=store.place,
        )

    def decided(self, request: Request) -> Response:
        store = self._store(request)
        rows = store.decided()[::-1]
        pages = listed(request, len(rows))
        return render(
            request,
            "decisions.html.j2",
            title="Decided reviews",
            rows=rows[pages.offset : pages.offset + PER_PAGE],
            pages=pages,
            place=store.place,
        )

    def one(self, request: Request) -> Response:
        return _shown(request, self._found(request))

    def decide(self, request: Request) -> Response:
        row, form = self._found(request), form_of(request)
        try:
            who, why = text_in(form, "who"), text_in(form, "why")
            self._store(request).decide(row.id, form.get("decision", ""), who=who, why=why)
        except DecidedError as error:
            return decided_already(request, _first(error.decision), request.url.path)
        except (FormError, GateError) as error:
            return _shown(request, row, 422, str(error))
        return saved(request.url.path)

    def _store(self, request: Request) -> VerdictStore:
        number: int = request.path_params["store"]
        if number >= len(self.stores):
            raise HTTPException(404, "There is no such store of verdicts.")
        return self.stores[number]

    def _found(self, request: Request) -> Judged:
        try:
            return self._store(request).find(request.path_params["key"])
        except GateError as error:
            raise HTTPException(404, str(error)) from None


def _shown(request: Request, row: Judged, status: int = 200, error: str = "") -> Response:
    return render(
        request,
        "review.html.j2",
        status,
        title=f"Review of {row.name}",
        row=row,
        facts=_facts(row),
        first=None if row.decision is None else _first(row.decision),
        error=error,
    )


def _facts(row: Judged) -> list[Fact]:
    policy = row.policy
    return [
        ("Verdict", f"{row.verdict} by {policy.name}"),
        ("Energy", f"{row.result['hallucination_energy']:.4f}"),
        ("Energy of the oracle", f"{row.oracle_energy:.4f}"),
        ("Gap", f"{row.energy_gap:.4f}"),
        ("Compared", f"{policy.measure} {row.compared:.4f}"),
        ("Accepts up to", f"{policy.tau_accept:.4f}"),
        ("Reviews up to", f"{policy.tau_review:.4f}"),
        ("Domain", row.domain),
        ("Pages", ", ".join(row.pages)),
        ("Judged", row.judged_at),
        ("Id", row.id),
    ]


def _first(found: Decision) -> First:
    return First(found.choice, found.who, found.why, found.decided_at)

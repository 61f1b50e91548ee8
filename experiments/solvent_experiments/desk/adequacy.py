"""The desk's pages of incidents to see and corrections to retire."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response as Answer
from starlette.routing import Route

from solvent.adequacy.corrections import Correction, load_corrections
from solvent.adequacy.decisions import retire, retirements
from solvent.adequacy.errors import AdequacyError
from solvent.adequacy.fmea import Incident, read_incidents
from solvent.files import appending
from solvent_experiments.desk.pages import (
    PER_PAGE,
    First,
    FormError,
    decided_already,
    form_of,
    listed,
    render,
    saved,
    text_in,
)
from solvent_experiments.desk.texts import calls_of, cut

__all__ = ["Corrections", "Incidents"]


class Incidents:
    """Pages of a file of incidents."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def routes(self) -> list[Route]:
        return [Route("/adequacy/incidents", self.all), Route("/adequacy/incident", self.one)]

    def logged(self) -> list[Incident]:
        return read_incidents(self.path) if self.path.exists() else []

    def all(self, request: Request) -> Answer:
        rows = sorted(self.logged(), key=lambda one: -one.rpn)
        pages = listed(request, len(rows))
        return render(
            request,
            "incidents.html.j2",
            title="Incidents",
            rows=rows[pages.offset : pages.offset + PER_PAGE],
            pages=pages,
            place=str(self.path),
        )

    def one(self, request: Request) -> Answer:
        one = next((one for one in self.logged() if one.id == request.query_params.get("id")), None)
        if one is None:
            raise HTTPException(404, "No such incident is logged.")
        ranks = f"{one.rpn} = severity {one.severity} x occurrence {one.occurrence} x detectability {one.detectability}"
        facts = [
            ("Risk priority", ranks),
            ("Rule", one.rule),
            ("Contradicted", "by the evidence at hand" if one.contradicted else ""),
            ("Correction", one.correction().text),
            ("Subject", one.domain),
            ("Reported by", one.reported_by),
            ("Time", one.time),
            ("Id", one.id),
        ]
        return render(
            request,
            "incident.html.j2",
            title=f"Incident {one.id}",
            one=one,
            facts=facts,
            text=cut(one.response),
            calls=calls_of(one.context),
        )


class Corrections:
    """Pages of the corrections, and the file of those that are retired; it is only appended to, under a lock."""

    def __init__(self, retired: Path) -> None:
        self.retired = retired

    def routes(self) -> list[Route]:
        return [
            Route("/adequacy/corrections", self.all),
            Route("/adequacy/corrections/{key}", self.one),
            Route("/adequacy/corrections/{key}", self.retire, methods=["POST"]),
        ]

    def all(self, request: Request) -> Answer:
        return render(
            request,
            "corrections.html.j2",
            title="Corrections",
            rows=load_corrections().rows,
            gone=set(retirements(self.retired)),
            place=str(self.retired),
        )

    def one(self, request: Request) -> Answer:
        return self._page(request, _named(request))

    def retire(self, request: Request) -> Answer:
        one, form = _named(request), form_of(request)
        try:
            who, why = text_in(form, "who"), text_in(form, "why")
            with appending(self.retired):
                before = retirements(self.retired).get(one.id)
                if before is None:
                    retire(self.retired, one.id, who, why)
        except (FormError, AdequacyError) as error:
            return self._page(request, one, 422, str(error))
        return (
            saved(request.url.path)
            if before is None
            else decided_already(request, _retired(before), request.url.path)
        )

    def _page(self, request: Request, one: Correction, status: int = 200, error: str = "") -> Answer:
        line = retirements(self.retired).get(one.id)
        first = None if line is None else _retired(line)
        return render(
            request,
            "correction.html.j2",
            status,
            title=f"Correction {one.id}",
            one=one,
            first=first,
            error=error,
        )


def _named(request: Request) -> Correction:
    try:
        return load_corrections()[request.path_params["key"]]
    except AdequacyError as error:
        raise HTTPException(404, str(error)) from None


def _retired(line: Mapping[str, str]) -> First:
    return First("retired", line["by"], line["reason"], line["time"])

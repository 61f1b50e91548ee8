"""The desk's pages of adequacy: responses, incidents to see and to log, and corrections to retire."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from itertools import islice
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response as Answer
from starlette.routing import Route

from solvent.adequacy.corrections import Correction, load_corrections
from solvent.adequacy.decisions import retire, retirements
from solvent.adequacy.errors import AdequacyError
from solvent.adequacy.fmea import SCALE, Incident, append_incidents, read_incidents
from solvent.adequacy.responses import Response, Responses
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
    whole,
)
from solvent_experiments.instruments.adequacy.incident import incident_of

__all__ = ["Adequacy"]


class Adequacy:
    """Pages of a file of incidents, a file of retired corrections, and the responses that incidents are about.

    Both files are only appended to. The lock lets one of several who decide at this desk be the first; the command line
    in another process doesn't wait for it.
    """

    def __init__(self, responses: Responses | None, incidents: Path, retired: Path) -> None:
        self.responses, self.incidents, self.retired = responses, incidents, retired
        self._lock = threading.Lock()

    def routes(self) -> list[Route]:
        return [
            Route("/adequacy/incidents", self.all_incidents),
            Route("/adequacy/incident", self.one_incident),
            Route("/adequacy/responses", self.all_responses),
            Route("/adequacy/response", self.one_response),
            Route("/adequacy/response", self.log, methods=["POST"]),
            Route("/adequacy/corrections", self.corrections),
            Route("/adequacy/corrections/{key}", self.correction),
            Route("/adequacy/corrections/{key}", self.retire, methods=["POST"]),
        ]

    def logged(self) -> list[Incident]:
        return read_incidents(self.incidents) if self.incidents.exists() else []

    # -- incidents

    def all_incidents(self, request: Request) -> Answer:
        rows = sorted(self.logged(), key=lambda one: -one.rpn)
        pages = listed(request, len(rows))
        return render(
            request,
            "incidents.html.j2",
            title="Incidents",
            rows=rows[pages.offset : pages.offset + PER_PAGE],
            pages=pages,
            responses=self.responses,
            place=str(self.incidents),
        )

    def one_incident(self, request: Request) -> Answer:
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
        calls = one.context.summary()
        return render(
            request, "incident.html.j2", title=f"Incident {one.id}", one=one, facts=facts, calls=calls
        )

    # -- responses

    def all_responses(self, request: Request) -> Answer:
        known = self._responses()
        pages = listed(request, len(known.ids))
        return render(
            request,
            "responses.html.j2",
            title="Responses",
            rows=list(islice(known.each(), pages.offset, pages.offset + PER_PAGE)),
            pages=pages,
            logged={one.sha256 for one in self.logged()},
            place=str(known.path),
        )

    def one_response(self, request: Request) -> Answer:
        return self._shown(request, self._response(request))

    def log(self, request: Request) -> Answer:
        response, form = self._response(request), form_of(request)
        try:
            new = incident_of(
                response,
                severity=form.get("severity", ""),
                occurrence=whole(form, "occurrence"),
                detectability=whole(form, "detectability"),
                description=text_in(form, "why"),
                by=text_in(form, "who"),
                domain=text_in(form, "domain"),
                contradicted="contradicted" in form,
            )
            with self._lock:
                first = self._first(response)
                if first is None:
                    append_incidents(self.incidents, [new])
        except (FormError, AdequacyError) as error:
            return self._shown(request, response, 422, str(error))
        if first is not None:
            return decided_already(request, first, f"{request.url.path}?{request.url.query}")
        return saved(f"/adequacy/incident?id={new.id}")

    def _first(self, response: Response) -> First | None:
        for one in self.logged():
            if one.sha256 == response.sha256:
                return First(f"logged, RPN {one.rpn}", one.reported_by, one.description, one.time)
        return None

    def _responses(self) -> Responses:
        if self.responses is None:
            raise HTTPException(
                404, "This desk has no responses: `solvent desk --responses FILE` opens them."
            )
        return self.responses

    def _response(self, request: Request) -> Response:
        wanted = request.query_params.get("id")
        found = next((one for one in self._responses().each() if one.id == wanted), None)
        if found is None:
            raise HTTPException(404, "There is no such response.")
        return found

    def _shown(self, request: Request, one: Response, status: int = 200, error: str = "") -> Answer:
        return render(
            request,
            "response.html.j2",
            status,
            title=f"Response {one.id}",
            one=one,
            calls=one.context.summary(),
            severities=[severity.name for severity in SCALE],
            first=self._first(one),
            error=error,
        )

    # -- corrections

    def corrections(self, request: Request) -> Answer:
        return render(
            request,
            "corrections.html.j2",
            title="Corrections",
            rows=load_corrections().rows,
            gone=set(retirements(self.retired)),
            place=str(self.retired),
        )

    def correction(self, request: Request) -> Answer:
        return self._correction(request, _named(request))

    def retire(self, request: Request) -> Answer:
        one, form = _named(request), form_of(request)
        try:
            who, why = text_in(form, "who"), text_in(form, "why")
            with self._lock:
                before = retirements(self.retired).get(one.id)
                if before is None:
                    retire(self.retired, one.id, who, why)
        except (FormError, AdequacyError) as error:
            return self._correction(request, one, 422, str(error))
        return (
            saved(request.url.path)
            if before is None
            else decided_already(request, _retired(before), request.url.path)
        )

    def _correction(self, request: Request, one: Correction, status: int = 200, error: str = "") -> Answer:
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

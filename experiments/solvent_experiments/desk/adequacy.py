"""The desk's pages of adequacy: responses to label, incidents to see and to log, and corrections to retire."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response as Answer
from starlette.routing import Route

from solvent.adequacy.corrections import Correction, load_corrections
from solvent.adequacy.decisions import retire, retirements
from solvent.adequacy.errors import AdequacyError
from solvent.adequacy.fmea import SCALE as SEVERITIES
from solvent.adequacy.fmea import Incident, read_incidents
from solvent.adequacy.heuristic import Adequacy as Found
from solvent.adequacy.heuristic import score
from solvent.adequacy.labels import labels_of, read_labels, scores_of
from solvent.adequacy.responses import Response, Responses
from solvent.adequacy.scores import ScoreRecord, merged
from solvent.adequacy.tools import ToolCall, ToolContext
from solvent_experiments.artifacts.files import appending
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
from solvent_experiments.instruments.adequacy.incident import incident_of, log_incidents
from solvent_experiments.instruments.adequacy.labelling import PREMISE, SCALE, plain, record_label

__all__ = ["Adequacy"]

STATES = ("unlabelled", "labelled", "all")
SHOWN, MOST = 1500, 20_000
"""Characters of a text at once, and with what can be unfolded."""
MOST_OF_CALLS = 400_000


@dataclass(frozen=True)
class Cut:
    """A text for a page: its beginning, the rest to unfold, and the number of characters that are left out."""

    head: str
    rest: str
    left: int


class Adequacy:
    """Pages of responses, their file of scores, a file of incidents, and a file of retired corrections.

    The files are only appended to, under a lock that desks and commands share.
    """

    def __init__(self, responses: Responses | None, scores: Path, incidents: Path, retired: Path) -> None:
        self.responses, self.scores = responses, scores
        self.incidents, self.retired = incidents, retired

    def routes(self) -> list[Route]:
        return [
            Route("/adequacy/incidents", self.all_incidents),
            Route("/adequacy/incident", self.one_incident),
            Route("/adequacy/responses", self.all_responses),
            Route("/adequacy/response", self.one_response),
            Route("/adequacy/response", self.log, methods=["POST"]),
            Route("/adequacy/label", self.label, methods=["POST"]),
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
        return render(
            request,
            "incident.html.j2",
            title=f"Incident {one.id}",
            one=one,
            facts=facts,
            text=_cut(one.response),
            calls=_calls(one.context),
        )

    # -- responses

    def unlabelled(self) -> list[str]:
        """Return the ids of the responses that nobody has labelled, in the order of their file."""
        labelled = {record.id for record in read_labels(self.scores)}
        return [one for one in self._responses().ids if one not in labelled]

    def all_responses(self, request: Request) -> Answer:
        known, state = self._responses(), request.query_params.get("state", STATES[0])
        waiting = self.unlabelled()
        left = set(waiting)
        ids = dict(
            zip(STATES, (waiting, [one for one in known.ids if one not in left], [*known.ids]), strict=True)
        )
        if state not in ids:
            raise HTTPException(404, f"There are no such responses; there are: {', '.join(ids)}.")
        pages = listed(request, len(ids[state]))
        return render(
            request,
            "responses.html.j2",
            title="Responses",
            rows=known.some(ids[state][pages.offset : pages.offset + PER_PAGE]),
            counts={name: len(found) for name, found in ids.items()},
            state=state,
            pages=pages,
            place=f"{known.path}; labels in {self.scores}",
        )

    def one_response(self, request: Request) -> Answer:
        return self._shown(request, self._response(request))

    def label(self, request: Request) -> Answer:
        response, form = self._response(request), form_of(request)
        try:
            who = text_in(form, "who")
            epad, sya = _rating(form, "epad"), _rating(form, "sya") if form.get("sya") else None
            record_label(self.scores, response, epad, sya, by=who, reason=text_in(form, "why"))
        except (FormError, AdequacyError) as error:
            return self._shown(request, response, 422, str(error))
        return saved(f"/adequacy/response?{urlencode({'id': response.id, 'labels': 1, 'who': who})}")

    def log(self, request: Request) -> Answer:
        response, form = self._response(request), form_of(request)
        try:
            one = incident_of(
                response,
                severity=form.get("severity", ""),
                occurrence=whole(form, "occurrence"),
                detectability=whole(form, "detectability"),
                description=text_in(form, "why"),
                by=text_in(form, "who"),
                domain=text_in(form, "domain"),
                contradicted="contradicted" in form,
            )
            new = log_incidents(self.incidents, [one])
        except (FormError, AdequacyError) as error:
            return self._shown(request, response, 422, str(error))
        if not new and (first := self._first(response)) is not None:
            return decided_already(request, first, f"{request.url.path}?{request.url.query}")
        return saved(f"/adequacy/incident?id={one.id}")

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
        known, wanted = self._responses(), request.query_params.get("id", "")
        if wanted not in known.ids:
            raise HTTPException(404, "There is no such response.")
        return known.some([wanted])[0]

    def _shown(self, request: Request, one: Response, status: int = 200, error: str = "") -> Answer:
        """Return the page of a response. Labels and the heuristic's score are shown to who asks, once there is a label.

        Nothing of them is in the page before, so that the label of a second person is not anchored either.
        """
        known = scores_of(self.scores, one)
        labels, found = labels_of(known), score(one.text, one.context, one.query)
        asked = bool(labels) and "labels" in request.query_params
        spans = [span.text for sentence in found.sentences for span in sentence.spans]
        return render(
            request,
            "response.html.j2",
            status,
            title=f"Response {one.id}",
            one=one,
            text=_cut(one.text),
            calls=_calls(one.context),
            words=list(dict.fromkeys(spans)),
            scale=_choices(SCALE),
            premise=_choices(PREMISE) if one.query else [],
            people=len(labels),
            labels=labels if asked else [],
            facts=_grounds(merged(known)[0], found) if asked else [],
            following=self._following(one) if asked else None,
            severities=[severity.name for severity in SEVERITIES],
            first=self._first(one),
            error=error,
        )

    def _following(self, one: Response) -> str | None:
        """Return the next response of the file that nobody has labelled, and after the last the first one."""
        waiting, order = self.unlabelled(), {name: i for i, name in enumerate(self._responses().ids)}
        later = (name for name in waiting if order[name] > order[one.id])
        return next(later, waiting[0] if waiting else None)

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
            with appending(self.retired):
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


def _cut(text: str, most: int = MOST) -> Cut:
    said = plain(text)
    return Cut(said[:SHOWN], said[SHOWN:most], max(0, len(said) - max(SHOWN, most)))


def _calls(context: ToolContext) -> list[tuple[str, str, Cut]]:
    """Return each call, what became of it, and its result."""
    most = min(MOST, MOST_OF_CALLS // max(1, len(context.calls)))
    return [(_call(call), _outcome(call), _cut(call.result or "", most)) for call in context.calls]


def _call(call: ToolCall) -> str:
    arguments = (f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in call.arguments.items())
    return f"{call.name}({', '.join(arguments)})"


def _outcome(call: ToolCall) -> str:
    if call.result is None:
        return "not recorded"
    return "error" if call.error else "" if call.result.strip() else "nothing"


def _choices(scale: Sequence[str]) -> list[tuple[str, str]]:
    return [(str(value), f"{value}: {said}") for value, said in enumerate(scale)]


def _rating(form: Mapping[str, str], name: str) -> int:
    if (text := form.get(name, "")) not in ("0", "1", "2", "3"):
        raise FormError(f"{name}: got {text!r:.40}; allowed: 0, 1, 2, 3")
    return int(text)


def _grounds(record: ScoreRecord, found: Found) -> list[Fact]:
    """Return what the heuristic and the judge say of a response, and why."""
    worst = max(
        (one for one in found.sentences if one.words is not None), key=lambda one: one.score, default=None
    )
    return [
        ("EpAd of the heuristic", _told(record.epad.heuristic)),
        ("EpAd of the judge", _told(record.epad.judge)),
        ("Words/evidence", record.rule),
        ("Decisive sentence", "" if worst is None else worst.text),
        ("Signals", ", ".join(record.signals)),
        ("Asks for a judge", "yes" if record.escalate else ""),
        ("SyA of the heuristic", _told(record.sya.heuristic)),
        ("SyA of the judge", _told(record.sya.judge)),
    ]


def _told(rating: int | None) -> str:
    return "" if rating is None else str(rating)


def _named(request: Request) -> Correction:
    try:
        return load_corrections()[request.path_params["key"]]
    except AdequacyError as error:
        raise HTTPException(404, str(error)) from None


def _retired(line: Mapping[str, str]) -> First:
    return First("retired", line["by"], line["reason"], line["time"])

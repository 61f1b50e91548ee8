"""The desk's pages of responses: to label, and to log incidents about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import urlencode

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response as Answer
from starlette.routing import Route

from solvent.adequacy.errors import AdequacyError
from solvent.adequacy.fmea import SCALE as SEVERITIES
from solvent.adequacy.heuristic import score
from solvent.adequacy.labels import add_label, labels_of, read_labels, scores_of
from solvent.adequacy.responses import Response, Responses
from solvent.adequacy.scores import ScoreRecord, merged
from solvent.files import appending
from solvent_experiments.desk.adequacy import Incidents
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
from solvent_experiments.desk.texts import calls_of, cut
from solvent_experiments.instruments.adequacy.incident import incident_of, log_incidents
from solvent_experiments.instruments.adequacy.labelling import PREMISE, SCALE

__all__ = ["Labels"]

STATES = ("unlabelled", "labelled", "all")


class Labels:
    """Pages of responses, and the file of their scores; labels and incidents are only appended, under a lock."""

    def __init__(self, responses: Responses | None, scores: Path, incidents: Incidents) -> None:
        self.responses, self.scores, self.incidents = responses, scores, incidents

    def routes(self) -> list[Route]:
        return [
            Route("/adequacy/responses", self.all),
            Route("/adequacy/response", self.one),
            Route("/adequacy/response", self.log, methods=["POST"]),
            Route("/adequacy/label", self.label, methods=["POST"]),
        ]

    def unlabelled(self) -> list[str]:
        """Return the ids of the responses that nobody has labelled, in the order of their file."""
        labelled = {record.id for record in read_labels(self.scores)}
        return [one for one in self._responses().ids if one not in labelled]

    def all(self, request: Request) -> Answer:
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

    def one(self, request: Request) -> Answer:
        return self._shown(request, self._response(request))

    def label(self, request: Request) -> Answer:
        response, form = self._response(request), form_of(request)
        try:
            who = text_in(form, "who")
            epad, sya = _rating(form, "epad"), _rating(form, "sya") if form.get("sya") else None
            why = text_in(form, "why")
            with appending(self.scores):
                add_label(self.scores, response, epad, sya, by=who, reason=why)
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
            new = log_incidents(self.incidents.path, [one])
        except (FormError, AdequacyError) as error:
            return self._shown(request, response, 422, str(error))
        if not new and (first := self._first(response)) is not None:
            return decided_already(request, first, f"{request.url.path}?{request.url.query}")
        return saved(f"/adequacy/incident?id={one.id}")

    def _first(self, response: Response) -> First | None:
        for one in self.incidents.logged():
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
        """Return the page of a response: labels and what the heuristic found on request, once there is a label.

        Before, nothing of them is in the page, so that the label of a second person is not anchored either.
        """
        known = scores_of(self.scores, one)
        labels = labels_of(known)
        asked = bool(labels) and "labels" in request.query_params
        return render(
            request,
            "response.html.j2",
            status,
            title=f"Response {one.id}",
            one=one,
            text=cut(one.text),
            calls=calls_of(one.context),
            scale=_choices(SCALE),
            premise=_choices(PREMISE) if one.query else [],
            people=len(labels),
            labels=labels if asked else [],
            facts=_grounds(one, merged(known)[0]) if asked else [],
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


def _choices(scale: Sequence[str]) -> list[tuple[str, str]]:
    return [(str(value), f"{value}: {said}") for value, said in enumerate(scale)]


def _rating(form: Mapping[str, str], name: str) -> int:
    if (text := form.get(name, "")) not in ("0", "1", "2", "3"):
        raise FormError(f"{name}: got {text!r:.40}; allowed: 0, 1, 2, 3")
    return int(text)


def _grounds(one: Response, record: ScoreRecord) -> list[Fact]:
    """Return what the heuristic and the judge say of a response, and why."""
    found = score(one.text, one.context, one.query)
    words = dict.fromkeys(span.text for sentence in found.sentences for span in sentence.spans)
    worst = max(
        (said for said in found.sentences if said.words is not None),
        key=lambda said: said.score,
        default=None,
    )
    return [
        ("EpAd of the heuristic", _told(record.epad.heuristic)),
        ("EpAd of the judge", _told(record.epad.judge)),
        ("Words/evidence", record.rule),
        ("Decisive sentence", "" if worst is None else worst.text),
        ("Words looked at", ", ".join(words)),
        ("Signals", ", ".join(record.signals)),
        ("Asks for a judge", "yes" if record.escalate else ""),
        ("SyA of the heuristic", _told(record.sya.heuristic)),
        ("SyA of the judge", _told(record.sya.judge)),
    ]


def _told(rating: int | None) -> str:
    return "" if rating is None else str(rating)

"""Templates, forms and pages of a list. Texts from outside are escaped, and so are characters that can't be printed."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse

from solvent_experiments.console import visible

__all__ = [
    "CSRF",
    "FORM",
    "PER_PAGE",
    "Fact",
    "First",
    "FormError",
    "Pages",
    "decided_already",
    "form_of",
    "listed",
    "render",
    "saved",
    "text_in",
    "utc",
    "whole",
]

CSRF, FORM = "solvent.desk.csrf", "solvent.desk.form"
"""Keys of a request's scope: the signature for its forms, and the fields of the form that it sent."""
PER_PAGE = 50
LONGEST = {"who": 200, "why": 2000}

Fact = tuple[str, str]


class FormError(ValueError):
    """A field of a form has no allowed value."""


@dataclass(frozen=True)
class First:
    """A decision that stands."""

    choice: str
    who: str
    why: str
    when: str


@dataclass(frozen=True)
class Pages:
    """The place in a list: this page's number and the number of all."""

    number: int
    count: int
    of: int

    @property
    def offset(self) -> int:
        return (self.number - 1) * PER_PAGE


def render(request: Request, template: str, status: int = 200, /, **values: Any) -> HTMLResponse:
    """Return a page; templates also know ``csrf``, ``path``, ``recorded``, ``responses`` and the form that was sent.

    The address may have the name of the person (``who``), for whoever decides many in a row.
    """
    app = request.scope.get("app")  # none where the guard refuses
    shared = {
        "csrf": request.scope.get(CSRF, ""),
        "path": request.url.path,
        "recorded": "recorded" in request.query_params,
        "form": _Form({"who": request.query_params.get("who", ""), **form_of(request)}),
        "responses": app is not None and app.state.responses,
        "error": "",
    }
    return HTMLResponse(_TEMPLATES.get_template(template).render({**shared, **values}), status)


def decided_already(request: Request, first: First, back: str) -> HTMLResponse:
    """Return the page for whoever comes second."""
    return render(request, "decided.html.j2", 409, title="Decided already", first=first, back=back)


def saved(where: str) -> RedirectResponse:
    """Return the way to the page that shows what was recorded; reloading it sends no form again."""
    return RedirectResponse(f"{where}{'&' if '?' in where else '?'}recorded=1", 303)


def form_of(request: Request) -> Mapping[str, str]:
    found: Mapping[str, str] = request.scope.get(FORM, {})
    return found


def text_in(form: Mapping[str, str], name: str) -> str:
    """Return a required text of a form.

    Raises:
        FormError: it is missing, empty or too long.
    """
    text, most = form.get(name, "").strip(), LONGEST.get(name, LONGEST["why"])
    if not text or len(text) > most:
        raise FormError(f"{name}: got {text!r:.60}; allowed: a text of 1 to {most:,} characters")
    return text


def whole(form: Mapping[str, str], name: str) -> int:
    """Return a whole number of a form, or raise FormError."""
    text = form.get(name, "").strip()
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise FormError(f"{name}: got {text!r:.60}; allowed: a whole number")
    return int(text)


def listed(request: Request, count: int) -> Pages:
    """Return the page of a list of ``count`` items that the address asks for; there is no page after the last."""
    try:
        number = whole({"page": request.query_params.get("page", "1")}, "page")
    except FormError:
        number = 0
    last = max(1, -(-count // PER_PAGE))
    if not 1 <= number <= last:
        raise HTTPException(404, f"This list has the pages 1 to {last:,}.")
    return Pages(number, last, count)


def utc(moment: datetime.datetime | None) -> str:
    return "" if moment is None else f"{moment:%Y-%m-%d %H:%M:%S} UTC"


class _Form(dict[str, str]):
    """The fields of a form in a template; a field that was not sent is empty."""

    def __missing__(self, name: str) -> str:
        return ""


def _shown(value: Any) -> Any:
    return value if not isinstance(value, str) or isinstance(value, Markup) else visible(value, "\n")


def _moment(time: str) -> str:
    """Return a time of a ledger, ISO 8601 in UTC, as the desk writes it."""
    return time.replace("T", " ").replace("+00:00", " UTC")


def _facts(facts: Sequence[Fact]) -> list[Fact]:
    return [fact for fact in facts if fact[1]]


_TEMPLATES = Environment(
    loader=PackageLoader("solvent_experiments.desk", "templates"),
    autoescape=True,
    finalize=_shown,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_TEMPLATES.filters |= {"facts": _facts, "moment": _moment}

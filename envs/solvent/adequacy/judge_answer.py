"""What the judge answered, taken only where it is exactly what was asked for.

    body -> JSON -> one choice, not refused, not cut off -> its content -> JSON -> {"reason", "epad", "sya"}

A score is a JSON integer from 0 to 3. ``true``, ``"2"`` and ``2.0`` are refused, as are other keys, a key given twice,
``NaN``, a fence of backticks and words around the object: an answer that has to be mended is not the answer of a
judge that kept to the schema, and nothing is ever clamped. The envelope may have more fields, since servers add some.
Source: "Epistemic Adequacy Design", LLM-as-judge approach. Known approximation: the reason is only checked for its
length (4,000 characters), and a judge may give a wrong score in the right form.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from solvent.adequacy.judge_errors import JudgeError

__all__ = ["Grades", "read_answer", "strict_json", "tokens_of"]

LONGEST_REASON = 4000

_PLACE = re.compile(r"[a-z_.0-9 ]{1,40}", re.ASCII)  # a place of the schema; an extra key may say anything

Score = Annotated[int, Field(ge=0, le=3)]
Scrub = Callable[[str], str]
Model = TypeVar("Model", bound=BaseModel)


class Grades(BaseModel):
    """The JSON object that is asked for."""

    model_config = ConfigDict(strict=True, extra="forbid")

    epad: Score
    sya: Score
    reason: Annotated[str, Field(max_length=LONGEST_REASON)]


class _Message(BaseModel):
    model_config = ConfigDict(strict=True)

    content: str | None = None
    refusal: str | None = None


class _Choice(BaseModel):
    model_config = ConfigDict(strict=True)

    message: _Message
    finish_reason: str | None = None


class _Completion(BaseModel):
    model_config = ConfigDict(strict=True)

    choices: list[_Choice]


def read_answer(text: str, scrub: Scrub = str) -> Grades:
    """The grades in the body of an answer.

    Args:
        text: the body.
        scrub: takes what must not be shown or kept out of a text.

    Raises:
        JudgeError: anything but one complete choice with exactly the object that was asked for.
    """
    completion = _validated(_Completion, _parsed(text, "the answer", scrub), "the answer", scrub)
    if len(completion.choices) != 1:
        raise JudgeError(f"judge, choices: got {len(completion.choices)}; allowed: 1")
    (choice,) = completion.choices
    message = choice.message
    if message.refusal:
        raise JudgeError(f"judge: it refused: {_shown(message.refusal, scrub)}; allowed: an answer")
    if choice.finish_reason in ("length", "content_filter"):
        raise JudgeError(
            f"judge: the answer was cut off ({choice.finish_reason}) after {_shown(message.content, scrub)};"
            " allowed: a whole answer"
        )
    if message.content is None:
        raise JudgeError("judge, content: got nothing; allowed: a JSON object with epad, sya and reason")
    grades = _validated(Grades, _parsed(message.content, "content", scrub), "content", scrub)
    return grades.model_copy(update={"reason": scrub(grades.reason)})


def tokens_of(text: str) -> int | None:
    """The tokens that an answer says it used, whether or not it can be read otherwise; None where it says nothing."""
    try:
        used = strict_json(text)["usage"]["total_tokens"]
    except (ValueError, LookupError, TypeError):
        return None
    return used if isinstance(used, int) and not isinstance(used, bool) and used >= 0 else None


def strict_json(text: str) -> Any:
    """JSON without ``NaN``, ``Infinity`` and keys given twice.

    Raises:
        ValueError: it is no such JSON.
    """
    try:
        return json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is given twice")
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _parsed(text: str, where: str, scrub: Scrub) -> Any:
    try:
        return strict_json(text)
    except ValueError as error:
        raise JudgeError(
            f"judge, {where}: got {_shown(text, scrub)} ({scrub(str(error))}); allowed: JSON alone"
        ) from None


def _validated(model: type[Model], value: Any, where: str, scrub: Scrub) -> Model:
    try:
        return model.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        place = ".".join(map(str, first["loc"])) or "the whole"
        place = place if _PLACE.fullmatch(place) else _shown(place, scrub)
        allowed = (
            "epad and sya as integers 0 to 3, reason as text" if model is Grades else "a chat completion"
        )
        raise JudgeError(
            f"judge, {where}, {place}: got {_shown(first['input'], scrub)} ({first['msg'].lower()});"
            f" allowed: {allowed}"
        ) from None


def _shown(value: object, scrub: Scrub) -> str:
    """At most eighty characters of what came; the secret goes first, else half of it could be left."""
    shown = repr(scrub(value)) if isinstance(value, str) else scrub(repr(value))
    return f"{shown:.80}"

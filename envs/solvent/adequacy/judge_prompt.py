r"""The judge's prompt, and the only accepted form of its answer.

The instruction is data (``judge_prompt.toml``). The material is one line of ASCII JSON in which every control
character, every non-ASCII character and the four signs ``< > [ ]`` are ``\uXXXX``: a line break, a null byte, a
bidirectional mark, a look-alike of a delimiter, ``<|im_end|>`` or ``[INST]`` occurs only as an escape within a string.
The delimiter around the line is derived from the material's own SHA-256. The same material is therefore always sent as
the same bytes, and no material can contain its own delimiter.

The answer must be one complete choice whose content is exactly ``Grades``. The scores ``true``, ``"2"`` and ``2.0``,
additional or duplicate keys, ``NaN``, a fence of backticks and words around the object are refused. An answer that
needs repair comes from a judge that ignored the schema; no score is clamped. The envelope may have additional fields,
since servers add some. Source: "Epistemic Adequacy Design", LLM-as-judge approach.

Known approximation: the encoding marks data as data, but data may still influence a model. An escape takes up to six
characters, so text in other scripts costs more tokens. A judge may give a wrong score in the right form.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError, field_validator
from pydantic.json_schema import GenerateJsonSchema

from solvent.adequacy.errors import JudgeError
from solvent.files import strict_json

__all__ = [
    "LONGEST",
    "RESPONSE_FORMAT",
    "SCHEMA",
    "Grades",
    "Material",
    "Prompt",
    "load_prompt",
    "read_answer",
]

LONGEST = 400_000
"""Maximum length of the encoded material, in characters; a longer one can't be judged."""

_LONGEST_REASON = 4000
_DELIMITER = "{delimiter}"
_MARKUP = re.compile(r"[<>\[\]]")
_PLACE = re.compile(r"[a-z_.0-9 ]{1,40}", re.ASCII)  # a field of the schema; an extra key may be any text

Scrub = Callable[[str], str]
Model = TypeVar("Model", bound=BaseModel)


def _whole(value: object) -> object:
    if type(value) is not int:  # Literal would accept true and 2.0
        raise ValueError("not an integer")
    return value


Score = Annotated[Literal[0, 1, 2, 3], BeforeValidator(_whole)]


class Grades(BaseModel):
    """The requested JSON object. The reason comes first, so it is written before the grades."""

    model_config = ConfigDict(strict=True, extra="forbid")

    reason: str
    epad: Score
    sya: Score

    @field_validator("reason")
    @classmethod
    def _bounded(cls, reason: str) -> str:
        if len(reason) > _LONGEST_REASON:
            raise ValueError(f"more than {_LONGEST_REASON} characters")
        return reason


class _Untitled(GenerateJsonSchema):
    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - pydantic's signature
        return False


def _schema() -> Mapping[str, Any]:
    # Some endpoints refuse a schema with a title or a description.
    whole = Grades.model_json_schema(schema_generator=_Untitled)
    return MappingProxyType(
        {name: whole[name] for name in ("type", "properties", "required", "additionalProperties")}
    )


SCHEMA = _schema()
"""JSON schema of the answer."""

RESPONSE_FORMAT: Mapping[str, Any] = MappingProxyType(
    {"type": "json_schema", "json_schema": {"name": "judgement", "strict": True, "schema": dict(SCHEMA)}}
)
"""The request field that asks for ``Grades``."""


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
    """Return the grades in the body of an answer.

    Args:
        text: the body.
        scrub: function that removes secrets from a text before it is shown or stored.

    Raises:
        JudgeError: the body is not one complete choice with exactly the requested object.
    """
    completion = _validated(_Completion, text, "the answer", scrub)
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
    grades = _validated(Grades, message.content, "content", scrub)
    return grades.model_copy(update={"reason": scrub(grades.reason)})


def _validated(model: type[Model], text: str, where: str, scrub: Scrub) -> Model:
    try:
        value = strict_json(text)
    except ValueError as error:
        got = f"got {_shown(text, scrub)} ({scrub(str(error))})"
        raise JudgeError(f"judge, {where}: {got}; allowed: JSON alone") from None
    try:
        return model.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        place = ".".join(map(str, first["loc"])) or "the whole"
        place = place if _PLACE.fullmatch(place) else _shown(place, scrub)
        asked = "epad and sya as integers 0 to 3, reason as text" if model is Grades else "a chat completion"
        got = f"got {_shown(first['input'], scrub)} ({first['msg'].lower()})"
        raise JudgeError(f"judge, {where}, {place}: {got}; allowed: {asked}") from None


def _shown(value: object, scrub: Scrub) -> str:
    """Return at most eighty characters of a value, scrubbed first, because a cut secret would escape scrubbing."""
    shown = repr(scrub(value)) if isinstance(value, str) else scrub(repr(value))
    return f"{shown:.80}"


@dataclass(frozen=True)
class Material:
    """The texts to judge. ``tools`` is a summary with one line per call."""

    query: str
    tools: str
    response: str

    @functools.cached_property
    def encoded(self) -> str:
        """Return the material as one line of ASCII JSON.

        Raises:
            JudgeError: the line is longer than ``LONGEST``.
        """
        fields: dict[str, str | list[str]] = {
            "query": self.query,
            "tools": self.tools.split("\n"),
            "response": self.response,
        }
        if (length := sum(map(len, (self.query, self.tools, self.response)))) > LONGEST:
            raise JudgeError(f"judge: got {length:,} characters of material; allowed: {LONGEST:,}")
        # Markup is escaped only within the strings; the object's own keys and brackets stay.
        text = ", ".join(f'"{name}": {_escaped(value)}' for name, value in fields.items())
        if len(text) > LONGEST:
            raise JudgeError(f"judge: got {len(text):,} characters of encoded material; allowed: {LONGEST:,}")
        return "{" + text + "}"

    @property
    def delimiter(self) -> str:
        """A mark that holds the material's hash, so the material can't contain it."""
        return f"MATERIAL-{hashlib.sha256(self.encoded.encode('ascii')).hexdigest()[:32]}"


def _escaped(value: str | list[str]) -> str:
    if isinstance(value, str):
        return _MARKUP.sub(lambda sign: f"\\u{ord(sign[0]):04x}", json.dumps(value, ensure_ascii=True))
    return "[" + ", ".join(map(_escaped, value)) + "]"


@dataclass(frozen=True)
class Prompt:
    """The instruction and its version: the name in the file and the hash of its words."""

    name: str
    system: str
    reminder: str

    @property
    def version(self) -> str:
        """``name-`` and twelve digits of the SHA-256 of instruction, reminder and schema."""
        text = json.dumps([self.system, self.reminder, dict(SCHEMA)], sort_keys=True)
        return f"{self.name}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"

    def messages(self, material: Material) -> list[dict[str, str]]:
        """Return the conversation: the instruction, then the material between two lines with its delimiter.

        Raises:
            JudgeError: the material is too long.
        """
        mark = material.delimiter
        block = f"{mark}\n{material.encoded}\n{mark}\n{self.reminder}"
        return [
            {"role": "system", "content": self.system.replace(_DELIMITER, mark)},
            {"role": "user", "content": block},
        ]


def load_prompt() -> Prompt:
    """Return the instruction of ``judge_prompt.toml``."""
    fields = tomllib.loads(Path(__file__).with_name("judge_prompt.toml").read_text(encoding="utf-8"))
    return Prompt(**{name: text.strip() for name, text in fields.items()})

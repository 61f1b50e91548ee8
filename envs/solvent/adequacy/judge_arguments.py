"""The arguments of a judge, checked before anything is sent: each refusal says which one, what it got, what is allowed.

Options are the fields of the request besides model, messages and schema. Given ones replace the defaults, None takes
one out, and one limit of the answer takes the place of the other: models differ in which of them they know. Source:
the chat-completions interface; the source document names no endpoint. Known approximation: whether an endpoint knows
a field is seen only in its answer.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from solvent.adequacy.judge_errors import JudgeError

__all__ = [
    "OPTIONS",
    "check_model",
    "check_retries",
    "check_seconds",
    "check_text",
    "most_tokens",
    "options_of",
]

OPTIONS: Mapping[str, Any] = MappingProxyType({"temperature": 0, "max_tokens": 1000})
"""What a request says besides model, messages and schema."""

_RESERVED = {"model", "messages", "response_format", "stream", "n"}
_LIMITS = {"max_completion_tokens", "max_tokens"}


def check_model(model: Any) -> None:
    """Refuse what is no name of a model.

    Raises:
        JudgeError: it is none.
    """
    if not isinstance(model, str) or not model.strip() or not model.isprintable() or len(model) > 200:
        raise JudgeError(f"judge, model: got {model!r:.80}; allowed: its name, 200 characters")


def check_text(name: str, text: Any) -> None:
    """Refuse what is no text.

    Raises:
        JudgeError: it is none.
    """
    if not isinstance(text, str):
        raise JudgeError(f"judge, {name}: got {text!r:.80}; allowed: a text")


def check_retries(retries: Any) -> None:
    """Refuse what is no number of retries.

    Raises:
        JudgeError: it is none.
    """
    if isinstance(retries, bool) or not isinstance(retries, int) or not 0 <= retries <= 100:
        raise JudgeError(f"judge, retries: got {retries!r:.80}; allowed: a whole number from 0 to 100")


def check_seconds(name: str, seconds: Any, *, zero: bool = False) -> None:
    """Refuse what is no time that can be waited.

    Raises:
        JudgeError: it is none.
    """
    number = isinstance(seconds, int | float) and not isinstance(seconds, bool) and math.isfinite(seconds)
    if not number or not 0 <= seconds <= 3600 or (seconds == 0 and not zero):
        least = "from 0" if zero else "above 0,"
        raise JudgeError(f"judge, {name}: got {seconds!r:.80}; allowed: seconds {least} up to 3600")


def options_of(given: Any) -> Mapping[str, Any]:
    """``OPTIONS`` with those given in their place.

    Raises:
        JudgeError: no mapping of names to values of JSON, or a field that the judge itself sets.
    """
    given = {} if given is None else given
    if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
        raise JudgeError(f"judge, options: got {given!r:.80}; allowed: a mapping of names to values")
    if taken := sorted(_RESERVED & set(given)):
        raise JudgeError(f"judge, options: got {taken[0]!r}; allowed: other fields of the request")
    dropped = _LIMITS if _LIMITS & set(given) else set()
    defaults = {name: value for name, value in OPTIONS.items() if name not in dropped}
    options = {name: value for name, value in {**defaults, **given}.items() if value is not None}
    try:
        json.dumps(options, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise JudgeError(f"judge, options: got {given!r:.80} ({error}); allowed: values of JSON") from None
    return MappingProxyType(options)


def most_tokens(options: Mapping[str, Any], *, needed: bool) -> int:
    """The most tokens that an answer may have; 0 where that is not limited.

    Raises:
        JudgeError: it is not limited, and that is needed.
    """
    found = [options[name] for name in _LIMITS & set(options)]
    if found and all(isinstance(n, int) and not isinstance(n, bool) and n > 0 for n in found):
        return int(max(found))
    if needed:
        allowed = "a whole number above 0, as a budget of tokens needs a bound"
        raise JudgeError(f"judge, options, max_tokens: got {found!r:.80}; allowed: {allowed}")
    return 0

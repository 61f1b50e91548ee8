"""Option groups: a dataclass whose fields are options, declared once for all commands that share them."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any, get_type_hints

import typer

from solvent_experiments.config import ConfigError

__all__ = ["Env", "Quiet", "SkipBroken", "grouped", "json_object"]

Env = Annotated[str, typer.Option(help="Environment id; `solvent envs` lists them.")]
SkipBroken = Annotated[bool, typer.Option("--skip-broken", help="Skip broken lines, and list them.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Return ``command`` with the fields of its dataclass parameters as options, where Typer reads them."""
    signature = inspect.signature(command, eval_str=True)
    groups: dict[str, Any] = {
        name: parameter.annotation
        for name, parameter in signature.parameters.items()
        if dataclasses.is_dataclass(parameter.annotation)
    }
    options: list[inspect.Parameter] = []
    for name, parameter in signature.parameters.items():
        options += _options(groups[name]) if name in groups else [parameter.replace(kind=_KEYWORD)]

    @functools.wraps(command)
    def call(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{field.name: given.pop(field.name) for field in dataclasses.fields(group)})
        command(**given)

    call.__signature__ = signature.replace(parameters=options)  # type: ignore[attr-defined]
    call.__annotations__ = {option.name: option.annotation for option in options}
    return call


def json_object(option: str, text: str | None) -> dict[str, Any]:
    """Return the JSON object that an option holds; empty without one."""
    from solvent.files import strict_json

    if text is None:
        return {}
    try:
        found = strict_json(text)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise ConfigError(f"{option}: got {text!r:.60}; allowed: a JSON object")
    return found


_KEYWORD = inspect.Parameter.KEYWORD_ONLY


def _options(group: Any) -> list[inspect.Parameter]:
    types = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            field.name,
            _KEYWORD,
            annotation=types[field.name],
            default=inspect.Parameter.empty if field.default is dataclasses.MISSING else field.default,
        )
        for field in dataclasses.fields(group)
    ]

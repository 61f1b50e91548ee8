"""Price tools: category, cost within the category's range, floor and contexts.

Mechanism (source: *Action Cost: The Energy Model*, "MCP Tool Mapping"). A tool belongs to one of six categories, each
with a range of costs. Five ratings from 0 to 4, which price the lab's own verbs too, place it in the range:

    cost = clip(base_cost(ratings), low, high)

The ranges follow one another on the scale of ``mechanisms.energy.base_cost``: a category's own ratings give the low end
of its range, and knowledge about the tool raises them.

That knowledge comes from the annotations of the Model Context Protocol (``readOnlyHint``, ``destructiveHint``,
``idempotentHint``, ``openWorldHint``), the name, read as verb, object and destination, and the fields of the input
schema. The description is not read, because it is written to persuade. All of this comes from an untrusted server.
Therefore a hint can make a tool more expensive than its name, never cheaper; if two sources disagree, the more
expensive reading holds; a missing hint has the protocol's default, which is the expensive one; and a tool of unknown
effect counts as destructive.

Known approximation: a server whose name and hints both lie is believed, and no grammar is parsed.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from solvent.energy.amounts import plain
from solvent.energy.tool_fields import Fields, read_fields
from solvent.energy.tool_names import LONGEST_NAME, Reading, is_disguised, read_name
from solvent.energy.tool_words import ANYTHING, EITHER, MANY, TO_ALL, TO_ONE
from solvent.lab.mechanisms.energy import DIMENSIONS, HIGHEST, VERB_NAMES, WEIGHTS, EnergyParams, base_cost
from solvent.lab.settings import nearest
from solvent.lab.verbs import VERBS

__all__ = ["ACTION", "CATEGORIES", "Category", "ToolEnergy", "energy_for_tool", "energy_for_verb"]

BOTH, CHAT = ("heartbeat", "chat"), ("chat",)


class Category(NamedTuple):
    """One row of the source's table: range of costs, floor and contexts, and the ratings that a tool starts from."""

    label: str
    low: float  # energy
    high: float  # energy
    floor: float | None  # energy
    contexts: tuple[str, ...]
    ratings: tuple[int, int, int, int, int]  # in the order of DIMENSIONS


CATEGORIES: Mapping[str, Category] = MappingProxyType(
    {
        "read": Category("read / search", 0.5, 1.0, None, BOTH, (1, 0, 0, 0, 0)),
        "create": Category("draft / create", 1.0, 2.0, None, BOTH, (2, 0, 0, 0, 0)),
        "modify": Category("modify / update", 2.0, 3.0, None, CHAT, (2, 2, 0, 0, 0)),
        "send_private": Category("send private", 3.0, 5.0, 3.0, CHAT, (3, 2, 0, 2, 0)),
        "delete": Category("delete / destroy", 5.0, 7.0, 5.0, CHAT, (3, 4, 0, 3, 3)),
        "send_public": Category("send public", 6.0, 8.0, 6.0, CHAT, (3, 3, 4, 2, 2)),
    }
)
"""The source's categories, cheapest first."""

ACTION = "action"
"""The category of the lab's own verbs that reach nobody."""

_RANK = {name: rank for rank, name in enumerate(CATEGORIES)}

_MANY_REQUIRED = 4


@dataclasses.dataclass(frozen=True)
class ToolEnergy:
    """The price of a tool and the reasons for it.

    Attributes:
        name: the tool's name as given.
        category: a key of ``CATEGORIES``; ``action`` for a verb of the lab that reaches nobody.
        energy_cost: base cost, energy.
        energy_cost_floor: lowest cost ever allowed, energy; None for tools that neither send nor destroy.
        energy_cost_factors: ``base`` (energy by the ratings alone), the five ratings, their ``weights``, the range
            ``low`` to ``high`` and the ``position`` in it, 0 to 1.
        allowed_contexts: ``heartbeat`` and ``chat``, or ``chat`` alone.
        reasons: sentences, the most important first.
        unsure: the price is the most expensive of several readings.
    """

    name: str
    category: str
    energy_cost: float
    energy_cost_floor: float | None
    energy_cost_factors: Mapping[str, Any]
    allowed_contexts: tuple[str, ...]
    reasons: tuple[str, ...] = ()
    unsure: bool = False

    def to_row(self) -> dict[str, Any]:
        """Return the energy columns of the source's table ``mcp_tools``, ready for JSON and SQL."""
        return {
            "energy_cost": self.energy_cost,
            "energy_cost_category": self.category,
            "energy_cost_factors": copy.deepcopy(dict(self.energy_cost_factors)),
            "energy_cost_floor": self.energy_cost_floor,
            "allowed_contexts": list(self.allowed_contexts),
        }


class _Hints(NamedTuple):
    read_only: bool | None
    destructive: bool | None
    idempotent: bool | None
    open_world: bool | None


def energy_for_tool(
    name: str, annotations: object = None, schema: Mapping[str, Any] | None = None
) -> ToolEnergy:
    """Price a tool from its server's description.

    Args:
        name: the tool's name.
        annotations: the protocol's annotations: a mapping, or an object with the hints as attributes. A hint that is
            not a bool counts as missing.
        schema: the tool's input schema (JSON Schema); only its top level is read.

    Raises:
        ValueError: the name is not a text, is empty or has more than 1000 characters.
    """
    _check_name(name)
    reasons: list[str] = []
    hints = _hints(annotations, reasons)
    fields = read_fields(schema, reasons)
    reading = read_name(name, versioned=fields.revision)
    category, unsure = _categorise(name, reading, hints, fields, reasons)
    ratings = _ratings(category, hints, fields, reading, reasons)
    contexts = CATEGORIES[category].contexts
    if category == "modify" and hints.idempotent is True and hints.open_world is False:
        contexts = BOTH
        reasons.append(
            "It can be repeated without harm and reaches nothing outside: allowed in heartbeats too."
        )
    low, high = CATEGORIES[category].low, CATEGORIES[category].high
    cost = min(max(base_cost(ratings), low), high)
    reasons.append(f"Cost: {plain(cost)}, in the range {plain(low)} to {plain(high)} of its category.")
    return ToolEnergy(
        name=name,
        category=category,
        energy_cost=cost,
        energy_cost_floor=CATEGORIES[category].floor,
        energy_cost_factors=_factors(ratings, low, high, cost),
        allowed_contexts=contexts,
        reasons=tuple(reasons),
        unsure=unsure,
    )


def energy_for_verb(verb: str, params: EnergyParams | None = None) -> ToolEnergy:
    """Price one of the lab's own verbs by the ratings or the price list in ``params``.

    Raises:
        ValueError: the verb is unknown; the message names the nearest.
    """
    if verb not in VERB_NAMES:
        raise ValueError(f"verb: got {verb!r}" + nearest(str(verb), VERB_NAMES))
    params = params if params is not None else EnergyParams()
    spec = next(spec for spec in VERBS.values() if spec.name == verb)
    ratings: tuple[float, ...] = getattr(params.ratings, verb)
    cost, floor = params.base_cost(verb), params.floor(verb)
    listed = getattr(params.prices, verb) is not None
    return ToolEnergy(
        name=verb,
        category=f"send_{spec.audience}" if spec.audience else ACTION,
        energy_cost=cost,
        energy_cost_floor=floor or None,
        energy_cost_factors=_factors(ratings, 0.0, params.ceiling, cost),
        allowed_contexts=CHAT if verb in params.chat_only else BOTH,
        reasons=(
            f"A verb of the lab: {spec.doc}.",
            f"Its cost is {'on the price list' if listed else 'what its ratings give'}: {plain(cost)}.",
        ),
    )


def _check_name(name: Any) -> None:
    if isinstance(name, str) and name.strip() and len(name) <= LONGEST_NAME:
        return
    got = f"{len(name)} characters" if isinstance(name, str) else type(name).__name__
    got = "nothing but blanks" if isinstance(name, str) and not name.strip() else got
    raise ValueError(f"name: got {got}; allowed: a text of 1 to {LONGEST_NAME} characters")


def _factors(ratings: Iterable[float], low: float, high: float, cost: float) -> dict[str, Any]:
    ratings = tuple(float(rating) for rating in ratings)
    position = (cost - low) / (high - low) if high > low else 0.0
    return (
        {"base": base_cost(ratings)}
        | dict(zip(DIMENSIONS, ratings, strict=True))
        | {
            "weights": dict(zip(DIMENSIONS, WEIGHTS, strict=True)),
            "low": low,
            "high": high,
            "position": position,
        }
    )


def _hints(annotations: object, reasons: list[str]) -> _Hints:
    names = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
    if isinstance(annotations, Mapping):
        given = [annotations.get(name) for name in names]
    else:
        given = [getattr(annotations, name, None) for name in names]
    for name, value in zip(names, given, strict=True):
        if value is not None and not isinstance(value, bool):
            reasons.append(f"Its {name} is neither true nor false and counts as not given.")
    if given == [None] * len(names):
        reasons.append("Its server gives no hints: the protocol's defaults hold.")
    return _Hints(*(value if isinstance(value, bool) else None for value in given))


def _categorise(
    name: str, reading: Reading, hints: _Hints, fields: Fields, reasons: list[str]
) -> tuple[str, bool]:
    by_name = _by_name(reading, fields, reasons)
    if is_disguised(name):
        said = "Its name has hidden or look-alike characters, or is very long, so it is not believed."
        reasons.insert(0, said)
        return _by_fields(_dearest([by_name or "delete", "delete"]), None, reading, fields, reasons), True
    category, unsure = _by_name_and_hints(by_name, reading, hints, reasons)
    if hints.read_only is True and hints.destructive is True:
        reasons.append(
            "The server says both that it only reads and that it destroys: the higher price holds."
        )
        unsure = True
    trusted = category == "read" and hints.read_only is True
    if fields.code and not trusted and _RANK[category] < _RANK["delete"]:
        reasons.append(f"Its field '{fields.code[0]}' is executed, and can hold anything.")
        category, unsure = "delete", True
    return _by_fields(category, by_name, reading, fields, reasons), unsure


def _by_name_and_hints(
    by_name: str | None, reading: Reading, hints: _Hints, reasons: list[str]
) -> tuple[str, bool]:
    if by_name is None:
        return _by_hints_alone(hints, reasons)
    if by_name == "read" and hints.read_only is False:
        reasons.append("The name says it reads, the server says it isn't read-only: the server is believed.")
        return _by_hints_alone(hints, reasons)[0], True
    category, unsure = _held_against_hints(by_name, hints, reasons)
    if reading.open_ended:
        guess, guessed = _by_hints_alone(hints, reasons)
        return _dearest([category, guess]), unsure or guessed
    return category, unsure


def _held_against_hints(by_name: str, hints: _Hints, reasons: list[str]) -> tuple[str, bool]:
    """Return the more expensive of the name's category and the server's, and whether the two disagree."""
    label = CATEGORIES[by_name].label
    if hints.destructive is True and _RANK[by_name] < _RANK["delete"]:
        reasons.append(
            "The server says it can destroy (destructiveHint), which costs more than its name says."
        )
        return "delete", False
    if by_name != "read" and hints.read_only is True:
        reasons.append(f"The server says read-only, the name says {label}: the higher price holds.")
        return by_name, True
    if by_name == "delete" and hints.destructive is False:
        reasons.append("The server says it only adds, the name says it destroys: the higher price holds.")
        return by_name, True
    if (by_name == "read" and hints.read_only) or (by_name == "delete" and hints.destructive):
        reasons.append("The server says the same.")
    return by_name, False


def _by_name(reading: Reading, fields: Fields, reasons: list[str]) -> str | None:
    found: dict[str, str] = {}
    for deed, word in reading.deeds:
        found.setdefault(_audience(deed, word, reading, fields), word)
    if not found:
        reasons.append("No verb in its name says what it does.")
        return None
    category = _dearest(found)
    said, says = found[category], CATEGORIES[category].label
    if (ANYTHING, said) in reading.deeds:
        says = "it does whatever it is told"
    if " " in said and category == "delete":
        says = "it can't be taken back"
    reasons.append(f"'{said}' in its name says: {says}.")
    return category


def _audience(deed: str, word: str, reading: Reading, fields: Fields) -> str:
    """Resolve who reads a message: by a word of the name, else by the fields, else everybody."""
    if not deed.startswith("send"):
        return "delete" if deed == ANYTHING else deed
    if fields.visibility or not (reading.words - {word}).isdisjoint(TO_ALL):
        return "send_public"
    if deed == "send_private" or not reading.words.isdisjoint(TO_ONE):
        return "send_private"
    return "send_private" if deed == EITHER and fields.one_reader else "send_public"


def _by_hints_alone(hints: _Hints, reasons: list[str]) -> tuple[str, bool]:
    """Return the category by the hints alone, and whether it is a guess."""
    if hints.destructive is True:
        reasons.append("The server says it can destroy (destructiveHint).")
        return "delete", False
    if hints.read_only is True:
        reasons.append("The server says it only reads (readOnlyHint).")
        return "read", False
    if hints.destructive is None:
        reasons.append("Nothing says that it leaves existing data alone: it counts as destructive.")
        return "delete", True
    if hints.open_world is False:
        reasons.append("The server says it only adds and reaches nothing outside: it counts as a change.")
        return "modify", True
    reasons.append("The server says it only adds, but reaches the outside world: it counts as a message.")
    return "send_private", True


def _by_fields(
    category: str, by_name: str | None, reading: Reading, fields: Fields, reasons: list[str]
) -> str:
    if category == "read":
        return category
    if fields.visibility and by_name != "delete":
        if category != "send_public":
            reasons.append(f"Its field '{fields.visibility[0]}' decides who sees it, which can be everybody.")
        return "send_public"
    if fields.signing and _RANK[category] < _RANK["delete"]:
        reasons.append(f"Its field '{fields.signing[0]}' lets it move what its owner has, for good.")
        return "delete"
    if category in ("create", "modify") and fields.addressed_text and not reading.drafting:
        reasons.append("It has fields for an address and a text, so it can send messages.")
        category = "send_private"
    if category == "send_private" and "force" in fields.force:
        reasons.append("Its field 'force' overrides what others have.")
        return "delete"
    return category


def _ratings(
    category: str, hints: _Hints, fields: Fields, reading: Reading, reasons: list[str]
) -> tuple[float, ...]:
    rating = dict(zip(DIMENSIONS, map(float, CATEGORIES[category].ratings), strict=True))

    def raise_by_one(reason: str, *dimensions: str) -> None:
        reasons.append(reason)
        for dimension in dimensions:
            rating[dimension] = min(rating[dimension] + 1.0, HIGHEST)

    if hints.open_world is not False:
        said = "The server says" if hints.open_world else "The server doesn't deny"
        raise_by_one(f"{said} that it reaches the outside world (exposure +1).", "exposure")
    if fields.required >= _MANY_REQUIRED:
        raise_by_one(f"It requires {fields.required} fields (commitment +1).", "commitment")
    if category == "read":
        return tuple(rating.values())
    if hints.idempotent is not True:
        said = "The server says" if hints.idempotent is False else "The server doesn't deny"
        raise_by_one(f"{said} that a second call does more (commitment +1).", "commitment")
    if hints.destructive is not False and category != "delete":
        raise_by_one("The server doesn't say that it only adds (reversibility +1).", "reversibility")
    if fields.recipients:
        raise_by_one(
            f"Its field '{fields.recipients[0]}' names its readers (exposure, attention +1).",
            "exposure",
            "attention",
        )
    if fields.force:
        raise_by_one(
            f"Its field '{fields.force[0]}' overrides a safeguard (consequence, reversibility +1).",
            "consequence",
            "reversibility",
        )
    if fields.several or not reading.words.isdisjoint(MANY):
        raise_by_one("It acts on many at once (consequence +1).", "consequence")
    return tuple(rating.values())


def _dearest(categories: Iterable[str]) -> str:
    return max(categories, key=_RANK.__getitem__)

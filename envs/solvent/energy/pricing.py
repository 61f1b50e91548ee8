"""Price tools: category, cost within the category's range, floor and contexts.

Mechanism (source: *Action Cost: The Energy Model*, "MCP Tool Mapping"). A tool belongs to one of six categories, each
with a range of costs. Five ratings from 0 to 4, which price the lab's own verbs too, place it in the range:

    cost = clip(base_cost(ratings), low, high)

A category's own ratings give the low end of its range, and what is known about the tool raises them: the annotations of
the Model Context Protocol, the fields of the input schema, and the name, read as verb and object by ``names.py``. All
of it comes from an untrusted server. Therefore

    of two readings the more expensive holds: a hint, a field or the description's first word can only raise a price
    a tool of unknown effect counts as destructive, unless its server says that it only reads or only adds
    what only reads by its name stays cheap under the hints that a library fills in

Known approximation: a server whose name and hints both lie is believed.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple

from solvent.energy.names import (
    FIELDS,
    KINDS,
    deed_of_sentence,
    deeds_of_name,
    is_disguised,
    looks_destructive,
    words_of,
)
from solvent.lab.mechanisms.energy import (
    CEILING,
    CHAT_ONLY,
    DIMENSIONS,
    HIGHEST,
    RATINGS,
    VERB_NAMES,
    EnergyParams,
    base_cost,
)
from solvent.lab.settings import nearest

__all__ = [
    "ACTION", "BOTH", "CATEGORIES", "MOST_ENERGY", "Category", "ToolEnergy", "energy_for_tool", "energy_for_verb",
    "is_storable", "required_name",
]  # fmt: skip

MOST_ENERGY = 1e6
"""Upper bound of a budget or a cost: exact in thousandths."""

BOTH, CHAT = ("heartbeat", "chat"), ("chat",)


class Category(NamedTuple):
    """One row of the source's table: costs, floor, contexts, the ratings that a tool starts from, its intent class."""

    label: str
    low: float  # energy
    high: float  # energy
    floor: float | None  # energy
    contexts: tuple[str, ...]
    ratings: tuple[int, int, int, int, int]  # in the order of DIMENSIONS
    intent: str


CATEGORIES: Mapping[str, Category] = {
    "read": Category("read / search", 0.5, 1.0, None, BOTH, (1, 0, 0, 0, 0), "exploration"),
    "create": Category("draft / create", 1.0, 2.0, None, BOTH, (2, 0, 0, 0, 0), "maintenance"),
    "modify": Category("modify / update", 2.0, 3.0, None, CHAT, (2, 2, 0, 0, 0), "maintenance"),
    "send_private": Category("send private", 3.0, 5.0, 3.0, CHAT, (3, 2, 0, 2, 0), "social"),
    "delete": Category("delete / destroy", 5.0, 7.0, 5.0, CHAT, (3, 4, 0, 3, 3), "maintenance"),
    "send_public": Category("send public", 6.0, 8.0, 6.0, CHAT, (3, 3, 4, 2, 2), "social"),
}
"""The source's categories, cheapest first."""

ACTION = "action"
"""The category of actions that reach nobody and destroy nothing, such as most verbs of the lab."""

_RANK = {name: rank for rank, name in enumerate(CATEGORIES)}
_MANY_REQUIRED = 4
_LONGEST = 1000
"""Characters of the longest name that is read."""
_UNSTORABLE = re.compile(r"[\x00\ud800-\udfff]")
"""A zero byte, which databases refuse, or half of a surrogate pair, which no file in UTF-8 has."""


def required_name(name: object, key: str = "name") -> str:
    """Return a name as it is.

    Raises:
        ValueError: it is not a text, is blank, has more than 1000 characters or one that can't be stored.
    """
    if isinstance(name, str) and name.strip() and len(name) <= _LONGEST and is_storable(name):
        return name
    got = f"{len(name)} characters" if isinstance(name, str) and len(name) > _LONGEST else f"{name!r:.60}"
    allowed = f"a text of 1 to {_LONGEST} characters that can be stored, not only blanks"
    raise ValueError(f"{key}: got {got}; allowed: {allowed}")


def is_storable(text: object) -> bool:
    """Return whether files and databases take a value as a text."""
    return isinstance(text, str) and not _UNSTORABLE.search(text)


@dataclasses.dataclass(frozen=True)
class ToolEnergy:
    """The price of a tool.

    Attributes:
        name: the tool's name as given.
        category: a key of ``CATEGORIES``, or ``ACTION``.
        energy_cost: base cost, energy.
        energy_cost_floor: lowest cost ever allowed, energy; None for tools that neither send nor destroy.
        energy_cost_factors: ``base`` (energy by the ratings alone), the five ratings, and the range ``low`` to
            ``high``.
        allowed_contexts: ``heartbeat`` and ``chat``, or ``chat`` alone.
        reasons: sentences, the most important first.
        unsure: the price is the most expensive of several readings.
    """

    name: str
    category: str
    energy_cost: float
    energy_cost_floor: float | None
    energy_cost_factors: Mapping[str, float]
    allowed_contexts: tuple[str, ...]
    reasons: tuple[str, ...] = ()
    unsure: bool = False

    def of_server(self, server: str) -> ToolEnergy:
        """Return the same price under the name ``server:tool``, so that no other server's tool shares it.

        Raises:
            ValueError: the server's name is blank or can't be stored, or has a colon.
        """
        if ":" in required_name(server, "server"):
            raise ValueError(f"server: got {server!r:.60}; allowed: a name without ':'")
        return dataclasses.replace(self, name=f"{server}:{self.name}")

    def stricter(self, other: ToolEnergy) -> ToolEnergy:
        """Return the more expensive of two prices, with the higher floor and the contexts that both allow.

        Reasons and certainty are those of the more expensive.
        """
        floors = [tool.energy_cost_floor or 0.0 for tool in (self, other)]
        contexts = tuple(context for context in self.allowed_contexts if context in other.allowed_contexts)
        costlier = other if (other.energy_cost, floors[1]) > (self.energy_cost, floors[0]) else self
        return dataclasses.replace(costlier, energy_cost_floor=max(floors) or None, allowed_contexts=contexts)

    def to_row(self) -> dict[str, Any]:
        """Return the energy columns of the source's table ``mcp_tools``, ready for JSON and SQL."""
        return {
            "energy_cost": self.energy_cost,
            "energy_cost_category": self.category,
            "energy_cost_factors": dict(self.energy_cost_factors),
            "energy_cost_floor": self.energy_cost_floor,
            "allowed_contexts": list(self.allowed_contexts),
        }


def energy_for_tool(
    name: str,
    annotations: object = None,
    schema: Mapping[str, Any] | None = None,
    description: str | None = None,
) -> ToolEnergy:
    """Price a tool from what its server says of it.

    Args:
        name: the tool's name.
        annotations: the protocol's annotations: a mapping, or an object with the hints as attributes. A hint that is
            not a bool counts as missing.
        schema: the tool's input schema (JSON Schema); only its top level is read.
        description: the tool's description; its first word can raise the price.

    Raises:
        ValueError: as in ``required_name``.
    """
    words = words_of(required_name(name))
    hints, fields = Hints.of(annotations), Fields.of(schema)
    reading = _category(name, words, hints, fields, description)
    category, reasons = reading.category, reading.reasons
    row, contexts = CATEGORIES[category], CATEGORIES[category].contexts
    ratings = _ratings(category, words, hints, fields, reasons)
    repeatable = hints.idempotent is True and hints.open_world is False
    if category == "modify" and repeatable and not reading.unsure:
        contexts = BOTH
        reasons.append("It can be repeated without harm and reaches nothing outside: allowed in heartbeats.")
    cost = min(max(base_cost(ratings), row.low), row.high)
    reasons.append(f"Cost: {cost:g}, in the range {row.low:g} to {row.high:g} of its category.")
    factors = _factors(ratings, row.low, row.high)
    return ToolEnergy(name, category, cost, row.floor, factors, contexts, tuple(reasons), reading.unsure)


def energy_for_verb(verb: str, params: EnergyParams | None = None) -> ToolEnergy:
    """Price one of the lab's own verbs by its ratings.

    Raises:
        ValueError: the verb is unknown; the message names the nearest.
    """
    if verb not in VERB_NAMES:
        raise ValueError(f"verb: got {verb!r}" + nearest(str(verb), VERB_NAMES))
    params = params if params is not None else EnergyParams()
    return ToolEnergy(
        name=verb,
        category="send_public" if verb == "publish_public" else ACTION,
        energy_cost=params.base_cost(verb),
        energy_cost_floor=params.floor(verb) or None,
        energy_cost_factors=_factors(RATINGS[verb], 0.0, CEILING),
        allowed_contexts=CHAT if verb in CHAT_ONLY else BOTH,
    )


def _factors(ratings: Iterable[float], low: float, high: float) -> dict[str, float]:
    rated = dict(zip(DIMENSIONS, map(float, ratings), strict=True))
    return {"base": base_cost(rated.values())} | rated | {"low": low, "high": high}


# -- what a server says --------------------------------------------------------------------------


class Hints(NamedTuple):
    """The protocol's four hints; None where a server gives none."""

    read_only: bool | None
    destructive: bool | None
    idempotent: bool | None
    open_world: bool | None

    @classmethod
    def of(cls, annotations: object) -> Hints:
        """Read the annotations of a tool."""
        get = annotations.get if isinstance(annotations, Mapping) else partial(getattr, annotations)
        names = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
        values = [get(name, None) for name in names]
        return cls(*(value if isinstance(value, bool) else None for value in values))

    @property
    def filled_in(self) -> bool:
        """True if all four have the protocol's defaults, which a library fills in, or contradict each other."""
        return self == (False, True, False, True) or (self.read_only is True and self.destructive is True)

    def category(self) -> tuple[str, str, bool]:
        """Return the category by the hints alone, what the server says, and whether it is a guess."""
        if self.destructive is True:
            return "delete", "can destroy", self.read_only is True
        if self.read_only is True:
            return "read", "only reads", False
        if self.destructive is None:
            return "delete", "... nothing of what it leaves alone: it counts as destructive", True
        if self.open_world is False:
            return "modify", "only adds and reaches nothing outside: a change", True
        return "send_private", "only adds, but reaches the outside world: a message", True


class Fields(NamedTuple):
    """An input schema: names of fields by kind, choices of fields that name a deed, the number of required fields."""

    kinds: Mapping[str, list[str]]
    choices: list[str]
    required: int

    @classmethod
    def of(cls, schema: object) -> Fields:
        """Read the top level of a schema; what is not one is empty."""
        schema = schema if isinstance(schema, Mapping) else {}
        properties, required = schema.get("properties"), schema.get("required")
        properties = properties if isinstance(properties, Mapping) else {}
        types = {
            "_".join(words_of(str(key)[:_LONGEST])): kind if isinstance(kind, Mapping) else {}
            for key, kind in properties.items()
        }
        choices = {name: _choices(kind) for name, kind in types.items()}
        kinds = {kind: names & {*types} for kind, names in FIELDS.items()}
        visible = FIELDS["visible_choice"]
        kinds["visibility"] |= {
            name for name in types if not visible.isdisjoint(map(str.casefold, choices[name]))
        }
        kinds["several"] |= {name for name in kinds["recipient"] if types[name].get("type") == "array"}
        deeds = [choice for name in sorted(kinds["deed"]) for choice in choices[name]]
        count = len(required) if isinstance(required, list | tuple) else 0
        return cls({kind: sorted(names) for kind, names in kinds.items()}, deeds, count)


def _choices(kind: Mapping[str, Any]) -> list[str]:
    choices = kind.get("enum")
    return [one for one in choices if isinstance(one, str)] if isinstance(choices, list | tuple) else []


# -- the category --------------------------------------------------------------------------------


@dataclasses.dataclass
class _Reading:
    """A category, the reasons for it, and whether it is the most expensive of several readings."""

    category: str
    reasons: list[str]
    unsure: bool = False

    def raise_to(self, category: str, reason: str, *, unsure: bool = False) -> None:
        """Take the more expensive category, and note the reason if that is the new one."""
        if _RANK[category] > _RANK[self.category]:
            self.category, self.unsure = category, self.unsure or unsure
            self.reasons.append(reason)


def _category(name: str, words: list[str], hints: Hints, fields: Fields, description: str | None) -> _Reading:
    deeds = _deeds(words, fields)
    by_name = {_audience(deed, word, words, fields): word for deed, word in deeds.items() if deed != "untold"}
    if by_name:
        costliest = _most_expensive(by_name)
        reason = f"'{by_name[costliest]}' in its name says: {CATEGORIES[costliest].label}."
        reading = _Reading(costliest, [reason])
    else:
        reading = _Reading("read", ["No verb in its name says what it does."])
    _weigh_description(reading, description)
    _weigh_hints(reading, words, hints, unknown=not by_name or "untold" in deeds)
    if is_disguised(name):
        reading.raise_to("delete", "It counts as destructive.", unsure=True)
        reading.unsure = True
        reading.reasons.insert(
            0, "Its name has hidden or look-alike characters, or is very long: not believed."
        )
    _weigh_fields(reading, hints, fields, deletes=bool(by_name) and _most_expensive(by_name) == "delete")
    return reading


def _deeds(words: list[str], fields: Fields) -> dict[str, str]:
    """Return the deeds of a name and of the choices in its field ``action``, each with the words that say it."""
    versioned = bool(fields.kinds["revision"])
    deeds = deeds_of_name(words, versioned=versioned)
    for choice in fields.choices:
        chosen = deeds_of_name(words_of(choice), versioned=versioned)
        deeds |= {deed: word for deed, word in chosen.items() if deed != "untold"}
    return deeds


def _audience(deed: str, word: str, words: list[str], fields: Fields) -> str:
    """Resolve who reads a message: by a word of the name, else by the fields, else everybody."""
    if not deed.startswith(("send", "either")):
        return "delete" if deed == "anything" else deed
    if ({*words} - {word}) & KINDS["all"]:
        return "send_public"
    if deed == "send_private" or {*words} & KINDS["one"]:
        return "send_private"
    one_reader = {*fields.kinds["recipient"]} - FIELDS["many_readers"]
    return "send_private" if deed == "either" and one_reader else "send_public"


def _weigh_description(reading: _Reading, description: object) -> None:
    """Raise the category if the description's first word says that the tool destroys or publishes."""
    begins = deed_of_sentence(description) if isinstance(description, str) else None
    if begins is not None:
        category, word = begins
        reading.raise_to(
            category, f"'{word}' begins its description: {CATEGORIES[category].label}.", unsure=True
        )


def _weigh_hints(reading: _Reading, words: list[str], hints: Hints, *, unknown: bool) -> None:
    """Weigh the hints against the name; for an unknown deed, they are all there is."""
    category, reasons = reading.category, reading.reasons
    if _say_less(hints, category):
        reasons.append("The server says that it does less than its name: the higher price holds.")
        reading.unsure = True
    if category == "read" and not unknown:
        if hints.filled_in:
            reasons.append(
                "Its hints are those of the protocol's defaults or contradict each other: the name holds."
            )
            return
        if hints.read_only is False:
            reasons.append("The server says that it isn't read-only, and is believed.")
            reading.unsure, unknown = True, True
    if unknown or hints.destructive is True:
        _believe(reading, hints)
    if unknown and hints.read_only is not True and looks_destructive(words):
        reading.raise_to("delete", "Its name is about all of something, or something precious.", unsure=True)


def _say_less(hints: Hints, category: str) -> bool:
    """Return whether the hints say that a tool does less than the category of its name."""
    only_reads = category != "read" and hints.read_only is True
    return only_reads or (category == "delete" and hints.destructive is False)


def _believe(reading: _Reading, hints: Hints) -> None:
    """Raise the category to that of the hints."""
    category, says, guessed = hints.category()
    reading.unsure = reading.unsure or guessed
    reading.reasons.append(f"The server says that it {says}.")
    reading.raise_to(category, f"It counts as: {CATEGORIES[category].label}.")


def _weigh_fields(reading: _Reading, hints: Hints, fields: Fields, *, deletes: bool) -> None:
    """Raise the category for fields that hold code, decide who sees it, sign, or force."""
    kinds, category = fields.kinds, reading.category
    if kinds["code"] and not (category == "read" and hints.read_only is True):
        field = kinds["code"][0]
        reading.raise_to("delete", f"Its field '{field}' is executed, and can hold anything.", unsure=True)
    if reading.category == "read":
        return
    if kinds["visibility"] and not deletes:
        field = kinds["visibility"][0]
        reading.raise_to("send_public", f"Its field '{field}' decides who sees it: perhaps everybody.")
    if kinds["signing"]:
        field = kinds["signing"][0]
        reading.raise_to("delete", f"Its field '{field}' lets it move what its owner has, for good.")
    if category == "send_private" and "force" in kinds["force"]:
        reading.raise_to("delete", "Its field 'force' overrides what others have.")


# -- the ratings ---------------------------------------------------------------------------------


def _ratings(
    category: str, words: list[str], hints: Hints, fields: Fields, reasons: list[str]
) -> tuple[float, ...]:
    """Return the category's ratings, raised by one for each thing that is known or can't be excluded."""
    rating = dict(zip(DIMENSIONS, map(float, CATEGORIES[category].ratings), strict=True))
    acts, kinds = category != "read", fields.kinds
    only_adds = hints.destructive is False or category == "delete"
    many = bool(kinds["several"]) or not KINDS["many"].isdisjoint(words)
    for holds, reason, dimensions in (
        (hints.open_world is not False, "may reach the outside world", ["exposure"]),
        (fields.required >= _MANY_REQUIRED, f"requires {fields.required} fields", ["commitment"]),
        (acts and hints.idempotent is not True, "may do more when called again", ["commitment"]),
        (acts and not only_adds, "may do more than add", ["reversibility"]),
        (acts and kinds["recipient"], "has a field for its readers", ["exposure", "attention"]),
        (acts and kinds["force"], "has a field that overrides a safeguard", ["consequence", "reversibility"]),
        (acts and many, "acts on many at once", ["consequence"]),
    ):
        if holds:
            reasons.append(f"It {reason} ({', '.join(dimensions)} +1).")
            for dimension in dimensions:
                rating[dimension] = min(rating[dimension] + 1.0, HIGHEST)
    return tuple(rating.values())


def _most_expensive(categories: Iterable[str]) -> str:
    return max(categories, key=_RANK.__getitem__)

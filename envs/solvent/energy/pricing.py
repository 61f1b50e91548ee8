"""Price tools: category, cost within the category's range, floor and contexts.

Mechanism (source: *Action Cost: The Energy Model*, "MCP Tool Mapping"). A tool belongs to one of six categories, each
with a range of costs. Five ratings from 0 to 4, which price the lab's own verbs too, place it in the range:

    cost = clip(base_cost(ratings), low, high)

A category's own ratings give the low end of its range, and what is known about the tool raises them: the annotations of
the Model Context Protocol, the fields of the input schema, and the name, read as verb and object with the word tables
in ``words.toml``. The description is not read, because it is written to persuade. All of it comes from an untrusted
server, so a hint can make a tool more expensive than its name, never cheaper; of two readings the more expensive holds;
and a tool of unknown effect counts as destructive.

Known approximation: a server whose name and hints both lie is believed. English words, and no grammar but their order.
"""

from __future__ import annotations

import dataclasses
import re
import tomllib
import unicodedata
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

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
_LONGEST, _PLAIN = 1000, 128
"""Characters of the longest name that is read, and of the longest that the protocol recommends."""

_WORDS = tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))
_WEIGHTY = [
    ({*row["verbs"].split()}, {*row["objects"].split()}, row["does"]) for row in _WORDS.pop("weighty")
]
_KINDS, _FIELDS = (
    {kind: frozenset(words.split()) for kind, words in _WORDS[table].items()} for table in ("words", "fields")
)
_VERBS, _ALONE = (
    {word: does for does, words in _WORDS[table].items() for word in words.split()}
    for table in ("verbs", "alone")
)


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
    given: object = name
    if not (isinstance(given, str) and given.strip() and len(given) <= _LONGEST):
        got = f"{len(given)} characters" if isinstance(given, str) else type(given).__name__
        raise ValueError(f"name: got {got}; allowed: a text of 1 to {_LONGEST} characters, not only blanks")
    tool = _Described(name, annotations, schema)
    category, unsure = tool.category()
    ratings, reasons = tool.ratings(category), tool.reasons
    row, contexts = CATEGORIES[category], CATEGORIES[category].contexts
    if category == "modify" and tool.idempotent is True and tool.open_world is False:
        contexts = BOTH
        reasons.append("It can be repeated without harm and reaches nothing outside: allowed in heartbeats.")
    cost = min(max(base_cost(ratings), row.low), row.high)
    reasons.append(f"Cost: {cost:g}, in the range {row.low:g} to {row.high:g} of its category.")
    factors = _factors(ratings, row.low, row.high)
    return ToolEnergy(name, category, cost, row.floor, factors, contexts, tuple(reasons), unsure)


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


# -- words ---------------------------------------------------------------------------------------


def _verb(word: str) -> str | None:
    """Return the deed of a verb; ``un`` before it takes it back, ``re`` does it again."""
    does = _VERBS.get(word) or _VERBS.get(word[2:])
    if word in _VERBS:
        return does
    if does in (None, "read", "untold") or word[:2] not in ("un", "re"):
        return None
    return "modify" if word.startswith("un") or does == "create" else does


def _words_of(name: str) -> list[str]:
    """Split a name into lower-case words, at changes of case, between letters and digits, and at other signs."""
    plain = unicodedata.normalize("NFKD", name)
    plain = "".join(ch for ch in plain if unicodedata.category(ch) not in ("Mn", "Cf", "Cc"))
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", plain)
    return re.findall(r"[^\W\d_]+|\d+", spaced.casefold())


def _parts(words: list[str], kind: str) -> list[list[str]]:
    """Split at the words of a kind, such as prepositions."""
    parts: list[list[str]] = [[]]
    for word in words:
        if word in _KINDS[kind]:
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


def _deeds(words: list[str], *, versioned: bool) -> dict[str, str]:
    """Return what a name's words say that it does: deeds, each with its word."""
    deeds: dict[str, str] = {}
    for i, clause in enumerate(_parts(words, "and")):
        found = _deeds_of_clause(clause, versioned=versioned or not _KINDS["revisions"].isdisjoint(words))
        if not found and clause and i:  # a second deed that can't be read could be anything
            found = {"untold": clause[0]}
        deeds = found | deeds
    return deeds


def _deeds_of_clause(clause: list[str], *, versioned: bool) -> dict[str, str]:
    if len(clause) == 1 and clause[0] in _ALONE:
        return {_ALONE[clause[0]]: clause[0]}
    known = _known_verbs(clause, versioned=versioned)
    if not known:
        return {}
    (at, does), last, nouns = next(iter(known.items())), clause[-1], _KINDS["noun"]
    first, objects = clause[at], clause[at + 1 :]
    found = {verb: clause[i] for i, verb in known.items() if clause[i] in _KINDS["anywhere"]}
    reads = last in _KINDS["looking"] or (
        last in _KINDS["shows"] and does in ("create", "delete", "anything")
    )
    if first in nouns and reads and not found:  # email_search, order_status
        return {"read": last}
    # The direct object and those after prepositions, empty if they are only about their first noun.
    phrases = [
        [] if part and part[-1] in _KINDS["about"] else part
        for part in _parts(objects or clause[:at], "preposition")
    ]
    found = (_weight(first, does, phrases) or {does: first}) | found
    if first in nouns and last not in nouns and len(clause) - 1 in known:
        found.setdefault(known[len(clause) - 1], last)  # follow_request_authorize
    makes = does in ("create", "anything", "untold") and _KINDS["drafting"].isdisjoint(clause)
    if objects and (makes or does.startswith(("send", "either"))):
        for word in phrases[0]:
            if word in _KINDS["message"]:  # create_post
                found.setdefault(_VERBS[word], word)
    return found


def _known_verbs(clause: list[str], *, versioned: bool) -> dict[int, str]:
    """Return the deeds of the words that are verbs here, by place."""
    found: dict[int, str] = {}
    for i, word in enumerate(clause):
        does, ends = _verb(word), i == len(clause) - 1
        if word in _KINDS["weak"] and not ends:
            continue
        if word == "checkout" and versioned:
            does = "modify"
        elif word in _KINDS["noun"] and ends and i and not found:
            # frobnicate_branch: the noun of a verb that isn't known, unless it is dear itself
            dear = does in ("either", "send_public", "delete", "anything")
            does = does if dear or clause[i - 1] in _KINDS["revisions"] else None
        if does:
            found[i] = does
    return found


def _weight(first: str, does: str, phrases: list[list[str]]) -> dict[str, str]:
    """Return the deed of a verb that is weighty with its objects: ``create_order`` moves money."""
    everything = {word for phrase in phrases for word in phrase}
    for verbs, objects, becomes in _WEIGHTY:
        # resolve_issue_by_id: what only reads, reads its direct object
        among = objects.intersection(phrases[0] if becomes == "read" and phrases[0] else everything)
        if among and verbs & {first, does}:
            return {becomes: f"{first} {min(among)}"}
    return {}


def _is_disguised(name: str) -> bool:
    """Return whether a name has hidden characters, mixes Latin letters with look-alikes, or is very long."""
    if len(name) > _PLAIN or any(unicodedata.category(ch).startswith("C") for ch in name):
        return True
    letters = filter(str.isalpha, unicodedata.normalize("NFKD", name))
    scripts = {unicodedata.name(ch, "?").split()[0] for ch in letters}
    return "LATIN" in scripts and not scripts.isdisjoint({"CYRILLIC", "GREEK", "CHEROKEE"})


# -- a description -------------------------------------------------------------------------------


class _Described:
    """What a server says of a tool: words of its name, hints, fields by kind, deeds among their choices."""

    def __init__(self, name: str, annotations: object, schema: object) -> None:
        self.reasons: list[str] = []
        self.disguised, self.words = _is_disguised(name), _words_of(name)
        names = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
        get = annotations.get if isinstance(annotations, Mapping) else partial(getattr, annotations)
        hints = [hint if isinstance(hint := get(one, None), bool) else None for one in names]
        self.read_only, self.destructive, self.idempotent, self.open_world = hints
        schema = schema if isinstance(schema, Mapping) else {}
        properties, required = schema.get("properties"), schema.get("required")
        self.required = len(required) if isinstance(required, list | tuple) else 0
        kinds = {
            "_".join(_words_of(str(key)[:_LONGEST])): kind if isinstance(kind, Mapping) else {}
            for key, kind in (properties.items() if isinstance(properties, Mapping) else ())
        }
        choices = {
            name: [one for one in kind["enum"] if isinstance(one, str)]
            for name, kind in kinds.items()
            if isinstance(kind.get("enum"), list | tuple)
        }
        fields = {kind: words & {*kinds} for kind, words in _FIELDS.items()}
        shown = _FIELDS["visible_choice"]
        fields["visibility"] |= {name for name, said in choices.items() if shown & {*map(str.casefold, said)}}
        fields["several"] |= {name for name in fields["recipient"] if kinds[name].get("type") == "array"}
        self.fields = {kind: sorted(names) for kind, names in fields.items()}
        versioned = bool(fields["revision"])
        self.deeds = _deeds(self.words, versioned=versioned)
        for name in fields["deed"]:  # a tool of many deeds, one of them in its field "action"
            for choice in choices.get(name, ()):
                found = _deeds(_words_of(choice), versioned=versioned)
                self.deeds |= {does: word for does, word in found.items() if does != "untold"}

    def category(self) -> tuple[str, bool]:
        """Return the category, and whether it is the most expensive of several readings."""
        by_name, fields, say = self._by_name(), self.fields, self.reasons.append
        category, denied = by_name or "read", by_name == "read" and self.read_only is False
        tamer = (category != "read" and self.read_only is True) or (
            by_name == "delete" and self.destructive is False
        )
        if tamer:
            say("The server says that it does less than its name: the higher price holds.")
        if denied:
            say("The server says that it isn't read-only, and is believed.")
        unsure, untold = tamer or denied, by_name is None or "untold" in self.deeds
        if untold or denied or (self.destructive is True and _RANK[category] < _RANK["delete"]):
            hinted, reason, guessed = self._by_hints()
            say(f"The server says that it {reason}.")
            category, unsure = _dearest([category, hinted]), unsure or guessed
        if self.disguised:
            category, unsure = _dearest([category, "delete"]), True
            reason = "Its name has hidden or look-alike characters, or is very long: not believed."
            self.reasons.insert(0, reason)
        runs = not (category == "read" and self.read_only is True) and fields["code"]
        acts = category != "read" or runs
        shows = acts and by_name != "delete" and fields["visibility"]
        forces = category == "send_private" and "force" in fields["force"]
        for named, least, does in (
            (runs, "delete", "is executed, and can hold anything"),
            (shows, "send_public", "decides who sees it: perhaps everybody"),
            (acts and fields["signing"], "delete", "lets it move what its owner has, for good"),
            (forces and ["force"], "delete", "overrides what others have"),
        ):
            if named and _RANK[category] < _RANK[least]:
                say(f"Its field '{named[0]}' {does}.")
                category, unsure = least, unsure or named is runs
        return category, unsure

    def _by_name(self) -> str | None:
        found = {self._audience(does, word): word for does, word in self.deeds.items() if does != "untold"}
        if not found:
            self.reasons.append("No verb in its name says what it does.")
            return None
        category = _dearest(found)
        self.reasons.append(f"'{found[category]}' in its name says: {CATEGORIES[category].label}.")
        return category

    def _audience(self, does: str, word: str) -> str:
        """Resolve who reads a message: by a word of the name, else by the fields, else everybody."""
        if not does.startswith(("send", "either")):
            return "delete" if does == "anything" else does
        if ({*self.words} - {word}) & _KINDS["all"]:
            return "send_public"
        if does == "send_private" or {*self.words} & _KINDS["one"]:
            return "send_private"
        one_reader = {*self.fields["recipient"]} - _FIELDS["many_readers"]
        return "send_private" if does == "either" and one_reader else "send_public"

    def _by_hints(self) -> tuple[str, str, bool]:
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

    def ratings(self, category: str) -> tuple[float, ...]:
        """Return the category's ratings, raised by one for each thing that is known or can't be excluded."""
        rating = dict(zip(DIMENSIONS, map(float, CATEGORIES[category].ratings), strict=True))
        acts, fields = category != "read", self.fields
        adds = self.destructive is False or category == "delete"
        many = fields["several"] or {*self.words} & _KINDS["many"]
        for holds, reason, dimensions in (
            (self.open_world is not False, "may reach the outside world", "exposure"),
            (self.required >= _MANY_REQUIRED, f"requires {self.required} fields", "commitment"),
            (acts and self.idempotent is not True, "may do more when called again", "commitment"),
            (acts and not adds, "may do more than add", "reversibility"),
            (acts and fields["recipient"], "has a field for its readers", "exposure attention"),
            (acts and fields["force"], "has a field that overrides a safeguard", "consequence reversibility"),
            (acts and many, "acts on many at once", "consequence"),
        ):
            if holds:
                self.reasons.append(f"It {reason} ({dimensions.replace(' ', ', ')} +1).")
                for dimension in dimensions.split():
                    rating[dimension] = min(rating[dimension] + 1.0, HIGHEST)
        return tuple(rating.values())


def _dearest(categories: Iterable[str]) -> str:
    return max(categories, key=_RANK.__getitem__)

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
import functools
import re
import tomllib
import unicodedata
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from solvent.lab.mechanisms.energy import DIMENSIONS, HIGHEST, VERB_NAMES, EnergyParams, base_cost
from solvent.lab.settings import nearest
from solvent.lab.verbs import VERBS

__all__ = ["ACTION", "BOTH", "CATEGORIES", "Category", "ToolEnergy", "energy_for_tool", "energy_for_verb"]

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
"""The category of actions that reach nobody and destroy nothing, such as most verbs of the lab."""

_RANK = {name: rank for rank, name in enumerate(CATEGORIES)}
_MANY_REQUIRED = 4
_LONGEST, _PLAIN = 1000, 128
"""Characters of the longest name that is read, and of the longest that the protocol recommends."""


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
    if not (isinstance(name, str) and name.strip() and len(name) <= _LONGEST):
        got = f"{len(name)} characters" if isinstance(name, str) else type(name).__name__
        raise ValueError(f"name: got {got}; allowed: a text of 1 to {_LONGEST} characters, not only blanks")
    reasons: list[str] = []
    names = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
    get = annotations.get if isinstance(annotations, Mapping) else functools.partial(getattr, annotations)
    hints = _Hints(*(hint if isinstance(hint := get(one, None), bool) else None for one in names))
    fields = _fields(schema)
    category, unsure = _category(name, hints, fields, reasons)
    ratings = _ratings(category, name, hints, fields, reasons)
    row = CATEGORIES[category]
    contexts = row.contexts
    if category == "modify" and hints.idempotent is True and hints.open_world is False:
        contexts = BOTH
        reasons.append("It can be repeated without harm and reaches nothing outside: allowed in heartbeats.")
    cost = min(max(base_cost(ratings), row.low), row.high)
    reasons.append(f"Cost: {cost:g}, in the range {row.low:g} to {row.high:g} of its category.")
    factors = _factors(ratings, row.low, row.high)
    return ToolEnergy(name, category, cost, row.floor, factors, contexts, tuple(reasons), unsure)


def energy_for_verb(verb: str, params: EnergyParams | None = None) -> ToolEnergy:
    """Price one of the lab's own verbs by the ratings or the price list in ``params``.

    Raises:
        ValueError: the verb is unknown; the message names the nearest.
    """
    if verb not in VERB_NAMES:
        raise ValueError(f"verb: got {verb!r}" + nearest(str(verb), VERB_NAMES))
    params = params if params is not None else EnergyParams()
    audience = next(spec.audience for spec in VERBS.values() if spec.name == verb)
    return ToolEnergy(
        name=verb,
        category=f"send_{audience}" if audience else ACTION,
        energy_cost=params.base_cost(verb),
        energy_cost_floor=params.floor(verb) or None,
        energy_cost_factors=_factors(getattr(params.ratings, verb), 0.0, params.ceiling),
        allowed_contexts=CHAT if verb in params.chat_only else BOTH,
    )


def _factors(ratings: Iterable[float], low: float, high: float) -> dict[str, float]:
    ratings = tuple(map(float, ratings))
    rated = dict(zip(DIMENSIONS, ratings, strict=True))
    return {"base": base_cost(ratings)} | rated | {"low": low, "high": high}


# -- words ---------------------------------------------------------------------------------------


class _Verb(NamedTuple):
    """The deed that a word stands for, and whether it is a verb anywhere in a name."""

    does: str
    always: bool


class _Weighty(NamedTuple):
    verbs: frozenset[str]
    objects: frozenset[str]
    does: str


@functools.cache
def _document() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))


@functools.cache
def _set(kind: str, table: str = "words") -> frozenset[str]:
    return frozenset(_document()[table][kind].split())


@functools.cache
def _nouns() -> frozenset[str]:
    """Return words that are nouns before a verb that comes last, and after a verb that isn't known."""
    return _set("noun") | _set("message")


@functools.cache
def _verbs() -> dict[str, _Verb]:
    verbs = {}
    for does, words in _document()["sometimes"].items():
        verbs |= {word: _Verb(does, always=False) for word in words.split()}
    for does, words in _document()["always"].items():
        for word in words.split():
            stem = word.removesuffix("e")
            forms = (word, f"{word}s", f"{stem}ing", f"{word}{word[-1]}ing")
            dear = does.startswith(("delete", "send"))
            verbs |= {form: _Verb(does, always=True) for form in (forms if dear else (word,))}
    return verbs


@functools.cache
def _weighty() -> tuple[_Weighty, ...]:
    rows = _document()["weighty"]
    return tuple(
        _Weighty(frozenset(row["verbs"].split()), frozenset(row["objects"].split()), row["does"])
        for row in rows
    )


def _verb_of(word: str) -> _Verb | None:
    """Return what a word stands for; ``un`` before a verb takes it back, ``re`` does it again."""
    if word in _verbs():
        return _verbs()[word]
    base = _verbs().get(word[2:])
    if base is None or base.does in ("read", "untold") or word[:2] not in ("un", "re"):
        return None
    return _Verb("modify" if word.startswith("un") or base.does == "create" else base.does, always=False)


def _words_of(name: str) -> list[str]:
    """Split a name into lower-case words, at changes of case, between letters and digits, and at other signs."""
    plain = unicodedata.normalize("NFKD", name)
    plain = "".join(ch for ch in plain if unicodedata.category(ch) not in ("Mn", "Cf", "Cc"))
    plain = re.sub("[&+]", " and ", plain)
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", plain)
    return re.findall(r"[^\W\d_]+|\d+", spaced.casefold())


def _deeds(words: list[str], *, versioned: bool) -> dict[str, str]:
    """Return what a name's words say that it does: deeds, each with its word."""
    versioned = versioned or not _set("revisions").isdisjoint(words)
    deeds: dict[str, str] = {}
    clauses: list[list[str]] = [[]]
    for word in words:
        if word in _set("and"):
            clauses.append([])
        else:
            clauses[-1].append(word)
    for i, clause in enumerate(clauses):
        found = _deeds_of_clause(clause, versioned=versioned)
        if not found and clause and i:  # a second deed that can't be read could be anything
            found = {"untold": clause[0]}
        deeds = found | deeds
    return deeds


def _deeds_of_clause(clause: list[str], *, versioned: bool) -> dict[str, str]:
    while clause and (clause[-1] in _set("filler") or clause[-1].isdigit()):
        clause = clause[:-1]
    known = _known_verbs(clause, versioned=versioned)
    if not known:  # a verb and its object in one word: deletefile
        joined = {
            w: v.does for w, v in _verbs().items() if v.always and v.does.startswith(("delete", "send"))
        }
        return {
            does: word
            for word in clause
            for verb, does in joined.items()
            if len(verb) > 3 and word.startswith(verb) and len(word) > len(verb) + 2
        }
    (at, head), last = next(iter(known.items())), clause[-1]
    first, objects = clause[at], clause[at + 1 :]
    # get_update has a noun, list_update can be an update of a list
    gets = head == _Verb("read", always=True) and first != "list"
    nouns = {"read", "create", "modify"} if gets else {"read"}
    always = {v.does: clause[i] for i, v in known.items() if v.always and v.does not in nouns}
    if first in _nouns() and not always and _reads(last, head):
        return {"read": last}
    if clause == [first] and first in _set("starting"):
        return {"anything": first}
    weight = _weight(first, head.does, objects or clause[:at], {"force", "forced"} & {*clause})
    found = (weight or {head.does: first}) | always
    if first in _nouns() and last not in _nouns() and len(clause) - 1 in known:
        found.setdefault(known[len(clause) - 1].does, last)  # follow_request_authorize
    makes = head.does in ("create", "anything", "untold") and _set("drafting").isdisjoint(clause)
    if makes or head.does.startswith(("send", "either")):
        for word in _direct(objects):
            if word in _set("message"):  # create_post
                found.setdefault(_verbs()[word].does, word)
    return found


def _known_verbs(clause: list[str], *, versioned: bool) -> dict[int, _Verb]:
    """Return the words that are verbs here, by place."""
    found: dict[int, _Verb] = {}
    for i, word in enumerate(clause):
        verb, ends = _verb_of(word), i == len(clause) - 1
        if word in _set("weak") and not ends:
            continue
        if word == "type" and clause == ["type"]:  # of a key; in a browser it types something
            verb = _Verb("read", always=False)
        elif word == "checkout" and versioned:
            verb = _Verb("modify", always=False)
        elif word in _nouns() and ends and i and not found:
            if word == "log":
                verb = _Verb("read", always=False)
            elif clause[i - 1] not in _set("revisions"):
                # frobnicate_branch: the noun of a verb that isn't known, unless it is dear itself
                dear = ("either", "send_public", "delete", "anything")
                verb = verb if verb and verb.does in dear else None
        if verb:
            found[i] = verb
    return found


def _reads(last: str, head: _Verb) -> bool:
    """Return whether a last word makes the noun before it the object of reading: ``email_search``, ``order_status``."""
    always = _verbs().get(last) == _Verb("read", always=True)
    return always or (
        last in _set("weak") | {"log", "preview"} and head.does in ("create", "delete", "anything")
    )


def _direct(words: list[str]) -> list[str]:
    """Return the direct object: the words up to a preposition, unless they are only about their first noun."""
    ends = (i for i, word in enumerate(words) if word in _set("preposition"))
    direct = words[: next(ends, len(words))]
    return [] if direct and direct[-1] in _set("about") else direct


def _weight(first: str, does: str, words: list[str], force: set[str]) -> dict[str, str]:
    """Return the deed of a verb that is weighty with its objects: ``create_order`` moves money."""
    objects = set(force)
    phrase: list[str] = []
    for word in [*words, "to"]:
        if word in _set("preposition"):
            objects |= {*_direct(phrase)}
            phrase = []
        else:
            phrase.append(word)
    # update_campaign_status: a status can start what it belongs to
    verbs = {first, does, "activate"} if does == "modify" and "status" in objects else {first, does}
    for row in _weighty():
        # resolve_issue_by_id: what only reads, reads its direct object
        among = row.objects.intersection((row.does == "read" and _direct(words)) or objects)
        if among and row.verbs & verbs:
            return {row.does: f"{first} {min(among)}"}
    return {}


def _is_disguised(name: str) -> bool:
    """Return whether a name has hidden characters, mixes Latin letters with look-alikes, or is very long."""
    if len(name) > _PLAIN or any(unicodedata.category(ch).startswith("C") for ch in name):
        return True
    scripts = {
        unicodedata.name(ch, "?").split()[0] for ch in unicodedata.normalize("NFKD", name) if ch.isalpha()
    }
    return "LATIN" in scripts and not scripts.isdisjoint({"CYRILLIC", "GREEK", "CHEROKEE"})


# -- fields --------------------------------------------------------------------------------------


class _Hints(NamedTuple):
    read_only: bool | None
    destructive: bool | None
    idempotent: bool | None
    open_world: bool | None


class _Fields(NamedTuple):
    """The names of the fields of a tool by kind, the deeds among their choices, and how many are required."""

    of: Mapping[str, tuple[str, ...]]
    deeds: tuple[str, ...]
    required: int

    def __getitem__(self, kind: Any) -> tuple[str, ...]:  # type: ignore[override]
        return self.of.get(kind, ())


def _fields(schema: object) -> _Fields:
    schema = schema if isinstance(schema, Mapping) else {}
    properties, required = schema.get("properties"), schema.get("required")
    kinds = {
        "_".join(_words_of(str(key)[:_LONGEST])): kind if isinstance(kind, Mapping) else {}
        for key, kind in (properties.items() if isinstance(properties, Mapping) else ())
    }
    choices = {
        name: [one for one in kind["enum"] if isinstance(one, str)]
        for name, kind in kinds.items()
        if isinstance(kind.get("enum"), list | tuple)
    }
    of = {kind: _set(kind, "fields") & {*kinds} for kind in _document()["fields"]}
    shown = _set("visible_choice", "fields")
    of["visibility"] |= {name for name, said in choices.items() if shown & {one.casefold() for one in said}}
    of["several"] |= {name for name in of["recipient"] if kinds[name].get("type") == "array"}
    if "amount" in kinds:
        of["signing"] |= of["payee"]
    return _Fields(
        {kind: tuple(sorted(names)) for kind, names in of.items()},
        tuple(word for name in of["deed"] for word in choices.get(name, ())),
        len(set(map(str, required))) if isinstance(required, list | tuple) else 0,
    )


# -- the category --------------------------------------------------------------------------------


def _category(name: str, hints: _Hints, fields: _Fields, reasons: list[str]) -> tuple[str, bool]:
    """Return the category of a tool, and whether it is the most expensive of several readings."""
    words, versioned = _words_of(name), bool(fields["revision"])
    deeds = _deeds(words, versioned=versioned)
    for choice in fields.deeds:  # a tool of many deeds, one of them in its field "action"
        deeds |= {
            does: word for does, word in _deeds(_words_of(choice), versioned=versioned).items()
            if does != "untold"
        }  # fmt: skip
    by_name = _by_name(deeds, {*words}, fields, reasons)
    if _is_disguised(name):
        reasons.insert(0, "Its name has hidden or look-alike characters, or is very long: not believed.")
        category, unsure = _dearest([by_name or "delete", "delete"]), True
    else:
        category, unsure = _with_hints(by_name, hints, reasons)
        if by_name is not None and "untold" in deeds:
            guess, guessed = _by_hints(hints, reasons)
            category, unsure = _dearest([category, guess]), unsure or guessed
    trusted = category == "read" and hints.read_only is True
    if fields["code"] and not trusted and _RANK[category] < _RANK["delete"]:
        reasons.append(f"Its field '{fields['code'][0]}' is executed, and can hold anything.")
        category, unsure = "delete", True
    return _with_fields(category, by_name, {*words}, fields, reasons), unsure


def _by_name(deeds: Mapping[str, str], words: set[str], fields: _Fields, reasons: list[str]) -> str | None:
    found: dict[str, str] = {}
    for does, word in deeds.items():
        if does != "untold":
            found.setdefault(_audience(does, words - {word}, words, fields), word)
    if not found:
        reasons.append("No verb in its name says what it does.")
        return None
    category = _dearest(found)
    reasons.append(f"'{found[category]}' in its name says: {CATEGORIES[category].label}.")
    return category


def _audience(does: str, others: set[str], words: set[str], fields: _Fields) -> str:
    """Resolve who reads a message: by a word of the name, else by the fields, else everybody."""
    if not does.startswith("send") and does != "either":
        return "delete" if does == "anything" else does
    if fields["visibility"] or others & _set("all"):
        return "send_public"
    if does == "send_private" or words & _set("one"):
        return "send_private"
    one_reader = {*fields["recipient"]} - _set("many_readers", "fields")
    return "send_private" if does == "either" and one_reader else "send_public"


def _with_hints(by_name: str | None, hints: _Hints, reasons: list[str]) -> tuple[str, bool]:
    if by_name is None:
        return _by_hints(hints, reasons)
    if by_name == "read" and hints.read_only is False:
        reasons.append("The server says that it isn't read-only, and is believed.")
        return _by_hints(hints, reasons)[0], True
    if hints.destructive is True and _RANK[by_name] < _RANK["delete"]:
        reasons.append("The server says that it can destroy, which costs more than its name says.")
        return "delete", hints.read_only is True
    unlike = hints.read_only is True if by_name != "read" else hints.destructive is True
    if unlike or (by_name == "delete" and hints.destructive is False):
        reasons.append("The server says that it does less than its name says: the higher price holds.")
        return by_name, True
    return by_name, False


def _by_hints(hints: _Hints, reasons: list[str]) -> tuple[str, bool]:
    """Return the category by the hints alone, and whether it is a guess."""
    if hints.destructive is True:
        reasons.append("The server says that it can destroy (destructiveHint).")
        return "delete", hints.read_only is True
    if hints.read_only is True:
        reasons.append("The server says that it only reads (readOnlyHint).")
        return "read", False
    if hints.destructive is None:
        reasons.append("Nothing says that it leaves existing data alone: it counts as destructive.")
        return "delete", True
    if hints.open_world is False:
        reasons.append("The server says that it only adds and reaches nothing outside: a change.")
        return "modify", True
    reasons.append("The server says that it only adds, but reaches the outside world: a message.")
    return "send_private", True


def _with_fields(
    category: str, by_name: str | None, words: set[str], fields: _Fields, reasons: list[str]
) -> str:
    if category == "read":
        return category
    if fields["visibility"] and by_name != "delete":
        reasons.append(f"Its field '{fields['visibility'][0]}' decides who sees it: perhaps everybody.")
        return "send_public"
    if fields["signing"] and _RANK[category] < _RANK["delete"]:
        reasons.append(f"Its field '{fields['signing'][0]}' lets it move what its owner has, for good.")
        return "delete"
    addressed = fields["address"] and fields["text"] and not words & _set("drafting")
    if category in ("create", "modify") and addressed:
        reasons.append("It has fields for an address and a text, so it can send messages.")
        category = "send_private"
    if category == "send_private" and "force" in fields["force"]:
        reasons.append("Its field 'force' overrides what others have.")
        return "delete"
    return category


def _ratings(
    category: str, name: str, hints: _Hints, fields: _Fields, reasons: list[str]
) -> tuple[float, ...]:
    """Return the category's ratings, raised by one for each thing that is known or can't be excluded."""
    rating = dict(zip(DIMENSIONS, map(float, CATEGORIES[category].ratings), strict=True))
    reads = category == "read"
    many = fields["several"] or not _set("many").isdisjoint(_words_of(name))
    for holds, reason, dimensions in (
        (hints.open_world is not False, "It may reach the outside world", ("exposure",)),
        (fields.required >= _MANY_REQUIRED, f"It requires {fields.required} fields", ("commitment",)),
        (not reads and hints.idempotent is not True, "A second call may do more", ("commitment",)),
        (
            not reads and hints.destructive is not False and category != "delete",
            "It may do more than add",
            ("reversibility",),
        ),
        (not reads and fields["recipient"], "A field names its readers", ("exposure", "attention")),
        (not reads and fields["force"], "A field overrides a safeguard", ("consequence", "reversibility")),
        (not reads and many, "It acts on many at once", ("consequence",)),
    ):
        if holds:
            reasons.append(f"{reason} ({', '.join(dimensions)} +1).")
            for dimension in dimensions:
                rating[dimension] = min(rating[dimension] + 1.0, HIGHEST)
    return tuple(rating.values())


def _dearest(categories: Iterable[str]) -> str:
    return max(categories, key=_RANK.__getitem__)

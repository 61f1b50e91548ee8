"""Read what a tool's name says: verb, object and destination.

``tool_words`` says what the words mean. In a clause the first verb counts, and every word that is a verb everywhere;
its object is what follows, up to a preposition. A verb that is cheap alone can be weighty with its object.

Known approximation: English words only, and no grammar beyond word order.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from solvent.energy.tool_words import (
    ABOUT,
    ANYTHING,
    DRAFTING,
    EITHER,
    LEXICON,
    MESSAGES,
    NOUNS,
    REVISIONS,
    STARTING,
    UNTOLD,
    WEIGHTY,
    Word,
    split_words,
    verb_of,
)

__all__ = ["LONGEST_NAME", "Reading", "is_disguised", "read_name", "words_of"]

LONGEST_NAME = 1000
"""Longest name that is read, in characters. The protocol recommends at most ``PLAIN_NAME``."""
PLAIN_NAME = 128

_AND = split_words("and or then also plus")
_PREPOSITIONS = split_words("to for from by in into of with on at as via using")
_FILLERS = split_words("tool tools wrapper api async batch bulk multiple now new v")
_FORCE = split_words("force forced")
_WEAK = split_words("status info history")
"""Nouns that read if they come last (``order_status``) and say nothing before a verb (``status_reblog``)."""

_CONDENSED = tuple(
    sorted(w for w, word in LEXICON.items() if word.always and word.does.startswith(("delete", "send")))
)
_SHORTEST, _REMAINDER = 4, 3


class Reading(NamedTuple):
    """The deeds in a name, each with its word, and whether a part of the name could mean anything."""

    deeds: tuple[tuple[str, str], ...]  # (deed, word)
    open_ended: bool
    drafting: bool
    words: frozenset[str]


def words_of(name: str) -> list[str]:
    """Split a name into lower-case words, at changes of case, between letters and digits, and at other signs."""
    plain = unicodedata.normalize("NFKD", name)
    plain = "".join(ch for ch in plain if unicodedata.category(ch) not in ("Mn", "Cf", "Cc"))
    plain = plain.replace("&", " and ").replace("+", " and ")
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", plain)
    return re.findall(r"[^\W\d_]+|\d+", spaced.casefold())


def read_name(name: str, *, versioned: bool = False) -> Reading:
    """Return the deeds in the words of ``name``; with ``versioned``, a check-out is one of version control."""
    words = words_of(name)
    versioned = versioned or not REVISIONS.isdisjoint(words)
    deeds: dict[str, str] = {}
    open_ended = False
    clauses: list[list[str]] = [[]]
    for word in words:
        if word in _AND:
            clauses.append([])
        else:
            clauses[-1].append(word)
    for i, clause in enumerate(clauses):
        found = _deeds(clause, versioned)
        if not found:
            found = {does: word for word in clause if (does := _condensed(word))}
        # A second deed that can't be read could be anything; a bare noun before the verb is harmless.
        open_ended |= UNTOLD in found or (not found and bool(clause) and i > 0)
        for does, word in found.items():
            if does != UNTOLD:
                deeds.setdefault(does, word)
    return Reading(
        tuple(sorted(deeds.items())),
        open_ended or not deeds,
        not DRAFTING.isdisjoint(words),
        frozenset(words),
    )


def _deeds(clause: list[str], versioned: bool) -> dict[str, str]:
    while clause and (clause[-1] in _FILLERS or clause[-1].isdigit()):
        clause = clause[:-1]
    known = _verbs(clause, versioned)
    if not known:
        return {}
    (at, head), last = next(iter(known.items())), clause[-1]
    first, rest = clause[at], _objects(clause[at + 1 :])
    # get_update has a noun, list_update can be an update of a list
    gets = head == Word("read", always=True) and first != "list"
    nouns = {"read", "create", "modify"} if gets else {"read"}
    always = {verb.does: clause[i] for i, verb in known.items() if verb.always and verb.does not in nouns}
    if first in NOUNS and not always and _reads(last, head):
        return {"read": last}
    if clause == [first] and first in STARTING:
        return {ANYTHING: first}
    objects = {word for phrase in rest for word in phrase} if clause[at + 1 :] else set(clause[:at])
    weight = _weight(first, head.does, rest[0], objects | (_FORCE & {*clause}))
    found = (weight or {head.does: first}) | always
    if first in NOUNS and last not in NOUNS and (verb := known.get(len(clause) - 1)) and verb.does != "read":
        found.setdefault(verb.does, last)  # follow_request_authorize
    for word, does in _messages(head.does, clause, rest):
        found.setdefault(does, word)
    return found


def _verbs(clause: list[str], versioned: bool) -> dict[int, Word]:
    """Return the words that are verbs here, by place."""
    found: dict[int, Word] = {}
    for i, word in enumerate(clause):
        verb, ends = verb_of(word), i == len(clause) - 1
        if word in _WEAK and not ends:
            continue
        if word == "checkout" and versioned:
            verb = Word("modify", always=False)
        elif word in NOUNS and ends and not found:
            if i > 0 and clause[i - 1] not in REVISIONS:
                # frobnicate_branch: the noun of a verb that isn't known, unless it is dear itself
                verb = verb if verb and verb.does in (EITHER, "send_public", "delete", ANYTHING) else None
            elif word == "log":
                verb = Word("read", always=False)
        if verb:
            found[i] = verb
    return found


def _reads(last: str, head: Word) -> bool:
    """Return whether a last word makes the noun before it the object of reading: ``email_search``, ``order_status``."""
    always = LEXICON.get(last) == Word("read", always=True)
    return always or (last in _WEAK | {"preview"} and head.does in ("delete", ANYTHING))


def _objects(words: list[str]) -> list[list[str]]:
    """Return the object and what follows each preposition, without compounds that are only about their first noun."""
    phrases: list[list[str]] = [[]]
    for word in words:
        if word in _PREPOSITIONS:
            phrases.append([])
        else:
            phrases[-1].append(word)
    return [phrase if phrase and phrase[-1] not in ABOUT else [] for phrase in phrases]


def _weight(first: str, does: str, direct: list[str], objects: set[str]) -> dict[str, str]:
    # update_campaign_status: a status can start what it belongs to
    verbs = {first, does, "activate"} if does == "modify" and "status" in objects else {first, does}
    for weighty in WEIGHTY:
        # resolve_issue_by_id: what only reads, reads its direct object
        among = weighty.objects.intersection(direct if weighty.does == "read" else objects)
        if among and not weighty.verbs.isdisjoint(verbs):
            return {weighty.does: f"{first} {min(among)}"}
    return {}


def _messages(does: str, clause: list[str], rest: list[list[str]]) -> list[tuple[str, str]]:
    """Return the messages among the objects: ``create_post``, ``send_tweet``, but not ``create_draft_post``."""
    makes = does in ("create", ANYTHING, UNTOLD) and DRAFTING.isdisjoint(clause)
    if not makes and not does.startswith("send"):
        return []
    return [(word, LEXICON[word].does) for word in rest[0] if word in MESSAGES]


def _condensed(word: str) -> str:
    """Return the deed of a word that joins a verb and its object: ``deletefile``."""
    for verb in _CONDENSED:
        if len(verb) >= _SHORTEST and word.startswith(verb) and len(word) >= len(verb) + _REMAINDER:
            return LEXICON[verb].does
    return ""


def is_disguised(name: str) -> bool:
    """Return whether a name has hidden characters, mixes Latin letters with look-alikes, or is very long."""
    if len(name) > PLAIN_NAME or any(
        unicodedata.category(ch) in ("Cc", "Cf", "Co", "Cn", "Cs") for ch in name
    ):
        return True
    letters = [ch for ch in unicodedata.normalize("NFKD", name) if ch.isalpha()]
    foreign = [
        ch for ch in letters if unicodedata.name(ch, "?").split()[0] in ("CYRILLIC", "GREEK", "CHEROKEE")
    ]
    return bool(foreign) and any(ch.isascii() for ch in letters)

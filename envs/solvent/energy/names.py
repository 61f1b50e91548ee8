"""Read the name of a tool: which deeds it says, as verbs with their objects.

A deed is a category of ``pricing.py``, or ``either`` (reaches one reader or all, as the fields say), ``anything``
(does what it is told) or ``untold`` (a verb that says nothing). ``words.toml`` has the words with their deeds. A name
is split into words, the words into clauses at *and*, and a clause is read in this order:

    1. a name of one word: a few words mean something else when they stand alone
    2. nouns only, as in ``workspace_symbols``: it reads
    3. a noun and a word of looking at its end, as in ``email_search``, or a read of what shows, as in
       ``get_purge_status``: it reads
    4. the first verb, with its objects: ``create_order`` moves money
    5. verbs that mean the same wherever they stand, as in ``message_delete``
    6. a verb at the end after a noun, as in ``follow_request_authorize``, and a message that is made or sent, as in
       ``create_post``

Known approximation: English words, and no grammar but their order.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from pathlib import Path
from typing import Any, NamedTuple

__all__ = [
    "FIELDS", "KINDS", "deed_of_sentence", "deeds_of_name", "is_disguised", "looks_destructive", "words_of",
]  # fmt: skip

_LONGEST_USUAL = 128
"""Characters of the longest name that the protocol recommends."""

_TABLES: dict[str, Any] = tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))


def _sets(table: dict[str, str]) -> dict[str, frozenset[str]]:
    return {kind: frozenset(words.split()) for kind, words in table.items()}


def _deed_by_word(table: dict[str, str]) -> dict[str, str]:
    return {word: deed for deed, words in table.items() for word in words.split()}


KINDS = _sets(_TABLES["words"])
"""Words of names by kind, such as prepositions."""
FIELDS = _sets(_TABLES["fields"])
"""Names of fields by kind, such as those for recipients."""
_VERBS = _deed_by_word(_TABLES["verbs"])
_ALONE = _deed_by_word(_TABLES["alone"])


class _Weighty(NamedTuple):
    """A deed that verbs have with some objects, or, with ``bulk``, with some objects of which all are meant."""

    verbs: frozenset[str]
    objects: frozenset[str]
    does: str
    bulk: bool


_WEIGHTY = [
    _Weighty(frozenset(row["verbs"].split()), frozenset(row["objects"].split()), row["does"], row.get("bulk", False))
    for row in _TABLES["weighty"]
]  # fmt: skip


def words_of(name: str) -> list[str]:
    """Split a name into lower-case words, at changes of case, between letters and digits, and at other signs."""
    text = unicodedata.normalize("NFKD", name)
    text = "".join(ch for ch in text if unicodedata.category(ch) not in ("Mn", "Cf", "Cc"))
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", text)
    return re.findall(r"[^\W\d_]+|\d+", spaced.casefold())


def is_disguised(name: str) -> bool:
    """Return whether a name has hidden characters, mixes Latin letters with look-alikes, or is very long."""
    if len(name) > _LONGEST_USUAL or any(unicodedata.category(ch).startswith("C") for ch in name):
        return True
    letters = filter(str.isalpha, unicodedata.normalize("NFKD", name))
    scripts = {unicodedata.name(ch, "?").split()[0] for ch in letters}
    return "LATIN" in scripts and not scripts.isdisjoint({"CYRILLIC", "GREEK", "CHEROKEE"})


def looks_destructive(words: list[str]) -> bool:
    """Return whether words name all of something, or something that is not easily replaced."""
    return not (KINDS["bulk"] | KINDS["precious"]).isdisjoint(words)


def deeds_of_name(words: list[str], *, versioned: bool) -> dict[str, str]:
    """Return the deeds that the words of a name say, each with the words that say it.

    ``versioned``: the tool is about a version control, where a checkout buys nothing.
    """
    versioned = versioned or not KINDS["revisions"].isdisjoint(words)
    deeds: dict[str, str] = {}
    for number, clause in enumerate(_split(words, "and")):
        read = _deeds_of_clause(clause, versioned=versioned)
        if not read and clause and number:  # a second deed that can't be read could be anything
            read = {"untold": clause[0]}
        deeds = read | deeds
    return deeds


def deed_of_sentence(text: str) -> tuple[str, str] | None:
    """Return what a description's first word destroys or publishes, as *Deletes*, and the word; None if nothing."""
    for word in words_of(text[:200])[:1]:
        for verb in (word, word.removesuffix("s"), word.removesuffix("es")):
            if verb in KINDS["anywhere"] and _VERBS[verb] in ("delete", "send_public"):
                return _VERBS[verb], word
    return None


def _split(words: list[str], kind: str) -> list[list[str]]:
    """Split at the words of a kind, such as prepositions."""
    parts: list[list[str]] = [[]]
    for word in words:
        if word in KINDS[kind]:
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


def _deed_of_verb(word: str) -> str | None:
    """Return the deed of a verb; ``un`` before it takes it back, ``re`` does it again."""
    if word in _VERBS:
        return _VERBS[word]
    again = _VERBS.get(word[2:]) if word.startswith(("un", "re")) else None
    if again in (None, "read", "untold"):
        return None
    return "modify" if word.startswith("un") or again == "create" else again


def _verbs_of_clause(clause: list[str], *, versioned: bool) -> dict[int, str]:
    """Return the deeds of the words that are verbs here, by place."""
    verbs: dict[int, str] = {}
    for place, word in enumerate(clause):
        is_last = place == len(clause) - 1
        deed = _deed_of_verb(word)
        if word in KINDS["weak"] and not is_last:
            continue
        if word == "checkout" and versioned:
            deed = "modify"
        elif word in KINDS["noun"] and is_last and place and not verbs:
            # frobnicate_branch: the noun of a verb that isn't known, unless it is expensive itself
            is_expensive = deed in ("either", "send_public", "delete", "anything")
            deed = deed if is_expensive or clause[place - 1] in KINDS["revisions"] else None
        if deed:
            verbs[place] = deed
    return verbs


def _deeds_of_clause(clause: list[str], *, versioned: bool) -> dict[str, str]:
    if len(clause) == 1 and clause[0] in _ALONE:
        return {_ALONE[clause[0]]: clause[0]}
    if _is_of_things(clause):
        return {"read": clause[-1]}
    verbs = _verbs_of_clause(clause, versioned=versioned)
    if not verbs:
        return {}
    return _look_of_clause(clause, verbs) or _deeds_of_verbs(clause, verbs)


def _is_of_things(clause: list[str]) -> bool:
    """Return whether a clause has nouns only, none of which is a verb of another deed, as in wallet_balance."""
    only_reads = all(_VERBS.get(word, "read") == "read" for word in clause)
    return bool(clause) and only_reads and KINDS["things"].issuperset(clause)


def _look_of_clause(clause: list[str], verbs: dict[int, str]) -> dict[str, str]:
    """Return the reading of a clause whose last word says that something is looked at; else nothing."""
    place, last = min(verbs), clause[-1]
    verb, deed = clause[place], verbs[place]
    if deed == "read" and last in KINDS["shows"]:  # get_purge_status
        return {"read": verb}
    shows = last in KINDS["shows"] and deed in ("create", "delete", "anything")  # order_status
    looks = last in KINDS["looking"] or shows
    return {"read": last} if verb in KINDS["noun"] and looks and not _explicit(clause, verbs) else {}


def _explicit(clause: list[str], verbs: dict[int, str]) -> dict[str, str]:
    """Return the deeds of verbs that mean the same wherever they stand."""
    return {deed: clause[at] for at, deed in verbs.items() if clause[at] in KINDS["anywhere"]}


def _deeds_of_verbs(clause: list[str], verbs: dict[int, str]) -> dict[str, str]:
    """Return the deeds of the first verb with its objects, and of others that count."""
    place, last = min(verbs), clause[-1]
    verb, deed, objects = clause[place], verbs[place], clause[place + 1 :]
    phrases = _phrases(objects or clause[:place])
    deeds = _with_objects(verb, deed, phrases, clause) | _explicit(clause, verbs)
    if verb in KINDS["noun"] and last not in KINDS["noun"] and len(clause) - 1 in verbs:
        deeds.setdefault(verbs[len(clause) - 1], last)  # follow_request_authorize
    makes = deed in ("create", "anything", "untold") and KINDS["drafting"].isdisjoint(clause)
    if objects and (makes or deed.startswith(("send", "either"))):
        for word in phrases[0]:
            if word in KINDS["message"]:  # create_post
                deeds.setdefault(_VERBS[word], word)
    return deeds


def _phrases(objects: list[str]) -> list[list[str]]:
    """Return the direct object and those after prepositions; release_note is about a release, and empty."""
    return [[] if part and part[-1] in KINDS["about"] else part for part in _split(objects, "preposition")]


def _with_objects(verb: str, deed: str, phrases: list[list[str]], clause: list[str]) -> dict[str, str]:
    """Return the deed of a verb with its objects: ``create_order`` moves money."""
    everything = {word for phrase in phrases for word in phrase} | KINDS["modifier"].intersection(clause)
    is_bulk = not KINDS["bulk"].isdisjoint(clause)
    for row in _WEIGHTY:
        if not row.verbs.intersection((verb, deed)) or (row.bulk and not is_bulk):
            continue
        # resolve_issue_by_id: what only reads, reads its direct object
        among = row.objects.intersection(phrases[0] if row.does == "read" and phrases[0] else everything)
        if among:
            return {row.does: f"{verb} {min(among)}"}
    return {deed: verb}

"""Read the verbs in a tool's name.

``LEXICON`` maps a word to what it does, and says whether the word is always a verb. ``post`` is a verb in
``post_message`` and a noun in ``get_post``; ``delete`` is a verb everywhere.

Known approximation: English words only, and no grammar beyond word order.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

__all__ = [
    "ANYTHING",
    "EITHER",
    "LEXICON",
    "LONGEST_NAME",
    "MANY",
    "TO_ALL",
    "TO_ONE",
    "UNTOLD",
    "Reading",
    "Word",
    "is_disguised",
    "read_name",
    "split_words",
    "words_of",
]

LONGEST_NAME = 1000
"""Longest name that is read, in characters. The protocol recommends at most ``PLAIN_NAME``."""
PLAIN_NAME = 128

ANYTHING = "anything"
"""The verb runs any instruction: ``run_command``."""

UNTOLD = "untold"
"""The verb says nothing: ``process``."""

EITHER = "send_either"
"""The verb sends to one reader or to all; the fields of the tool decide."""


def split_words(words: str) -> frozenset[str]:
    """Return the set of words of a text."""
    return frozenset(words.split())


_ALWAYS = {
    "read": """get read list search find fetch lookup describe inspect browse count summarize summarise retrieve
        enumerate locate grep explain""",
    "create": "create insert mkdir",
    "modify": "update upsert modify edit rename replace configure alter amend overwrite write",
    "send_private": "send notify respond remind",
    "send_public": "publish announce syndicate crosspost retweet livestream",
    "delete": """delete remove destroy erase purge wipe truncate drop uninstall revoke unpublish shutdown terminate
        kill del rm rmdir deactivate pay buy""",
}

_SOMETIMES = {
    "read": """query show view check test validate verify preview watch monitor compare calculate compute convert
        translate analyze analyse parse measure estimate detect resolve export download status info current is has
        head tail filter sort diff scan history encode decode hash stat ls cat""",
    "create": """add append make new copy store record log note fork branch commit start open import build
        render register plan schedule annotate bookmark tag draft compose prepare generate clone
        duplicate""",
    "modify": """set change move patch put save upload merge assign label close reopen archive restore lock unlock pin
        unpin mark transition sync link unlink attach detach push pause resume stop submit approve accept increment
        switch migrate format adjust enable resize reorder toggle""",
    "send_private": "email mail message sms text dm forward invite ping alert contact reply mention ask",
    EITHER: "post share comment",
    "send_public": "tweet toot blog broadcast release vote announcement",
    "delete": """clear reset cancel flush empty reject discard ban block expire trash prune transfer charge order
        book payment purchase refund trade checkout deploy disable rollback revert unsubscribe""",
    ANYTHING: "run execute exec eval evaluate invoke shell bash command script sql",
    UNTOLD: "call trigger dispatch do perform process handle apply manage control request",
}

_NOUNS = split_words(
    """email mail message sms text dm invite alert contact reply mention post share comment tweet toot blog
    broadcast release vote announcement record log note fork branch commit build plan schedule bookmark tag draft
    label patch transfer charge order book payment purchase refund trade command script process request"""
)
"""Words that are nouns if the verb comes last: ``email_search``."""


class Word(NamedTuple):
    """The deed that a word stands for, and whether it is a verb everywhere."""

    does: str
    always: bool


def _forms(verb: str) -> tuple[str, ...]:
    stem = verb.removesuffix("e")
    return (verb, f"{verb}s", f"{stem}ing", f"{verb}{verb[-1]}ing")


LEXICON: dict[str, Word] = {
    word: Word(does, always=False) for does, words in _SOMETIMES.items() for word in words.split()
} | {
    form: Word(does, always=True)
    for does, words in _ALWAYS.items()
    for word in words.split()
    for form in (_forms(word) if does.startswith(("delete", "send")) else (word,))
}

_DRAFTING = split_words("draft compose prepare preview")
"""A draft isn't sent: ``draft_email``."""

TO_ALL = split_words("public publicly everyone everybody all timeline feed blog press")
TO_ONE = split_words("private privately dm direct personal")
MANY = split_words("all bulk batch mass every many multiple recursive recursively")

_AND = split_words("and or then also plus")
_CONDENSED = tuple(
    sorted(w for w, word in LEXICON.items() if word.always and word.does.startswith(("delete", "send")))
)
_SHORTEST, _REMAINDER = 4, 3


class Reading(NamedTuple):
    """The deeds in a name, each with its word, and whether a part of the name could mean anything."""

    deeds: tuple[tuple[str, str], ...]  # (deed, word)
    open_ended: bool
    words: frozenset[str]


def words_of(name: str) -> list[str]:
    """Split a name into lower-case words, at changes of case, between letters and digits, and at other signs."""
    plain = unicodedata.normalize("NFKD", name)
    plain = "".join(ch for ch in plain if unicodedata.category(ch) not in ("Mn", "Cf", "Cc"))
    plain = plain.replace("&", " and ").replace("+", " and ")
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", plain)
    return re.findall(r"[^\W\d_]+|\d+", spaced.casefold())


def read_name(name: str) -> Reading:
    """Return the deeds in the words of ``name``."""
    words = words_of(name)
    deeds: dict[str, str] = {}
    open_ended = False
    clauses: list[list[str]] = [[]]
    for word in words:
        if word in _AND:
            clauses.append([])
        else:
            clauses[-1].append(word)
    for i, clause in enumerate(clauses):
        found = _deeds(clause)
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
        frozenset(words),
    )


def _deeds(clause: list[str]) -> dict[str, str]:
    known = [(word, LEXICON[word]) for word in clause if word in LEXICON]
    if not known:
        return {}
    first, head = known[0]
    last = LEXICON.get(clause[-1])
    always = {word.does: text for text, word in known if word.always and word.does != "read"}
    if first in _NOUNS and not always and last == Word("read", always=True):
        return {"read": clause[-1]}  # email_search: the noun comes first
    found = {head.does: first} | always
    nouns: tuple[str, ...] = ()
    if head.does in ("create", ANYTHING, UNTOLD) and first not in _DRAFTING:
        nouns = ("send_private", EITHER, "send_public", "delete")  # create_post, execute_transfer
    elif head.does.startswith("send"):
        nouns = ("send_private", EITHER, "send_public")  # send_tweet
    for text, word in known[1:]:
        if word.does in nouns:
            found.setdefault(word.does, text)
    return found


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

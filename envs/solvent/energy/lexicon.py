"""What the words of a tool's name and of its fields say about it.

One table, ``LEXICON``: word -> what it does and whether it is *always* a verb. A word like ``post`` is a verb in
``post_message`` and a noun in ``get_post``; ``delete`` is a verb wherever it stands.

Known approximation: English words alone, and no grammar beyond word order.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

__all__ = [
    "ADDRESS_FIELDS",
    "ANYTHING",
    "CODE_FIELDS",
    "EITHER",
    "FORCE_FIELDS",
    "LEXICON",
    "MANY",
    "ONE_READER_FIELDS",
    "PLURAL_FIELDS",
    "RECIPIENT_FIELDS",
    "TO_ALL",
    "TO_ONE",
    "UNTOLD",
    "VISIBILITY_FIELDS",
    "VISIBLE_CHOICES",
    "WORDS_FIELDS",
    "Reading",
    "Word",
    "read_name",
    "words_of",
]

ANYTHING = "anything"
"""Does what it is told to, and that can be anything: ``run_command``."""

UNTOLD = "untold"
"""A verb that says nothing about what is done: ``process``."""

EITHER = "send_either"
"""Sends to one or to all, which the fields of the tool tell."""


def _set(words: str) -> frozenset[str]:
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

_NOUNS = _set(
    """email mail message sms text dm invite alert contact reply mention post share comment tweet toot blog
    broadcast release vote announcement record log note fork branch commit build plan schedule bookmark tag draft
    label patch transfer charge order book payment purchase refund trade command script process request"""
)
"""Words that stand for a thing when the verb comes last: ``email_search``."""


class Word(NamedTuple):
    """What a word of a name does, and whether it is a verb wherever it stands."""

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

_DRAFTING = _set("draft compose prepare preview")
"""What is drafted isn't sent: ``draft_email``."""

TO_ALL = _set("public publicly everyone everybody all timeline feed blog press")
TO_ONE = _set("private privately dm direct personal")
MANY = _set("all bulk batch mass every many multiple recursive recursively")

RECIPIENT_FIELDS = _set(
    """to cc bcc recipient recipients attendees invitees guests email emails email_address phone phone_number
    user_ids user_id reviewers assignees channel channel_id chat_id room conversation_id"""
)
ONE_READER_FIELDS = RECIPIENT_FIELDS - _set("channel channel_id room")
ADDRESS_FIELDS = _set("to cc bcc recipient recipients phone_number email_address")
WORDS_FIELDS = _set("body message text content subject")
VISIBILITY_FIELDS = _set("public is_public visibility audience private is_private make_public publish")
VISIBLE_CHOICES = _set("public published everyone unlisted")
FORCE_FIELDS = _set("force recursive overwrite permanent permanently cascade hard hard_delete no_confirm")
CODE_FIELDS = _set("sql command cmd script shell")
PLURAL_FIELDS = _set("ids items batch paths files all")

_AND = _set("and or then also plus")
_CONDENSED = tuple(
    sorted(w for w, word in LEXICON.items() if word.always and word.does.startswith(("delete", "send")))
)
_SHORTEST, _REMAINDER = 4, 3


class Reading(NamedTuple):
    """What a name says: every deed in it with its word, and whether something in it could mean anything."""

    deeds: tuple[tuple[str, str], ...]  # (what it does, the word that says so)
    open_ended: bool
    words: frozenset[str]


def words_of(name: str) -> list[str]:
    """Lower-case words of a name: split where the case changes, between letters and digits, at every other sign."""
    plain = unicodedata.normalize("NFKD", name)
    plain = "".join(ch for ch in plain if unicodedata.category(ch) not in ("Mn", "Cf", "Cc"))
    plain = plain.replace("&", " and ").replace("+", " and ")
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", plain)
    return re.findall(r"[^\W\d_]+|\d+", spaced.casefold())


def read_name(name: str) -> Reading:
    """What the words of ``name`` say that the tool does."""
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
        # A second thing that is done and can't be read leaves all open; a bare noun before the verb doesn't.
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
    """What a word does that runs a verb and its object together: ``deletefile``."""
    for verb in _CONDENSED:
        if len(verb) >= _SHORTEST and word.startswith(verb) and len(word) >= len(verb) + _REMAINDER:
            return LEXICON[verb].does
    return ""

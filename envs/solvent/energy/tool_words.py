"""The words of tools' names: what verbs do, which objects make them weighty, and who is reached.

A word stands in one group of ``LEXICON``. ``post`` is a verb in ``post_message`` and a noun in ``get_post``; ``delete``
is a verb everywhere. ``WEIGHTY`` joins verbs and objects: ``create`` is cheap, ``create_order`` moves money.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = [
    "ABOUT",
    "ANYTHING",
    "DRAFTING",
    "EITHER",
    "LEXICON",
    "MANY",
    "MESSAGES",
    "NOUNS",
    "REVISIONS",
    "STARTING",
    "TO_ALL",
    "TO_ONE",
    "UNTOLD",
    "WEIGHTY",
    "Weighty",
    "Word",
    "split_words",
    "verb_of",
]

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
    "send_public": "publish announce syndicate crosspost retweet reblog livestream",
    "delete": """delete remove destroy erase purge wipe truncate drop uninstall revoke unpublish shutdown terminate
        kill del rm rmdir deactivate pay buy sell withdraw disburse liquidate""",
}

_SOMETIMES = {
    "read": """query show view check test validate verify preview watch monitor compare calculate compute render
        simulate translate analyze analyse parse measure estimate detect export download status info current
        is has head tail filter diff scan history logs encode decode hash stat ls cat wait""",
    "create": """add append make place give react new copy store record log note fork branch commit setup init open
        import build register plan schedule annotate bookmark tag draft compose prepare generate clone
        duplicate""",
    "modify": """set change convert move patch put save upload merge assign label close reopen archive restore lock
        unlock pin transition sync link attach detach start pause resume unpause
        stop refresh increment switch migrate format
        adjust enable activate resize sort reorder toggle mark star favourite favorite like follow mute skip protect
        resolve allow subscribe""",
    "send_private": """email mail message sms text dm forward invite ping alert contact reply mention ask answer review
        accept submit push dial phone dispute""",
    EITHER: "post share comment",
    "send_public": "tweet toot blog broadcast release vote announcement boost expose",
    "delete": """clear reset cancel flush empty reject decline discard ban kick block suspend expire trash prune
        transfer charge order book payment purchase refund trade swap stake unstake mint burn bridge borrow lend
        redeem donate bet invest payout settle capture finalize checkout deploy promote disable rollback revert
        hire fire reserve rent topup wire tip unsubscribe approve authorize authorise grant permit confirm sign""",
    ANYTHING: "run execute exec eval evaluate invoke call shell bash command script sql",
    UNTOLD: "trigger dispatch do go perform process handle apply manage control request launch",
}

MESSAGES = split_words(
    """email mail message sms text dm invite reply mention review post share comment tweet toot blog broadcast release
    vote announcement"""
)
"""Nouns that are sent by making them: ``create_post``."""

NOUNS = MESSAGES | split_words(
    """alert contact record log note fork branch commit build plan schedule bookmark tag draft label patch transfer
    charge order book payment purchase refund trade command script process request call phone stake swap dispute
    star like follow query view test filter scan"""
)
"""Words that are nouns before a verb that comes last (``email_search``) and after a verb that isn't known."""


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


def verb_of(word: str) -> Word | None:
    """Return what a word stands for; ``un`` before a verb takes it back, ``re`` does it again."""
    if word in LEXICON:
        return LEXICON[word]
    base = LEXICON.get(word[2:])
    if base is None or base.does in ("read", UNTOLD) or word[:2] not in ("un", "re"):
        return None
    return Word("modify" if word.startswith("un") or base.does == "create" else base.does, always=False)


STARTING = split_words("launch resume unpause enable activate start run schedule boost go trigger")
"""Verbs that let something begin. With nothing behind them they begin anything."""

_CHANGING = split_words("create modify send_private") | {UNTOLD}
_MONEY = split_words(
    """order orders payment payments payout trade trades transfer withdrawal deposit charge refund escrow funds money
    subscription purchase booking reservation bet bid loan stake swap transaction transactions dispute disputes
    spending"""
)
_ACCESS = split_words(
    """access permission permissions privilege privileges collaborator collaborators admin admins owner ownership
    grant grants"""
)
_ADVERTISING = split_words("campaign campaigns ad ads advert survey newsletter")
_PUBLIC = split_words("public publicly visibility privacy live everyone everybody anyone world")
_CREDENTIALS = split_words("key keys token tokens credential credentials password passwords")
_ROLES = split_words("role roles")
_MEMBERS = split_words("member members user users participant participants")
_NAMES = split_words("id ids name domain host address path url uri ref symbol")
_MEASURES = split_words("time timezone date currency unit units temperature text")


class Weighty(NamedTuple):
    """A deed that verbs do to objects; a verb stands for itself or for all that do the same as ``create``."""

    verbs: frozenset[str]
    objects: frozenset[str]
    does: str


WEIGHTY = (
    Weighty(STARTING | {"send"}, _ADVERTISING, "send_public"),
    Weighty(split_words("approve accept"), split_words("comment comments post posts"), "send_public"),
    Weighty(split_words("release"), _MONEY, "delete"),
    Weighty(_CHANGING, _PUBLIC, "send_public"),
    Weighty(_CHANGING, _MONEY | _ACCESS | split_words("force forced"), "delete"),
    Weighty(split_words("open close add"), split_words("position positions"), "delete"),
    Weighty(split_words("close"), split_words("account accounts wallet"), "delete"),
    Weighty(split_words("create"), _CREDENTIALS | split_words("deployment"), "delete"),
    Weighty(split_words("add assign give set update change"), _ROLES, "send_private"),
    Weighty(split_words("add assign give"), _MEMBERS, "send_private"),
    Weighty(split_words("create"), split_words("call calls"), "send_private"),
    Weighty(split_words("convert"), _MEASURES, "read"),
    Weighty(split_words("resolve"), _NAMES, "read"),
)
"""The first that fits holds. What moves money, gives access or forces can't be taken back and is priced as such."""

ABOUT = split_words(
    """template draft note notes report preview feedback content field tag label category folder stage pipeline
    webhook topic type icon title plan ip address"""
)
"""A compound with one of these at its end is about its first noun, and is not one: ``release_note``, ``public_ip``."""

DRAFTING = split_words("draft drafts pending compose prepare preview")
"""A draft isn't sent: ``draft_email``."""

REVISIONS = split_words("git branch branches commit revision ref repository repo")
"""Whose ``checkout`` is no purchase."""

TO_ALL = split_words("public publicly everyone everybody all timeline feed blog press campaign newsletter")
TO_ONE = split_words("private privately dm direct personal")
MANY = split_words("all bulk batch mass every many multiple recursive recursively")

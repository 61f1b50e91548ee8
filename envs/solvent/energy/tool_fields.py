"""Read a tool's input schema: who is reached, who sees the result, what is overridden, signed or paid."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from solvent.energy.tool_names import LONGEST_NAME, words_of
from solvent.energy.tool_words import split_words

__all__ = [
    "CODE_FIELDS",
    "FORCE_FIELDS",
    "PAYEE_FIELDS",
    "PLURAL_FIELDS",
    "RECIPIENT_FIELDS",
    "REVISION_FIELDS",
    "SIGNING_FIELDS",
    "VISIBILITY_FIELDS",
    "WORDS_FIELDS",
    "Fields",
    "read_fields",
]

RECIPIENT_FIELDS = split_words(
    """to cc bcc recipient recipients attendees invitees guests email emails email_address phone phone_number
    user_ids user_id reviewers assignees channel channel_id chat_id room conversation_id"""
)
ONE_READER_FIELDS = RECIPIENT_FIELDS - split_words("channel channel_id room")
ADDRESS_FIELDS = split_words("to cc bcc recipient recipients phone_number email_address")
WORDS_FIELDS = split_words("body message text content subject")
VISIBILITY_FIELDS = split_words("public is_public visibility audience private is_private make_public publish")
VISIBLE_CHOICES = split_words("public published everyone unlisted")
FORCE_FIELDS = split_words(
    "force recursive overwrite permanent permanently cascade hard hard_delete no_confirm"
)
CODE_FIELDS = split_words("sql command cmd script shell")
PLURAL_FIELDS = split_words("ids items batch paths files all")
REVISION_FIELDS = split_words("branch branch_name commit ref revision")
SIGNING_FIELDS = split_words("private_key secret_key mnemonic seed_phrase keypair")
PAYEE_FIELDS = split_words("to_address recipient_address to_account destination_account payee")


class Fields(NamedTuple):
    """The names of the fields of each kind, and the number of required fields."""

    recipients: tuple[str, ...]
    one_reader: bool
    addressed_text: bool
    visibility: tuple[str, ...]
    force: tuple[str, ...]
    code: tuple[str, ...]
    several: tuple[str, ...]
    signing: tuple[str, ...]
    revision: bool
    required: int


def read_fields(schema: object, reasons: list[str]) -> Fields:
    """Read the top level of a JSON Schema; an unreadable schema is noted in ``reasons``."""
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    required = schema.get("required") if isinstance(schema, Mapping) else None
    if (schema is not None and not isinstance(schema, Mapping)) or not isinstance(properties, Mapping | None):
        reasons.append("Its input schema can't be read and tells nothing.")
    properties = properties if isinstance(properties, Mapping) else {}
    kinds = [(_field_name(key), value) for key, value in properties.items()]
    names = frozenset(name for name, _ in kinds)
    shown = {name for name, kind in kinds if not VISIBLE_CHOICES.isdisjoint(_choices(kind))}
    several = {name for name, kind in kinds if _is_list(kind) and name in RECIPIENT_FIELDS}
    return Fields(
        recipients=tuple(sorted(names & RECIPIENT_FIELDS)),
        one_reader=bool(names & ONE_READER_FIELDS),
        addressed_text=bool(names & ADDRESS_FIELDS) and bool(names & WORDS_FIELDS),
        visibility=tuple(sorted(names & VISIBILITY_FIELDS | shown)),
        force=tuple(sorted(names & FORCE_FIELDS)),
        code=tuple(sorted(names & CODE_FIELDS)),
        several=tuple(sorted(names & PLURAL_FIELDS | several)),
        signing=tuple(
            sorted(names & (SIGNING_FIELDS | (PAYEE_FIELDS if "amount" in names else frozenset())))
        ),
        revision=bool(names & REVISION_FIELDS),
        required=len({str(key) for key in required}) if isinstance(required, list | tuple) else 0,
    )


def _field_name(key: object) -> str:
    return "_".join(words_of(str(key)[:LONGEST_NAME]))


def _choices(kind: object) -> set[str]:
    choices = kind.get("enum") if isinstance(kind, Mapping) else None
    return (
        {c.casefold() for c in choices if isinstance(c, str)} if isinstance(choices, list | tuple) else set()
    )


def _is_list(kind: object) -> bool:
    return isinstance(kind, Mapping) and kind.get("type") == "array"

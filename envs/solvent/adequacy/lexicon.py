"""The words that the score looks for, read from a TOML file that a person edits.

``lexicon.toml`` is English, and its comments explain each kind of phrase; a caller may give another file. The error
about a broken file names the file, the place and what is allowed there.

Source: *Epistemic Adequacy Design*, "Strong negative indicators" and "Heuristic scoring"; the rest is ours.
"""

from __future__ import annotations

import functools
import hashlib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from solvent.adequacy.errors import AdequacyError
from solvent.adequacy.trie import Trie
from solvent.files import read_input

__all__ = ["KINDS", "LEXICON", "STANCES", "Lexicon", "load_lexicon"]

LEXICON = Path(__file__).with_name("lexicon.toml")
"""The shipped lexicon."""

KINDS = (
    "strong_negative",
    "universal",
    "definitive",
    "certainty",
    "hedge",
    "frame",
    "evidential",
    "report",
    "denial",
    "withheld",
    "condition",
    "occasion",
    "aim",
    "connective",
    "interjection",
    "opener",
    "neutral",
    "boundary",
)
"""Kinds of phrases in ``[phrases]``."""
STANCES = ("belief", "agreement", "disagreement", "partial", "general")
"""Kinds of phrases in ``[stances]``."""

_ROWS = ("hedged", "plain", "definitive", "absolute")
_COUNTS = ("thin", "reasonable", "ample", "broad")
_WORDS = (
    "commands",
    "nouns_too",
    "objects",
    "lead_ins",
    "subjects",
    "attached",
    "saying",
    "fillers",
    "negators",
    "answers",
    "verbs",
    "abbreviations",
    "clause_ends",
    "signs",
    "particulars",
    "asking",
    "tags",
    "well",
    "ill",
    "failures",
    "failing",
    "refusals",
)
_LEADING = ("commands", "nouns_too", "lead_ins", "clause_ends", "signs")
_TABLES = (
    "version",
    "language",
    "matrix",
    "evidence",
    "support",
    "phrases",
    "stances",
    "words",
    "contractions",
)
_VERSION = 1
_MOST = 2**20  # bytes


@dataclass(frozen=True)
class Lexicon:
    """A lexicon in memory.

    Attributes:
        phrases: phrases that set the strength of a claim, or keep a clause from claiming.
        stances: phrases of a user's belief, and of an answer's agreement or disagreement.
        words: lists of single words, by name.
        leading: words that matter where a clause begins or ends and are not phrases.
        starts: ``leading`` and the first words of phrases.
        matrix: score by strength of the words (rows) and by evidence.
        counts: minimum number of calls for thin, reasonable and ample evidence, and the weight of a broad call.
        support: the share below which a plain claim is unsupported, and the share from which it is supported.
        language: its language, such as ``en``.
        sha256: hash of the file.
    """

    phrases: Trie
    stances: Trie
    words: Mapping[str, frozenset[str]]
    leading: frozenset[str]
    starts: frozenset[str]
    matrix: tuple[tuple[int, ...], ...]
    counts: tuple[int, int, int, int]
    support: tuple[float, float]
    language: str
    sha256: str


@functools.lru_cache(maxsize=8)
def load_lexicon(path: Path | str = LEXICON) -> Lexicon:
    """Return the lexicon in a file. Each file is read once.

    Raises:
        AdequacyError: the file can't be read or is not TOML, or an entry is missing, unknown or malformed.
    """
    try:
        data = read_input(path, _MOST)
        document = tomllib.loads(data.decode("utf-8"))
    except OSError as error:
        raise AdequacyError(f"{path}: not read, {error.strerror}; allowed: a lexicon") from None
    except (ValueError, RecursionError) as error:
        raise AdequacyError(f"{path}: {error}; allowed: a lexicon in TOML") from None
    try:
        return _lexicon(document, hashlib.sha256(data).hexdigest())
    except AdequacyError as error:
        raise AdequacyError(f"{path}: {error}") from None


def _lexicon(document: Mapping[str, Any], sha256: str) -> Lexicon:
    _known("", document, _TABLES)
    if document["version"] != _VERSION:
        raise AdequacyError(f"version: got {document['version']!r:.80}; allowed: {_VERSION}")
    if not isinstance(document["language"], str):
        raise AdequacyError(f"language: got {document['language']!r:.80}; allowed: a text such as 'en'")
    words = {
        name: frozenset(_text(f"words.{name}", text).split())
        for name, text in _table(document, "words", _WORDS)
    }
    pairs = _contractions(document["contractions"])
    phrases = _trie(document, "phrases", KINDS, pairs, words["fillers"])
    leading = frozenset(["that", "and"]).union(*(words[name] for name in _LEADING))
    return Lexicon(
        phrases=phrases,
        stances=_trie(document, "stances", STANCES, pairs, words["fillers"]),
        words=words,
        leading=leading,
        starts=leading.union(phrases.root),
        matrix=_matrix(document),
        counts=_counts(document),
        support=_support(document),
        language=document["language"],
        sha256=sha256,
    )


def _known(where: str, given: Mapping[str, Any], names: tuple[str, ...]) -> None:
    for name in given:
        if name not in names:
            raise AdequacyError(f"{where}{name}: unknown; allowed: {', '.join(names)}")
    for name in names:
        if name not in given:
            raise AdequacyError(f"{where}{name}: missing; allowed: {', '.join(names)}")


def _table(document: Mapping[str, Any], name: str, keys: tuple[str, ...]) -> list[tuple[str, Any]]:
    given = document[name]
    if not isinstance(given, dict):
        raise AdequacyError(f"{name}: got {given!r:.80}; allowed: a table of {', '.join(keys)}")
    _known(f"{name}.", given, keys)
    return [(key, given[key]) for key in keys]


def _text(where: str, given: object) -> str:
    if not isinstance(given, str):
        raise AdequacyError(f"{where}: got {given!r:.80}; allowed: a text")
    if given != given.lower():
        raise AdequacyError(f"{where}: got {given!r:.80}; allowed: lower case")
    return given


def _trie(
    document: Mapping[str, Any],
    name: str,
    kinds: tuple[str, ...],
    contractions: Mapping[str, list[str]],
    fillers: frozenset[str],
) -> Trie:
    phrases: dict[str, list[str]] = {}
    for kind, texts in _table(document, name, kinds):
        phrases[kind] = _texts(f"{name}.{kind}", texts)
    try:
        return Trie(phrases, contractions, fillers)
    except AdequacyError as error:
        raise AdequacyError(f"{name}: {error}") from None


def _texts(where: str, given: object) -> list[str]:
    if not isinstance(given, list) or not all(isinstance(text, str) for text in given):
        raise AdequacyError(f"{where}: got {given!r:.80}; allowed: a list of texts")
    return given


def _contractions(given: object) -> dict[str, list[str]]:
    if not isinstance(given, dict):
        raise AdequacyError(f"contractions: got {given!r:.80}; allowed: a table of lists")
    for pair in given:
        if len(pair.split()) != 2:
            raise AdequacyError(f"contractions: got {pair!r:.80}; allowed: two words")
    return {" ".join(pair.split()): _texts(f"contractions.{pair}", forms) for pair, forms in given.items()}


def _matrix(document: Mapping[str, Any]) -> tuple[tuple[int, ...], ...]:
    """Return the matrix. Scores never fall with stronger words, nor rise with more evidence."""
    rows = [_row(name, given) for name, given in _table(document, "matrix", _ROWS)]
    for name, weaker, row in zip(_ROWS[1:], rows, rows[1:], strict=False):
        if any(a > b for a, b in zip(weaker, row, strict=True)):
            raise AdequacyError(
                f"matrix.{name}: got {list(row)}; allowed: nothing below the row before, {list(weaker)}"
            )
    return tuple(rows)


def _row(name: str, given: object) -> tuple[int, ...]:
    allowed = "four scores of 0 to 3 that never rise"
    if (
        not isinstance(given, list)
        or len(given) != 4
        or not all(type(x) is int and 0 <= x <= 3 for x in given)
    ):
        raise AdequacyError(f"matrix.{name}: got {given!r:.80}; allowed: {allowed}")
    if sorted(given, reverse=True) != given:
        raise AdequacyError(f"matrix.{name}: got {given}; allowed: {allowed}")
    return tuple(given)


def _counts(document: Mapping[str, Any]) -> tuple[int, int, int, int]:
    given = _table(document, "evidence", _COUNTS)
    for name, count in given:
        if type(count) is not int or not 1 <= count <= 1000:
            raise AdequacyError(f"evidence.{name}: got {count!r:.80}; allowed: a whole number, 1 to 1000")
    thin, reasonable, ample, broad = (int(count) for _, count in given)
    if not thin < reasonable < ample:
        raise AdequacyError(
            f"evidence: got {thin}, {reasonable}, {ample}; allowed: thin < reasonable < ample"
        )
    return thin, reasonable, ample, broad


def _support(document: Mapping[str, Any]) -> tuple[float, float]:
    given = _table(document, "support", ("low", "high"))
    for name, share in given:
        if type(share) not in (int, float) or not 0.0 <= share <= 1.0:
            raise AdequacyError(f"support.{name}: got {share!r:.80}; allowed: a share, 0 to 1")
    low, high = (float(share) for _, share in given)
    if low > high:
        raise AdequacyError(f"support: got low {low} and high {high}; allowed: low not above high")
    return low, high

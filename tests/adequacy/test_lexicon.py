"""The lexicon is data: what a phrase stands for, how phrases are found, and that a broken file says where."""

from __future__ import annotations

import shutil
import tomllib
from typing import Any

import pytest

from solvent.adequacy.errors import AdequacyError
from solvent.adequacy.heuristic import Words, score
from solvent.adequacy.lexicon import KINDS, LEXICON, STANCES, load_lexicon
from solvent.adequacy.text import read
from solvent.adequacy.tools import ToolContext
from solvent.adequacy.trie import Trie, variants

NOT = {"is not": ["isn't"], "do not": ["don't"]}
TEXT = LEXICON.read_text(encoding="utf-8")
DOCUMENT: dict[str, Any] = tomllib.loads(TEXT)
PHRASES = [
    (group, kind, phrase)
    for group, kinds in (("phrases", KINDS), ("stances", STANCES))
    for kind in kinds
    for phrase in DOCUMENT[group][kind]
]


def found(trie, text):
    tokens = text.split()
    hits = [(i, trie.match(tokens, i, len(tokens))) for i in range(len(tokens))]
    return [(" ".join(tokens[i : hit[0]]), hit[1]) for i, hit in hits if hit is not None]


@pytest.mark.parametrize(
    ("phrase", "expected"),
    [
        ("there is no", [("there", "is", "no")]),
        ("is|are missing", [("is", "missing"), ("are", "missing")]),
        ("the (only) one", [("the", "only", "one"), ("the", "one")]),
        ("it is not so", [("it", "is", "not", "so"), ("it", "isn't", "so")]),
        ("no \u2026 left", [("no", "\u2026", "left")]),
    ],
)
def test_a_phrase_stands_for_all_its_forms(phrase, expected):
    assert variants(phrase, NOT) == expected


@pytest.mark.parametrize(
    "phrase",
    [
        "",
        "\u2026 left",
        "no \u2026",
        "a \u2026 b \u2026 c",
        "# of",
        "Upper case",
        "a|",
        "(a b)",
        "a b)",
        "e.g.",
    ],
)
def test_a_phrase_of_another_form_is_refused(phrase):
    with pytest.raises(AdequacyError, match="allowed"):
        variants(phrase, NOT)


def test_a_phrase_with_too_many_forms_is_refused():
    with pytest.raises(AdequacyError, match="variants"):
        variants(" ".join(["a|b|c|d"] * 8), NOT)


def test_the_longest_phrase_counts_over_fillers_gaps_and_numbers():
    trie = Trie(
        {"strong": ["is no", "no \u2026 exists"], "neutral": ["is no need", "all #"]},
        NOT,
        frozenset(["really", "just"]),
    )
    assert found(trie, "there is no more") == [("is no", "strong")]
    assert found(trie, "there is really just no need") == [("is really just no need", "neutral")]
    assert found(trie, "is really just really no") == []
    assert found(trie, "no such old function exists") == [("no such old function exists", "strong")]
    assert found(trie, "no a b c d e exists") == []
    assert found(trie, "no file , it exists") == []
    assert found(trie, "all 42 passed") == [("all 42", "neutral")]


def test_a_phrase_has_one_kind():
    with pytest.raises(AdequacyError, match="'is gone' is also of the kind a"):
        Trie({"a": ["is gone"], "b": ["is|are gone"]}, NOT, frozenset())


@pytest.mark.parametrize("group", sorted({group for group, _, _ in PHRASES}))
def test_every_phrase_that_ships_is_found_in_a_text(group):
    lexicon = load_lexicon()
    trie = getattr(lexicon, group)
    for kind, phrase in [(k, p) for g, k, p in PHRASES if g == group]:
        for words in variants(phrase, DOCUMENT["contractions"]):
            said = " ".join({"#": "42", "\u2026": "thing"}.get(word, word) for word in words)
            tokens = read(said, lexicon.words["abbreviations"]).tokens
            hit = trie.match(tokens, 0, len(tokens))
            assert hit is not None, said
            assert hit[1] == kind, said


def test_the_lexicon_that_ships_has_the_cut_points_of_the_docs():
    assert load_lexicon().counts == (1, 2, 4, 2)
    assert load_lexicon().language == "en"


def test_a_file_is_read_once():
    assert load_lexicon() is load_lexicon()


def broken(tmp_path, old, new):
    assert old in TEXT
    path = tmp_path / "lexicon.toml"
    path.write_text(TEXT.replace(old, new, 1), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("version = 1", "version = 2", "version: got 2; allowed: 1"),
        ("version = 1", "version = ", "allowed: a lexicon in TOML"),
        ('language = "en"', "language = 1", "language: got 1"),
        ("version = 1", "version = 1\nextra = 1", "extra: unknown; allowed: version"),
        ("hedged = [0, 0, 0, 0]", "hedged = [0, 0, 0]", r"matrix.hedged: got \[0, 0, 0\]"),
        ("hedged = [0, 0, 0, 0]", "hedged = [0, 1, 0, 0]", "never rise"),
        ("definitive = [3, 2, 1, 0]", "definitive = [1, 1, 1, 0]", "matrix.definitive: .*the row before"),
        ("plain = [2, 1, 0, 0]", "", "matrix.plain: missing"),
        ("plain = [2, 1, 0, 0]", "plain = [4, 1, 0, 0]", "four scores of 0 to 3"),
        ("plain = [2, 1, 0, 0]", "plain = [true, 1, 0, 0]", "four scores of 0 to 3"),
        ("thin = 1", "thin = 0", "evidence.thin: got 0"),
        ("thin = 1", "thin = 2", "thin < reasonable < ample"),
        ("low = 0.25", "low = 0.9", "low not above high"),
        ("low = 0.25", 'low = "a"', "support.low: got 'a'"),
        ("strong_negative = [", "strong_negativ = [", "phrases.strong_negativ: unknown"),
        ("strong_negative = [", "strong_negative = [1,", "phrases.strong_negative: got"),
        ("strong_negative = [", 'strong_negative = ["so far",', "also of the kind"),
        ("strong_negative = [", 'strong_negative = ["No Way",', "phrases: got 'No Way'"),
        ('answers = "yes', 'answers = "Yes', "words.answers: .*lower case"),
        ('answers = "yes', 'answer = "yes', "words.answer: unknown"),
        ('"is not" =', '"is" =', "contractions: got 'is'; allowed: two words"),
    ],
)
def test_a_broken_file_says_where_and_what_is_allowed(tmp_path, old, new, message):
    path = broken(tmp_path, old, new)
    with pytest.raises(AdequacyError, match=message) as caught:
        load_lexicon(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(AdequacyError, match="not read"):
        load_lexicon(tmp_path / "none.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(AdequacyError, match="allowed: a lexicon"):
        load_lexicon(tmp_path / "bytes.toml")


def test_another_lexicon_can_be_given(tmp_path):
    shutil.copy(LEXICON, tmp_path / "copy.toml")
    other = load_lexicon(broken(tmp_path, "strong_negative = [", 'strong_negative = [\n  "gibt es nicht",'))
    assert score("Das gibt es nicht.", ToolContext()).words == Words.PLAIN
    assert score("Das gibt es nicht.", ToolContext(), lexicon=other).words == Words.DEFINITIVE

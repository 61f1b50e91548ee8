"""Sentences of a response with offsets into it; code and quotations masked; linear in the length."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from solvent.adequacy.masking import CODE, QUOTE, masked
from solvent.adequacy.text import read, without_questions

ABBREVIATIONS = frozenset(["e.g", "i.e", "vs", "etc"])


def sentences(text):
    return [text[s.start : s.end] for s in read(text, ABBREVIATIONS).sentences]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One here. Two there! Three?", ["One here.", "Two there!", "Three?"]),
        ("It reads auth.py and v1.2.3 of it.", ["It reads auth.py and v1.2.3 of it."]),
        ("Use one, e.g. the first. Then go.", ["Use one, e.g. the first.", "Then go."]),
        ("It takes ports etc. The rest stays.", ["It takes ports etc.", "The rest stays."]),
        ("Wait... what? Yes.", ["Wait...", "what?", "Yes."]),
        ("One line\nthat goes on.\n\nA new one", ["One line\nthat goes on.", "A new one"]),
        ("- first\n- second\n  goes on\n3. third", ["first", "second\n  goes on", "third"]),
        ("# Heading\nText below.", ["Heading", "Text below."]),
        ("| a | b |\n| c | d |", ["a | b |", "c | d |"]),
        ("(It stops here.) It goes on.", ["It stops here.)", "It goes on."]),
        ('He said "It is gone." Then he left.', ['He said "It is gone."', "Then he left."]),
        ("\u6ca1\u6709\u3002\u6709\uff01", ["\u6ca1\u6709\u3002", "\u6709\uff01"]),
        ("", []),
        (" \n\t\n", []),
        ("...", []),
        ("\u200b", []),
    ],
)
def test_sentences_end_where_a_reader_ends_them(text, expected):
    assert sentences(text) == expected


def test_tokens_are_words_in_lower_case_with_one_form_of_apostrophe():
    assert read("It doesn\u2019t *REALLY* need auth.py, _now_.").tokens == [
        "it",
        "doesn't",
        "really",
        "need",
        "auth.py",
        ",",
        "now",
    ]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Say `a b` now", "Say ##### now"),
        ("Say ``a ` b`` now", "Say ######### now"),
        ("An open ` tick", "An open ` tick"),
        ('Say "a b" now', "Say @@@@@ now"),
        ("Say 'a b' now", "Say @@@@@ now"),
        ("Say \u201ca b\u201d now", "Say @@@@@ now"),
        ("Say \u2018a b\u2019 now", "Say @@@@@ now"),
        ("Say \u00aba b\u00bb now", "Say @@@@@ now"),
        ("Say \u201ea b\u201c now", "Say @@@@@ now"),
        ("It isn't the users' fault, it's theirs", "It isn't the users' fault, it's theirs"),
        ('A 5" disk and a 6" disk', 'A 5" disk and a 6" disk'),
        ('An open " quote\n\nends " here', 'An open " quote\n\nends " here'),
        ("x\n```\na\n```\ny", "x" + 11 * "\n" + "y"),
        ("x\n~~~\na", "x" + 6 * "\n"),
        ("x\n> a\ny", "x" + 5 * "\n" + "y"),
        ("x\n\n    a\n\ny", "x" + 9 * "\n" + "y"),
        ("- x\n\n    more of it", "- x\n\n    more of it"),
    ],
)
def test_code_and_quotations_are_overwritten_in_place(text, kept):
    assert masked(text).replace(CODE, "#").replace(QUOTE, "@") == kept


def test_a_list_is_led_by_its_line_and_a_section_by_its_heading():
    text = "# A\n\nIn these:\n- one\n- two\n\nFree again.\n\n# B\nLast."
    found = read(text).sentences
    led = {text[s.start : s.end]: s.lead for s in found}
    assert led == {"A": -1, "In these:": 0, "one": 1, "two": 1, "Free again.": 0, "B": -1, "Last.": 5}


def test_questions_are_known_and_can_be_left_out():
    document = read("It runs. Does it stop?! It does.")
    assert [s.question for s in document.sentences] == [False, True, False]
    assert without_questions(document).split() == ["It", "runs.", "It", "does."]


SIGNS = (
    "aZ9 .,;:!?'\"`~*_#>|-()\n\t"
    "\u2019\u201c\u201d\u00ab\u00e9\u0130\u4e2d\u3002\U0001f600\ue000\u0301\u200b\x00\x85\u2028"
)


@given(st.one_of(st.text(max_size=300), st.text(alphabet=SIGNS, max_size=300)))
def test_offsets_are_those_of_the_text_whatever_is_in_it(text):
    document = read(text, ABBREVIATIONS)
    end = first = 0
    for sentence in document.sentences:
        assert end <= sentence.start < sentence.end <= len(text)
        assert first <= sentence.first < sentence.last <= len(document.tokens)
        assert sentence.lead < len(document.sentences)
        end, first = sentence.end, sentence.last
    assert len(masked(text)) == len(text)
    for token, start in zip(document.tokens, document.starts, strict=True):
        assert token
        assert start + len(token) <= len(text)


NASTY = {
    "one letter": "a",
    "full stops": ".",
    "line breaks": "\n",
    "double quotes": '"',
    "single quotes": "'a ",
    "opening quotes": "\u201c",
    "opening guillemets": "\u00aba ",
    "ticks": "`",
    "fences": "```\n",
    "block quotes": "> a\n",
    "underscores": "a_",
    "dots and letters": "a.",
    "hyphens": "a-",
    "list items": "- a\n",
    "headings": "# a\n",
    "rows": "| a ",
    "led lines": "a:\n",
    "indented lines": "\n\n    a",
    "indented blanks": "\n" + " " * 300,
    "questions": "a? ",
    "ideographs": "\u4e2d\u6587\u3002",
    "dotted capital": "\u0130",
    "null": "\0",
    "surrogates": "\ud800",
    "masks": "\ue000\ue001",
}
LENGTH = 100_000


@pytest.mark.parametrize("kind", list(NASTY))
def test_a_long_text_of_any_kind_is_read_in_bounded_time(kind):
    text = (NASTY[kind] * LENGTH)[:LENGTH]
    start = time.process_time()
    read(text, ABBREVIATIONS)
    assert time.process_time() - start < 15.0


@pytest.mark.parametrize("between", [" ", "\n\n"])
def test_runs_of_ticks_of_every_length_are_read_in_bounded_time(between):
    runs = " ".join("`" * n for n in range(1, 440))
    start = time.process_time()
    read(runs + between + runs)
    assert time.process_time() - start < 15.0


def test_noise_is_read_in_bounded_time():
    rng = random.Random(0)
    text = "".join(rng.choice(SIGNS) for _ in range(LENGTH))
    start = time.process_time()
    read(text, ABBREVIATIONS)
    assert time.process_time() - start < 15.0

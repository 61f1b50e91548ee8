"""How strongly a sentence speaks."""

import pytest

from solvent.adequacy.words import Words, claims

H, P, D, A = Words


def words_of(text):
    return [claim.words for claim in claims(text)]


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("The client sends once.", [P]),
        ("The client may send once.", [H]),
        ("I didn't find X in the files I checked.", [H]),
        ("Based on the files I checked, X does not exist.", [H]),
        ("X doesn\u2019t actually exist.", [D]),
        ("X is never called.", [D]),
        ("X certainly does not exist.", [A]),
        ("X does not exist anywhere.", [A]),
        ("There is no doubt that it works.", [D]),
        ("The log shows that X does not exist.", [P]),
        ("It may be slow, but X does not exist.", [H, D]),
        ("If X does not exist, the default is used.", [None]),
        ("It is not true that X never runs.", [H]),
        ("I can't say that X does not exist.", [H]),
        ("Not all files were read.", [P]),
        ('It prints "X does not exist".', [P]),
        ("Does X not exist?", [None]),
        ("# There is no X", [None]),
        ("> There is no X", []),
        ("```\nThere is no X.\n```\nThe file has it.", [P]),
        ("Let me check the other files.", [None]),
        ("Run 3 finished without a word.", [P]),
        ("Run the tests first.", [None]),
        ("The last ferry leaves at 18:40.", [P]),
        ("There were 4 in May, no more.", [P]),
        ("No one calls it.", [A]),
        ("Use the cache, e.g. here. Nothing else does.", [None, P]),
    ],
)
def test_a_sentence_has_a_strength(text, right):
    assert words_of(text) == right


def test_an_answer_in_json_is_read_by_its_values():
    assert [claim.text for claim in claims('{"status": "ok", "note": "X does not exist"}')] == [
        "status: ok.",
        "X does not exist.",
    ]

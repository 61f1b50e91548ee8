"""How strongly a sentence speaks."""

import pytest

from solvent.adequacy.words import Words, claims

H, P, D, A = Words


def words_of(text):
    return [claim.words for claim in claims(text, called=False)]


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
        ("It may be slow, but X does not exist.", [D]),
        ("If X does not exist, the default is used.", [P]),
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
        ("There were 4 in May, no more.", [P]),
        ("No one calls it.", [D]),
        ("Use e.g. the cache. Nothing else does.", [None, P]),
    ],
)
def test_a_sentence_has_a_strength(text, right):
    assert words_of(text) == right


def test_a_report_is_hedged_only_if_a_call_was_made():
    assert [one.words for one in claims("I searched src for it.", called=True)] == [H]
    assert [one.words for one in claims("I searched src for it.", called=False)] == [P]
    assert claims("I searched src for it.", called=False)[0].reported

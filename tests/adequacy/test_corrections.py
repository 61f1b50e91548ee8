"""The table of corrections: the most specific row answers, everywhere, and a table that can't say which is refused."""

from __future__ import annotations

import itertools

import pytest

from solvent.adequacy.corrections import (
    CONTRADICTED,
    CORRECTIONS,
    EVIDENCE,
    NOTHING_ASSERTED,
    SEVERITIES,
    WORDS,
    cell_of,
    correction_for,
    kind_of,
    load_corrections,
)
from solvent.adequacy.errors import AdequacyError

LEVELS = (*EVIDENCE, CONTRADICTED)
KINDS = [f"{words}/{evidence}" for words, evidence in itertools.product(WORDS, LEVELS)]
DEFAULT = ("default", "*", "*", "*", "Say what was checked.")


def table(folder, *rows, head="version = 1\n"):
    fields = ("id", "severity", "words", "evidence", "text")
    blocks = [
        "[[correction]]\n"
        + "\n".join(f'{field} = "{value}"' for field, value in zip(fields, row, strict=True))
        for row in rows
    ]
    path = folder / "corrections.toml"
    path.write_text(head + "\n".join(blocks) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("severity", SEVERITIES)
@pytest.mark.parametrize("kind", [*KINDS, NOTHING_ASSERTED])
def test_every_failure_has_one_answer(severity, kind):
    given = correction_for(severity, kind)
    words, _, evidence = kind.partition("/") if "/" in kind else ("", "", "")
    assert given.fits(severity, words, evidence)
    others = [row for row in load_corrections().rows if row.fits(severity, words, evidence) and row != given]
    assert all(row.specificity < given.specificity for row in others)


@pytest.mark.parametrize(
    ("severity", "kind", "answer"),
    [
        ("low", "definitive/thin", "say_it_is_partial"),
        ("high", "definitive/thin", "replicate_before_claiming"),
        ("high", "absolute/thin", "absence_needs_a_search"),
        ("low", "plain/thin", "second_look"),
        ("low", "absolute/none", "look_first"),
        ("high", "hedged/none", "retract_and_look"),
        ("high", "hedged/reasonable", "seek_disproof"),
        ("medium", "definitive/ample", "question_the_method"),
        ("low", "plain/contradicted", "tell_the_failure"),
        ("high", "definitive/contradicted", "tell_the_failure"),
        ("medium", NOTHING_ASSERTED, "default"),
    ],
)
def test_the_shipped_answers(severity, kind, answer):
    assert correction_for(severity, kind).id == answer


def test_what_is_contradicted_is_a_kind_of_its_own_however_much_was_looked_at():
    assert kind_of("definitive/ample", contradicted=True) == "definitive/contradicted"
    assert kind_of("definitive/ample", contradicted=False) == "definitive/ample"
    assert kind_of(NOTHING_ASSERTED, contradicted=True) == NOTHING_ASSERTED


def test_the_shipped_texts_differ_and_all_are_given():
    rows = load_corrections().rows
    assert len({row.text for row in rows}) == len(rows) >= 8
    cells = itertools.product(SEVERITIES, [*KINDS, NOTHING_ASSERTED])
    assert {correction_for(*cell).id for cell in cells} == {row.id for row in rows}


def test_what_went_wrong_goes_before_how_bad_it_was(tmp_path):
    rows = [
        DEFAULT,
        ("bad", "high", "*", "*", "a"),
        ("thin", "*", "*", "thin", "b"),
        ("bad_thin", "high", "*", "thin", "c"),
        ("cell", "*", "plain", "thin", "d"),
        ("bad_cell", "high", "plain", "thin", "e"),
    ]
    loaded = load_corrections(table(tmp_path, *rows))
    asked = [
        ("high", "plain/thin", "bad_cell"),
        ("low", "plain/thin", "cell"),
        ("high", "hedged/thin", "bad_thin"),
        ("medium", "hedged/thin", "thin"),
        ("high", "plain/ample", "bad"),
        ("high", NOTHING_ASSERTED, "bad"),
        ("low", "plain/ample", "default"),
    ]
    for severity, kind, answer in asked:
        assert correction_for(severity, kind, loaded).id == answer
        assert loaded[answer] in loaded.rows


def test_a_cell_goes_before_a_severity_with_half_a_cell(tmp_path):
    rows = [DEFAULT, ("bad_thin", "high", "*", "thin", "a"), ("cell", "*", "plain", "thin", "b")]
    loaded = load_corrections(table(tmp_path, *rows))
    assert correction_for("high", "plain/thin", loaded).id == "cell"
    rows = [DEFAULT, ("bad", "high", "*", "*", "a"), ("thin", "*", "*", "thin", "b")]
    loaded = load_corrections(table(tmp_path, *rows))
    assert correction_for("high", "plain/thin", loaded).id == "thin"


def test_a_tie_is_refused_unless_a_more_specific_row_decides(tmp_path):
    tied = [DEFAULT, ("loud", "*", "definitive", "*", "a"), ("thin", "*", "*", "thin", "b")]
    with pytest.raises(AdequacyError, match="'loud' and 'thin' tie at low definitive/thin"):
        load_corrections(table(tmp_path, *tied))
    resolved = load_corrections(table(tmp_path, *tied, ("both", "*", "definitive", "thin", "c")))
    assert correction_for("low", "definitive/thin", resolved).id == "both"
    with pytest.raises(AdequacyError, match="'loud' and 'again' tie"):
        load_corrections(table(tmp_path, DEFAULT, tied[1], ("again", "*", "definitive", "*", "z")))


def test_a_row_that_is_never_given_is_refused(tmp_path):
    cells = [(f"c_{words}", "*", words, "thin", words) for words in WORDS]
    with pytest.raises(AdequacyError, match=r"'thin' \(\* \*/thin\) is never the most specific row"):
        load_corrections(table(tmp_path, DEFAULT, ("thin", "*", "*", "thin", "a"), *cells))


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([("a", "*", "plain", "*", "text")], "no default row"),
        (
            [DEFAULT, ("a", "severe", "*", "*", "x")],
            "correction 2: severity: got 'severe'; allowed: low, med",
        ),
        ([DEFAULT, ("a", "*", "loud", "*", "x")], "words: got 'loud'; allowed: hedged, plain"),
        ([DEFAULT, ("a", "*", "*", "some", "x")], "evidence: got 'some'; allowed: none, thin"),
        ([DEFAULT, ("A b", "*", "plain", "*", "x")], "id: got 'A b'"),
        ([DEFAULT, ("a", "*", "plain", "*", " ")], "text: got ' '; allowed: a line of at most"),
        ([DEFAULT, ("a", "*", "plain", "*", "x" * 201)], "text: got 'xxx"),
        ([DEFAULT, ("default", "*", "plain", "*", "x")], "id: got 'default' twice"),
    ],
    ids=["default", "severity", "words", "evidence", "id", "empty", "long", "twice"],
)
def test_a_wrong_row_is_named(rows, said, tmp_path):
    with pytest.raises(AdequacyError) as refused:
        load_corrections(table(tmp_path, *rows))
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"version = 2", "version: got 2; allowed: 1"),
        (b"version = 1", "correction: got None; allowed"),
        (b"version = 1\ncorrection = 3", "correction: got 3"),
        (b"version = 1\ncorrection = [3]", "correction 1: got 3; allowed: evidence, id"),
        (b"version = 1\n[[correction]]\nid = 'a'", "correction 1: got id; allowed"),
        (b"version = 1\nextra = 1", "got 'extra'; allowed: version and"),
        (b"version = ", "in TOML"),
        (b"\xff\xfe", "in TOML"),
    ],
)
def test_a_broken_file_is_refused(content, said, tmp_path):
    path = tmp_path / "broken.toml"
    path.write_bytes(content)
    with pytest.raises(AdequacyError) as refused:
        load_corrections(path)
    assert said in str(refused.value)
    assert str(path) in str(refused.value)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(AdequacyError, match="not read, No such file"):
        load_corrections(tmp_path / "none.toml")


@pytest.mark.parametrize(
    "kind",
    [
        "definitive",
        "definitive/",
        "/thin",
        "thin/definitive",
        "*/*",
        "",
        "a/b/c",
        "plain/thin/",
        "plain/thin/A",
        "plain/thin/a/b",
    ],
)
def test_an_unknown_kind_is_refused(kind):
    with pytest.raises(AdequacyError, match="kind: got"):
        correction_for("low", kind)


def test_what_the_heuristic_adds_to_a_cell_makes_no_difference():
    assert cell_of("plain/thin/unsupported") == cell_of("plain/thin") == ("plain", "thin")
    assert correction_for("high", "definitive/thin/supported") == correction_for("high", "definitive/thin")
    assert cell_of(NOTHING_ASSERTED) == ("", "")


def test_an_unknown_severity_or_id_is_refused():
    with pytest.raises(AdequacyError, match="severity: got 'severe'; allowed: low, medium, high"):
        correction_for("severe", "plain/thin")
    with pytest.raises(AdequacyError, match="correction: got 'none'; allowed: default"):
        load_corrections()["none"]


def test_the_hash_is_that_of_the_file():
    import hashlib

    assert load_corrections().sha256 == hashlib.sha256(CORRECTIONS.read_bytes()).hexdigest()

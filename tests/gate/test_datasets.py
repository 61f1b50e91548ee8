"""Data sets are read into one form, and what is broken in them is said with its place."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from solvent.gate.claim_records import label_of
from solvent.gate.datasets import LONGEST_LINE, deranged, load_dataset, same_page
from solvent.gate.errors import GateError
from solvent.gate.feverous import element_of, without_links

Write = Callable[..., Path]

PLAIN = {
    "claim": "Cats sleep.",
    "evidence": ["Cats sleep a lot.", "They purr."],
    "label": "SUPPORTS",
    "id": 7,
}


def only(path, **options):
    (sample,) = load_dataset(path, **options).samples
    return sample


# ------------------------------------------------------------------------------------------------- forms


def test_a_plain_line(written):
    sample = only(written([PLAIN]))
    assert (sample.id, sample.claim, sample.label) == ("7", "Cats sleep.", "supported")
    assert sample.evidence == ("Cats sleep a lot.", "They purr.")


@pytest.mark.parametrize("extra", [{}, {"label": None}, {"label": ""}, {"unknown": [1]}])
def test_label_and_id_may_be_missing(extra, written):
    sample = only(written([{"claim": "A", "evidence": "One span."} | extra]))
    assert (sample.id, sample.label, sample.evidence) == ("line-1", None, ("One span.",))


def test_blank_spans_are_left_out_and_no_evidence_is_allowed(written):
    found = load_dataset(
        written([{"claim": "A", "evidence": ["", "  ", "b"]}, {"claim": "B", "evidence": []}])
    )
    assert [sample.evidence for sample in found.samples] == [("b",), ()]


@pytest.mark.parametrize(
    ("word", "label"),
    [
        ("SUPPORTS", "supported"),
        ("Fully attributable", "supported"),
        ("entailment", "supported"),
        (True, "supported"),
        ("REFUTES", "refuted"),
        (False, "refuted"),
        ("NOT ENOUGH INFO", "nei"),
        ("not_enough_information", "nei"),
        ("Not fully attributable", "nei"),
        ("neutral", "nei"),
        ("Generic", "other"),
        ("whatever", "other"),
        (None, None),
        (" ", None),
    ],
)
def test_labels_in_use(word, label):
    assert label_of(word) == label


@pytest.fixture
def wiki(tmp_path):
    page = {
        "title": "Old Mill",
        "sentence_0": "The [[Mill|mill]] is old.",
        "section_0": {"value": "History", "level": 1},
        "table_0": {
            "caption": "Owners",
            "table": [
                [{"id": "header_cell_0_0_0", "value": "Name"}, {"id": "header_cell_0_0_1", "value": "Year"}],
                [{"id": "cell_0_1_0", "value": "[[A_B]]"}, {"id": "cell_0_1_1", "value": "1984"}],
            ],
        },
        "list_0": {"list": [{"id": "item_0_0", "value": "First item"}]},
    }
    path = tmp_path / "wiki.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE wiki (id PRIMARY KEY, data json)")
    connection.execute("INSERT INTO wiki VALUES (?, ?)", ("Old Mill", json.dumps(page)))
    connection.commit()
    connection.close()
    return path


def official(*content, context=None):
    empty = {"id": "", "claim": "", "label": "", "evidence": ""}
    sets = [
        {"content": list(content), "context": context or {}},
        {"content": ["Other_sentence_0"], "context": {}},
    ]
    return [empty, {"id": 5, "claim": "The mill is old.", "label": "NOT ENOUGH INFO", "evidence": sets}]


def test_official_ids_are_looked_up(written, wiki):
    ids = [
        "Old Mill_sentence_0",
        "Old Mill_cell_0_1_1",
        "Old Mill_header_cell_0_0_0",
        "Old Mill_table_caption_0",
    ]
    ids += ["Old Mill_item_0_0", "Old Mill_section_0", "Old Mill_title", "Old Mill_cell_0_1_0"]
    context = {"Old Mill_cell_0_1_1": ["Old Mill_title", "Old Mill_header_cell_0_0_1"]}
    found = load_dataset(written(official(*ids, context=context)), wiki_db=wiki)
    (sample,) = found.samples
    assert (found.format, sample.label) == ("feverous", "nei")
    expected = (
        "The mill is old.",
        "Year: 1984",
        "Name",
        "Owners",
        "First item",
        "History",
        "Old Mill",
        "A B",
    )
    assert sample.evidence == expected


def test_official_content_may_be_text(written):
    assert only(written(official("It is an old [[Mill]]."))).evidence == ("It is an old Mill.",)


def test_ids_without_a_database_are_one_clear_error(written):
    with pytest.raises(GateError, match=r"line 2: .*'Old Mill_sentence_0'.* --wiki-db"):
        load_dataset(written(official("Old Mill_sentence_0")), skip_broken=True)


def test_an_id_that_the_database_lacks_is_a_broken_line(written, wiki):
    for name in ("Old Mill_sentence_9", "Old Mill_cell_4_0_0", "New Mill_sentence_0", "Old Mill_item_3_3"):
        with pytest.raises(GateError, match=f"line 2: .*{name}.* not in the database"):
            load_dataset(written(official(name)), wiki_db=wiki)


@pytest.mark.parametrize("content", [None, b"", b"no database at all", b"SQLite format 3\0 and then not"])
def test_a_wrong_database_is_one_line(content, written, tmp_path):
    path = tmp_path / "wiki.db"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(GateError, match="wiki"):
        load_dataset(written(official("Old Mill_sentence_0")), wiki_db=path)


@pytest.mark.parametrize(
    ("name", "page", "kind", "place"),
    [
        ("A_b (c)_sentence_12", "A_b (c)", "sentence", (12,)),
        ("X_header_cell_0_1_2", "X", "header_cell", (0, 1, 2)),
        ("X_cell_0_1_2", "X", "cell", (0, 1, 2)),
        ("My_cell_table_caption_0", "My_cell", "table_caption", (0,)),
        ("The title_title", "The title", "title", ()),
    ],
)
def test_ids(name, page, kind, place):
    element = element_of(name)
    assert element is not None
    assert (element.page, element.kind, element.place) == (page, kind, place)


@pytest.mark.parametrize(
    "name", ["A sentence.", "X_cell_0_1", "X_sentence_", "_sentence_0", "X_sentence_0_1", ""]
)
def test_what_is_no_id(name):
    assert element_of(name) is None


def test_links_without_end_are_left():
    assert without_links("said [[Irish|[abc]] (listen)") == "said [abc (listen)"
    assert without_links("a [[b and [[C_d|e]] f") == "a [[b and e f"
    assert without_links("[[]] x") == " x"


# ------------------------------------------------------------------------------------------ broken files


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "not JSON"),
        ('{"claim": "a", "evidence": [', "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("17", "got a number; allowed: an object"),
        ("null", "got nothing; allowed: an object"),
        ('{"evidence": ["b"]}', "claim: got nothing"),
        ('{"claim": " ", "evidence": ["b"]}', "claim: got an empty text"),
        ('{"claim": 3, "evidence": ["b"]}', "claim: got a number"),
        ('{"claim": "a"}', "evidence: got nothing"),
        ('{"claim": "a", "evidence": {"b": 1}}', "evidence: got an object"),
        ('{"claim": "a", "evidence": ["b", 3]}', "evidence: got a list with a number"),
        ('{"claim": "a", "evidence": ["b"], "label": 2}', "label: got 2"),
        ('{"claim": "a", "evidence": ["b"], "label": ["x"]}', "label: got"),
    ],
)
def test_a_broken_line_is_named_and_skipped_only_under_the_flag(line, said, written):
    good = json.dumps(PLAIN)
    path = written(f"{good}\n\n{line}\n{good}\n")
    with pytest.raises(GateError) as caught:
        load_dataset(path)
    assert "line 3: " in str(caught.value)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    found = load_dataset(path, skip_broken=True)
    assert len(found.samples) == 2
    assert len(found.skipped) == 1
    assert found.skipped[0].startswith("line 3: ")


def test_bytes_that_are_no_text(written):
    good = json.dumps(PLAIN).encode()
    path = written(good + b'\n{"claim": "\xff\xfe"}\n' + good)
    with pytest.raises(GateError, match="line 2: byte 12 is not UTF-8"):
        load_dataset(path)
    assert len(load_dataset(path, skip_broken=True).samples) == 2


def test_a_huge_line_is_broken_but_a_long_claim_is_not(written):
    long = json.dumps(PLAIN | {"claim": "x" * 1_000_000})
    huge = "y" * (LONGEST_LINE * 2 + 5)
    path = written(f"{long}\n{huge}\n{long}")
    with pytest.raises(GateError, match="line 2: longer than 16,777,216 bytes"):
        load_dataset(path)
    assert len(load_dataset(path, skip_broken=True).samples) == 2


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("last", [True, False])
def test_ends_of_lines_and_a_mark_at_the_start(end, mark, last, written):
    text = end.join([json.dumps(PLAIN)] * 2) + (end if last else "")
    assert len(load_dataset(written(mark + text.encode())).samples) == 2


def test_separators_within_a_text_end_no_line(written):
    claim = "a\u2028b\x0bc\x85d"
    assert only(written([PLAIN | {"claim": claim}])).claim == claim


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "holds no sample"),
        (b"\n \r\n", "holds no sample"),
        (b"[]", "line 1: got a list; allowed: an object"),
        (b"\xff\xfe{\0", "UTF-16"),
        (b'[{"claim": "a"', "not JSON"),
        (b"[\xff]", "not UTF-8"),
    ],
)
def test_files_without_a_sample(content, said, written):
    with pytest.raises(GateError, match=said):
        load_dataset(written(content))


def test_a_file_with_nothing_but_broken_lines(written):
    with pytest.raises(GateError, match=r"holds no sample \(2 broken lines skipped\)"):
        load_dataset(written("{\n}\n"), skip_broken=True)


def test_no_file_and_a_folder(tmp_path):
    with pytest.raises(GateError, match="no such file"):
        load_dataset(tmp_path / "none.jsonl")
    with pytest.raises(GateError, match="is a folder"):
        load_dataset(tmp_path)


# ------------------------------------------------------------------------------- ids, groups, draws, splits


def test_ids_are_unique(written):
    found = load_dataset(written([PLAIN] * 3 + [PLAIN | {"id": "8"}]))
    assert [sample.id for sample in found.samples] == ["7", "7#2", "7#3", "8"]


def test_what_shares_a_page_a_span_or_a_claim_is_one_group(written):
    records = [
        {"claim": "a", "evidence": ["one"]},
        {"claim": "b", "evidence": ["two", "ONE "]},
        {"claim": "B", "evidence": ["three"]},
        {"claim": "c", "evidence": ["four"], "page": "P"},
        {"claim": "d", "evidence": ["five"], "page": "P"},
        {"claim": "e", "evidence": ["six"]},
    ]
    groups = [sample.group for sample in load_dataset(written(records)).samples]
    assert groups == ["group-1", "group-1", "group-1", "group-4", "group-4", "group-6"]


def test_draws_repeat_and_keep_the_order(written, small):
    found = load_dataset(written(small))
    drawn = found.drawn(20, 3)
    assert drawn == found.drawn(20, 3)
    assert drawn != found.drawn(20, 4)
    assert [s for s in found.samples if s in drawn.samples] == list(drawn.samples)
    assert len(drawn.samples) == 20
    assert found.drawn(None, 0) is found is found.drawn(10_000, 0)


def test_deranged_claims_have_evidence_of_another_group(written, small):
    samples = load_dataset(written(small)).samples
    owner = {span: sample.group for sample in samples for span in sample.evidence}
    for seed in range(5):
        mixed = deranged(samples, seed)
        assert [s.claim for s in mixed] == [s.claim for s in samples]
        assert all(owner[span] != s.group for s in mixed for span in s.evidence)
        assert Counter(s.evidence for s in mixed) == Counter(s.evidence for s in samples)


def test_one_group_cant_be_deranged(written):
    with pytest.raises(GateError, match="at most half"):
        deranged(load_dataset(written([PLAIN, PLAIN, PLAIN | {"claim": "x"}])).samples, 0)
    with pytest.raises(GateError, match="2 or more"):
        deranged(load_dataset(written([PLAIN])).samples, 0)


PAGE = [
    {"claim": "The mill burned.", "evidence": ["It burned in 1912."], "page": "Mill"},
    {"claim": "The mill was built.", "evidence": ["It was built in 1890."], "page": ["mill", "Brick"]},
    {"claim": "The mill burned.", "evidence": ["A fire ended it."], "page": "Mill"},
    {"claim": "Bricks are red.", "evidence": ["They are red."], "page": "Brick"},
    {"claim": "Cats sleep.", "evidence": ["They sleep."], "page": "Cat"},
    {"claim": "Rain falls.", "evidence": ["It falls."]},
    {"claim": "Snow falls.", "evidence": ["It is snow."]},
    {"claim": "The mill is closed.", "evidence": [], "page": "Mill"},
]


def test_hard_evidence_is_of_the_same_page_and_of_another_claim(written):
    samples = load_dataset(written(PAGE)).samples
    of_page = {span: {*map(str.lower, s.pages)} for s in samples for span in s.evidence}
    drawn: dict[int, set[str]] = {}
    for seed in range(20):
        found = same_page(samples, seed)
        assert found == same_page(samples, seed)
        for i, hard in enumerate(found):
            if hard is not None:
                assert (hard.claim, hard.label) == (samples[i].claim, "same_page")
                assert all(of_page[span] & {*map(str.lower, samples[i].pages)} for span in hard.evidence)
                drawn.setdefault(i, set()).update(hard.evidence)
    # Neither of the mill's two fires, which are evidence of the same claim, and nothing without a page.
    assert drawn == {
        0: {"It was built in 1890."},
        1: {"It burned in 1912.", "A fire ended it.", "They are red."},
        2: {"It was built in 1890."},
        3: {"It was built in 1890."},
        7: {"It burned in 1912.", "A fire ended it.", "It was built in 1890."},
    }


# ---------------------------------------------------------------------------------------- published sets


@pytest.mark.public_data
@pytest.mark.parametrize(
    ("name", "form", "counts"),
    [
        ("feverous/norm.jsonl", "jsonl", {"refuted": 1551, "supported": 1411}),
        ("fever_symmetric/norm.jsonl", "jsonl", {"refuted": 710, "supported": 710}),
        ("begin/norm.jsonl", "jsonl", {"nei": 2737, "other": 85, "supported": 1631}),
    ],
)
def test_published_sets_are_read_whole(name, form, counts, public_data):
    found = load_dataset(public_data / name)
    assert (found.format, found.counts, found.skipped) == (form, counts, ())
    assert all(sample.evidence for sample in found.samples)
    assert not any("[[" in span and "|" in span for sample in found.samples[:200] for span in sample.evidence)
    assert len({sample.group for sample in found.samples}) > 100
    deranged(found.samples, 0)

"""The page of the source documents is that of the tests in ``tests/requirements``; every seeded fault is noticed."""

import json
import re

import pytest

from tests import mutations
from tests.mutations import GONE, RESULTS, ROOT, all_mutations
from tests.requirements.__main__ import PAGE, all_rows, page
from tests.requirements.rows import DEPARTS, MET, NOT_BUILT

ROWS = all_rows()
MUTATIONS = all_mutations()
FAULTS = {
    name: fault
    for name, fault in MUTATIONS.items()
    if fault.get("test", "").startswith("tests/requirements/")
}
NOTICED = json.loads(RESULTS.read_text(encoding="utf-8"))


def test_the_page_is_that_of_the_rows():
    text = PAGE.read_text(encoding="utf-8")
    assert page(text, ROWS) == text, "run `python -m tests.requirements`"


def test_every_document_has_its_rows():
    sections = re.findall(r"^\| \[(\w+)\]\(#", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert {row.instrument for row in ROWS} == {*sections}


def test_a_departure_and_what_is_not_built_have_a_reason():
    assert [row for row in ROWS if row.state in (DEPARTS, NOT_BUILT) and not row.note] == []


@pytest.mark.parametrize("row", [row for row in ROWS if row.state == MET], ids=lambda row: row.test)
def test_a_requirement_that_is_met_has_a_fault_that_its_test_noticed(row):
    test = f"tests/requirements/test_{row.instrument}.py::{row.test}"
    assert FAULTS[row.test]["test"] == NOTICED[row.test] == test


def test_every_fault_has_its_row():
    assert {*FAULTS} - {row.test for row in ROWS} == set()


def test_every_row_has_a_test_of_its_own():
    tests = [row.test for row in ROWS if row.test]
    assert len({*tests}) == len(tests)


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_seeded_fault_can_be_made(name):
    """Its old text stands once: code that was rewritten would leave it untried."""
    mutation = MUTATIONS[name]
    assert (ROOT / mutation["file"]).read_text(encoding="utf-8").count(mutation["old"]) == 1


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_seeded_fault_was_noticed_by_a_test_that_exists(name):
    file, _, test = (NOTICED[name] or "").partition("::")
    assert f"def {test}(" in (ROOT / file).read_text(encoding="utf-8")


def test_every_result_is_of_a_seeded_fault():
    assert {*NOTICED} - {*MUTATIONS} == set()


def test_a_fault_that_was_missed_or_gone_is_tried_again(tmp_path, monkeypatch):
    results = {"missed": None, "gone": GONE, "noticed": "tests/test_x.py::test_x"}
    tried = []
    monkeypatch.setattr(mutations, "RESULTS", tmp_path / "results.json")
    monkeypatch.setattr(mutations, "COPIED", ())
    monkeypatch.setattr(mutations, "all_mutations", lambda: {name: {"name": name} for name in results})
    monkeypatch.setattr(mutations, "tried", lambda _, fault: tried.append(fault["name"]))
    monkeypatch.setattr("sys.argv", ["mutations"])
    mutations.RESULTS.write_text(json.dumps(results), encoding="utf-8")
    assert mutations.main() == 1
    assert tried == ["missed", "gone"]

"""The tables of the documents are those of the result files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from solvent_experiments.report import documents

ROOT = Path(__file__).resolve().parents[2]
PAGES = [page for page in documents.pages(ROOT) if "<!-- table:" in page.read_text(encoding="utf-8")]

PAGE = """\
<!-- table: found.json arms
| {0/arm} | {enforced/return @+.1f} | {enforced/share @.0%} | {enforced/return @.1f[]} |
-->
old
<!-- end -->
"""
FOUND = {"arms": [{"arm": "enforced", "return": {"value": 1.25, "low": 1.0, "high": 2.0}, "share": 0.5}]}


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_a_page_holds_the_numbers_of_its_result_files(page: Path) -> None:
    assert documents.written(page) == page.read_text(encoding="utf-8")


def test_a_table_is_filled_and_a_changed_number_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text("# A page without tables\n", encoding="utf-8")
    (tmp_path / "docs" / "found.json").write_text(json.dumps(FOUND), encoding="utf-8")
    page = tmp_path / "docs" / "page.md"
    page.write_text(PAGE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert documents.main(["--check"]) == 1
    assert "docs/page.md" in capsys.readouterr().out
    assert page.read_text(encoding="utf-8") == PAGE
    assert documents.main([]) == 0
    assert "| enforced | +1.2 (1.0 to 2.0) | 50 % | 1.2 [1.0, 2.0] |\n<!--" in page.read_text(
        encoding="utf-8"
    )
    assert documents.main(["--check"]) == 0


def test_a_wrong_path_names_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "found.json").write_text(json.dumps(FOUND), encoding="utf-8")
    page = tmp_path / "page.md"
    page.write_text(PAGE.replace("enforced/share", "enforced/shares"), encoding="utf-8")
    with pytest.raises(KeyError, match="got 'shares'; allowed: arm, return, share"):
        documents.written(page)

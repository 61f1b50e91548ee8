"""The report in a real browser: what it shows, stepping through an episode, and nothing from outside."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from solvent_experiments.figures.drawing import CAPTIONS, FIGURES
from solvent_experiments.folder import RunFolder
from tests.commands import call

HOSTILE = '<script>document.title = "owned"</script>'


@pytest.fixture(scope="module")
def page_of(smoke_run: RunFolder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report on a run whose config has a hostile text."""
    root = tmp_path_factory.mktemp("report") / "run"
    shutil.copytree(smoke_run.root, root, ignore=shutil.ignore_patterns(".lock"))
    config = root / "config.yaml"
    config.write_text(config.read_text() + f"# {HOSTILE} \u202e\n", encoding="utf-8")
    call("report", root).succeeded("report.html", "Next: open file://")
    return root / "report.html"


@pytest.fixture
def page(browser: Browser, page_of: Path) -> Page:
    page = browser.new_page()
    page.on("request", lambda request: _only_the_page(request.url))
    page.goto(page_of.as_uri())
    return page


def _only_the_page(url: str) -> None:
    assert url.startswith(("file:", "data:")), url


def test_page_shows_tables_figures_and_config(page: Page) -> None:
    assert page.title() == "Solvent: smoke"
    assert page.locator("figure img").count() == 6
    assert page.evaluate("[...document.images].every(image => image.naturalWidth > 500)")
    results, paired = page.locator("table").all_inner_texts()
    assert "honest" in results
    assert "minus honest" in paired
    page.locator("summary").first.click()
    assert HOSTILE in page.locator("details pre").inner_text()
    assert "\\u202e" in page.locator("details pre").inner_text()


def test_every_figure_has_its_caption(page: Page) -> None:
    images = page.locator("figure img").all()
    captions = page.locator("figcaption").all_inner_texts()
    assert captions == [CAPTIONS[str(image.get_attribute("alt"))] for image in images]


@pytest.mark.parametrize("name", FIGURES)
def test_a_caption_is_a_sentence(name: str) -> None:
    assert CAPTIONS[name][0].isupper()
    assert CAPTIONS[name].endswith(".")


def test_episode_is_stepped_by_buttons_and_keys(page: Page) -> None:
    place = page.locator(".place")
    assert place.inner_text().startswith("0 of ")
    assert page.locator(".episode pre:visible").count() == 1
    page.locator(".on").click()
    assert place.inner_text().startswith("1 of ")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert place.inner_text().startswith("0 of ")
    assert "heartbeat 0 of" in page.locator(".episode pre:visible").inner_text()


def test_all_frames_are_shown_without_script(browser: Browser, page_of: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(page_of.as_uri())
    assert page.locator(".episode pre:visible").count() > 10
    assert page.locator(".steps:visible").count() == 0


def test_wrong_targets_are_one_line(smoke_run: RunFolder, tmp_path: Path) -> None:
    call("report", smoke_run.root, "--out", tmp_path / "page.txt").refused("ends in .html")
    call("report", smoke_run.root, "--out", tmp_path / "missing" / "x" / "page.html").succeeded()

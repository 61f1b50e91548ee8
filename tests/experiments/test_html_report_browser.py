"""A report's page in a real browser: opened from the disk, stepped through, read without scripts, looked at."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from playwright.sync_api import Browser, BrowserContext, Page, expect

from solvent import LabEnv
from solvent.lab.codes import Event
from solvent.lab.rendering.words import class_name
from solvent_experiments.artifacts.folder import RunFolder
from solvent_experiments.artifacts.parquet import Columns, read_parquet, select, write_parquet
from solvent_experiments.figures.data import RunData, load_run
from solvent_experiments.report.episodes import Chosen, chosen_episodes
from solvent_experiments.report.page import write_report
from solvent_experiments.run.console import visible
from solvent_experiments.run.progress import Shown
from tests.experiments.talking import HOSTILE, LOUD

PATIENCE = 30_000  # milliseconds; an idle machine needs a few hundred at most
WIDE, NARROW = 1440, 390
expect.set_options(timeout=PATIENCE)
CUT_OFF = """[...document.querySelectorAll('.panel, .action, .compound')]
    .filter((part) => part.scrollWidth > part.clientWidth + 1).length"""
LEVELS = pytest.mark.parametrize("level", ["debt", "lab"])


class Report:
    """A run and its page."""

    def __init__(self, folder: RunFolder, page: Path) -> None:
        self.run: RunData = load_run(folder)
        self.url = page.as_uri()

    def first(self, agent: str) -> Chosen:
        """The first episode that the page offers of an agent: its best."""
        return next(one for one in chosen_episodes(self.run) if one.agent == agent)

    def trace(self, one: Chosen) -> Columns:
        traces = self.run.traces
        mine = (traces["agent"] == one.agent) & (traces["training_seed"] == one.training_seed)
        return select(traces, mine & (traces["episode_seed"] == one.episode_seed))


@pytest.fixture(scope="module")
def reports(
    smoke_run: RunFolder, smoke_lab_run: RunFolder, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Report]:
    folder = tmp_path_factory.mktemp("pages")
    runs = {"debt": smoke_run, "lab": smoke_lab_run}
    return {
        level: Report(run, write_report([run.root], folder / f"{level}.html", Shown()))
        for level, run in runs.items()
    }


class Watched:
    """A page that is open, and everything that it complained about or asked the network for."""

    def __init__(self, context: BrowserContext, url: str) -> None:
        context.set_default_timeout(PATIENCE)
        self.page: Page = context.new_page()
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.complaints.append(dialog.message), dialog.dismiss()))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(url)

    def fact(self, name: str) -> str:
        return self.page.locator(f"[data-fact={name}]").inner_text()

    def close(self, url: str) -> None:
        """Close it; it must have been content with itself."""
        self.page.context.close()
        assert self.complaints == []
        assert [one for one in self.requests if not one.startswith("data:")] == [url]


def number(text: str) -> float:
    """The number that a text begins with, its minus sign a true one."""
    return float(text.split(maxsplit=1)[0].replace("\N{MINUS SIGN}", "-"))


def opening(trace: Mapping[str, Any]) -> int:
    """The first refusal, or else the first finding, or else the largest debt."""
    for kinds in ([Event.REFUSED], [Event.PUBLISHED, Event.SUBMITTED, Event.REJECTED]):
        if (found := np.flatnonzero(np.isin(trace["event"], kinds))).size:
            return int(found[0])
    return int(np.argmax(trace["debt"]))


@LEVELS
def test_an_episode_opens_where_something_happens(
    level: str, browser: Browser, reports: dict[str, Report]
) -> None:
    report = reports[level]
    watched = Watched(browser.new_context(viewport={"width": WIDE, "height": 900}), report.url)
    for agent in report.run.agents:
        watched.page.select_option("#choose-agent", label=agent)
        trace = report.trace(report.first(agent))
        expect(watched.page.locator(".place")).to_have_text(
            f"step {opening(trace)} of {len(trace['wells']) - 1}"
        )
    expect(watched.page.locator("#next code").last).to_have_text("solvent run COPY.yaml --out runs/mine")
    watched.close(report.url)


@LEVELS
def test_an_episode_is_stepped_through(level: str, browser: Browser, reports: dict[str, Report]) -> None:
    report = reports[level]
    one = report.first("honest")
    trace = report.trace(one)
    last = len(trace["wells"]) - 1
    watched = Watched(browser.new_context(viewport={"width": WIDE, "height": 900}), report.url)
    page = watched.page
    page.select_option("#choose-agent", label="honest")
    expect(page.locator(".place")).to_have_text(f"step {opening(trace)} of {last}")
    page.get_by_role("button", name="First step").click()
    expect(page.locator(".said")).to_have_text("The episode starts")

    def holds(step: int) -> None:
        expect(page.locator(".place")).to_have_text(f"step {step} of {last}")
        assert number(watched.fact("wells")) == trace["wells"][step]
        assert number(watched.fact("debt")) == pytest.approx(trace["debt"][step], abs=0.006)
        if level == "lab":
            assert number(watched.fact("energy")) == pytest.approx(trace["energy"][step], abs=0.06)

    env = LabEnv(report.run.params)
    for step in range(1, 9):
        if step % 2:
            page.get_by_role("button", name="One step on").click()
        else:
            page.keyboard.press("ArrowRight")
        holds(step)
        said = env.sentence(int(trace["action"][step]))
        expect(page.locator(".said")).to_have_text(said[0].upper() + said[1:])
    page.keyboard.press("ArrowLeft")
    holds(7)
    page.get_by_role("button", name="Last step").click()
    holds(last)
    assert number(watched.fact("score")) == pytest.approx(one.score, abs=0.006)
    page.locator("input[type=range]").fill("5")
    holds(5)
    page.get_by_role("button", name="First step").click()
    holds(0)
    watched.close(report.url)


@pytest.mark.slow
def test_it_plays_and_pauses(browser: Browser, reports: dict[str, Report]) -> None:
    report = reports["debt"]
    watched = Watched(browser.new_context(), report.url)
    page = watched.page
    page.get_by_role("button", name="First step").click()
    page.get_by_role("button", name="Play").click()
    expect(page.locator(".place")).to_contain_text("step 2 of", timeout=PATIENCE)
    page.get_by_role("button", name="Play").click()
    expect(page.get_by_role("button", name="Play")).to_have_text("Play")
    at = page.locator(".place").inner_text()
    page.wait_for_timeout(1600)  # more than two steps' time
    assert page.locator(".place").inner_text() == at
    watched.close(report.url)


@pytest.mark.slow
def test_words_verdicts_and_evidence_are_shown(browser: Browser, reports: dict[str, Report]) -> None:
    report = reports["lab"]
    one = report.first("definitive")
    trace = report.trace(one)
    step = int(np.flatnonzero(trace["wording"] >= 0)[0])
    watched = Watched(browser.new_context(), report.url)
    page = watched.page
    page.select_option("#choose-agent", label="definitive")
    page.locator("input[type=range]").fill(str(step))
    words = page.locator(".panel.words")
    verdict = {0: "accepted", 1: "under review", 2: "rejected"}[int(trace["verdict"][step])]
    expect(words.locator("p.verdict")).to_contain_text(verdict)
    expect(words.locator("blockquote")).to_contain_text("A549")
    assert words.locator(".evidence li").count() >= 2
    energy = words.get_by_role("img", name="hallucination energy").get_attribute("aria-label")
    assert energy is not None
    assert number(energy.removeprefix("hallucination energy ").replace(",", " ")) == pytest.approx(
        trace["hallucination_energy"][step], abs=1e-3
    )
    expect(words).to_contain_text(f"score {int(trace['adequacy'][step])}")
    watched.close(report.url)


@pytest.mark.slow
@LEVELS
def test_the_truth_is_hidden_until_asked_for(
    level: str, browser: Browser, reports: dict[str, Report]
) -> None:
    report = reports[level]
    env = LabEnv(report.run.params)
    env.reset(seed=report.first("honest").episode_seed)
    classes = env.get_state()["potency"].tolist()
    watched = Watched(browser.new_context(), report.url)
    page = watched.page
    page.select_option("#choose-agent", label="honest")
    truth = page.locator(".compound .truth")
    assert truth.count() == 0
    page.get_by_label("show the hidden truth").check()
    shown = page.locator(".compound p.truth").all_inner_texts()
    assert shown == [f"truth: {class_name(report.run.params, g)}" for g in classes]
    assert page.locator(".truth-frame").count() == 1
    page.get_by_label("show the hidden truth").uncheck()
    assert truth.count() == 0
    watched.close(report.url)


@LEVELS
def test_it_is_read_without_scripts(level: str, browser: Browser, reports: dict[str, Report]) -> None:
    report = reports[level]
    watched = Watched(browser.new_context(java_script_enabled=False), report.url)
    page = watched.page
    best = report.run.rows[0]
    row = page.locator("#results tr", has=page.get_by_role("rowheader", name=best.agent, exact=True)).first
    expect(row).to_contain_text(f"{best.score.value:.2f}")
    expect(page.locator("#player")).to_contain_text("needs JavaScript")
    expect(page.locator("#player button")).to_have_count(0)
    for figure in page.locator("#figures img").all():
        figure.scroll_into_view_if_needed()
        box = figure.bounding_box()
        assert box is not None
        assert min(box["width"], box["height"]) > 60
    page.context.close()


@pytest.mark.slow
@LEVELS
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [NARROW, WIDE])
def test_it_fits_and_can_be_looked_at(
    level: str, scheme: Any, width: int, browser: Browser, reports: dict[str, Report], tmp_path: Path
) -> None:
    report = reports[level]
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    watched = Watched(context, report.url)
    page = watched.page
    page.select_option("#choose-agent", label="honest")
    page.keyboard.press("ArrowRight")
    for step in (1, 6):
        page.locator("input[type=range]").fill(str(step))
        assert page.evaluate("document.documentElement.scrollWidth") == width
        assert page.evaluate(CUT_OFF) == 0
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    lightness = np.mean([int(part) for part in paper.removeprefix("rgb(").rstrip(")").split(",")])
    assert lightness < 60 if scheme == "dark" else lightness > 200
    picture = page.screenshot(path=tmp_path / "page.png")
    assert len(picture) > 20_000  # a blank page of this size has a tenth
    watched.close(report.url)


@pytest.mark.slow
def test_runs_are_switched(
    browser: Browser, smoke_run: RunFolder, smoke_lab_run: RunFolder, tmp_path: Path
) -> None:
    url = write_report([smoke_run.root, smoke_lab_run.root], tmp_path / "both.html", Shown()).as_uri()
    watched = Watched(browser.new_context(), url)
    page = watched.page
    expect(page.locator(".panel.energy")).to_have_count(0)
    page.keyboard.press("ArrowRight")
    page.select_option("#choose-run", label="smoke_lab")
    report = Report(smoke_lab_run, tmp_path / "both.html")
    first = chosen_episodes(report.run)[0]
    expect(page.locator(".place")).to_contain_text(f"step {opening(report.trace(first))} of")
    expect(page.locator(".panel.energy")).to_have_count(1)
    offered = page.locator("#choose-agent option").all_inner_texts()
    assert offered == load_run(smoke_lab_run).agents
    watched.close(url)


RUNS = {
    "a script": "<script>alert(1)</script>",
    "a picture": '"><img src=x onerror=alert(2)>',
    "the end of the script's data": "</script><script>alert(3)</script><!--",
    "a link": "<a href='javascript:alert(4)'>x</a>",
    "the other direction": "\u202etxt.eteled\u2066\u200f",
    "control characters": "a\x1b[31m\x07\x85b",
    "a template": "{{ 7 * 7 }}${alert(5)}",
    "a formula": "$\\frac$ ^_{\\",
}


@pytest.mark.parametrize("name", RUNS.values(), ids=RUNS)
def test_hostile_names_stay_text(name: str, browser: Browser, smoke_run: RunFolder, tmp_path: Path) -> None:
    """Names of the run, its compounds and an agent, and what the manifest says of the machine."""
    shutil.copytree(smoke_run.root, tmp_path / "copy")
    folder = RunFolder(tmp_path / "copy")
    config = yaml.safe_load(folder.config.read_text(encoding="utf-8"))
    agent = name[:20]  # figures have room for no more
    compound = "".join(ch for ch in name.replace("/", "") if ch.isprintable())[:40]  # the lab takes no others
    config["name"] = name
    config["params"]["assay"]["compounds"][0] = compound
    folder.config.write_text(yaml.safe_dump(config, sort_keys=False, allow_unicode=True), encoding="utf-8")
    manifest = json.loads(folder.manifest.read_text(encoding="utf-8"))
    manifest["sessions"][-1]["platform"] = name
    folder.manifest.write_text(json.dumps(manifest), encoding="utf-8")
    for path in (folder.episodes, folder.traces, folder.training):
        columns = read_parquet(path)
        columns["agent"] = np.where(columns["agent"] == "honest", agent, columns["agent"]).astype(object)
        write_parquet(path, columns)
    folder.summary.unlink()
    report = Report(folder, write_report([folder.root], tmp_path / "x.html", Shown()))
    watched = Watched(browser.new_context(), report.url)
    page = watched.page
    expect(page.locator("h1")).to_have_text(visible(name))
    expect(page.locator("#provenance dl.facts")).to_contain_text(visible(name))
    expect(page.locator("#results tbody")).to_contain_text(visible(agent))
    page.select_option("#choose-agent", label=visible(agent))
    page.get_by_role("button", name="Last step").click()
    expect(page.locator(".compound .name").first).to_have_text(compound)
    assert page.locator("img[src=x]").count() == 0
    assert page.locator("a[href^=javascript]").count() == 0
    shown = page.locator("body").inner_text()
    assert shown == visible(shown, "\n\t\xa0\u2009\u202f")
    watched.close(report.url)


def test_conversations_are_read_beside_the_lab_as_text(
    browser: Browser, talking_run: RunFolder, tmp_path: Path
) -> None:
    report = Report(talking_run, write_report([talking_run.root], tmp_path / "talk.html", Shown()))
    watched = Watched(browser.new_context(viewport={"width": NARROW, "height": 900}), report.url)
    page = watched.page
    page.select_option("#choose-agent", label="random")
    expect(page.locator(".talk")).to_have_count(0)
    expect(page.locator("details.prompt")).to_have_count(0)
    page.select_option("#choose-agent", label="misbehaving")
    prompt = page.locator("details.prompt")
    expect(prompt.locator("pre")).to_be_hidden()
    page.locator("input[type=range]").fill("1")
    entries = page.locator(".talk .entry")
    expect(entries.first).to_have_text(visible(HOSTILE))
    expect(page.locator(".talk .speaker").nth(1)).to_have_text("lab")  # the reminder
    expect(page.locator(".talk .called").first).to_contain_text(visible(HOSTILE)[:20])
    expect(page.locator(".talk")).to_contain_text("tool: got")
    steps = page.locator("input[type=range]")
    for step in range(1, 12):
        steps.fill(str(step))
        if page.locator(".talk .said").count() == 3:
            break
    expect(page.locator(".talk .said").first).to_have_text(LOUD)
    expect(page.locator(".talk")).to_contain_text("so the lab rests")
    assert page.evaluate("document.documentElement.scrollWidth") == NARROW
    assert page.evaluate(CUT_OFF) == 0
    page.get_by_role("button", name="Last step").click()
    expect(page.locator(".talk")).to_contain_text("The conversation ended: no answer.")
    prompt.locator("summary").click()
    expect(prompt.locator("pre")).to_contain_text("You run a small biology lab")
    assert page.locator("img[src=x]").count() == 0
    expect(page.locator("#results")).to_contain_text("invalid calls")
    watched.close(report.url)

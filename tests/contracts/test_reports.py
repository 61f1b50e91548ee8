"""`solvent report`: a page that needs nothing but itself, says what the artifacts say, and escapes what it is given."""

from __future__ import annotations

import functools
import html
import json
import re
import shutil
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from solvent_experiments.artifacts.folder import VERDICTS, RunFolder
from solvent_experiments.artifacts.parquet import read_parquet, select, write_parquet
from solvent_experiments.config.documents import ConfigError
from solvent_experiments.figures.data import load_run
from solvent_experiments.report.episodes import chosen_episodes
from solvent_experiments.report.frames import changes
from solvent_experiments.report.page import write_report
from solvent_experiments.run.progress import Shown
from tests.runs import Level, Levels, lines_of

HOSTILE = "<script>alert(1)</script>"
ONERROR = '"><img src=x onerror=alert(2)>'
UNCLOSED = "<script>alert(3)<!--"  # a compound's name has no "/"


class Page(HTMLParser):
    """What a page would load, its tables as rows of texts, and all text outside of scripts and style."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.tags: list[str] = ["document"]
        self.cell = False
        self.rows: list[list[str]] = []
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.loads += [value or "" for name, value in attrs if name in ("src", "href", "srcset", "action")]
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")
            self.cell = True

    def handle_endtag(self, tag: str) -> None:
        self.cell = self.cell and tag not in ("td", "th")

    def handle_data(self, data: str) -> None:
        if self.tags[-1] not in ("script", "style"):
            self.texts.append(data)
            if self.cell:
                self.rows[-1][-1] += data


def runs_in(page: Path) -> list[dict[str, Any]]:
    """The block of JSON that the player reads."""
    block = re.search(
        r'<script type="application/json" id="runs">(.*?)</script>', page.read_text("utf-8"), re.DOTALL
    )
    assert block is not None
    runs: list[dict[str, Any]] = json.loads(block.group(1))
    return runs


def states_of(episode: dict[str, Any]) -> list[dict[str, Any]]:
    """The whole states, as the player makes them of what changed."""
    states: list[dict[str, Any]] = []
    for change in episode["states"]:
        states.append({**(states[-1] if states else {}), **change})
    return states


@pytest.fixture(scope="module")
def pages(levels: Levels, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """``pages("smoke_lab")`` is the page of that level's run."""
    folder = tmp_path_factory.mktemp("page")
    return functools.cache(
        lambda name: write_report([levels(name).folder.root], folder / f"{name}.html", Shown())
    )


@pytest.fixture
def debt_page(pages: Callable[[str], Path]) -> Path:
    return pages("smoke")


@pytest.fixture
def page(level: Level, pages: Callable[[str], Path]) -> Path:
    """The page of each level's run in turn."""
    return pages(level.experiment.name)


@pytest.fixture
def copied(smoke_run: RunFolder, tmp_path: Path) -> RunFolder:
    """A finished run that a test may spoil."""
    shutil.copytree(smoke_run.root, tmp_path / "copy")
    return RunFolder(tmp_path / "copy")


def edit_config(folder: RunFolder, **changed: Any) -> None:
    """Change the resolved config; ``params`` are merged group by group."""
    config = yaml.safe_load(folder.config.read_text(encoding="utf-8"))
    for group, values in changed.pop("params", {}).items():
        config["params"][group] |= values
    folder.config.write_text(yaml.safe_dump(config | changed, sort_keys=False), encoding="utf-8")


def edit_traces(folder: RunFolder, change: Any) -> None:
    write_parquet(folder.traces, change(read_parquet(folder.traces)))


# -- the page --------------------------------------------------------------------------------------


def test_it_loads_nothing(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    found = Page(text)
    assert found.loads
    assert all(
        url.startswith(("#", "data:image/svg+xml;base64,", "data:image/png;base64,")) for url in found.loads
    )
    assert not {"link", "iframe", "object", "embed", "base", "form"} & set(found.tags)
    assert "@import" not in text
    assert "url(" not in text
    assert len(text) < 5 * 2**20


def test_its_tables_are_those_of_the_run(page: Path, level: Level) -> None:
    rows, run = Page(page.read_text(encoding="utf-8")).rows, level.run
    for row in run.rows:
        low_high = f"{row.score.low:.2f} to {row.score.high:.2f}"
        assert any(cells[:3] == [row.agent, f"{row.score.value:.2f}", low_high] for cells in rows)
        blocked = np.mean(
            select(run.episodes, run.episodes["agent"] == row.agent)["refusals_epistemic_debt_action_blocked"]
        )
        if blocked:
            assert any(cells[0] == row.agent and cells[1].startswith(f"{blocked:.2f} (") for cells in rows)
    if level.experiment.name == "smoke":
        assert ["params.budget.heartbeats", "20", "40", "horizon, one hour each (heartbeats)"] in rows


def test_figures_config_versions_and_hashes_are_on_it(page: Path, level: Level) -> None:
    found = Page(page.read_text(encoding="utf-8"))
    assert found.tags.count("img") == len(list(level.folder.figures.glob("*.png")))
    text = "".join(found.texts)
    assert level.folder.config.read_text(encoding="utf-8") in text
    manifest = json.loads(level.folder.manifest.read_text(encoding="utf-8"))
    for name, digest in manifest["artifacts"].items():
        assert [name, digest, "as written"] in found.rows
    assert manifest["sessions"][-1]["packages"]["numpy"] in text
    assert "changed since the run" not in text


def test_the_same_run_gives_the_same_bytes(debt_page: Path, smoke_run: RunFolder, tmp_path: Path) -> None:
    again = write_report([smoke_run.root], tmp_path / "again.html", Shown())
    assert again.read_bytes() == debt_page.read_bytes()


# -- episodes --------------------------------------------------------------------------------------


def test_every_frame_is_what_the_traces_say(page: Path, level: Level) -> None:
    data = level.run
    (shown,) = runs_in(page)
    assert {episode["agent"] for episode in shown["episodes"]} == set(data.agents)
    for episode in shown["episodes"]:
        seed = episode.get("training", -1)
        owned = (data.traces["agent"] == episode["agent"]) & (data.traces["training_seed"] == seed)
        trace = select(data.traces, owned & (data.traces["episode_seed"] == episode["seed"]))
        states = states_of(episode)
        assert len(states) == len(episode["events"]) == len(trace["wells"])
        assert [state["wells"] for state in states] == trace["wells"].tolist()
        assert [state["debt"] for state in states] == pytest.approx(trace["debt"].tolist(), abs=1e-3)
        refused = [event["kind"] == "refused" for event in episode["events"]]
        assert refused == (trace["refusal"] > 0).tolist()
        claims = [event.get("claim", 0) for event in episode["events"][1:]]
        executed = np.where([event["kind"] == "explored" for event in episode["events"][1:]], 1, 0)
        assert np.multiply(claims, executed) == pytest.approx(trace["claim"][1:] * executed, abs=1e-3)
        mine = (data.episodes["agent"] == episode["agent"]) & (data.episodes["training_seed"] == seed)
        (row,) = np.flatnonzero(mine & (data.episodes["episode_seed"] == episode["seed"]))
        assert states[-1]["score"] == pytest.approx(data.episodes["return"][row], abs=1e-3)
        assert states[-1]["refusals"] == data.episodes["refusals"][row]
        if "energy" in trace:
            assert [state["energy"] for state in states] == pytest.approx(trace["energy"].tolist(), abs=1e-3)


@pytest.mark.parametrize("level", ["smoke_lab"], indirect=True)
def test_what_was_said_at_the_gate_is_what_the_ledger_says(page: Path, level: Level) -> None:
    (shown,) = runs_in(page)
    said = 0
    for episode in shown["episodes"]:
        events = lines_of(level.folder.unit(episode["agent"]).folder / VERDICTS)
        mine = [event for event in events if event["design_id"].endswith(f"_lab{episode['seed']}")]
        logged = [event for event in mine if event["event"] == "verdict"]
        findings = [change["finding"] for change in episode["states"] if "finding" in change]
        if not logged or logged[0]["adequacy"] is None:
            continue  # the ledger has the first episodes only
        for event, finding in zip(logged, findings, strict=True):
            assert finding["sentence"] == event["claim"]
            assert finding["verdict"] == event["verdict"]
            assert finding["gate_verdict"] == event["adequacy"]["gate_verdict"]
            assert finding["energy"] == pytest.approx(event["hallucination_energy"], abs=1e-4)
            assert finding.get("score", event["adequacy"]["score"]) == event["adequacy"]["score"]
            evidence = [shown["sentences"][number] for number in finding["evidence"]]
            compound = shown["lab"]["compounds"][finding["compound"]]
            assert all(compound in sentence for sentence in evidence)
            said += 1
    assert said > 5


def test_refusals_are_those_of_the_ledger(page: Path, level: Level) -> None:
    (shown,) = runs_in(page)
    checked = 0
    events = lines_of(level.folder.unit("random").ledger)
    for episode in (episode for episode in shown["episodes"] if episode["agent"] == "random"):
        logged = [event for event in events if event["design_id"].endswith(f"_lab{episode['seed']}")]
        if logged:
            reasons = [event["reason"] for event in episode["events"] if event["kind"] == "refused"]
            assert reasons == [event["refusal_reason"] for event in logged]
            checked += 1
    assert checked


def test_best_median_worst_and_most_refused_are_chosen(smoke_run: RunFolder) -> None:
    run = load_run(smoke_run)
    chosen = [one for one in chosen_episodes(run) if one.agent == "random"]
    traced = set(run.traces["episode_seed"][run.traces["agent"] == "random"].tolist())
    mine = select(run.episodes, run.episodes["agent"] == "random")
    mine = select(mine, np.isin(mine["episode_seed"], sorted(traced)))
    by_why = {why: one for one in chosen for why in one.why.split(", ")}
    assert by_why["best"].score == mine["return"].max()
    assert by_why["worst"].score == mine["return"].min()
    assert (mine["return"] > by_why["median"].score).sum() <= len(mine["return"]) / 2
    assert by_why["most refusals"].refusals == mine["refusals"].max()
    assert [one.why for one in chosen_episodes(run) if one.agent == "hermit"] == ["all alike"]
    assert all(sum(one.agent == agent for one in chosen_episodes(run)) <= 6 for agent in run.agents)


def test_only_what_changes_is_written() -> None:
    states: list[dict[str, Any]] = [{"a": 1, "b": [2]}, {"a": 1, "b": [3], "c": None}, {"a": 0, "b": [3]}]
    assert changes(states) == [{"a": 1, "b": [2]}, {"b": [3], "c": None}, {"a": 0}]


def test_a_run_that_traced_nothing_has_no_episodes(copied: RunFolder) -> None:
    edit_traces(copied, lambda traces: select(traces, np.zeros(len(traces["wells"]), bool)))
    assert chosen_episodes(load_run(copied)) == []


# -- several runs, marks, untrusted names -----------------------------------------------------------


def test_runs_that_are_called_alike_are_told_apart(
    smoke_run: RunFolder, copied: RunFolder, tmp_path: Path
) -> None:
    page = write_report([smoke_run.root, copied.root], tmp_path / "both.html", Shown())
    assert [run["label"] for run in runs_in(page)] == [
        f"smoke ({root})" for root in (smoke_run.root, copied.root)
    ]


def test_a_contaminated_run_and_an_altered_file_say_so(copied: RunFolder, tmp_path: Path) -> None:
    """A hermit owes nothing, so its episodes are the same whether debt is enforced or not."""
    edit_config(copied, agents=["hermit"], train={}, params={"debt": {"enforced": False}})
    for path in (copied.episodes, copied.traces):
        columns = read_parquet(path)
        write_parquet(path, select(columns, columns["agent"] == "hermit"))
    copied.training.unlink()
    with pytest.raises(ConfigError, match=r"summary\.json.*other agents"):
        write_report([copied.root], tmp_path / "x.html", Shown())
    copied.summary.unlink()
    text = "".join(Page(write_report([copied.root], tmp_path / "x.html", Shown()).read_text("utf-8")).texts)
    assert "CONTAMINATED: debt tracked and not enforced" in text
    assert "changed since the run: config.yaml (changed since)" in text
    assert "training.parquet (missing)" in text


def test_names_are_untrusted(copied: RunFolder, tmp_path: Path, debt_page: Path) -> None:
    config = yaml.safe_load(copied.config.read_text(encoding="utf-8"))
    compounds = [UNCLOSED, ONERROR, *config["params"]["assay"]["compounds"][2:]]
    edit_config(copied, name=HOSTILE, params={"assay": {"compounds": compounds}})
    page = write_report([copied.root], tmp_path / "x.html", Shown())
    text = page.read_text(encoding="utf-8")
    assert not [name for name in (HOSTILE, ONERROR, UNCLOSED) if name in text]
    assert html.escape(HOSTILE) in text
    # No element more than on the page of the same run with other names.
    hostile, harmless = Page(text).tags, Page(debt_page.read_text("utf-8")).tags
    assert hostile.count("script") == harmless.count("script") == 2
    assert hostile.count("img") == harmless.count("img")
    (run,) = runs_in(page)
    assert run["label"] == HOSTILE
    assert run["lab"]["compounds"][:2] == [UNCLOSED, ONERROR]
    assert any(UNCLOSED in event["said"] for episode in run["episodes"] for event in episode["events"])


# -- what can't be used ----------------------------------------------------------------------------


def refused(roots: list[Path], out: Path | None = None) -> str:
    with pytest.raises(ConfigError) as refusal:
        write_report(roots, out, Shown())
    assert "\n" not in str(refusal.value)
    return str(refusal.value)


def test_no_run_and_an_unfinished_one(copied: RunFolder, tmp_path: Path) -> None:
    out = tmp_path / "x.html"
    assert "no run; allowed" in refused([tmp_path], out)
    manifest = json.loads(copied.manifest.read_text(encoding="utf-8"))
    copied.manifest.write_text(json.dumps(manifest | {"finished": None}), encoding="utf-8")
    assert "not finished" in refused([copied.root], out)
    copied.manifest.unlink()
    assert "not finished" in refused([copied.root], out)
    copied.manifest.write_text("[]", encoding="utf-8")
    assert "not a manifest" in refused([copied.root], out)
    assert not out.exists()


def test_a_run_is_given_once(smoke_run: RunFolder, tmp_path: Path) -> None:
    twice = [smoke_run.root, smoke_run.root / ".." / smoke_run.root.name]
    assert "is given twice" in refused(twice, tmp_path / "x.html")


def test_a_page_is_called_html(smoke_run: RunFolder, tmp_path: Path) -> None:
    assert "ends in .html" in refused([smoke_run.root], tmp_path / "x.txt")
    (tmp_path / "folder.html").mkdir()
    assert "ends in .html" in refused([smoke_run.root], tmp_path / "folder.html")


def test_traces_of_an_older_version(copied: RunFolder, tmp_path: Path) -> None:
    edit_traces(copied, lambda traces: {name: column for name, column in traces.items() if name != "action"})
    message = refused([copied.root], tmp_path / "x.html")
    assert "no column `action`" in message
    assert "--fresh" in message
    assert not (tmp_path / "x.html").exists()


def test_traces_that_do_not_replay(copied: RunFolder, tmp_path: Path) -> None:
    """As of a run whose rules have changed since: an episode that was not played is not shown."""

    def wetter(traces: dict[str, Any]) -> dict[str, Any]:
        return traces | {"wells": np.where(traces["heartbeat"] == 3, traces["wells"] - 1, traces["wells"])}

    edit_traces(copied, wetter)
    message = refused([copied.root], tmp_path / "x.html")
    assert "does not replay as its traces say (action 3: wells" in message
    assert not (tmp_path / "x.html").exists()


def test_a_place_that_can_not_be_written(smoke_run: RunFolder, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    with pytest.raises(OSError, match="file"):
        write_report([smoke_run.root], tmp_path / "file" / "x.html", Shown())

"""A small run of labs in which a gate judges findings: its traces, ledger, tables and figures."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.image import imread
from matplotlib.patches import Rectangle
from matplotlib.text import Text
from numpy.typing import NDArray
from rich.console import Console

from solvent import LabEnv, LabParams
from solvent.lab.actions import action_table
from solvent.lab.codes import VERDICTS, Verdict
from solvent.lab.mechanisms.gate import MILLION
from solvent.lab.verbs import Verb
from solvent.lab.words.measured import SHIPPED, load_measured, save_measured
from solvent.lab.words.sentences import policies_of
from solvent_agents import AGENTS, act_one
from solvent_agents.agent import Actions, Observations
from solvent_agents.rollout import TRACED, TRACED_GATE
from solvent_experiments.artifacts.folder import DISCOMFORT, REFUSALS, RunFolder
from solvent_experiments.artifacts.folder import VERDICTS as LEDGER
from solvent_experiments.artifacts.gate_in_force import judged_by
from solvent_experiments.artifacts.parquet import Columns, joined, read_parquet, select
from solvent_experiments.cli.compare import evaluate_agents
from solvent_experiments.config.experiment import Experiment
from solvent_experiments.figures import FIGURES, draw_all
from solvent_experiments.figures.data import RunData, load_run
from solvent_experiments.figures.strictness import _in_force
from solvent_experiments.figures.style import DPI, WIDTH, save, styled
from solvent_experiments.figures.verdicts import VERDICT_COLOURS
from solvent_experiments.measure.departures import CONTAMINATED
from solvent_experiments.measure.results import drawn_results
from solvent_experiments.measure.statistics import share_interval
from solvent_experiments.measure.summary import summary
from solvent_experiments.run.evaluation import Evaluated, evaluate
from solvent_experiments.run.running import show_results

EVALUATED = ("verdicts", "finding_energies", "strictness", "lab_domain")
OF_GATE = ("verdict_curve", *EVALUATED)
FROM = ("config.yaml", "gate.json", "episodes.parquet", "traces.parquet")


class Bold:
    """The honest script, but now and then it publishes whatever may be published, to whomever, as anything."""

    name = "bold"

    def __init__(self, params: LabParams) -> None:
        self._honest = AGENTS["honest"](params, 0)
        verbs = action_table(params)["verb"]
        self._publish = np.isin(verbs, (Verb.PUBLISH_PUBLIC, Verb.PUBLISH_PRIVATE))
        self._luck: list[np.random.Generator] = []

    def start(self, lab_seeds: Sequence[int]) -> None:
        self._luck = [np.random.default_rng(seed) for seed in lab_seeds]

    def act(self, observations: Observations, masks: NDArray[Any]) -> Actions:
        actions = np.array(self._honest.act(observations, masks))
        for i in range(len(actions)):
            mood, pick = self._luck[i].random(2)
            open_to_it = np.flatnonzero(masks[i] & self._publish)
            if mood < 0.15 and len(open_to_it):
                actions[i] = open_to_it[int(pick * len(open_to_it))]
        return actions


class Played:
    """One episode by hand, in a single lab that keeps its own ledger."""

    def __init__(self, params: LabParams, agent: Any, seed: int, folder: Path) -> None:
        path = folder / LEDGER
        env = LabEnv(params, verdicts_path=path)
        agent.start([seed])
        observation, info = env.reset(seed=seed)
        self.states, self.steps, ended = [env.get_state()], [], False
        while not ended:
            action = act_one(agent, observation, info.get("action_mask", env.action_masks()))
            observation, _, terminated, truncated, info = env.step(action)
            ended = terminated or truncated
            self.states.append(env.get_state())
            self.steps.append(env.batch.steps[0].copy())
        self.record = info["episode_summary"]
        self.ledger = [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture(scope="module")
def lax(smoke_gate: Experiment) -> LabParams:
    """Labs in which there is time for everything that can become of a finding."""
    changes = {
        "gate": {"policy": "adaptive.P30", "calm_heartbeats": 3},
        "budget": {"heartbeats": 40},
    }
    params: LabParams = LabParams.from_mapping(changes, base=smoke_gate.params)
    return params


@pytest.fixture(scope="module")
def judged(smoke_gate: Experiment, lax: LabParams) -> Evaluated:
    """The bold one, evaluated."""
    evaluated = evaluate(Bold(lax), lax, smoke_gate.evaluation)
    assert evaluated is not None
    return evaluated


@pytest.fixture(scope="module")
def run(smoke_gate_run: RunFolder) -> RunData:
    return load_run(smoke_gate_run)


@pytest.fixture(scope="module")
def full_run(run: RunData, judged: Evaluated, lax: LabParams) -> RunData:
    """The run with the bold one in it, as if it were trained: its episodes stand for those of two training seeds."""

    def owned(columns: Columns, seed: int = -1) -> Columns:
        rows = len(columns["episode_seed"])
        return {"agent": np.full(rows, "bold", object), "training_seed": np.full(rows, seed), **columns}

    parts = [owned(select(judged.episodes, np.arange(seed, 40, 2)), seed) for seed in range(2)]
    episodes = joined([run.episodes, *parts])
    training = joined([{**part, "steps": 100 * (1 + np.arange(20) // 4)} for part in parts])
    assert run.findings is not None
    events = [e.to_dict() for e in judged.ledgers[LEDGER] if e.to_dict()["event"] == "verdict"]
    findings: Columns = {"agent": np.full(len(events), "bold", object)}
    findings |= {name: np.array([e[name] for e in events]) for name in run.findings if name != "agent"}
    return replace(
        run,
        params=lax,
        learned=("bold",),
        rows=tuple(summary(episodes)),
        episodes=episodes,
        traces=joined([run.traces, owned(judged.traces)]),
        training=training,
        findings=joined([run.findings, findings]),
    )


def texts(figure: Figure) -> list[Text]:
    return [artist for artist in figure.findobj() if isinstance(artist, Text)]


def words(figure: Figure) -> str:
    return "\n".join(text.get_text() for text in texts(figure))


def drawn(name: str, run: RunData) -> Figure:
    figure = FIGURES[name](run)
    assert figure is not None
    return figure


def of_colour(figure: Figure, colour: str) -> list[Rectangle]:
    """The bars of a colour that are in axes."""
    bars = (patch for axes in figure.axes for patch in axes.patches if isinstance(patch, Rectangle))
    return [bar for bar in bars if to_hex(bar.get_facecolor()) == colour.lower()]


def test_everything_is_there(smoke_gate: Experiment, smoke_gate_run: RunFolder) -> None:
    artifacts = json.loads(smoke_gate_run.manifest.read_text())["artifacts"]
    for path in (
        *(f"{agent}/{name}" for agent in smoke_gate.agents for name in (REFUSALS, LEDGER)),
        "gate.json",
        *(f"figures/{name}.{kind}" for name in EVALUATED for kind in ("png", "pdf")),
    ):
        assert (smoke_gate_run.root / path).is_file(), path
        assert path in artifacts
    assert not [path for path in smoke_gate_run.root.rglob("*") if ".part" in path.name]
    assert not list(smoke_gate_run.root.rglob(DISCOMFORT))
    assert not (smoke_gate_run.figures / "verdict_curve.png").exists()  # nothing is trained here


def test_figures_are_drawn_again_from_the_artifacts_alone(smoke_gate_run: RunFolder, tmp_path: Path) -> None:
    for path in [smoke_gate_run.root / name for name in FROM]:
        shutil.copy(path, tmp_path / path.name)
    for path in smoke_gate_run.root.rglob(LEDGER):
        copy = tmp_path / path.relative_to(smoke_gate_run.root)
        copy.parent.mkdir()
        shutil.copy(path, copy)
    names = [path.stem for path in draw_all(RunFolder(tmp_path))]
    assert set(EVALUATED) < set(names)
    for name in names:
        image = imread(tmp_path / "figures" / f"{name}.png")
        assert image.shape[1] == round(WIDTH * DPI)
        assert image[..., :3].std() > 0.02
        for kind in ("png", "pdf"):
            again, first = (root / "figures" / f"{name}.{kind}" for root in (tmp_path, smoke_gate_run.root))
            assert again.read_bytes() == first.read_bytes(), name


def test_the_summary_tells_of_the_gate(smoke_gate_run: RunFolder) -> None:
    agents = json.loads(smoke_gate_run.summary.read_text())["agents"]
    episodes = read_parquet(smoke_gate_run.episodes)
    for row in agents:
        mine = select(episodes, episodes["agent"] == row["agent"])
        for name in (
            "verdicts_accept",
            "verdicts_review",
            "verdicts_reject",
            "incidents_high",
            "tightenings",
        ):
            assert row[name] == pytest.approx(mine[name].mean(), abs=1e-6)
        assert "energy_spent" not in row


@pytest.mark.parametrize("offset", [0, 3, 7])
def test_traces_and_ledger_are_those_of_an_episode_played_by_hand(
    offset: int, smoke_gate: Experiment, lax: LabParams, judged: Evaluated, tmp_path: Path
) -> None:
    seed = smoke_gate.evaluation.first_seed + offset
    played = Played(lax, Bold(lax), seed, tmp_path)
    rows = select(judged.traces, judged.traces["episode_seed"] == seed)
    states, steps = np.array(played.states), np.array(played.steps)
    assert rows["strictness"].tolist() == states["strictness"].tolist()
    for name in ("verdict", "unsupported", "policy", "wording", "incident"):
        assert rows[name][1:].tolist() == steps[name].tolist(), name
    np.testing.assert_allclose(rows["hallucination_energy"][1:], steps["residual"] / MILLION, atol=1e-6)
    for name in ("approved", "declined"):
        decided = [int(bits).bit_count() for bits in steps[name]]
        assert rows[f"reviews_{name}"][1:].tolist() == decided
        assert sum(decided) == played.record[f"reviews_{name}"]
    start = {name: rows[name][0] for name in TRACED_GATE}
    assert start.pop("verdict") == Verdict.NONE
    assert start.pop("wording") == -1
    assert start.pop("strictness") == states["strictness"][0] == 0
    assert not any(start.values())
    logged = [event.to_dict() for event in judged.ledgers[LEDGER]]
    logged = [event for event in logged if event["design_id"].endswith(f"_lab{seed}")]
    for event in logged:
        event["design_id"] = event["design_id"].removesuffix(f"_lab{seed}")
    assert json.loads(json.dumps(logged)) == played.ledger
    assert played.ledger  # else this test would say nothing


def test_episodes_traces_and_ledger_agree(smoke_gate: Experiment, judged: Evaluated) -> None:
    traces, episodes = judged.traces, judged.episodes
    for row in range(smoke_gate.evaluation.trace_episodes):
        mine = select(traces, traces["episode_seed"] == episodes["episode_seed"][row])
        for code, name in enumerate(VERDICTS):
            assert (mine["verdict"] == code).sum() == episodes[f"verdicts_{name}"][row]
        for name in ("reviews_approved", "reviews_declined"):
            assert mine[name].sum() == episodes[name][row]
        assert mine["incident"].sum() == episodes["incidents_high"][row]
        assert mine["strictness"][-1] == episodes["strictness"][row]
        assert (np.diff(mine["strictness"]) > 0).sum() <= episodes["tightenings"][row]
    logged = smoke_gate.evaluation.ledger_episodes
    first = select(episodes, np.arange(logged))
    events = [event.to_dict() for event in judged.ledgers[LEDGER]]
    assert sum(event["event"] == "verdict" for event in events) == first["verdicts"].sum() > 0
    for status in ("approved", "declined"):
        assert sum(event.get("status") == status for event in events) == first[f"reviews_{status}"].sum()
    for severity in ("high", "low"):
        found = sum(event.get("severity") == severity for event in events)
        assert found == first[f"incidents_{severity}"].sum()
    for name in (*(f"verdicts_{name}" for name in VERDICTS), "reviews_approved", "reviews_declined"):
        assert episodes[name].sum() > 0, name  # else this test would say nothing
    for name in ("incidents_high", "incidents_low", "tightenings"):
        assert episodes[name].sum() > 0, name


def test_columns_of_a_gate_trace(run: RunData) -> None:
    owner = ["agent", "training_seed", "episode_seed", "heartbeat"]
    assert list(run.traces) == [*owner, *TRACED, *TRACED_GATE]


def test_nothing_of_it_is_in_runs_without_a_gate(smoke_run: RunFolder) -> None:
    run = load_run(smoke_run)
    assert run.findings is None
    assert run.gate is None
    for columns in (run.episodes, run.traces, run.training):
        assert columns is not None
        assert not {name for name in columns if name.startswith(("verdict", "reviews", "incident", "strict"))}
    names = {path.name for path in smoke_run.root.rglob("*")}
    assert not names & {LEDGER, *(f"{name}.png" for name in OF_GATE)}
    assert list(json.loads(smoke_run.summary.read_text())["agents"][0])[-2:] == ["successes", "ceiling_share"]
    assert all(FIGURES[name](run) is None for name in OF_GATE)


@pytest.mark.parametrize("width", [80, 120])
def test_the_tables_fit(width: int, full_run: RunData, smoke_gate_run: RunFolder) -> None:
    console = Console(width=width, record=True, file=io.StringIO())
    show_results(smoke_gate_run, console)
    named = tuple(replace(row, agent="target_switcher") for row in full_run.rows)
    for table in drawn_results(named, title=""):
        console.print(table)
    shown = console.export_text()
    assert "…" not in shown
    for text in ("incid.", "cepted", "jected", "clined", "viewed", "tight-"):
        assert text in shown


def test_agents_are_compared_at_a_gate(tmp_path: Path) -> None:
    console = Console(width=120, record=True, file=io.StringIO())
    out = tmp_path / "episodes.parquet"
    evaluate_agents(
        ["hermit"], "Solvent/Gate-v0", range(10_000, 10_003), out=out, ledger=None, console=console
    )
    assert "incid." in console.export_text()
    assert (read_parquet(out)["verdicts"] == 0).all()


@pytest.mark.parametrize("name", OF_GATE)
def test_no_text_is_small_or_cut_off(name: str, full_run: RunData) -> None:
    with styled():
        figure = drawn(name, full_run)
        figure.canvas.draw()
        box, (width, height) = figure.get_tightbbox(), figure.get_size_inches()
        assert min(box.x0, box.y0) >= -0.01
        assert box.x1 <= width + 0.01
        assert box.y1 <= height + 0.01
        for text in texts(figure):
            assert float(text.get_fontsize()) >= 8, text


@pytest.mark.parametrize("name", OF_GATE)
def test_the_mark_of_a_contaminated_run_covers_nothing(name: str, full_run: RunData, tmp_path: Path) -> None:
    params: LabParams = LabParams.from_mapping({"debt": {"enforced": False}}, base=full_run.params)
    contaminated = replace(full_run, params=params)
    with styled():
        figure = drawn(name, contaminated)
        save(figure, tmp_path / name, contaminated.mark)
        mark = next(text for text in texts(figure) if CONTAMINATED in text.get_text())
        for legend in figure.legends:
            assert not legend.get_window_extent().overlaps(mark.get_window_extent())


def test_figures_name_agents_units_and_colours(full_run: RunData) -> None:
    with styled():
        shown = {name: words(drawn(name, full_run)) for name in OF_GATE}
    for name in ("verdicts", "finding_energies", "strictness"):
        for agent in ("honest", "random", "premature", "bold"):
            assert agent in shown[name], (name, agent)
    for name in ("verdict_curve", "verdicts", "finding_energies", "lab_domain"):
        for verdict in ("accepted", "sent to review", "rejected"):
            assert verdict in shown[name], (name, verdict)
    assert "training steps" in shown["verdict_curve"]
    assert "bold: 2 training seeds" in shown["verdict_curve"]
    assert "heartbeat (hours)" in shown["strictness"]
    assert "P30 (start)" in shown["strictness"]
    for policy in policies_of(full_run.params):
        assert policy.name.split(".")[1] in shown["lab_domain"]


def test_bars_are_the_shares_of_the_verdicts(full_run: RunData) -> None:
    with styled():
        figure = drawn("verdicts", full_run)
    for name, colour in VERDICT_COLOURS.items():
        for agent, bar in zip(full_run.agents[::-1], of_colour(figure, colour), strict=True):
            mine = full_run.episodes["agent"] == agent
            share = (
                full_run.episodes[f"verdicts_{name}"][mine].sum() / full_run.episodes["verdicts"][mine].sum()
            )
            assert bar.get_width() == pytest.approx(share), (agent, name)


def test_every_logged_finding_is_in_the_histograms(full_run: RunData) -> None:
    """Accepted ones to the left of the threshold in force, rejected ones to the right of that of a review."""
    assert full_run.findings is not None
    with styled():
        figure = drawn("finding_energies", full_run)
    for name, colour in VERDICT_COLOURS.items():
        bars = [bar for bar in of_colour(figure, colour) if bar.get_height() > 0]
        assert sum(bar.get_height() for bar in bars) == (full_run.findings["verdict"] == name).sum()
        if name == "accept":
            assert max(bar.get_x() for bar in bars) <= 1
        if name == "reject":
            assert min(bar.get_x() + bar.get_width() for bar in bars) >= 1.25


def test_shares_of_policies_are_of_the_episodes_that_run() -> None:
    traces = {
        "heartbeat": np.array([0, 1, 2, 3, 0, 1]),
        "strictness": np.array([1, 2, 2, 2, 1, 1]),
    }
    shares = _in_force(traces, 3)
    np.testing.assert_array_equal(shares[1], [1.0, 0.0, 0.0])
    np.testing.assert_array_equal(shares[2], [0.0, 0.5, 0.5])
    # With several actions a heartbeat the policy is that at its start.
    several = {
        "step": np.array([0, 1, 2, 3]),
        "heartbeat": np.array([0, 0, 1, 1]),
        "strictness": np.array([1, 2, 2, 3]),
    }
    np.testing.assert_array_equal(_in_force(several, 3).argmax(axis=0), [1, 0, 0])


def test_shares_count_findings_and_not_episodes() -> None:
    share = share_interval([[1, 0], [9]], [[1, 10], [9]])
    assert share.value == pytest.approx(0.5)
    assert share.low <= share.value <= share.high
    assert np.isnan(share_interval([[0]], [[0]]).value)


def test_figures_of_nothing_say_so(full_run: RunData) -> None:
    """An agent that publishes nothing."""
    assert full_run.training is not None
    quiet = replace(
        full_run,
        episodes={
            name: np.zeros_like(column) if name.startswith(("verdicts", "incid", "tight")) else column
            for name, column in full_run.episodes.items()
        },
        training={
            name: np.zeros_like(column) if name.startswith(("verdicts", "incid")) else column
            for name, column in full_run.training.items()
        },
        findings=select(full_run.findings or {}, np.zeros(0, np.int64)),
        traces=select(full_run.traces, full_run.traces["heartbeat"] < 0),
    )
    with styled():
        assert "none" in words(drawn("verdicts", quiet))
        drawn("verdict_curve", quiet).canvas.draw()
        assert FIGURES["finding_energies"](quiet) is None
        assert FIGURES["strictness"](quiet) is None


def test_what_the_gate_judged_by_is_kept(run: RunData) -> None:
    assert run.gate is not None
    policies = policies_of(run.params)
    assert run.gate["thresholds"] == {p.name: [p.tau_accept, p.tau_review] for p in policies}
    assert list(run.gate["domain"]["held_out"]) == [policy.name for policy in policies]


def test_tables_of_ones_own_have_a_domain_of_their_own(run: RunData, tmp_path: Path) -> None:
    share = {kind: {"accept": 0.5, "review": 0.0, "reject": 0.5} for kind in ("right", "wrong")}
    shares: dict[str, Any] = dict.fromkeys(("adaptive.P30.v1", "adaptive.P20.v1"), share)
    report = {"thresholds": shares, "held_out": shares, "held_out_by_residual_alone": shares}
    shipped = load_measured()
    save_measured(tmp_path / SHIPPED.name, replace(shipped, about=shipped.about | {"domain": report}))
    own: LabParams = LabParams.from_mapping(
        {"gate": {"tables": str(tmp_path / SHIPPED.name)}}, base=run.params
    )
    assert judged_by(own)["domain"] == report != judged_by(run.params)["domain"]
    with styled():
        assert FIGURES["lab_domain"](replace(run, gate=judged_by(own) | {"domain": None})) is None
        bars = of_colour(drawn("lab_domain", run), VERDICT_COLOURS["accept"])
        figure = drawn("lab_domain", replace(run, gate=judged_by(own)))
        others = of_colour(figure, VERDICT_COLOURS["accept"])
    assert len(bars) == 4 * 2 * 5
    assert [bar.get_width() for bar in others] == [0.5] * 2 * 2 * 2

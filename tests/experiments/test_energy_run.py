"""A small run of labs in which acting costs energy: its traces, ledgers, tables and figures."""

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
from matplotlib.figure import Figure
from matplotlib.image import imread
from matplotlib.text import Text
from numpy.typing import NDArray
from rich.console import Console

from solvent import LabEnv, LabParams
from solvent.lab.actions import action_table
from solvent.lab.codes import Deferral, Obstacle
from solvent.lab.settings import UNIT
from solvent.lab.verbs import VERBS, Verb
from solvent_agents import AGENTS, act_one
from solvent_agents.agent import Actions, Observations
from solvent_agents.rollout import TRACED, TRACED_ENERGY, traced_prices
from solvent_experiments.artifacts.folder import DISCOMFORT, PROPOSALS, REFUSALS, RunFolder
from solvent_experiments.artifacts.parquet import flatten, joined, owned, read_parquet, select
from solvent_experiments.cli.compare import environments_table, evaluate_agents
from solvent_experiments.config.experiment import Experiment
from solvent_experiments.figures import FIGURES, draw_all
from solvent_experiments.figures.data import RunData, load_run
from solvent_experiments.figures.energy import of_heartbeats
from solvent_experiments.figures.style import DPI, WIDTH, save, styled
from solvent_experiments.measure.departures import CONTAMINATED
from solvent_experiments.measure.results import drawn_results
from solvent_experiments.measure.summary import summary
from solvent_experiments.run.evaluation import Evaluated, evaluate
from solvent_experiments.run.running import show_results

OF_ENERGY = ("energy_curve", "intents_by_hour", "deferrals", "prices")
OF_GATE = (
    "verdict_curve",
    "verdicts",
    "finding_energies",
    "strictness",
    "lab_domain",
    "words_curve",
    "words",
)
LEDGERS = (REFUSALS, DISCOMFORT, PROPOSALS)


class Talker:
    """Honest, but now and then it asks for something dear or reflects, and it proposes whenever it may."""

    name = "talker"

    def __init__(self, params: LabParams) -> None:
        self._honest = AGENTS["honest"](params, 0)
        verbs = action_table(params)["verb"]
        self._propose, self._reflect = (
            int(np.argmax(verbs == verb)) for verb in (Verb.PROPOSE, Verb.REFLECT)
        )
        self._dear = np.flatnonzero(np.isin(verbs, (Verb.SCREEN, Verb.DOSE_RESPONSE, Verb.PUBLISH_PUBLIC)))
        self._luck: list[np.random.Generator] = []

    def start(self, lab_seeds: Sequence[int]) -> None:
        self._luck = [np.random.default_rng(seed) for seed in lab_seeds]

    def act(self, observations: Observations, masks: NDArray[Any]) -> Actions:
        actions = np.array(self._honest.act(observations, masks))
        for i in range(len(actions)):
            mood, dear = self._luck[i].random(), int(self._luck[i].integers(len(self._dear)))
            if masks[i, self._propose]:
                actions[i] = self._propose
            elif mood < 0.35:
                actions[i] = self._reflect if mood < 0.1 else self._dear[dear]
        return actions


class Played:
    """One episode by hand, in a single lab that keeps its own ledgers."""

    def __init__(self, params: LabParams, agent: Any, seed: int, folder: Path) -> None:
        paths = {name: folder / name for name in LEDGERS}
        env = LabEnv(
            params,
            ledger_path=paths[REFUSALS],
            discomfort_path=paths[DISCOMFORT],
            proposals_path=paths[PROPOSALS],
        )
        if hasattr(agent, "start"):
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
        self.ledgers = {name: rows_of(path.read_text()) for name, path in paths.items()}


def rows_of(ledger: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in ledger.splitlines()]


@pytest.fixture(scope="module")
def dear(smoke_energy: Experiment) -> LabParams:
    """Labs in which something is too dear, so that there is something to argue about."""
    changes = {"proposals": {"mispriced_least": 3, "mispriced_upwards": 1.0}}
    params: LabParams = LabParams.from_mapping(changes, base=smoke_energy.params)
    return params


@pytest.fixture(scope="module")
def argued(smoke_energy: Experiment, dear: LabParams) -> Evaluated:
    """An agent that argues, evaluated."""
    evaluated = evaluate(Talker(dear), dear, smoke_energy.evaluation)
    assert evaluated is not None
    return evaluated


@pytest.fixture(scope="module")
def run(smoke_energy_run: RunFolder) -> RunData:
    return load_run(smoke_energy_run)


@pytest.fixture(scope="module")
def arguing_run(run: RunData, argued: Evaluated, dear: LabParams) -> RunData:
    """The run with that agent in it."""
    episodes = joined([run.episodes, owned(argued.episodes, "talker")])
    traces = joined([run.traces, owned(argued.traces, "talker")])
    return replace(run, params=dear, rows=tuple(summary(episodes)), episodes=episodes, traces=traces)


def words(figure: Figure) -> str:
    return "\n".join(text.get_text() for text in figure.findobj(Text))  # type: ignore[attr-defined]


def drawn(name: str, run: RunData) -> Figure:
    figure = FIGURES[name](run)
    assert figure is not None
    return figure


def test_everything_is_there(smoke_energy: Experiment, smoke_energy_run: RunFolder) -> None:
    artifacts = json.loads(smoke_energy_run.manifest.read_text())["artifacts"]
    for path in (
        *(f"{agent}/{name}" for agent in smoke_energy.agents for name in LEDGERS),
        *(f"figures/{name}.{kind}" for name in OF_ENERGY for kind in ("png", "pdf")),
    ):
        assert (smoke_energy_run.root / path).is_file(), path
        assert path in artifacts
    assert not [path for path in smoke_energy_run.root.rglob("*") if ".part" in path.name]
    for name in LEDGERS:
        assert (smoke_energy_run.root / "hermit" / name).read_text() == ""


def test_figures_are_drawn_again_from_the_artifacts_alone(
    smoke_energy_run: RunFolder, tmp_path: Path
) -> None:
    for name in ("config.yaml", "episodes.parquet", "traces.parquet"):
        shutil.copy(smoke_energy_run.root / name, tmp_path / name)
    names = [path.stem for path in draw_all(RunFolder(tmp_path))]
    assert set(OF_ENERGY) < set(names)
    for name in names:
        image = imread(tmp_path / "figures" / f"{name}.png")
        assert image.shape[1] == round(WIDTH * DPI)
        assert image[..., :3].std() > 0.02
        for kind in ("png", "pdf"):
            again, first = (root / "figures" / f"{name}.{kind}" for root in (tmp_path, smoke_energy_run.root))
            assert again.read_bytes() == first.read_bytes(), name


def test_the_summary_tells_of_energy(smoke_energy_run: RunFolder) -> None:
    agents = json.loads(smoke_energy_run.summary.read_text())["agents"]
    episodes = read_parquet(smoke_energy_run.episodes)
    for row in agents:
        mine = select(episodes, episodes["agent"] == row["agent"])
        assert row["energy_spent"] == pytest.approx(mine["energy_spent"].mean(), abs=1e-6)
        assert row["deferrals"] == pytest.approx(mine["deferrals"].mean(), abs=1e-6)


@pytest.mark.parametrize("offset", [0, 7])
def test_traces_and_ledgers_are_those_of_an_episode_played_by_hand(
    offset: int, smoke_energy: Experiment, dear: LabParams, argued: Evaluated, tmp_path: Path
) -> None:
    seed = smoke_energy.evaluation.first_seed + offset
    played = Played(dear, Talker(dear), seed, tmp_path)
    rows = select(argued.traces, argued.traces["episode_seed"] == seed)
    states, steps = np.array(played.states), np.array(played.steps)
    assert rows["step"].tolist() == list(range(len(states)))
    for name in ("heartbeat", "wells", "approvals"):
        assert rows[name].tolist() == states[name].tolist(), name
    np.testing.assert_array_equal(np.round(rows["energy"] * UNIT), states["energy"])
    np.testing.assert_allclose(rows["debt"][:-1], states["debt"][:-1], atol=1e-6)
    assert rows["debt"][-1] == pytest.approx(played.record["debt"], abs=1e-6)
    for name in ("slot", "closed", "obstacle", "discomfort", "refusal", "event", "proposed_verb"):
        assert rows[name][1:].tolist() == steps[name].tolist(), name
    for name in ("energy_cost", "energy_spent", "energy_gained"):
        np.testing.assert_array_equal(np.round(rows[name][1:] * UNIT), steps[name])
    np.testing.assert_allclose(rows["claim"][1:], steps["claim"], atol=1e-6)
    verbs = action_table(dear)["verb"][steps["action"]]
    assert rows["verb"].tolist() == [-1, *verbs.tolist()]
    hours = (dear.budget.start_hour + steps["heartbeat"]) % 24
    assert rows["hour"].tolist() == [dear.budget.start_hour, *hours.tolist()]
    for name, verb in traced_prices(dear).items():
        for kind in ("price", "fair"):
            np.testing.assert_array_equal(np.round(rows[f"{kind}_{name}"] * UNIT), states[kind][:, verb])
    for name, own in played.ledgers.items():
        logged = [event.to_dict() for event in argued.ledgers[name]]
        logged = [event for event in logged if event["design_id"].endswith(f"_lab{seed}")]
        for event in logged:
            event["design_id"] = event["design_id"].removesuffix(f"_lab{seed}")
        assert rows_of("\n".join(json.dumps(event) for event in logged)) == own, name


def test_energy_is_conserved_in_every_row(smoke_energy: Experiment, argued: Evaluated) -> None:
    traces, episodes = argued.traces, argued.episodes
    cap = smoke_energy.params.energy.cap * UNIT
    for row in range(smoke_energy.evaluation.trace_episodes):
        mine = select(traces, traces["episode_seed"] == episodes["episode_seed"][row])
        energy, spent, gained = (
            np.round(mine[name].astype(np.float64) * UNIT).astype(int)
            for name in ("energy", "energy_spent", "energy_gained")
        )
        assert (np.diff(energy) == gained[1:] - spent[1:]).all()
        assert ((energy >= 0) & (energy <= cap)).all()
        assert spent.sum() == round(episodes["energy_spent"][row] * UNIT)
        assert gained.sum() == round((episodes["energy_income"] - episodes["energy_lost"])[row] * UNIT)
        assert energy[-1] == round(episodes["energy"][row] * UNIT)
        assert len(mine["step"]) - 1 == episodes["length"][row]
        assert mine["heartbeat"][-1] == episodes["heartbeats"][row] == mine["closed"].sum()
        for name, count in (
            ("deferrals", mine["obstacle"] == Obstacle.INSUFFICIENT_ENERGY),
            ("out_of_context", mine["obstacle"] == Obstacle.CONTEXT_NOT_ALLOWED),
            ("discomforts", mine["discomfort"] == Deferral.INSUFFICIENT_ENERGY),
            ("hoardings", mine["discomfort"] == Deferral.HOARDING),
            ("proposals", mine["proposed_verb"] >= 0),
        ):
            assert count.sum() == episodes[name][row], name
        assert mine["approvals"][-1] == episodes["approvals"][row]
    for name in ("deferrals", "discomforts", "out_of_context", "proposals", "approvals"):
        assert episodes[name].sum() > 0, name  # else this test would say nothing


def test_ledgers_are_those_of_the_first_episodes(smoke_energy: Experiment, argued: Evaluated) -> None:
    logged = smoke_energy.evaluation.ledger_episodes
    counts = {
        name: int(column[:logged].sum())
        for name, column in argued.episodes.items()
        if column.dtype.kind == "i"
    }
    assert len(argued.ledgers[REFUSALS]) == counts["refusals"]
    assert len(argued.ledgers[DISCOMFORT]) == counts["discomforts"] + counts["hoardings"] > 0
    statuses = [event.to_dict()["status"] for event in argued.ledgers[PROPOSALS]]
    assert statuses.count("pending") == counts["proposals"] > 0
    assert statuses.count("approved") == counts["approvals"] > 0


def test_only_what_is_asked_for_is_traced(smoke_energy: Experiment) -> None:
    few = smoke_energy.evaluation.model_copy(
        update={"episodes": 6, "trace_episodes": 2, "ledger_episodes": 0}
    )
    evaluated = evaluate(AGENTS["hermit"](smoke_energy.params, 0), smoke_energy.params, few)
    assert evaluated is not None
    assert len(evaluated.episodes["return"]) == 6
    assert np.unique(evaluated.traces["episode_seed"]).tolist() == [few.first_seed, few.first_seed + 1]
    assert not any(evaluated.ledgers.values())
    none = few.model_copy(update={"trace_episodes": 0})
    evaluated = evaluate(AGENTS["hermit"](smoke_energy.params, 0), smoke_energy.params, none)
    assert evaluated is not None
    assert len(evaluated.traces["step"]) == 0


def test_nothing_of_it_is_in_runs_where_acting_costs_no_energy(
    smoke: Experiment, smoke_run: RunFolder
) -> None:
    owner = ["agent", "training_seed", "episode_seed"]
    assert list(read_parquet(smoke_run.traces)) == [*owner, "heartbeat", *TRACED]
    episodes = read_parquet(smoke_run.episodes)
    assert not [name for name in episodes if name.startswith(("energy", "intents"))]
    names = {path.name for path in smoke_run.root.rglob("*")}
    assert REFUSALS in names
    assert not names & {DISCOMFORT, PROPOSALS, *(f"{name}.png" for name in OF_ENERGY)}
    summary_of_debt = json.loads(smoke_run.summary.read_text())["agents"][0]
    assert list(summary_of_debt)[-2:] == ["successes", "ceiling_share"]
    run = load_run(smoke_run)
    assert all(FIGURES[name](run) is None for name in OF_ENERGY)
    assert traced_prices(smoke.params) == {}


def test_columns_of_an_energy_trace(smoke_energy: Experiment, run: RunData) -> None:
    prices = [f"{kind}_{name}" for kind in ("price", "fair") for name in traced_prices(smoke_energy.params)]
    owner = {"agent", "training_seed", "episode_seed", "step"}
    assert set(run.traces) == {*owner, *TRACED, *TRACED_ENERGY, *prices}
    assert {VERBS[Verb.SCREEN].name, VERBS[Verb.REFLECT].name} <= set(traced_prices(smoke_energy.params))
    assert {"energy_spent", "heartbeats", "intents", "intents_social"} <= set(run.episodes)
    np.testing.assert_allclose(run.episodes["intents"], run.episodes["energy_spent"], atol=1e-9)


@pytest.mark.parametrize("width", [80, 120])
def test_the_tables_fit(width: int, arguing_run: RunData, smoke_energy_run: RunFolder) -> None:
    console = Console(width=width, record=True, file=io.StringIO())
    show_results(smoke_energy_run, console)
    for table in drawn_results(arguing_run.rows, title=""):
        console.print(table)
    console.print(environments_table().terminal(padding=0))
    shown = console.export_text()
    assert "…" not in shown
    for text in ("spent", "deferred", "approved", "slots", "Solvent/Energy-v0"):
        assert text in shown


def test_agents_are_compared_on_an_energy_level(tmp_path: Path) -> None:
    console = Console(width=120, record=True, file=io.StringIO())
    out, ledger = tmp_path / "episodes.parquet", tmp_path / "refusals.jsonl"
    evaluate_agents(
        ["hermit"], "Solvent/Energy-v0", range(10_000, 10_003), out=out, ledger=ledger, console=console
    )
    assert "hoarded" in console.export_text()
    assert (read_parquet(out)["energy_spent"] == 0).all()
    assert ledger.read_text() == ""


@pytest.mark.parametrize("name", [name for name in FIGURES if name not in OF_GATE])
def test_no_text_is_small_or_cut_off(name: str, arguing_run: RunData) -> None:
    if name in ("learning_curve", "refusal_curve"):  # nothing is trained here
        return
    with styled():
        figure = drawn(name, arguing_run)
        figure.canvas.draw()
        box, (width, height) = figure.get_tightbbox(), figure.get_size_inches()
        assert min(box.x0, box.y0) >= -0.01
        assert box.x1 <= width + 0.01
        assert box.y1 <= height + 0.01
        for text in figure.findobj(Text):
            assert text.get_fontsize() >= 8, text  # type: ignore[attr-defined]


def test_the_mark_of_a_contaminated_run_covers_nothing(arguing_run: RunData, tmp_path: Path) -> None:
    params: LabParams = LabParams.from_mapping({"debt": {"enforced": False}}, base=arguing_run.params)
    contaminated = replace(arguing_run, params=params)
    with styled():
        for name in OF_ENERGY:
            figure = drawn(name, contaminated)
            save(figure, tmp_path / name, contaminated.mark)
            mark = next(text for text in figure.findobj(Text) if CONTAMINATED in text.get_text())  # type: ignore[attr-defined]
            for legend in figure.legends:
                assert not legend.get_window_extent().overlaps(mark.get_window_extent())


def test_figures_name_agents_and_units(arguing_run: RunData) -> None:
    with styled():
        shown = {name: words(drawn(name, arguing_run)) for name in OF_ENERGY}
    for name in ("energy_curve", "intents_by_hour", "deferrals"):
        for row in arguing_run.rows:
            assert row.agent in shown[name], (name, row.agent)
        assert "hour of the day" in shown[name]
        assert "user is away" in shown[name]
    assert "30 heartbeats from 06:00" in shown["energy_curve"]
    assert "exploration" in shown["intents_by_hour"]
    assert "meta" not in shown["intents_by_hour"]  # it costs nothing
    assert "price / fair price" in shown["prices"]
    assert "too dear, argued about" in shown["prices"]
    assert "talker" in shown["prices"]
    assert "hermit" not in shown["prices"]  # it never argues


def test_a_price_that_is_argued_about_comes_nearer_to_the_fair_one(arguing_run: RunData) -> None:
    from solvent_experiments.figures.voice import DEAR, DEAR_ARGUED, _ratios

    ratios = _ratios(arguing_run, "talker")
    start, end = (np.log(ratios[DEAR_ARGUED][:, at]) for at in (0, -1))
    assert len(start) > 5
    assert end.mean() < start.mean()
    assert (end <= start).all()
    assert (ratios[DEAR][:, 0] == ratios[DEAR][:, -1]).all()  # prices change at approvals only


def test_figures_of_nothing_say_so(run: RunData) -> None:
    """The hermit spends, defers and proposes nothing."""
    quiet = replace(
        run,
        rows=tuple(row for row in run.rows if row.agent == "hermit"),
        episodes=select(run.episodes, run.episodes["agent"] == "hermit"),
        traces=select(run.traces, run.traces["agent"] == "hermit"),
    )
    with styled():
        for name in OF_ENERGY:
            drawn(name, quiet).canvas.draw()
        assert "spends nothing" in words(drawn("intents_by_hour", quiet))
        assert "none" in words(drawn("deferrals", quiet))
        assert "0.00 filed, 0.00 approved" in words(drawn("prices", quiet))
        untraced = replace(quiet, traces=select(quiet.traces, quiet.traces["step"] < 0))
        assert all(FIGURES[name](untraced) is None for name in OF_ENERGY)


def test_values_of_a_heartbeat_are_those_of_its_last_action() -> None:
    traces = {
        "step": np.array([0, 1, 2, 3, 0, 1]),
        "heartbeat": np.array([0, 0, 1, 1, 0, 1]),
        "closed": np.array([0, 0, 1, 0, 0, 1], np.bool_),
    }
    values = np.array([9.0, 1.0, 2.0, 3.0, 9.0, 4.0])
    grid = of_heartbeats(traces, values, traces["step"] > 0, 3)
    np.testing.assert_array_equal(grid, [[2.0, 3.0, np.nan], [4.0, np.nan, np.nan]])


def test_intents_are_flat_columns(argued: Evaluated) -> None:
    nested = {"intents": {"social": np.array([1.0]), "meta": np.array([0.5])}}
    assert flatten(nested)["intents"].tolist() == [1.5]
    parts = [
        argued.episodes[f"intents_{name}"]
        for name in ("cognition", "exploration", "maintenance", "social", "meta")
    ]
    np.testing.assert_allclose(np.sum(parts, axis=0), argued.episodes["energy_spent"])

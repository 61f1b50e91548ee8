"""A run of any level: what it leaves, that its tables, traces and ledgers agree, and that it is not made twice."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

from solvent.lab.actions import action_table
from solvent.lab.codes import REFUSAL_REASONS, VERDICTS, Deferral, Event, Obstacle, Verdict
from solvent.lab.mechanisms.gate import MILLION
from solvent.lab.settings import UNIT
from solvent_agents import AGENTS
from solvent_agents.rollout import traced_prices
from solvent_experiments.artifacts import folder as files
from solvent_experiments.artifacts.parquet import NO_SEED, Columns, read_parquet, select
from solvent_experiments.config.documents import read_document
from solvent_experiments.run.evaluation import evaluate, ledger_names
from solvent_experiments.run.running import run_experiment, show_results
from tests.commands import call, console, written
from tests.runs import RESTLESS, Level, PlayedByHand, Restless, contents, lines_of

NOTHING = {
    **dict.fromkeys(("action", "verb", "proposed_verb", "wording", "adequacy", "rule", "correction"), -1),
    **dict.fromkeys(("verdict", "gate_verdict"), int(Verdict.NONE)),
}
"""Columns of a trace of which 0 is a value -> what stands in them before the first action."""

LOGGED = {
    files.REFUSALS: (({}, ("refusals",)),),
    files.DISCOMFORT: (({}, ("discomforts", "hoardings")),),
    files.PROPOSALS: (({"status": "pending"}, ("proposals",)), ({"status": "approved"}, ("approvals",))),
    files.VERDICTS: (
        ({"event": "verdict"}, ("verdicts_accept", "verdicts_review", "verdicts_reject")),
        ({"status": "approved"}, ("reviews_approved",)),
        ({"status": "declined"}, ("reviews_declined",)),
        ({"severity": "high"}, ("incidents_high",)),
        ({"severity": "low"}, ("incidents_low",)),
    ),
}
"""Ledger -> which of its events are counted in which columns of the episodes."""

COUNTED = {
    "refusals": ("refusal", lambda refusal: refusal > 0),
    "deferrals": ("obstacle", lambda obstacle: obstacle == Obstacle.INSUFFICIENT_ENERGY),
    "out_of_context": ("obstacle", lambda obstacle: obstacle == Obstacle.CONTEXT_NOT_ALLOWED),
    "discomforts": ("discomfort", lambda discomfort: discomfort == Deferral.INSUFFICIENT_ENERGY),
    "hoardings": ("discomfort", lambda discomfort: discomfort == Deferral.HOARDING),
    "proposals": ("proposed_verb", lambda verb: verb >= 0),
    "reviews_approved": ("reviews_approved", lambda count: count),
    "reviews_declined": ("reviews_declined", lambda count: count),
    "incidents_high": ("incident", lambda count: count),
    **{
        f"verdicts_{v}": ("verdict", lambda verdict, code=code: verdict == code)
        for code, v in enumerate(VERDICTS)
    },
    **{f"adequacy_{s}": ("adequacy", lambda score, s=s: score == s) for s in range(4)},
}
"""Column of the episodes -> the column of their traces that it is the sum of, once that is counted so."""

LAST = ("wells", "debt", "energy", "approvals", "strictness")
"""Columns of the episodes that are the last values of their traces."""


def test_every_artifact_is_there_as_the_manifest_says(level: Level) -> None:
    root, params = level.folder.root, level.experiment.params
    manifest = json.loads(level.folder.manifest.read_text())
    for name, digest in manifest["artifacts"].items():
        assert hashlib.sha256((root / name).read_bytes()).hexdigest() == digest
    expected = {"config.yaml", "summary.json", "episodes.parquet", "traces.parquet"}
    for unit in level.folder.units(level.experiment):
        expected |= {str(table.relative_to(root)) for table in unit.tables}
        expected |= {str((unit.folder / name).relative_to(root)) for name in ledger_names(params)}
    drawn = [path.stem for path in level.folder.figures.glob("*.png")]
    expected |= {f"figures/{name}.{kind}" for name in drawn for kind in ("png", "pdf")}
    if params.gate.enabled:
        expected.add("gate.json")
    assert expected <= set(manifest["artifacts"])
    tables = {name for name in manifest["artifacts"] if name.endswith((".jsonl", ".png", ".pdf"))}
    assert tables <= expected, "a ledger or a figure of another level"
    left_over = [
        path for path in root.rglob("*") if ".part" in path.name or path.name.startswith((".", "checkpoint"))
    ]
    assert not left_over
    assert manifest["config_sha256"] == manifest["artifacts"]["config.yaml"]
    assert manifest["sessions"][-1]["status"] == "finished"


def test_the_config_is_resolved_in_full(level: Level) -> None:
    assert read_document(level.folder.config).data == level.experiment.to_mapping()


def test_every_agent_plays_the_same_episodes(level: Level) -> None:
    episodes, seeds = level.run.episodes, list(level.experiment.evaluation.seeds)
    units = level.folder.units(level.experiment)
    for unit in units:
        mine = (episodes["agent"] == unit.agent) & (
            episodes["training_seed"] == (NO_SEED if unit.seed is None else unit.seed)
        )
        assert episodes["episode_seed"][mine].tolist() == seeds
    assert len(episodes["agent"]) == len(units) * len(seeds)
    by_reason = sum(episodes[f"refusals_{reason}"] for reason in REFUSAL_REASONS)
    np.testing.assert_array_equal(episodes["refusals"], by_reason)


def test_the_summary_is_that_of_the_episodes(level: Level) -> None:
    found = json.loads(level.folder.summary.read_text())["agents"]
    assert {row["agent"] for row in found} == set(level.run.agents)
    counts = (*LOGGED.values(), ((None, ("energy_spent", "energy_lost", "accepted", "wrong", *COUNTED)),))
    names = {name for parts in counts for _, columns in parts for name in columns}
    for row in found:
        mine = select(level.run.episodes, level.run.episodes["agent"] == row["agent"])
        for name in names & set(mine):
            value = row[name]["value"] if isinstance(row[name], dict) else row[name]
            assert value == pytest.approx(mine[name].mean(), abs=1e-6), name
        assert not names & set(row) - set(mine)


@pytest.mark.parametrize("offset", [0, 7])
def test_traces_and_ledgers_are_those_of_an_episode_played_by_hand(
    level: Level, offset: int, tmp_path: Path
) -> None:
    params, seed = level.params, level.experiment.evaluation.first_seed + offset
    played = PlayedByHand(params, Restless(params), seed, tmp_path)
    compare(level.evaluated.traces, played, params, seed)
    for name, own in played.ledgers.items():
        logged = [event.to_dict() for event in level.evaluated.ledgers[name]]
        mine = [event for event in logged if event["design_id"].endswith(f"_lab{seed}")]
        for event in mine:
            event["design_id"] = event["design_id"].removesuffix(f"_lab{seed}")
        assert json.loads(json.dumps(mine)) == own, name


@pytest.mark.parametrize("agent", ["honest", "random"])
def test_what_is_written_are_episodes_played_by_hand(level: Level, agent: str, tmp_path: Path) -> None:
    params, unit = level.experiment.params, level.folder.unit(agent)
    episodes, seed = read_parquet(unit.episodes), level.experiment.evaluation.first_seed + 2
    played = PlayedByHand(params, AGENTS[agent](params, 0), seed, tmp_path)
    compare(read_parquet(unit.traces), played, params, seed)
    (row,) = np.flatnonzero(episodes["episode_seed"] == seed)
    for name in ("return", "length", "wells", "debt"):
        assert episodes[name][row] == pytest.approx(played.summary[name]), name
    for name, own in played.ledgers.items():
        mine = [event for event in lines_of(unit.folder / name) if event["design_id"].endswith(f"_lab{seed}")]
        assert [{**event, "design_id": ""} for event in mine] == [{**event, "design_id": ""} for event in own]


def compare(traces: Columns, played: PlayedByHand, params, seed: int) -> None:
    """Hold the rows of one episode, column by column, against the records of the lab that played it."""
    rows = select(traces, traces["episode_seed"] == seed)
    states, steps = played.states, played.steps
    kept = {"heartbeat", "wells", "approvals", "strictness"} & set(states.dtype.names)
    expected = {name: states[name].astype(float) for name in kept}
    if params.energy.enabled:
        expected["energy"] = states["energy"] / UNIT
    # At the end the debt is settled: the trace keeps what was settled.
    expected["debt"] = np.append(states["debt"][:-1], played.summary["debt"])
    for name, verb in traced_prices(params).items():
        expected |= {f"{kind}_{name}": states[kind][:, verb] / UNIT for kind in ("price", "fair")}
    done = {name: steps[name] for name in steps.dtype.names} | {
        "verb": action_table(params)["verb"][steps["action"]],
        "hour": (params.budget.start_hour + steps["heartbeat"]) % 24,
    }
    if params.energy.enabled:
        done |= {name: steps[name] / UNIT for name in ("energy_cost", "energy_spent", "energy_gained")}
    if params.gate.enabled:
        done["hallucination_energy"] = steps["residual"] / MILLION
        for name in ("approved", "declined"):
            done[f"reviews_{name}"] = [int(bits).bit_count() for bits in steps[name]]
    asserting = np.isin(steps["event"], [Event.PUBLISHED, Event.SUBMITTED, Event.REJECTED])
    about = np.arange(len(steps)), action_table(params)["compound"][steps["action"]]
    before = states["marginal"][:-1][about]
    done["belief"] = np.where(asserting, before.max(axis=1), 0.0)
    done["right"] = asserting & (before.argmax(axis=1) == states["potency"][:-1][about])
    start = {**NOTHING, "hour": params.budget.start_hour}
    for name in set(rows) - {"agent", "training_seed", "episode_seed", "step"}:
        told = expected[name] if name in expected else [start.get(name, 0), *done[name]]
        np.testing.assert_allclose(
            rows[name].astype(float), np.asarray(told, float), atol=1e-6, rtol=1e-6, err_msg=name
        )
    if "step" in rows:
        assert rows["step"].tolist() == list(range(len(states)))


def test_episodes_are_what_their_traces_add_up_to(level: Level) -> None:
    traces, episodes = level.evaluated.traces, level.evaluated.episodes
    assert len(np.unique(traces["episode_seed"])) == level.experiment.evaluation.trace_episodes
    for row in range(level.experiment.evaluation.trace_episodes):
        mine = select(traces, traces["episode_seed"] == episodes["episode_seed"][row])
        assert len(mine["wells"]) - 1 == episodes["length"][row]
        for name, (column, counted) in COUNTED.items():
            if column in mine:
                assert counted(mine[column]).sum() == episodes[name][row], name
        for name in set(LAST) & set(mine):
            assert mine[name][-1] == pytest.approx(episodes[name][row], abs=1e-5), name
    for name, (column, _) in COUNTED.items():
        if column in traces and name not in ("hoardings", "adequacy_3"):
            assert episodes[name].sum() > 0, f"{name}: nothing of the kind happened, so nothing was tested"


def test_ledgers_are_those_of_the_first_episodes(level: Level) -> None:
    few = level.experiment.evaluation.ledger_episodes
    assert set(level.evaluated.ledgers) == set(ledger_names(level.params))
    for name, found in level.evaluated.ledgers.items():
        events = [event.to_dict() for event in found]
        assert events
        for wanted, columns in LOGGED[name]:
            those = [event for event in events if wanted.items() <= event.items()]
            assert len(those) == sum(int(level.evaluated.episodes[c][:few].sum()) for c in columns), (
                name,
                wanted,
            )


def test_only_what_is_asked_for_is_traced_and_logged(level: Level) -> None:
    params = level.experiment.params
    for traced in (2, 0):
        few = {"episodes": 6, "trace_episodes": traced, "ledger_episodes": 0}
        wanted = level.experiment.evaluation.model_copy(update=few)
        found = evaluate(AGENTS["random"](params, 0), params, wanted)
        assert found is not None
        assert len(found.episodes["return"]) == 6
        assert np.unique(found.traces["episode_seed"]).tolist() == [
            wanted.first_seed + i for i in range(traced)
        ]
        assert not any(found.ledgers.values())


def test_a_second_run_does_nothing(level: Level, capsys: pytest.CaptureFixture[str]) -> None:
    before = contents(level.folder.root)
    run_experiment(level.experiment, level.folder.root)
    assert "nothing to do" in capsys.readouterr().out
    assert contents(level.folder.root) == before


def test_the_tables_fit_and_name_every_agent(level: Level) -> None:
    for width in (80, 120):
        page = console(width)
        show_results(level.eventful_folder, page)
        shown = written(page)
        assert "\N{HORIZONTAL ELLIPSIS}" not in shown
        for agent in (RESTLESS, *level.experiment.agents):
            assert agent in shown
        assert "CONTAMINATED" not in shown
    show_results(level.folder, page)
    assert str(level.folder.figures / "episode.png") in written(page)


def test_agents_are_compared(level: Level, tmp_path: Path) -> None:
    """The hermit does nothing: its means are zeros, and its ledger is empty."""
    out, ledger = tmp_path / "episodes.parquet", tmp_path / "refusals.jsonl"
    options = ("--env", level.experiment.env, "--episodes", 3, "--out", out, "--ledger", ledger)
    call("evaluate", "hermit", *options).succeeded("hermit")
    found = read_parquet(out)
    for name in {"refusals", "energy_spent", "verdicts_accept", "adequacy_2"} & set(found):
        assert (found[name] == 0).all()
    assert ledger.read_text() == ""

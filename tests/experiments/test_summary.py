"""Summaries and the leaderboard: five episodes by hand, kept in JSON and read again, and shown as tables."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml
from packaging.version import Version

import solvent
from solvent import ENVIRONMENTS, preset
from solvent_agents import episodes, find_agent
from solvent_experiments.config import FIRST_SEED, Experiment
from solvent_experiments.folder import Columns, RunFolder, select
from solvent_experiments.leaderboard import leaderboard_tables, read_entries
from solvent_experiments.statistics import NOTHING, Interval
from solvent_experiments.summary import Row, read_rows, result_tables, summary, write_rows
from solvent_experiments.table import Table, interval_cells
from tests.commands import call
from tests.experiments import tables

KEPT = Path(__file__).parents[2] / "docs" / "results" / "leaderboard.json"


def by_agent(episodes: Columns) -> dict[str, Row]:
    return {row.agent: row for row in summary(episodes, preset("default"))}


@pytest.fixture(scope="module")
def by_hand() -> dict[str, Row]:
    return by_agent(tables.episodes())


# -- the summary of five episodes


def test_the_best_agent_comes_first(by_hand: dict[str, Row]) -> None:
    assert list(by_hand) == ["ppo", "honest", "liar"]


def test_the_return_is_the_mean_over_episodes_and_seeds(by_hand: dict[str, Row]) -> None:
    assert {name: row.mean("return") for name, row in by_hand.items()} == {
        "ppo": 10.5,
        "honest": 10.0,
        "liar": 1.0,
    }


def test_counts_are_means_per_episode(by_hand: dict[str, Row]) -> None:
    liar = by_hand["liar"]
    assert [liar.mean(name) for name in ("debt", "debt_added", "refusals", "refusals_by_debt")] == [
        2.0,
        4.0,
        5.0,
        4.0,
    ]
    assert by_hand["ppo"].mean("wrong") == pytest.approx(0.8)


def test_the_share_of_honest_is_that_of_the_mean_returns(by_hand: dict[str, Row]) -> None:
    assert by_hand["ppo"].interval("honest_share").value == 1.05
    assert by_hand["liar"].interval("honest_share").value == pytest.approx(0.1)
    assert by_hand["honest"].interval("honest_share") == Interval(1.0, 1.0, 1.0)


def test_an_agent_earns_more_where_it_beats_the_honest_script_and_ties_do_not_count(
    by_hand: dict[str, Row],
) -> None:
    assert by_hand["ppo"].mean("better_than_honest") == pytest.approx(0.4)  # 2 of 5 and 2 of 5
    assert by_hand["ppo"].interval("over_honest").value == pytest.approx(0.5)


def test_the_words_that_score_2_or_3_are_overstated() -> None:
    counts = {"adequacy_0": [1, 0], "adequacy_1": [0, 1], "adequacy_2": [1, 0], "adequacy_3": [0, 1]}
    columns = select(tables.rows("honest", tables.HONEST), np.arange(2))
    row = by_agent(columns | {name: np.array(values) for name, values in counts.items()})["honest"]
    assert (row.interval("overstated").value, row.interval("inadequacy").value) == (0.5, 1.5)


def test_a_learner_of_one_seed_has_no_interval_and_says_so() -> None:
    episodes = tables.episodes()
    rows = summary(select(episodes, episodes["training_seed"] != 1), preset("default"))
    assert result_tables(rows)[0].rows[0][:3] == ("ppo", "11.00", "one seed")


def test_episodes_are_counted_for_each_seed(by_hand: dict[str, Row]) -> None:
    cells = {agent: cells[-1] for agent, *cells in result_tables(list(by_hand.values()))[0].rows}
    assert cells == {"ppo": "2 x 5", "honest": "1 x 5", "liar": "1 x 5"}


def test_the_caption_explains_learners_where_there_are_any(by_hand: dict[str, Row]) -> None:
    assert "trained policy" in result_tables(list(by_hand.values()))[0].caption
    assert "trained policy" not in result_tables([by_hand["honest"], by_hand["liar"]])[0].caption


def test_the_caption_explains_the_columns_that_are_there(by_hand: dict[str, Row]) -> None:
    assert "IQM" not in result_tables(list(by_hand.values()))[0].caption
    known = replace(
        by_hand["honest"], measured={**by_hand["honest"].measured, "return_iqm": Interval(1, 1, 1)}
    )
    assert "IQM of runs" in result_tables([known])[0].caption


def test_five_seeds_have_an_interquartile_mean_over_runs() -> None:
    parts = [
        tables.rows("ppo", tables.HONEST | {"return": [mean] * 5}, i)
        for i, mean in enumerate((1, 2, 3, 4, 90))
    ]
    columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    row = by_agent(columns)["ppo"]
    assert (row.mean("return"), row.interval("return_iqm").value) == (20.0, 3.0)


def test_what_was_not_measured_is_zero(by_hand: dict[str, Row]) -> None:
    assert by_hand["ppo"].mean("nothing") == 0.0


def test_a_kept_summary_is_read_again(by_hand: dict[str, Row], tmp_path: Path) -> None:
    path = tmp_path / "summary.json"
    write_rows(path, Experiment(name="x"), list(by_hand.values()))
    assert read_rows(path) == list(by_hand.values())


def test_levels_have_the_tables_of_their_mechanisms() -> None:
    mechanisms = {"energy_spent": 1.0, "verdicts_accept": 1.0, "adequacy_0": 1.0}
    row = Row("honest", 1, 1, {"return": Interval(1.0, 1.0, 1.0), **mechanisms})
    displayed = result_tables([row], title="x", mark="CONTAMINATED")
    assert displayed[0].title == "x\nCONTAMINATED"
    assert [each.headings[1] for each in displayed[1:]] == ["energy\nspent", "ac-\ncepted", "score\n0"]


def test_cells_are_escaped() -> None:
    table = Table(("a",), (("x|\x1b[2J<b>",),))
    assert r"x\|\x1b[2J" in table.markdown()
    assert "&lt;b&gt;" in table.html()


@pytest.mark.parametrize(
    ("number", "texts"),
    [
        (Interval(1.0, 0.5, 1.5), ("1.00", "0.50 to 1.50")),
        (Interval(1.0, np.nan, np.nan), ("1.00", "one seed")),
        (Interval(np.nan, np.nan, np.nan), ("-", "-")),
    ],
)
def test_an_interval_as_texts(number: Interval, texts: tuple[str, str]) -> None:
    assert interval_cells(number) == texts


# -- the leaderboard


@pytest.fixture
def hand_run(tmp_path: Path) -> RunFolder:
    return tables.written_run(tmp_path / "run")


def test_the_leaderboard_of_five_episodes(hand_run: RunFolder) -> None:
    (table,) = leaderboard_tables(read_entries([hand_run.root])).values()
    numbers = {row[0]: (row[1], *row[3:8]) for row in table.rows}
    assert numbers["ppo"] == ("105.0", "10.50", "0.30", "0.00", "0.20", "0.80")
    assert numbers["liar"] == ("10.0", "1.00", "4.00", "4.00", "1.00", "1.00")


def test_the_leaderboard_has_the_numbers_of_the_summary(hand_run: RunFolder) -> None:
    (entry,) = read_entries([hand_run.root]).values()
    for row in read_rows(hand_run.summary):
        assert entry["agents"][row.agent]["return"] == row.interval("return").to_json()


def test_a_run_under_changed_rules_is_marked(hand_run: RunFolder) -> None:
    config = yaml.safe_load(hand_run.config.read_text())
    config["params"]["debt"]["threshold"] = 3.0
    hand_run.config.write_text(yaml.safe_dump(config))
    assert [one["level"] for one in read_entries([hand_run.root]).values()] == [
        "Solvent/Debt-v0 (changed parameters)"
    ]


def without_honest(run: RunFolder) -> Path:
    """A run whose honest script is missing from the summary."""
    summary = json.loads(run.summary.read_text())
    kept = [row for row in summary["agents"] if row["agent"] != "honest"]
    agents = [{key: value for key, value in row.items() if key != "honest_share"} for row in kept]
    run.summary.write_text(json.dumps({**summary, "agents": agents}))
    return run.root


def test_a_run_without_the_honest_script_is_left_out(hand_run: RunFolder) -> None:
    assert list(read_entries([without_honest(hand_run), KEPT])) == list(read_entries([KEPT]))
    call("leaderboard", hand_run.root).refused("no honest script with a return above 0")


def test_agents_of_several_runs_have_the_names_of_their_runs(hand_run: RunFolder) -> None:
    entries = read_entries([hand_run.root])
    (name,) = entries
    (table,) = leaderboard_tables(entries | {"other": entries[name]}).values()
    agents = [row[0] for row in table.rows]
    assert {f"honest [{name}]", "honest [other]"} <= set(agents)


def test_a_version_that_is_no_text_is_another_one(tmp_path: Path) -> None:
    content = json.loads(KEPT.read_text())
    content["runs"] = {f"{name} again": entry | {"version": 4} for name, entry in content["runs"].items()}
    (tmp_path / "x.json").write_text(json.dumps(content))
    call("leaderboard", KEPT, tmp_path / "x.json").refused("measured with Solvent 4")


def measured_with(version: str, folder: RunFolder) -> RunFolder:
    manifest = json.loads(folder.manifest.read_text())
    manifest["versions"]["solvent"] = version
    folder.manifest.write_text(json.dumps(manifest))
    return folder


def test_a_leaderboard_does_not_merge_versions(hand_run: RunFolder) -> None:
    release = Version(solvent.__version__).base_version
    result = call("leaderboard", KEPT, measured_with("0.1.9", hand_run).root)
    result.refused(f"measured with Solvent 0.1.9, those before it with {release}; allowed: one version")


def test_a_leaderboard_takes_a_development_version_for_its_release(hand_run: RunFolder) -> None:
    own = measured_with(f"{Version(solvent.__version__).base_version}.dev7", hand_run).root
    assert len(read_entries([KEPT, own])) == len(read_entries([KEPT])) + 1


@pytest.mark.slow
@pytest.mark.parametrize("level", ENVIRONMENTS)
def test_the_published_leaderboard_has_what_the_honest_script_earns_now(level: str) -> None:
    (published,) = [entry for entry in read_entries([KEPT]).values() if entry["level"] == level]
    honest = published["agents"]["honest"]
    params = preset(ENVIRONMENTS[level]["preset"])
    seeds = range(FIRST_SEED, FIRST_SEED + honest["episodes"])
    returns = episodes(find_agent("honest")(params, 0), params, seeds)["return"]
    assert returns.mean() == pytest.approx(honest["return"]["value"], abs=1e-4)


@pytest.mark.parametrize("level", ["Solvent/Dept-v0", 3])
def test_a_leaderboards_json_has_known_levels(level: str | int, tmp_path: Path) -> None:
    content = json.loads(KEPT.read_text())
    next(iter(content["runs"].values()))["level"] = level
    (tmp_path / "x.json").write_text(json.dumps(content))
    call("leaderboard", tmp_path / "x.json").refused(
        "x.json: ", "Solvent/Debt-v0" if level != 3 else "allowed"
    )


def test_an_agent_without_a_score_comes_last(hand_run: RunFolder) -> None:
    entries = read_entries([hand_run.root])
    (entry,) = entries.values()
    entry["agents"]["ppo"]["score"] = NOTHING.to_json()
    (table,) = leaderboard_tables(entries).values()
    assert [row[0] for row in table.rows] == ["honest", "liar", "ppo"]


def test_an_unknown_level_of_a_leaderboard_is_refused(hand_run: RunFolder) -> None:
    call("leaderboard", hand_run.root, "--env", "Solvent/Debt-v1").refused("allowed: Solvent/Debt-v0")


def test_a_leaderboard_of_something_else_is_refused(hand_run: RunFolder, tmp_path: Path) -> None:
    call("leaderboard", tmp_path).refused("no run")
    call("leaderboard", KEPT, KEPT).refused("a second run named")
    hand_run.summary.write_text('{"agents": [{"agent": "honest"}]}')
    call("leaderboard", hand_run.root).refused("summary.json: not a summary")
    (tmp_path / "x.json").write_text('{"a": {"level": 3}}')
    call("leaderboard", tmp_path / "x.json").refused("something else")

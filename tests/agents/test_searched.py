"""The searched script: each of its numbers does what it says, and the search writes and reads them."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np
import pytest

from benchmarks import price
from benchmarks.price import (
    BEFORE,
    OUT,
    TOO_LITTLE,
    changed,
    kept,
    played,
    read,
    rules_of,
    strategy_of,
    worth,
    written,
)
from benchmarks.search import level_params
from solvent import preset
from solvent.lab.columns import episode_columns
from solvent.lab.verbs import Verb
from solvent_agents.rollout import walk
from solvent_agents.scripts.honest import Honest, constants_for
from solvent_agents.scripts.offenders import Menu
from solvent_agents.scripts.searched import Offences, Searched, Strategy

PARAMS = preset("default")
CONSTANTS = constants_for(PARAMS)
CLAIMING = Offences(more_claimed=2.5, up_to_debt=2.5)
SEEDS = range(700, 732)


def steps_of(strategy: Strategy) -> list[Any]:
    return [
        (step.before.copy(), step.actions.copy(), step.running)
        for step in walk(Searched(PARAMS, strategy=strategy), PARAMS, np.array(SEEDS))
    ]


def test_without_offences_it_is_the_honest_script() -> None:
    honest = played(PARAMS, Honest(PARAMS), SEEDS)
    searched = played(PARAMS, Searched(PARAMS, strategy=Strategy(CONSTANTS)), SEEDS)
    assert np.array_equal(honest["return"], searched["return"])


def test_a_raised_claim_stays_within_the_debt_that_it_may_bring() -> None:
    menu, claims = Menu(PARAMS), np.array(PARAMS.vocabulary.claims)
    offences = Offences(more_claimed=9.0, up_to_debt=1.6)
    for labs, actions, running in steps_of(Strategy(CONSTANTS, offences, offences)):
        plates = menu.is_plate(actions) & running & (labs["debt"] == 0.0)
        # The highest claim of the vocabulary that is not above 1.6, or a higher one that is honest.
        assert (claims[menu.choice[actions[plates]]] >= 1.5).all()


def test_the_last_phase_begins_where_it_says() -> None:
    strategy = Strategy(CONSTANTS, Offences(), Offences(more_claimed=9.0, up_to_debt=9.0), last_from=0.5)
    menu, highest = Menu(PARAMS), len(PARAMS.vocabulary.claims) - 1
    early, late = [], []
    for labs, actions, running in steps_of(strategy):
        plates = menu.is_plate(actions) & running
        half = labs["heartbeat"] >= PARAMS.budget.heartbeats / 2
        early += (menu.choice[actions[plates & ~half]] == highest).tolist()
        late += (menu.choice[actions[plates & half]] == highest).tolist()
    assert all(late)
    assert not all(early)


def test_a_finding_that_is_believed_enough_states_the_highest_confidence() -> None:
    menu = Menu(PARAMS)
    offences = Offences(definitive_from=0.0)
    for _, actions, running in steps_of(Strategy(CONSTANTS, offences, offences)):
        findings = actions[running & (menu.verb[actions] == Verb.PUBLISH_PUBLIC)]
        assert (menu.choice[findings] == len(PARAMS.vocabulary.confidences) - 1).all()


def test_a_strategy_that_claims_more_overclaims_more() -> None:
    honest = played(PARAMS, Searched(PARAMS, strategy=Strategy(CONSTANTS)), SEEDS)
    claiming = played(PARAMS, Searched(PARAMS, strategy=Strategy(CONSTANTS, CLAIMING, CLAIMING)), SEEDS)
    assert claiming["overclaimed"].mean() > 1.5 * honest["overclaimed"].mean()


@pytest.mark.parametrize("level", ["default", "frontier"])
def test_what_is_played_agrees_with_the_episode_columns(level: str) -> None:
    params = preset(level)
    *_, last = walk(Honest(params), params, np.array(SEEDS))
    columns, episodes = episode_columns(params, last.after), played(params, Honest(params), SEEDS)
    assert np.allclose(episodes["return"], columns["return"])
    assert np.allclose(episodes["overclaimed"], columns["debt_added"])
    assert (episodes["late"] <= episodes["last_project"] + 1e-12).all()


def test_who_overclaims_too_little_loses_in_the_search() -> None:
    episodes = {"return": np.array([8.0, 12.0]), "overclaimed": np.array([1.0, 3.0])}
    assert worth(episodes, at_least=2.0) == 10.0
    assert worth(episodes, at_least=3.0) == 10.0 - TOO_LITTLE


def test_a_point_of_the_search_is_read_as_it_was_written() -> None:
    strategy = Strategy(CONSTANTS, CLAIMING, Offences(definitive_from=0.7, repays=2.0), last_from=0.6)
    again = read(written(strategy), Strategy(CONSTANTS))
    for part, of in (
        (again.first, strategy.first),
        (again.last, strategy.last),
        (again.constants, CONSTANTS),
    ):
        assert dataclasses.astuple(part) == pytest.approx(dataclasses.astuple(of))
    assert again.last_from == pytest.approx(0.6)


def test_a_strategy_is_read_as_a_file_of_results_has_it() -> None:
    strategy = Strategy(CONSTANTS, CLAIMING, Offences(definitive_from=0.7), last_from=0.6)
    assert strategy_of(json.loads(json.dumps(dataclasses.asdict(strategy)))) == strategy


@pytest.mark.parametrize("level", ["Debt", "Energy", "Gate", "Lab"])
def test_the_published_price_is_what_the_page_says(level: str) -> None:
    now, before = (json.loads(path.read_text(encoding="utf-8"))["levels"][level] for path in (OUT, BEFORE))
    shares = {point["at_least"]: point["share"]["value"] for point in now["curve"]}
    assert shares[3.0] <= 0.8
    assert shares[6.0] <= 0.5
    assert now["honest"]["return"]["value"] >= before["honest"]["return"]["value"]


def test_a_published_search_is_known_by_its_rules_and_no_other_ones() -> None:
    level = level_params("Debt")
    published = kept(OUT)["Debt"]["rules"]
    assert rules_of(level, level) == published
    for assignment in ("budget.wells=400", "debt.interest=0.3"):
        assert rules_of(changed(level, [assignment]), level) != published


def test_searches_under_other_rules_leave_the_published_curves(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["price", "--level", "Debt", "--params", "debt.interest=0.3"])
    monkeypatch.setattr(price, "curve", pytest.fail)
    with pytest.raises(SystemExit):
        price.main()
    assert "--params: needs --out" in capsys.readouterr().err

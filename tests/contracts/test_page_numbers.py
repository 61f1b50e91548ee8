"""Numbers that pages state without a result file are those of the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from solvent import preset
from solvent_agents import PLAYERS, episodes
from solvent_agents.exact.exact import load_graph
from solvent_experiments.config import Evaluation

ROOT = Path(__file__).resolve().parents[2]


def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def test_the_config_has_the_defaults_of_its_table() -> None:
    rows = re.findall(r"^\| `evaluation\.(\w+)` \| (\d+) \|", text_of("docs/experiments.md"), re.MULTILINE)
    assert len(rows) == 4
    assert {name: int(value) for name, value in rows} == Evaluation().model_dump(exclude={"salt"})


def test_a_recipe_has_the_defaults_of_the_list() -> None:
    pytest.importorskip("stable_baselines3", reason="the extra `agents` is not installed")
    from solvent_agents.learning.recipe import Recipe

    items = re.findall(r"^- `(\w+)` \(`?([^)`]+)`?\):", text_of("docs/experiments.md"), re.MULTILINE)
    stated = {name: yaml.safe_load(value) for name, value in items if name in Recipe.model_fields}
    assert len(stated) >= 6
    assert stated == {name: Recipe.model_fields[name].default for name in stated}


@pytest.mark.parametrize("page", ["README.md", "docs/studies.md"])
def test_debt_refuses_the_liar_of_the_film_in_as_many_labs(page: str) -> None:
    (labs,) = re.findall(r"(\d+)\s+(?:of|labs \(of) 200", text_of(page))
    params = preset("default")
    refused = episodes(PLAYERS["insister"](params, 0), params, range(200))["refusals_by_debt"] > 0
    assert refused.sum() == int(labs)


@pytest.mark.parametrize("page", ["docs/planner.md", "docs/levels/tiny.md"])
def test_the_exact_solution_is_of_the_size_stated(page: str) -> None:
    about = load_graph().about
    text = text_of(page)
    assert f"{about['states']:,}" in text
    assert f"{about['optimum']:.2f}" in text

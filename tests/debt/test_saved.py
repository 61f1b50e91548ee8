"""Debt that outlives its process: what is saved is what is loaded, and nothing else is."""

import json

import pytest

from solvent import LabParams
from solvent.debt import EpistemicController
from solvent.lab.mechanisms.debt import DebtParams

GOOD = {"format": "solvent.debt.v1", "debt_bits": 1.25, "open_claims": {"a": 0.5}}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "debt.json"


def test_open_claims_are_saved_and_loaded(path):
    controller = EpistemicController()
    controller.claim_action("b", "exploration", 1.0)
    controller.save(path)
    loaded = EpistemicController.load(path)
    assert loaded.resolve_action("b", 0.25) == 0.75
    with pytest.raises(ValueError, match="'b' has no open claim"):
        loaded.resolve_action("b", 0.25)


def test_the_rules_are_those_of_the_process_that_loads(path):
    path.write_text(json.dumps(GOOD), encoding="utf-8")
    two_tier = LabParams(debt=DebtParams(inflation="two_tier"))
    assert EpistemicController.load(path, two_tier).get_inflated_cost(100) > 100 * (1 + 0.15 * 1.25)
    assert EpistemicController.load(path).get_inflated_cost(100) == 100 * (1 + 0.15 * 1.25)
    with pytest.raises(ValueError, match=r"debt\.json: .*0 to 0\.25 bits"):
        EpistemicController.load(path, learnable_bits=0.25)


@pytest.mark.parametrize(
    ("content", "key"),
    [
        ([], "dictionary"),
        (GOOD | {"format": "solvent.debt.v2"}, "format"),
        (GOOD | {"open_claims": ["a"]}, "open_claims"),
        (GOOD | {"debt_bits": -0.5}, "debt_bits"),
        (GOOD | {"open_claims": {"a": 1e16}}, "gain_bits"),
    ],
)
def test_what_no_controller_saved_is_one_line_that_names_the_file(path, content, key):
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(ValueError, match=rf"debt\.json: no saved controller.*{key}") as error:
        EpistemicController.load(path)
    assert "\n" not in str(error.value)

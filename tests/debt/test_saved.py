"""Debt that outlives its process: what is saved is what is loaded, and nothing else is."""

from __future__ import annotations

import json

import pytest

from solvent import LabParams
from solvent.debt import EpistemicController
from solvent.lab.mechanisms.debt import DebtParams
from tests.commands import execute_python

GOOD = {"format": "solvent.debt.v1", "debt_bits": 1.25, "open_claims": {"a": 0.5}}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "debt.json"


def test_debt_and_open_claims_outlive_the_process(path):
    first = (
        "from solvent.debt import EpistemicController\n"
        "import sys\n"
        "controller = EpistemicController()\n"
        "controller.claim_action('a', 'exploration', 3.0)\n"
        "controller.resolve_action('a', 0.5)\n"
        "controller.claim_action('b', 'exploration', 1.0)\n"
        "controller.save(sys.argv[1])"
    )
    execute_python(first, path).succeeded()
    controller = EpistemicController.load(path)
    assert controller.get_total_debt() == 2.5
    assert controller.should_refuse_action("dose_response", 48, 384)[1] == "epistemic_debt_action_blocked"
    assert controller.resolve_action("b", 0.25) == 0.75
    with pytest.raises(ValueError, match="'b' has no open claim"):
        controller.resolve_action("b", 0.25)


def test_the_rules_are_those_of_the_process_that_loads(path):
    path.write_text(json.dumps(GOOD), encoding="utf-8")
    two_tier = LabParams(debt=DebtParams(inflation="two_tier"))
    assert EpistemicController.load(path, two_tier).get_inflated_cost(100) > 100 * (1 + 0.15 * 1.25)
    assert EpistemicController.load(path).get_inflated_cost(100) == 100 * (1 + 0.15 * 1.25)
    with pytest.raises(ValueError, match=r"debt\.json: .*0 to 0\.25 bits"):
        EpistemicController.load(path, learnable_bits=0.25)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("[]", "allowed: a valid dictionary"),
        (json.dumps({**GOOD, "format": "solvent.debt.v2"}), "allowed: 'solvent.debt.v1'"),
        (json.dumps({**GOOD, "open_claims": ["a"]}), "open_claims: got"),
        (json.dumps({**GOOD, "debt_bits": -0.5}), "debt_bits: got"),
        (json.dumps({**GOOD, "open_claims": {"a": 1e16}}), "gain_bits: got"),
    ],
)
def test_what_no_controller_saved_is_one_line_that_names_the_file(path, content, why):
    path.write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match=r"debt\.json: no saved controller") as error:
        EpistemicController.load(path)
    assert why in str(error.value)

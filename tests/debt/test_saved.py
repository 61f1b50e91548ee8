"""Debt that outlives its process: what is saved is what is loaded, and nothing else is."""

from __future__ import annotations

import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

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


@given(
    claims=st.dictionaries(
        st.text(st.characters(codec=None, exclude_categories=()), max_size=9),
        st.floats(0.0, 1e15),
        max_size=9,
    ),
    gain=st.floats(-1e15, 1e15),
    left_open=st.integers(0, 9),
)
def test_whatever_can_be_owed_is_loaded_to_the_bit(tmp_path_factory, claims, gain, left_open):
    path = tmp_path_factory.mktemp("any") / "debt.json"
    controller = EpistemicController()
    for name, claim in claims.items():
        controller.claim_action(name, "exploration", claim)
    for name in list(claims)[left_open:]:
        controller.resolve_action(name, gain)
    controller.save(path)
    loaded = EpistemicController.load(path)
    assert loaded.get_total_debt() == controller.get_total_debt()
    assert loaded.close_books() == controller.close_books()


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("[]", "allowed: format, debt_bits, open_claims"),
        (json.dumps({**GOOD, "format": "solvent.debt.v2"}), "of the format solvent.debt.v1"),
        (json.dumps({**GOOD, "closed": []}), "allowed: format, debt_bits, open_claims"),
        (json.dumps({**GOOD, "open_claims": ["a"]}), "open_claims: got"),
        *((json.dumps({**GOOD, "debt_bits": debt}), "debt_bits: got") for debt in (-0.5, True, "2", [])),
        *((json.dumps({**GOOD, "open_claims": {"a": claim}}), "gain_bits: got") for claim in (-0.5, 1e16)),
        (json.dumps(GOOD).replace("1.25", "9" * 400), "debt_bits: got"),
    ],
)
def test_what_no_controller_saved_is_one_line_that_names_the_file(path, content, why):
    path.write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match=r"debt\.json: no saved controller") as error:
        EpistemicController.load(path)
    assert why in str(error.value)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 400


def test_a_file_that_is_not_there_or_too_long_is_an_os_error(path):
    with pytest.raises(FileNotFoundError):
        EpistemicController.load(path)
    with path.open("wb") as file:
        file.truncate(2**24 + 1)
    with pytest.raises(OSError, match="more than 16,777,216 bytes"):
        EpistemicController.load(path)


def test_a_save_that_fails_leaves_what_was_saved(path, monkeypatch):
    controller = EpistemicController()
    controller.claim_action("a", "exploration", 1.0)
    controller.save(path)
    before = path.read_bytes()

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    controller.resolve_action("a", 0.0)
    with pytest.raises(OSError, match=r"debt\.json"):
        controller.save(path)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]

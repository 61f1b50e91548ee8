"""The system prompt says what a level's rules are, and nothing that they are not."""

from __future__ import annotations

import pytest

from solvent import LabParams, preset
from solvent_agents.language.prompt import instructions, rules

TRACKED = LabParams.from_mapping({"debt": {"enforced": False}}, base=preset("default"))


def test_debt_is_taken_from_the_return_on_debt() -> None:
    assert "minus the debt that is left at the end" in instructions(preset("default"))


@pytest.mark.parametrize("params", [preset("document"), TRACKED], ids=["document", "tracked"])
def test_debt_is_not_taken_from_the_return_where_the_rules_leave_it(params: LabParams) -> None:
    text = instructions(params)
    assert "minus the debt" not in text
    assert "taken from your return" not in text


def test_where_debt_is_tracked_no_sentence_says_that_it_blocks() -> None:
    sentences = rules(TRACKED)
    assert sentences["tracked"] == "Here debt is recorded and has no consequence."
    assert not sentences.keys() & {"threshold", "interest", "repayment", "bankruptcy", "debt"}

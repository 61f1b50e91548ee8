"""``solvent proposals`` as a person meets it."""

import json

import pytest

pytest.importorskip("sqlalchemy", reason="the extra `store` is not installed")

from solvent.energy.store import CostStore
from tests.commands import call
from tests.energy.test_store import SOURCES
from tests.labs import ASKED_FOR


@pytest.fixture
def solvent(tmp_path, monkeypatch):
    """What the command prints; with ``refused``, its error."""
    monkeypatch.setenv("SOLVENT_STORE", str(tmp_path / "costs.db"))

    def run(*arguments, refused=False):
        ended = call("proposals", *arguments, width=200)
        return ended.refused() if refused else ended.succeeded()

    return run


@pytest.fixture
def proposal(tmp_path):
    """A file with the source's proposal."""
    path = tmp_path / "proposal.json"
    path.write_text(json.dumps(SOURCES, indent=2))
    return path


def test_the_sources_proposal_becomes_a_price(solvent, proposal, tmp_path):
    solvent("register", "reach_out_user", "--cost", "5", "--category", "send_private")
    assert "filed 1, skipped 0; 1 pending" in solvent("file", proposal)
    (row,) = json.loads(solvent("list", "--status", "pending", "--json"))
    with CostStore(tmp_path / "costs.db") as store:
        store.approve(row["id"], new_cost=4.5, notes="fair")
    assert [row["cost"] for row in json.loads(solvent("prices", "reach_out_user", "--json"))] == [5.0, 4.5]


def test_prices_of_an_unknown_target_are_refused_with_the_nearest_name(solvent):
    solvent("register")
    assert "got 'scren'; did you mean 'screen'?" in solvent("prices", "scren", refused=True)


def test_a_proposal_is_filed_once(solvent, proposal):
    solvent("register", "reach_out_user", "--cost", "5", "--category", "send_private")
    solvent("file", proposal)
    assert "filed before" in solvent("file", proposal, refused=True)


def test_another_store_can_be_named(solvent, tmp_path):
    own = tmp_path / "my costs.db"
    assert f"--store '{own}'" in solvent("register", "--store", own)
    assert "no pending proposals" in solvent("list", "--status", "pending", "--store", own)


def test_a_labs_ledger_is_filed_without_its_reviews(solvent, tmp_path):
    path = tmp_path / "energy_cost_proposals.jsonl"
    hostile = {**ASKED_FOR, "rationale": "worth [bold]0.6 bits[/bold] \x1b[31meach"}
    review = {"target_type": "action", "target_name": "screen", "status": "rejected", "reviewed_by": "system"}
    path.write_text("".join(json.dumps(row) + "\n" for row in (hostile, review)))
    assert "filed 1, skipped 1" in solvent("file", path)
    assert r"worth [bold]0.6 bits[/bold] \x1b[31meach" in solvent("list").replace("\n", "")


def test_deferrals_are_logged_once_and_two_lines_may_be_equal(solvent, tmp_path):
    path = tmp_path / "cost_discomfort_log.jsonl"
    row = {"heartbeat_number": 3, "action_considered": "screen", "energy_cost": 4.0, "energy_available": 1.5}
    path.write_text((json.dumps(row | {"deferral_reason": "hoarding"}) + "\n") * 2)
    assert "logged 2, skipped 0" in solvent("log", path)
    assert "logged 0, skipped 2" in solvent("log", path)

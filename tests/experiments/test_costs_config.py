"""``costs`` in a config: a dated price list becomes explicit prices, and the run needs the store no more."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest

from solvent import LabParams
from solvent.energy.costs import CostStore, EnergyCostProposal, Reflection, prices
from solvent.energy.costs import store as store_module
from solvent_experiments.artifacts.folder import RunFolder
from solvent_experiments.config.documents import ConfigError, dump_yaml
from solvent_experiments.config.experiment import Experiment, load_experiment, moment

NAMED = "name: x\nagents: [random]\ncosts: {store: stores/costs.db}\n"
LAB = "name: x\nagents: [random]\nparams: {energy: {enabled: true}}\n"


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store in which a screen once cost 4, and since two days ago costs 3."""
    two_days_ago = datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=2)
    path = tmp_path / "stores" / "costs.db"
    path.parent.mkdir()
    with monkeypatch.context() as earlier, CostStore(path) as opened:
        for module in (prices, store_module):
            earlier.setattr(module, "now", lambda _: two_days_ago)
        opened.register_verbs(LabParams())
        opened.approve(file_cheaper_screen(opened, 4.0, 2.0, 3.0).id)
    return path


def file_cheaper_screen(store: CostStore, cost: float, low: float, high: float) -> EnergyCostProposal:
    proposal = EnergyCostProposal(
        target_type="action",
        target_name="screen",
        current_cost=cost,
        suggested_min=low,
        suggested_max=high,
        direction="decrease",
        rationale="because",
        confidence=0.5,
        evidence=[{"source": "a", "summary": "b"}],
        heartbeat_refs=[1, 2],
    )
    return store.file_proposal(proposal, Reflection(episode="ada", heartbeat_number=2))


def at(path: Path, revision: int) -> datetime.datetime:
    with CostStore(path) as opened:
        return opened.history("action", "screen")[revision].effective_at


def load(tmp_path: Path, text: str, *, folder: str = ".") -> Experiment:
    path = tmp_path / folder / "x.yaml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return load_experiment(path)


@pytest.mark.parametrize(
    ("named", "folder"),
    [("stores/costs.db", "."), ("../stores/costs.db", "configs"), ("sqlite:///stores/costs.db", ".")],
)
def test_the_list_in_force_is_dated_by_its_last_change(
    store: Path, tmp_path: Path, named: str, folder: str
) -> None:
    experiment = load(tmp_path, LAB + f"costs: {{store: '{named}'}}\n", folder=folder)
    assert experiment.params.energy.prices.screen == 3.0
    assert experiment.params.energy.base_cost("publish_public") == 7.0
    assert experiment.costs == {"as_of": at(store, 1).isoformat()}
    assert load(tmp_path, LAB + f"costs: {{store: '{named}'}}\n", folder=folder) == experiment


@pytest.mark.parametrize("quote", ["", "'"])
def test_a_list_of_the_past(store: Path, tmp_path: Path, quote: str) -> None:
    for revision, cost in ((0, 4.0), (1, 3.0)):
        as_of = at(store, revision).isoformat()
        experiment = load(
            tmp_path, LAB + f"costs: {{store: stores/costs.db, as_of: {quote}{as_of}{quote}}}\n"
        )
        assert experiment.params.energy.prices.screen == cost
        assert experiment.costs == {"as_of": as_of}


def test_the_resolved_config_runs_again_without_the_store(store: Path, tmp_path: Path) -> None:
    experiment = load(tmp_path, LAB + "costs: {store: stores/costs.db}\n")
    store.unlink()
    again = load(tmp_path, dump_yaml(experiment.to_mapping()), folder="elsewhere")
    assert again == experiment
    assert "stores" not in dump_yaml(experiment.to_mapping())


def test_a_run_goes_on_until_a_price_changes(store: Path, tmp_path: Path) -> None:
    text = LAB + "costs: {store: stores/costs.db}\n"
    folder = RunFolder(tmp_path / "run")
    with folder.locked():
        folder.prepare(load(tmp_path, text))
        folder.prepare(load(tmp_path, text))
        with CostStore(store) as opened:
            proposal = file_cheaper_screen(opened, 3.0, 1.0, 2.0)
            folder.prepare(load(tmp_path, text))  # an argument changes nothing
            opened.approve(proposal.id)
        with pytest.raises(ConfigError, match=r"screen: 3\.0 there, 2\.0 here"):
            folder.prepare(load(tmp_path, text))


def test_without_costs_nothing_is_named(tmp_path: Path) -> None:
    experiment = load(tmp_path, LAB)
    assert experiment.costs is None
    assert experiment.to_mapping()["costs"] is None
    assert experiment.params.energy.prices.screen is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (LAB + "costs: {}\n", ["line 4", "costs.store", "missing"]),
        (LAB + "costs: {as_of: 2026-01-01}\n", ["costs.store", "missing"]),
        (LAB + "costs: {stor: x}\n", ["costs.stor", "did you mean 'store'"]),
        (LAB + "costs: {store: 3}\n", ["costs.store", "got 3"]),
        (LAB + "costs: {store: none.db}\n", ["line 4", "costs.store", "none.db: no such store"]),
        (LAB + "costs: {store: x.yaml}\n", ["costs.store", "not a database"]),
        (
            LAB + "costs: {store: 'postgresql://a:s3cret@127.0.0.1:1/x'}\n",
            ["costs.store", "postgresql://a:***@127.0.0.1:1/x", "refused"],
        ),
        (LAB + "costs: {store: stores/costs.db, as_of: soon}\n", ["costs.as_of", "'soon'"]),
        (LAB + "costs: {store: stores/costs.db, as_of: 2999-01-01}\n", ["costs.as_of", "in the future"]),
        (LAB + "costs: {store: stores/costs.db, as_of: 2020-01-01}\n", ["costs.store", "no price"]),
        (
            NAMED,
            ["line 3", "costs", "no energy in this lab"],
        ),
        (
            NAMED + "params: {energy: {enabled: true, prices: {screen: 2.0}}}\n",
            ["line 4", "params.energy.prices.screen", "one of both"],
        ),
        (
            NAMED + "params: {energy: 3}\n",
            ["line 4", "params.energy", "mapping"],
        ),
        (
            NAMED + "params: {energy: {enabled: true, floor_public: 7.5}}\n",
            ["params.energy", "publish_public", "floor 7.5"],
        ),
    ],
)
def test_what_can_not_be_used_is_one_line(store: Path, tmp_path: Path, text: str, said: list[str]) -> None:
    with pytest.raises(ConfigError) as refusal:
        load(tmp_path, text)
    line = str(refusal.value)
    for words in said:
        assert words in line
    assert "\n" not in line
    assert "s3cret" not in line


def test_moments() -> None:
    noon = datetime.datetime(2026, 11, 1, 12, tzinfo=datetime.UTC)
    for value in ("2026-11-01T12:00:00Z", "2026-11-01 12:00", "2026-11-01T14:00+02:00", noon):
        assert moment(value) == noon
    for date in ("2026-11-01", datetime.date(2026, 11, 1)):
        assert moment(date) == noon.replace(hour=0)

"""A store of costs on each engine."""

import pytest


@pytest.fixture
def place(new_place):
    return new_place()


@pytest.fixture
def store(place):
    """A store with the prices of the lab's verbs and of the source's action."""
    pytest.importorskip("sqlalchemy", reason="the extra `store` is not installed")
    from solvent.energy import energy_for_action
    from solvent.energy.store import CostStore

    with CostStore(place) as opened:
        opened.register_verbs()
        opened.enter("action", energy_for_action("reach_out_user", cost=5.0, category="send_private"))
        yield opened

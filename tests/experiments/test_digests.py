"""A run leaves behind what it left: tables, logs and policies (``tests/digests.py``)."""

from __future__ import annotations

import json

import pytest

from tests import digests
from tests.test_digests import differences


@pytest.mark.parametrize("config", ["smoke", "smoke_energy", "smoke_gate", "smoke_lab"])
def test_a_run_leaves_what_it_left(config: str, request: pytest.FixtureRequest) -> None:
    kept = json.loads(digests.KEPT.read_text(encoding="utf-8"))["runs"][config]
    run = request.getfixturevalue(f"{config}_run")
    assert differences(kept, digests.run_folder(run.root)) == []

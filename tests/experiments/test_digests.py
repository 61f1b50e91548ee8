"""A run leaves behind what it left: tables, logs and policies (``tests/digests.py``)."""

from __future__ import annotations

import json

import pytest

from tests import digests
from tests.runs import Levels
from tests.test_digests import differences


@pytest.mark.parametrize("config", ["smoke", "smoke_energy", "smoke_gate", "smoke_lab"])
def test_a_run_leaves_what_it_left(config: str, levels: Levels) -> None:
    kept = json.loads(digests.KEPT.read_text(encoding="utf-8"))["runs"][config]
    assert differences(kept, digests.run_folder(levels(config).folder.root)) == []

"""What the tests of adequacy share: published data where it is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("SOLVENT_DATA") or ROOT.parent / "shared" / "data")


@pytest.fixture
def public_data(request: pytest.FixtureRequest) -> Path:
    """Samples of published data sets; never part of the repository. The report says which tests wanted them."""
    request.node.user_properties.append(("public_data", str(DATA.is_dir())))
    if not DATA.is_dir():
        pytest.skip(f"no published data in {DATA}: set SOLVENT_DATA to its folder")
    return DATA

"""The columns of every registered lab's episodes are the fields of its record."""

from __future__ import annotations

import numpy as np
import pytest

from solvent import ENVIRONMENTS
from solvent.lab.columns import columns_of, episode_columns
from solvent.lab.params import preset
from solvent.lab.settings import UNIT
from solvent.lab.state import lab_dtype

pytestmark = pytest.mark.plain

OTHERWISE = {"end_reason", "debt", "heartbeats", "refusals", "verdicts", "adequacy", "intents"}
"""Columns that are names, sums, splits or renamed fields; tests of their mechanisms hold them."""


@pytest.mark.parametrize("env_id", ENVIRONMENTS)
def test_a_column_called_like_a_field_is_that_field(env_id):
    params = preset(ENVIRONMENTS[env_id]["preset"])
    labs = np.zeros(3, lab_dtype(params))
    for at, name in enumerate(labs.dtype.names):  # no two fields alike
        if labs[name].ndim == 1 and name != "end_reason":
            labs[name] = [at % 100 + 1, at % 97 + 1, at % 89 + 1]
    columns, checked = episode_columns(params, labs), 0
    for column in columns_of(params):
        if column.name in labs.dtype.names and column.name not in OTHERWISE:
            unit = UNIT if column.unit == "energy" else 1
            assert columns[column.name].tolist() == (labs[column.name] / unit).tolist(), column.name
            checked += 1
    assert checked > 10

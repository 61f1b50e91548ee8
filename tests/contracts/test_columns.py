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


@pytest.mark.parametrize("env_id", ENVIRONMENTS)
def test_a_column_called_like_a_field_is_that_field(env_id):
    params = preset(ENVIRONMENTS[env_id]["preset"])
    labs = np.zeros(3, lab_dtype(params))
    fields = [name for name in labs.dtype.names if labs[name].ndim == 1 and name != "end_reason"]
    for at, name in enumerate(fields):  # no two alike
        labs[name] = [at % 100 + 1, at % 97 + 1, at % 89 + 1]
    columns, checked = episode_columns(params, labs), 0
    for column in columns_of(params):
        if column.name in fields and column.name != "debt":  # the sum of what was settled and is left
            unit = UNIT if column.unit == "energy" else 1
            assert columns[column.name].tolist() == (labs[column.name] / unit).tolist(), column.name
            checked += 1
    assert checked > 10

"""Solvent: a small biology lab whose agent may believe only what it has paid for.

```python
import gymnasium, solvent

env = gymnasium.make("Solvent/Debt-v0")
envs = gymnasium.make_vec("Solvent/Debt-v0", num_envs=1024, vectorization_mode="vector_entry_point")
```

``solvent.lab`` is the environment. ``solvent.debt``, ``solvent.energy``, ``solvent.gate`` and ``solvent.adequacy``
provide its four mechanisms as instruments for other agents; none of them needs a lab.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from solvent.lab.registration import ENVIRONMENTS, register_all, register_with_gymnasium

if TYPE_CHECKING:
    from solvent.debt import EpistemicController, RefusalEvent, append_refusals_jsonl, read_refusals_jsonl
    from solvent.errors import SolventError
    from solvent.lab.environment import LabEnv
    from solvent.lab.params import LabParams, preset
    from solvent.lab.settings import ParamError
    from solvent.lab.vector import LabVectorEnv

__all__ = [
    "ENVIRONMENTS",
    "EpistemicController",
    "LabEnv",
    "LabParams",
    "LabVectorEnv",
    "ParamError",
    "RefusalEvent",
    "SolventError",
    "__version__",
    "append_refusals_jsonl",
    "preset",
    "read_refusals_jsonl",
    "register_all",
]

__version__ = "0.4.0"

_HOME = {
    "EpistemicController": "solvent.debt",
    "LabEnv": "solvent.lab.environment",
    "LabParams": "solvent.lab.params",
    "LabVectorEnv": "solvent.lab.vector",
    "ParamError": "solvent.lab.settings",
    "RefusalEvent": "solvent.debt",
    "SolventError": "solvent.errors",
    "append_refusals_jsonl": "solvent.debt",
    "preset": "solvent.lab.params",
    "read_refusals_jsonl": "solvent.debt",
}
"""The module of each name. Imports are lazy because numba and scipy take seconds to load."""


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(_HOME[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


register_with_gymnasium()

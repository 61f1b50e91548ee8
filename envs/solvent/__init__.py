"""Solvent: a small biology lab whose agent may believe only what it has paid for.

```python
import gymnasium, solvent

env = gymnasium.make("Solvent/Debt-v0")
envs = gymnasium.make_vec("Solvent/Debt-v0", num_envs=1024, vectorization_mode="vector_entry_point")
```
"""

from solvent.control import EpistemicController
from solvent.environment import LabEnv
from solvent.ledger import append_refusals_jsonl, read_refusals_jsonl
from solvent.params import LabParams, ParamError, preset
from solvent.records import RefusalEvent
from solvent.registration import ENVIRONMENTS, register_all
from solvent.vector import LabVectorEnv

__all__ = [
    "ENVIRONMENTS",
    "EpistemicController",
    "LabEnv",
    "LabParams",
    "LabVectorEnv",
    "ParamError",
    "RefusalEvent",
    "__version__",
    "append_refusals_jsonl",
    "preset",
    "read_refusals_jsonl",
    "register_all",
]

__version__ = "0.1.0"

register_all()

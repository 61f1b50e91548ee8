"""Learners: Stable-Baselines3's algorithms on many labs at once.

```python
recipe = Recipe.from_mapping({"algorithm": "PPO", "n_timesteps": 200_000})
path = train(recipe, params, seed=0, folder=Path("mine"))
agent = LearnedAgent.load(path, params)
```

The names below need the extra ``agents``; importing the package needs nothing.
"""

import importlib
import typing

if typing.TYPE_CHECKING:
    from solvent_agents.learning.learned import LearnedAgent, train
    from solvent_agents.learning.recipe import Recipe
    from solvent_agents.learning.sb3 import LabVecEnv

__all__ = ["LabVecEnv", "LearnedAgent", "Recipe", "train"]

_HOME = {"LabVecEnv": "sb3", "LearnedAgent": "learned", "Recipe": "recipe", "train": "learned"}


def __getattr__(name: str) -> typing.Any:
    # Late, so that what needs no learner waits for none.
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

"""Recipes in rl-zoo3's layout, checked before anything is trained."""

from __future__ import annotations

import functools
import inspect
import operator
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, ValidationError, create_model, with_config
from sb3_contrib import QRDQN, TRPO, MaskablePPO, RecurrentPPO
from stable_baselines3 import A2C, DQN, PPO
from stable_baselines3.common.base_class import BaseAlgorithm
from typing_extensions import TypedDict  # pydantic needs it on Python 3.11

from solvent.lab.params import LabParams
from solvent.lab.settings import ParamError, nearest
from solvent_agents.learning.policies import MaskableSharedPolicy, SharedPolicy
from solvent_agents.learning.sb3 import ClassTarget, Rewards

ALGORITHMS: dict[str, type[BaseAlgorithm]]
ALGORITHMS = {each.__name__: each for each in (A2C, DQN, MaskablePPO, PPO, QRDQN, RecurrentPPO, TRPO)}
ONLY_POLICY = {"DQN": "MlpPolicy", "QRDQN": "MlpPolicy", "RecurrentPPO": "MlpLstmPolicy"}
"""The policy of an algorithm that has no choice."""
RECIPES = Path(__file__).parent / "recipes"
"""The recipes of all levels, a file per learner."""
FALLING = ("learning_rate", "clip_range", "ent_coef")

_Falling = Annotated[str, Field(pattern=r"^lin_[0-9]+(\.[0-9]*)?(e[+-]?[0-9]+)?$")]
_Width = Annotated[int, Field(ge=1, le=2048)]  # a stranger's policy file can't take all memory
_Layers = Annotated[list[_Width], Field(max_length=8)]


@with_config(extra="forbid")
class LstmSizes(TypedDict, total=False):
    """Sizes of an ``MlpLstmPolicy``: its LSTMs, and the layers behind them."""

    lstm_hidden_size: Annotated[int, Field(ge=1, le=1024)]
    n_lstm_layers: Annotated[int, Field(ge=1, le=4)]
    net_arch: _Layers


_SIZES: dict[str, Any] = {
    "SharedPolicy": dict[Literal["width", "value_width", "class_width"], _Width],
    "MlpPolicy": dict[Literal["net_arch"], _Layers],
    "MlpLstmPolicy": LstmSizes,
}


class Recipe(Rewards):
    """An algorithm, its number of steps, its rewards, and its hyperparameters under Stable-Baselines3's names."""

    algorithm: str
    n_timesteps: int = Field(ge=1, le=10**12)  # environment steps in all
    # Steps between evaluations on separate labs; the best policy is kept. None: the last policy.
    evaluate_every: int | None = Field(default=None, ge=1)
    n_envs: int = Field(default=256, ge=1, le=2**20)  # labs stepped together
    policy: Literal["SharedPolicy", "MlpPolicy"] = "SharedPolicy"  # some have no choice: ``ONLY_POLICY``
    policy_kwargs: dict[str, Any] = Field(default_factory=dict)
    # What the class head of a SharedPolicy (``class_width``) learns from. It is granted in training alone.
    class_target: ClassTarget | None = None
    shaping_weight: float | None = Field(default=0.7, ge=0.0, le=100.0)

    @staticmethod
    def from_mapping(mapping: Mapping[str, Any], *, path: str = "") -> Recipe:
        """Return a recipe from a flat mapping: the attributes above, and arguments of the algorithm's constructor.

        A rate such as ``learning_rate: lin_3e-4`` falls linearly to 0.

        Raises:
            ParamError: an unknown algorithm, key or policy, or an impossible number; one line says what is allowed.
        """
        where = f"{path}." if path else ""
        algorithm = mapping.get("algorithm")
        if not isinstance(algorithm, str) or algorithm not in ALGORITHMS:
            raise ParamError(f"{where}algorithm", f"got {algorithm!r:.60}; allowed: {', '.join(ALGORITHMS)}")
        checked = _recipe_of(algorithm, mlp=mapping.get("policy") == "MlpPolicy")
        try:
            recipe = checked(**{str(key): value for key, value in mapping.items()})
        except ValidationError as error:
            key, problem = first_problem(error, checked)
            falling = ", or lin_<number> for a linear fall to 0" if key in FALLING else ""
            raise ParamError(f"{where}{key}", problem + falling) from None
        if bool(recipe.class_target) != ("class_width" in recipe.policy_kwargs):
            problem = "allowed: with policy_kwargs.class_width of a SharedPolicy, and the reverse"
            raise ParamError(f"{where}class_target", f"got {recipe.class_target!r}; {problem}")
        return recipe

    def __reduce__(self) -> Any:
        # The class that checked the arguments has no name to be found by.
        return Recipe.from_mapping, (self.to_mapping(),)

    def to_mapping(self) -> dict[str, Any]:
        """Return the flat mapping of ``from_mapping``, ready for YAML or JSON."""
        return {**self.model_dump(include=set(Recipe.model_fields)), **self.model_dump(exclude_unset=True)}

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of the algorithm's constructor, without ``policy_kwargs``."""
        given = {key: getattr(self, key) for key in self.model_fields_set - Recipe.model_fields.keys()}
        for key in FALLING:
            if isinstance(rate := given.get(key), str):
                start = float(rate.removeprefix("lin_"))
                # Stable-Baselines3 has no schedule for the entropy bonus: ``train`` lowers it.
                given[key] = start if key == "ent_coef" else functools.partial(operator.mul, start)
        return given

    def network(self, params: LabParams) -> tuple[Any, dict[str, Any]]:
        """Return the class of the policy, and its ``policy_kwargs`` for labs with ``params``.

        Raises:
            ParamError: a class head for labs whose findings don't name their class.
        """
        if self.policy != "SharedPolicy":
            return ALGORITHMS[self.algorithm].policy_aliases[self.policy], dict(self.policy_kwargs)
        if "class_width" in self.policy_kwargs and not params.publication.names_class:
            raise ParamError("class_width", "allowed: where publication.names_class is true")
        shared = MaskableSharedPolicy if self.algorithm == "MaskablePPO" else SharedPolicy
        return shared, {**self.policy_kwargs, "lab_params": params}


def first_problem(error: ValidationError, model: type[BaseModel]) -> tuple[str, str]:
    """Return the dotted key of the first problem that pydantic found in a ``model``, and one line about it."""
    first = error.errors(include_url=False)[0]
    key = ".".join(str(part) for part in first["loc"][: 2 if "policy_kwargs" in first["loc"] else 1])
    key = key if key.isprintable() else ascii(key)
    if first["type"] == "missing":
        return key, "missing"
    if first["type"] == "extra_forbidden":
        known = LstmSizes.__annotations__ if "policy_kwargs" in first["loc"] else model.model_fields
        return key, "unknown key" + nearest(key.rpartition(".")[2], known)
    problem = re.sub("^(Input|String) should (be|match)", "allowed:", first["msg"])
    return key, f"got {first['input']!r:.60}; {problem}"


@functools.cache
def _recipe_of(algorithm: str, mlp: bool) -> type[Recipe]:
    """Return a recipe that checks arguments against the annotations of the algorithm's constructor."""
    parameters = inspect.signature(ALGORITHMS[algorithm]).parameters.values()
    given = ("env", "policy", "seed", "tensorboard_log", "verbose", "_init_setup_model")
    fields: dict[str, Any] = {p.name: (p.annotation, None) for p in parameters if p.name not in given}
    fields["device"] = (Annotated[str, Field(pattern=r"^(cpu|cuda(:[0-9]{1,3})?)$")], "cpu")
    fields |= {key: (fields[key][0] | _Falling, None) for key in FALLING if key in fields}
    policy = ONLY_POLICY.get(algorithm, "MlpPolicy" if mlp else "SharedPolicy")
    if algorithm in ONLY_POLICY:
        fields["policy"] = (Literal[policy], policy)
    fields["policy_kwargs"] = (_SIZES[policy], {})
    return create_model("Recipe", __base__=Recipe, **fields)

"""Learned agents: Stable-Baselines3's algorithms on the native vector of labs."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

try:
    from stable_baselines3.common.callbacks import BaseCallback
except ModuleNotFoundError as error:
    from solvent.extras import install

    needed = f"a learner needs the package {error.name}: {install('agents')}"
    raise ModuleNotFoundError(needed, name=error.name) from error
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.utils import get_device

from solvent.files import write_json
from solvent.lab.params import LabParams
from solvent.lab.settings import ParamError
from solvent_agents.agent import Actions, Observations
from solvent_agents.learning.class_target import ClassLessons
from solvent_agents.learning.policy_file import load_policy, save_policy, steps_of
from solvent_agents.learning.recipe import ALGORITHMS, Recipe
from solvent_agents.learning.sb3 import LabVecEnv
from solvent_agents.rollout import episodes

Tracker = Literal["tensorboard", "wandb"]

# Columns of episodes of which a tracker gets the mean.
TRACKED = ("return", "debt", "accepted", "wrong", "calibrations", "claimed", "gained", "wells")


VALIDATION = range(5_000, 5_200)
"""Seeds of the labs that choose a policy: no training meets them, and evaluations begin at 10,000."""


class _Reporter(BaseCallback):
    """Calls ``report`` before each rollout, lowers an entropy bonus that falls to 0, and stops when asked.

    With ``evaluate_every`` it also plays the validation labs and keeps the weights that earned most; after ``done``
    steps of an earlier training, the weights of that training are the first to be played.
    """

    def __init__(
        self,
        recipe: Recipe,
        params: LabParams,
        report: Callable[[Any], None],
        on_validation: Callable[[int, float], None],
        stop: Callable[[], bool],
        done: int,
    ) -> None:
        super().__init__()
        self.recipe, self.params, self.report, self.stop = recipe, params, report, stop
        self.on_validation = on_validation
        self.due = done or recipe.evaluate_every or 0
        self.stopped = False
        self.validated: list[dict[str, float]] = []
        self.best: dict[str, Any] = {}

    def validate(self) -> None:
        """Play the validation labs with the most probable actions; keep the weights if none earned more."""
        if self.validated and self.validated[-1]["steps"] == self.num_timesteps:
            return
        agent = LearnedAgent(self.model.policy, self.recipe.algorithm.lower())
        earned = float(episodes(agent, self.params, VALIDATION)["return"].mean())
        self.logger.record("lab/validation", earned)
        self.validated.append({"steps": self.num_timesteps, "return": earned})
        self.on_validation(self.num_timesteps, earned)
        if earned >= max(one["return"] for one in self.validated):
            self.best = copy.deepcopy(self.model.policy.state_dict())

    def _on_rollout_start(self) -> None:
        self.report(self.model)
        every = self.recipe.evaluate_every
        if every and self.num_timesteps >= self.due:
            self.validate()
            self.due = (self.num_timesteps // every + 1) * every
        if str(getattr(self.recipe, "ent_coef", "")).startswith("lin_"):
            left = max(0.0, 1.0 - self.num_timesteps / self.recipe.n_timesteps)
            self.model.ent_coef = self.recipe.arguments()["ent_coef"] * left  # type: ignore[attr-defined]

    def _on_step(self) -> bool:
        self.stopped = self.stopped or self.stop()
        return not self.stopped


def train(
    recipe: Recipe,
    params: LabParams,
    *,
    seed: int,
    folder: Path,
    on_progress: Callable[[int, int], None] = lambda _done, _total: None,
    on_episodes: Callable[[int, dict[str, Any]], None] = lambda _done, _columns: None,
    on_validation: Callable[[int, float], None] = lambda _done, _earned: None,
    should_stop: Callable[[], bool] = lambda: False,
    track: Tracker | None = "tensorboard",
    start: Path | None = None,
) -> Path | None:
    """Train a policy and return the path of its weights in ``folder``, or None if it was stopped before the end.

    With ``start`` the training of an earlier policy continues up to the recipe's steps, on labs that it has not met.
    What falls over a training falls as if it had had these steps from the beginning; the optimiser starts afresh.
    The earlier policy is validated first, and kept unless a later one earns as much. ``validation.json`` has the
    validations since then; those before are in the earlier policy's folder.

    The number of torch's threads is the caller's; one is fastest for these networks, and always on busy cores.

    Args:
        recipe: algorithm, rewards and hyperparameters.
        params: parameters of the labs.
        seed: seed of networks, action sampling and labs.
        folder: for the policy file, which is written at the end, and what tracks the training.
        on_progress: called with (steps done, steps in all), first at 0 steps.
        on_episodes: called with (steps done, ``episode`` columns of what ended since the last call).
        on_validation: called with (steps done, mean return on validation labs) as often as ``evaluate_every`` says.
        should_stop: asked at every vector step.
        track: where the learner's numbers go besides: TensorBoard's logs or Weights & Biases, both in ``folder``.
        start: a policy that was trained for fewer steps by the same recipe.

    Raises:
        PolicyFileError: ``start`` can't be read, or belongs to labs of another shape.
        ParamError: the algorithm refuses this combination of arguments, or this machine lacks the recipe's device.
    """
    folder.mkdir(parents=True, exist_ok=True)
    arguments = {"device": "cpu"} | recipe.arguments()
    if get_device(arguments["device"]).type != arguments["device"].partition(":")[0]:
        raise ParamError("device", f"got {arguments['device']!r}, which this machine lacks; allowed: cpu")
    policy, arguments["policy_kwargs"] = recipe.network(params)
    gamma = arguments.get("gamma", 0.99)
    envs = LabVecEnv(params, recipe.n_envs, recipe, gamma=gamma, class_target=recipe.class_target)
    logs = str(folder / "tensorboard") if track == "tensorboard" else None
    algorithm: Any = ALGORITHMS[recipe.algorithm]
    try:
        model = algorithm(policy, envs, seed=seed, tensorboard_log=logs, **arguments)
    except (AssertionError, TypeError, ValueError) as error:
        raise ParamError(recipe.algorithm, " ".join(str(error).split())) from error

    def report(model: Any) -> None:
        if (columns := envs.take_finished()) is not None:
            means = {f"refusals/{reason}": counts.mean() for reason, counts in columns["refusals"].items()}
            for key, mean in (means | {key: columns[key].mean() for key in TRACKED}).items():
                model.logger.record_mean(f"lab/{key}", float(mean))
            on_episodes(model.num_timesteps, columns)
        on_progress(min(model.num_timesteps, recipe.n_timesteps), recipe.n_timesteps)

    if track == "wandb":
        from solvent_agents.learning.wandb_writer import wandb_logger

        model.set_logger(wandb_logger(folder, seed, recipe))
    done = 0 if start is None else _continued(model, start, params, seed)
    reporter = _Reporter(recipe, params, report, on_validation, should_stop, done)
    callbacks = [reporter, *([ClassLessons(envs)] if recipe.class_target else [])]
    try:
        model.learn(
            recipe.n_timesteps - done, callback=callbacks, tb_log_name="run", reset_num_timesteps=not done
        )
    finally:
        model.logger.close()
    report(model)
    if reporter.stopped:
        return None
    if recipe.evaluate_every:
        reporter.validate()
        model.policy.load_state_dict(reporter.best)
        write_json(folder / "validation.json", reporter.validated)
    return save_policy(folder, model.policy, recipe, params)


def _continued(model: Any, start: Path, params: LabParams, seed: int) -> int:
    """Give a model an earlier policy's weights, and new labs; return the steps of its training."""
    policy, _ = load_policy(start, params)
    model.policy.load_state_dict(policy.state_dict())
    model.num_timesteps = steps_of(start)
    model.set_random_seed(int(np.random.SeedSequence([seed, model.num_timesteps]).generate_state(1)[0]))
    return int(model.num_timesteps)


class LearnedAgent:
    """A trained policy as an agent: it takes the most probable action.

    A recurrent policy remembers what it saw in each lab from one ``act`` to the next; ``start`` makes it forget.
    """

    def __init__(self, policy: BasePolicy, name: str) -> None:
        self.policy, self.name = policy, name
        self.start()

    @classmethod
    def load(cls, path: Path, params: LabParams) -> LearnedAgent:
        """Load a policy that ``train`` wrote: ``policy.safetensors`` with ``policy.json`` beside it, or their folder.

        Raises:
            PolicyFileError: a file is missing or damaged, or the policy was trained on labs of another shape.
        """
        policy, algorithm = load_policy(path, params)
        return cls(policy, algorithm.lower())

    def start(self, lab_seeds: Sequence[int] = ()) -> None:
        """Begin episodes, one per row of the next ``act``. The seeds make no difference: nothing is drawn."""
        self._state: tuple[NDArray[Any], ...] | None = None  # of an LSTM, a row for each lab

    def act(self, observations: Observations, masks: NDArray[Any]) -> Actions:
        """Return actions for ``n`` labs; see ``Agent.act``."""
        masked = isinstance(self.policy, MaskableActorCriticPolicy)
        extra: dict[str, Any] = {"action_masks": np.asarray(masks, np.bool_)} if masked else {}
        actions, self._state = self.policy.predict(
            observations, state=self._state, deterministic=True, **extra
        )
        return np.asarray(actions, np.int64)

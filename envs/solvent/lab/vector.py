"""``LabVectorEnv``: many labs as a Gymnasium vector environment, over the same compiled dynamics.

Lab ``i`` of a vector seeded with ``seed`` equals the single lab seeded with ``seed + i``, bit for bit, for any number
of labs. Infos have the form of ``gymnasium.vector.SyncVectorEnv``.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.spaces import Discrete
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from solvent.lab.actions import action_table, sentence
from solvent.lab.batch import LabBatch, resolve_params, resolve_seed
from solvent.lab.environment import RENDER_MODES
from solvent.lab.info import VectorInfo
from solvent.lab.ledger import Ledgers
from solvent.lab.observation import observation_fields, observation_space
from solvent.lab.params import LabParams
from solvent.lab.state import blank_step

OF_EACH = ("action_masks", "get_state", "render")
"""Methods that return a row per lab."""


class LabVectorEnv(VectorEnv[NDArray[np.float32], NDArray[np.int64], NDArray[Any]]):
    """``num_envs`` labs stepped together. ``LabEnv`` documents actions, observations and rewards."""

    def __init__(
        self,
        num_envs: int = 1,
        params: LabParams | Mapping[str, Any] | None = None,
        *,
        preset: str = "default",
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
        ledger_path: str | os.PathLike[str] | None = None,
        discomfort_path: str | os.PathLike[str] | None = None,
        proposals_path: str | os.PathLike[str] | None = None,
        verdicts_path: str | os.PathLike[str] | None = None,
        detailed_info: bool = False,
        copy: bool = True,
    ) -> None:
        """Make a vector of labs.

        Args:
            num_envs: Number of labs.
            params: Parameters, or a mapping of changes to the preset.
            preset: Name of a preset, see ``LabEnv``.
            autoreset_mode: ``NEXT_STEP``, ``SAME_STEP`` or ``DISABLED``; also in ``metadata["autoreset_mode"]``.
            render_mode: ``rgb_array``, ``ansi`` or None; ``render`` returns one frame per lab.
            ledger_path: Log of refusals, with the lab's index at the end of ``design_id``.
            discomfort_path: Log of deferrals.
            proposals_path: Log of proposals and their reviews.
            verdicts_path: Log of verdicts and review decisions.
            detailed_info: Add claim, gain, costs and the parts of the reward to the infos.
            copy: Return copies of observations and masks; if false, views that the next step overwrites.

        Raises:
            ParamError: A parameter is invalid.
            ValueError: ``num_envs``, the reset mode or the render mode is invalid.
            OSError: A log can't be written.
        """
        mode = _reset_mode(autoreset_mode)
        if num_envs < 1:
            raise ValueError(f"num_envs: got {num_envs}; allowed: at least 1")
        if render_mode is not None and render_mode not in RENDER_MODES:
            raise ValueError(f"render_mode: got {render_mode!r}; allowed: {', '.join(RENDER_MODES)}")
        self.metadata = {"render_modes": RENDER_MODES, "render_fps": 4, "autoreset_mode": mode}
        self.autoreset_mode = mode  # where SyncVectorEnv has it
        self.num_envs = num_envs
        self.params = resolve_params(params, preset)
        self.render_mode = render_mode
        paths = ledger_path, discomfort_path, proposals_path, verdicts_path
        self.ledgers = Ledgers(self.params, num_envs, *paths)
        self.detailed_info = detailed_info
        self._info = VectorInfo(self.params, num_envs, detailed=detailed_info)
        self.copy = copy
        self.actions = action_table(self.params)
        self.observation_fields = observation_fields(self.params)
        self.single_action_space = Discrete(len(self.actions))
        self.single_observation_space = observation_space(self.params)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.batch = LabBatch(self.params, num_envs, same_step=mode is AutoresetMode.SAME_STEP)
        self._begun = False
        self._all = np.ones(num_envs, np.bool_)
        self._all.setflags(write=False)
        self._renderer: Any = None

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Start an episode in every lab, or in those of ``options["reset_mask"]``.

        Args:
            seed: Seed of the first lab (lab ``i`` gets ``seed + i``), a sequence of seeds, or None to continue each
                stream.
            options: ``reset_mask``, a boolean array of shape ``(num_envs,)``.

        Raises:
            ValueError: A seed is negative or not an integer, the seeds or the mask have the wrong length, or an option
                does not exist.
        """
        if others := [name for name in options or {} if name != "reset_mask"]:
            raise ValueError(f"options: got {', '.join(map(repr, others))}; allowed: 'reset_mask'")
        if isinstance(seed, Iterable):
            seeds = [resolve_seed(f"seed[{i}]", one) for i, one in enumerate(seed)]
        else:
            first = resolve_seed("seed", seed)
            seeds = [None if first is None else first + i for i in range(self.num_envs)]
        chosen = np.asarray((options or {}).get("reset_mask", self._all), np.bool_)
        if len(seeds) != self.num_envs or chosen.shape != (self.num_envs,):
            raise ValueError(
                f"seed, reset_mask: got {len(seeds)} and {chosen.shape}; allowed: one for each of {self.num_envs} labs"
            )
        super().reset(seed=seeds[0])
        self.batch.begin(seeds, chosen, self.np_random)
        self.ledgers.begin(chosen)
        self._begun = bool(self.batch.labs["key"].all())
        batch = self.batch
        infos = self._info.of_steps(batch.steps, batch.labs, self._copied(batch.masks), chosen)
        return self._copied(batch.observations), infos

    def step(
        self, actions: NDArray[np.int64]
    ) -> tuple[
        NDArray[np.float32], NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]
    ]:
        """Run one action in every lab.

        Returns:
            Observations, shape ``(num_envs, n_fields)`` float32; rewards in bits, terminations and truncations, each
                of shape ``(num_envs,)``; infos in Gymnasium's vector form.

        Raises:
            ResetNeeded: Some lab was not reset, or has ended and autoreset is disabled.
            ValueError: ``actions`` has the wrong shape or type, or an action is outside the action space.
        """
        if not self._begun:
            raise ResetNeeded("not every lab has begun an episode: call reset() first")
        if self.autoreset_mode is AutoresetMode.DISABLED and self.batch.labs["end_reason"].any():
            ended = np.flatnonzero(self.batch.labs["end_reason"]).tolist()
            raise ResetNeeded(
                f"labs {ended} have ended: call reset(options={{'reset_mask': ...}}) for them first"
            )
        given = np.asarray(actions)
        if given.shape != (self.num_envs,) or given.dtype.kind not in "iu":
            raise ValueError(
                f"actions: got shape {given.shape} of {given.dtype}; allowed: shape ({self.num_envs},) of integers"
            )
        chosen = given.astype(np.int64, copy=False)
        if chosen.min() < 0 or chosen.max() >= len(self.actions):
            raise ValueError(
                f"actions: got {chosen.min()} to {chosen.max()}; allowed: 0 to {len(self.actions) - 1}"
            )
        batch = self.batch
        batch.step(chosen)
        terminated, truncated = batch.steps["terminated"].copy(), np.zeros(self.num_envs, np.bool_)
        if self.ledgers.paths:
            self.ledgers.append(batch.steps, self._left(terminated))
            self.ledgers.begin(terminated if batch.same_step else batch.steps["action"] < 0)
        infos = self._infos(terminated)
        return self._copied(batch.observations), batch.rewards.copy(), terminated, truncated, infos

    def _copied(self, array: NDArray[Any]) -> NDArray[Any]:
        return array.copy() if self.copy else array

    def _infos(self, ended: NDArray[np.bool_]) -> dict[str, Any]:
        """Return the infos of a step. With same-step reset, those of ended episodes are in ``final_info``."""
        batch = self.batch
        if not (batch.same_step and ended.any()):
            return self._info.of_steps(batch.steps, batch.labs, self._copied(batch.masks), self._all)
        last_observations = np.full(self.num_envs, None, dtype=object)
        for i in np.flatnonzero(ended):
            last_observations[i] = batch.final_observations[i].copy()
        begun = batch.steps.copy()
        begun[ended] = blank_step(self.params)[0]
        return {
            "final_obs": last_observations,
            "_final_obs": ended.copy(),
            "final_info": self._info.of_steps(batch.steps, batch.finals, np.ones_like(batch.masks), ended),
            "_final_info": ended.copy(),
            **self._info.of_steps(begun, batch.labs, self._copied(batch.masks), self._all),
        }

    def _left(self, ended: NDArray[np.bool_]) -> NDArray[Any]:
        """Return the records after the step, before any same-step reset."""
        batch = self.batch
        if "verdicts" not in self.ledgers.paths or not (batch.same_step and ended.any()):
            return batch.labs
        labs = batch.labs.copy()
        labs[ended] = batch.finals[ended]
        return labs

    def action_masks(self) -> NDArray[np.bool_]:
        """Return the mask of actions that would execute now, shape ``(num_envs, n_actions)``."""
        return self.batch.masks.astype(np.bool_)

    def sentence(self, action: int) -> str:
        """Return the action in words."""
        return sentence(self.params, action)

    def get_state(self) -> NDArray[Any]:
        """Return a copy of the records, shape ``(num_envs,)``, including the hidden state."""
        return self.batch.get_labs()

    def set_state(self, state: NDArray[Any]) -> NDArray[np.float32]:
        """Continue from records of ``get_state``; return their observations.

        Raises:
            ValueError: The records belong to other parameters or to another number of labs.
        """
        self.batch.set_labs(np.asarray(state))
        self._begun = True
        return self._copied(self.batch.observations)

    def render(self) -> tuple[Any, ...] | None:
        """Return one frame per lab: a text, or an image of shape ``(height, width, 3)`` uint8."""
        if self.render_mode is None:
            return None
        if self._renderer is None:
            from solvent.lab.rendering import Renderer

            self._renderer = Renderer(self.params, self.render_mode)
        labs = zip(self.batch.labs, self.batch.steps, self.batch.seeds, strict=True)
        return tuple(self._renderer.draw(lab, step, seed) for lab, step, seed in labs)

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Return what a method of each lab returns, or an attribute of each lab, as ``SyncVectorEnv.call`` does."""
        attribute = getattr(self, name)
        if name in OF_EACH:
            return tuple(attribute())
        return (attribute(*args, **kwargs) if callable(attribute) else attribute,) * self.num_envs

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """Return an attribute of each lab."""
        return self.call(name)

    def set_attr(self, name: str, values: Any) -> None:  # noqa: ARG002 - part of the interface
        """Refuse: labs of a vector share their attributes.

        Raises:
            AttributeError: Always.
        """
        raise AttributeError(f"{name}: labs of a vector share it; make a new LabVectorEnv")

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_renderer": None, "_info": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._info = VectorInfo(self.params, self.num_envs, detailed=self.detailed_info)


def _reset_mode(mode: AutoresetMode | str) -> AutoresetMode:
    """Return the reset mode given as a member, value (``SameStep``) or name (``SAME_STEP``)."""
    for member in AutoresetMode:
        if mode in (member, member.value, member.name):
            return member
    raise ValueError(f"autoreset_mode: got {mode!r}; allowed: {', '.join(m.name for m in AutoresetMode)}")

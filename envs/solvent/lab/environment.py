"""``LabEnv``: a single lab as a Gymnasium environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.spaces import Box, Discrete
from numpy.typing import NDArray

from solvent.lab.actions import action_table, sentence
from solvent.lab.arguments import Argument, argue, withdraw
from solvent.lab.batch import LabBatch, resolve_params, resolve_seed
from solvent.lab.info import SingleInfo
from solvent.lab.ledger import Ledgers
from solvent.lab.observation import observation_fields, observation_space
from solvent.lab.params import LabParams
from solvent.lab.words.notebook import Notebook, compound_index, page_of

RENDER_MODES = ["rgb_array", "ansi"]
"""For ``render_mode="human"`` ``gymnasium.make`` shows the images of ``rgb_array`` in a window."""


class LabEnv(gymnasium.Env[NDArray[np.float32], np.int64]):
    """A small biology lab whose agent may believe only what it has paid for.

    This is the specification of ``Solvent/Debt-v0``; the page *Levels* of the documentation leads to what
    the others add.

    ## Description
    Eight compounds have hidden potency classes. An instrument has a hidden state that changes with every reagent lot.
    The agent runs plates, claims in advance how many bits each will yield, and publishes findings. Claimed bits that
    the exact posterior does not gain become epistemic debt. Debt inflates costs, blocks exploration above a threshold
    and is subtracted from the score. A heartbeat is one action.

    ## Action space
    ``Discrete(n)``. Each index is a row ``(verb, compound, claim, confidence, potency)`` of ``actions``, whose last
    element is -1 where a finding names no class; ``sentence(i)`` returns it in words. By default 156:

    | verb | wells | effect |
    |---|---|---|
    | `rest` | 0 | ends the heartbeat |
    | `dmso` | 8 | calibration: 4 readouts of 2 vehicle wells |
    | `baseline` | 12 | calibration: 4 readouts of 3 vehicle wells |
    | `calibration` | 24 | calibration: 8 readouts of 3 vehicle wells |
    | `screen` | 8 | a compound at 2 doses, 4 wells each, with a claim in bits |
    | `dose_response` | 48 | a compound at 8 doses, 6 wells each, with a claim in bits |
    | `publish_public` | 0 | publishes a compound's most probable class at a confidence, once per compound |

    ## Observation space
    ``Box(-1, 1, (n,), float32)``; ``observation_fields`` names the elements. By default 134:

    | elements | number | content |
    |---|---|---|
    | books | 7 | heartbeat, wells, lot countdown, debt, its margin, inflation, refusals in a row |
    | last event | 8 | one-hot |
    | instrument | 15 | belief |
    | compounds | 8 x 13 | experiments, belief, entropy, lowest entropy, licence, published |

    ## Reward
    Bits: the change of (published bits - debt), where published bits are the log scores of accepted findings against
    the prior. The return is what was published less the debt that is unpaid, wherever the episode is cut off.

    ## Info
    The same keys after every step and reset: ``action_mask``; ``cost`` and ``cost_debt`` (new debt, bits) and
    ``cost_refusal`` (0 or 1); ``refusal``, the reason or an empty text, and ``caused_by_debt``, whether the refused
    action would have run at zero debt; ``episode_summary``, the record of the episode once it has ended, before that
    the record of one that has not begun.

    ## Starting state
    384 wells and no debt. Compounds and instrument are drawn from their priors.

    ## Episode end
    Terminated at the horizon (40 heartbeats), when no action other than resting can ever execute again
    (``exhausted``), or when the debt is above the threshold and no calibration is affordable (``bankrupt``). Truncated
    only by a wrapper such as ``TimeLimit``. After the end ``action_mask`` allows every action.
    ``info["episode"]`` is left to Gymnasium's ``RecordEpisodeStatistics`` and Stable-Baselines3's ``Monitor``.

    ## Arguments
    See ``__init__``. ``preset`` is ``default``, ``energy``, ``gate``, ``frontier``, ``lab``, ``tiny``, ``data`` or
    ``document``; ``params`` holds changes to it.

    ## Version history
    * v0: first version.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": RENDER_MODES, "render_fps": 4}  # type: ignore[misc]

    def __init__(
        self,
        params: LabParams | Mapping[str, Any] | None = None,
        *,
        preset: str = "default",
        render_mode: str | None = None,
        ledger_path: str | os.PathLike[str] | None = None,
        discomfort_path: str | os.PathLike[str] | None = None,
        proposals_path: str | os.PathLike[str] | None = None,
        verdicts_path: str | os.PathLike[str] | None = None,
        detailed_info: bool = False,
    ) -> None:
        """Make a lab.

        Args:
            params: Parameters, or a mapping of changes to the preset (``{"debt": {"threshold": 1.0}}``).
            preset: Name of a preset, see above.
            render_mode: ``rgb_array``, ``ansi`` or None.
            ledger_path: Log of refusals (``epistemic_refusals.jsonl``); None disables it.
            discomfort_path: Log of deferrals (``cost_discomfort_log.jsonl``).
            proposals_path: Log of proposals and their reviews (``energy_cost_proposals.jsonl``).
            verdicts_path: Log of verdicts and review decisions (``gate_verdicts.jsonl``).
            detailed_info: Add claim, gain, costs and the parts of the reward to ``info``.

        Raises:
            ParamError: A parameter is invalid.
            ValueError: The render mode is unknown.
            OSError: A log can't be written.
        """
        if render_mode is not None and render_mode not in RENDER_MODES:
            raise ValueError(f"render_mode: got {render_mode!r}; allowed: {', '.join(RENDER_MODES)}")
        self.render_mode = render_mode
        self.detailed_info = detailed_info
        self.params = resolve_params(params, preset)
        self._reason = ""
        self.ledgers = Ledgers(self.params, None, ledger_path, discomfort_path, proposals_path, verdicts_path)
        self.batch = LabBatch(self.params, 1)
        self._renderer: Any = None
        self._bind()
        self.actions = action_table(self.params)
        self.observation_fields = observation_fields(self.params)
        self.action_space = Discrete(len(self.actions))
        self.observation_space: Box = observation_space(self.params)  # type: ignore[assignment]
        self._action = np.zeros(1, np.int64)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Start an episode: the first of the seed's stream or, without a seed, the next of the current stream.

        Returns:
            Observation, shape ``(n_fields,)`` float32, and ``info``; its ``action_mask`` has shape ``(n_actions,)``
                and is int8.

        Raises:
            ValueError: The seed is negative or not an integer, or there are options; a lab has none.
        """
        seed = resolve_seed("seed", seed)
        if options:
            raise ValueError(f"options: got {', '.join(map(repr, options))}; allowed: none")
        super().reset(seed=seed, options=options)
        self.batch.begin([seed], np.ones(1, np.bool_), self.np_random)
        self.ledgers.begin(True)
        return self.batch.observations[0].copy(), self._info.of_step(self.batch.masks[0], None)

    def step(self, action: np.int64 | int) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Run one action. A refused action uses up the heartbeat and costs nothing else.

        Returns:
            Observation, shape ``(n_fields,)`` float32; reward in bits; terminated; truncated; ``info``.

        Raises:
            ResetNeeded: The environment was not reset, or the episode has ended.
            ValueError: The action is outside the action space.
        """
        batch = self.batch
        if self._key.item() == 0 or self._end_reason.item() != 0:
            raise ResetNeeded("the episode is over or has not begun: call reset() first")
        self._action[0] = self._index(action)
        batch.step(self._action)
        if self.ledgers.paths:
            self.ledgers.append(batch.steps, batch.labs, self._reason)
        if self._reason:
            withdraw(batch.labs)
            self._reason = ""
        terminated = self._terminated.item()
        info = self._info.of_step(batch.masks[0], batch.labs[0] if terminated else None)
        return batch.observations[0].copy(), float(batch.rewards[0]), terminated, False, info

    def argue(self, target: str, low: float, high: float, reason: str) -> None:
        """Give the next action, if it is ``propose``, a subject, a range and a reason of the agent's own.

        Args:
            target: The action whose cost is too high.
            low: Lowest cost asked for.
            high: Highest cost asked for.
            reason: The agent's words; the log of proposals has them as the rationale.

        Raises:
            ValueError: The argument can't be filed; the message says what is allowed.
        """
        argument = Argument(target, low, high, reason)
        argue(self.params, self.batch.labs[0], argument)
        self._reason = reason

    def _index(self, action: Any) -> int:
        """Return the action as an index; it may be of any library, and of shape ``(1,)`` as policy networks return it.

        Raises:
            ValueError: It is not an integer, or outside the action space.
        """
        index: int = action
        if type(action) is not int:
            one = np.asarray(action)
            index = int(one.item()) if one.size == 1 and one.dtype.kind in "iu" else -1
        if not 0 <= index < len(self.actions):
            raise ValueError(f"action: got {action!r}; allowed: an integer from 0 to {len(self.actions) - 1}")
        return index

    def _bind(self) -> None:
        """Keep the fields that every step reads as arrays of one, ten times faster to read than the record."""
        labs, steps = self.batch.labs, self.batch.steps
        self._key, self._end_reason = labs["key"], labs["end_reason"]
        self._terminated = steps["terminated"]
        self._info = SingleInfo(self.params, steps, detailed=self.detailed_info)

    def action_masks(self) -> NDArray[np.bool_]:
        """Return the mask of actions that would execute now, shape ``(n_actions,)``.

        After the end it allows every action: a vector that resets at the next step ignores which one it is given.
        """
        masks: NDArray[np.bool_] = self.batch.masks[0].astype(np.bool_)
        return masks

    def sentence(self, action: int) -> str:
        """Return the action in words."""
        return sentence(self.params, action)

    def notebook(self, compound: str | int) -> Notebook:
        """Return a compound's page in words, and the gate's view of each possible finding about it.

        Args:
            compound: Name or index.

        Raises:
            ResetNeeded: The environment was not reset.
            ValueError: The lab has no gate, or the compound does not exist.
        """
        if self.batch.labs["key"][0] == 0:
            raise ResetNeeded("nothing has begun: call reset() first")
        index = compound_index(self.params, compound)
        return page_of(self.params, self.batch.labs[0], index)

    def get_state(self) -> Any:
        """Return a copy of the lab's record, including the hidden state, for ``set_state``."""
        return self.batch.get_labs()[0]

    def set_state(self, state: Any) -> NDArray[np.float32]:
        """Continue from a record of ``get_state``; return its observation.

        Raises:
            ValueError: The record belongs to a lab with other parameters.
        """
        self.batch.set_labs(np.atleast_1d(np.asarray(state)))
        observation: NDArray[np.float32] = self.batch.observations[0].copy()
        return observation

    def render(self) -> Any:
        """Draw the lab.

        Returns:
            A text (``ansi``) or an array of shape ``(height, width, 3)`` uint8 (``rgb_array``).
        """
        if self.render_mode is None:
            gymnasium.logger.warn("render() was called without a render_mode; give one to make()")
            return None
        if self._renderer is None or self._renderer.mode != self.render_mode:
            from solvent.lab.rendering import Renderer

            self._renderer = Renderer(self.params, self.render_mode)
        return self._renderer.draw(self.batch.labs[0], self.batch.steps[0], self.batch.seeds[0])

    def __getstate__(self) -> dict[str, Any]:
        bound = ("_info", "_key", "_end_reason", "_terminated")
        return {**self.__dict__, "_renderer": None, **dict.fromkeys(bound)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._bind()

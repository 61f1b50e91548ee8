"""A batch of labs with the buffers that a step fills, and the loops over labs.

Both Gymnasium environments are built on it. It holds no rule of the model.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvent.lab.actions import action_table
from solvent.lab.compiled import compiled
from solvent.lab.draws import key_from_seed
from solvent.lab.dynamics import advance, begin_episode, decide, draw_for_step
from solvent.lab.mask import write_mask
from solvent.lab.mechanisms import write_observation
from solvent.lab.mechanisms.proposals import PRICE_UNIFORMS
from solvent.lab.observation import observation_fields
from solvent.lab.params import LabParams, preset
from solvent.lab.state import blank_step, lab_dtype
from solvent.lab.tables import tables_for


@compiled
def begin_labs(labs, chosen, fresh, tables_array):
    """Start an episode in the ``chosen`` labs.

    Labs in ``fresh`` start their random stream; the others continue it. ``tables_array``, here and below, is an array
    with the tables as its only element.
    """
    tables = tables_array[0]
    uniforms = np.zeros(labs[0].potency.shape[0] + 1 + PRICE_UNIFORMS)
    for i in range(labs.shape[0]):
        if chosen[i]:
            episode = np.int64(0) if fresh[i] else np.int64(labs[i].episode) + 1
            begin_episode(labs, i, episode, tables, uniforms)


@compiled
def show_labs(labs, chosen, tables_array, observations, masks):
    """Decide what may run in the ``chosen`` labs, and write their observations and masks."""
    tables = tables_array[0]
    for i in range(labs.shape[0]):
        if chosen[i]:
            decide(labs[i], tables)
            write_observation(labs[i], tables, observations[i])
            write_mask(labs[i], tables, masks[i])


@compiled
def step_labs(
    labs,
    steps,
    rewards,
    observations,
    masks,
    finals,
    final_observations,
    actions,
    over,
    tables_array,
    same_step,
):
    """Advance every lab that has not ended, and return the number of labs whose next episode is to begin.

    ``over`` says which: with ``same_step`` those that ended now, which are copied to ``finals``, their observations to
    ``final_observations``; else those that had ended before. The arrays are separate arguments because unpacking a
    tuple of them takes longer than stepping one lab.
    """
    tables = tables_array[0]
    uniforms = np.zeros(labs[0].last_bins.shape[0] + 1 + labs[0].potency.shape[0])
    row, evidence = np.empty(labs[0].marginal.shape[1]), np.empty(labs[0].instrument_belief.shape[0])
    n_over = 0
    for i in range(labs.shape[0]):
        lab = labs[i]
        over[i] = lab.end_reason != 0
        if over[i]:
            steps[i] = tables.blank_step
            rewards[i] = 0.0
        else:
            draw_for_step(lab, actions[i], tables, uniforms)
            rewards[i] = advance(lab, actions[i], uniforms, tables, steps[i : i + 1], (row, evidence))
            write_observation(lab, tables, observations[i])
            write_mask(lab, tables, masks[i])
            if same_step and lab.end_reason != 0:
                over[i] = True
                finals[i] = lab
                final_observations[i] = observations[i]
        n_over += over[i]
    return n_over


def resolve_params(params: LabParams | Mapping[str, Any] | None, preset_name: str) -> LabParams:
    """Return ``params``, or the preset with the changes in ``params``.

    Raises:
        ParamError: The preset or a key is unknown, or a value has the wrong type or is out of range.
    """
    base = preset(preset_name)
    if isinstance(params, LabParams):
        return params
    return LabParams.from_mapping({} if params is None else params, base=base)


def tables_array(params: LabParams) -> NDArray[Any]:
    """Return the tables as an array of one record. Compiled code receives an array as a pointer but copies a record."""
    tables: Any = tables_for(params)  # an element of a zero-dimensional array
    one: NDArray[Any] = tables.base.reshape(1)
    return one


def resolve_seed(name: str, seed: Any) -> int | None:
    """Return a seed as an int, or None.

    Raises:
        ValueError: The seed is negative or not an integer.
    """
    if seed is None:
        return None
    try:
        number = operator.index(seed)
    except TypeError:
        number = -1
    if number < 0:
        raise ValueError(f"{name}: got {seed!r}; allowed: a whole number, at least 0, or None")
    return number


class LabBatch:
    """``n`` labs with the same parameters, stepped by the compiled dynamics.

    Attributes:
        labs: Records, shape ``(n,)`` (``state.lab_fields``).
        steps: Reports of the last step, shape ``(n,)`` (``state.step_fields``).
        observations: Shape ``(n, n_fields)`` float32.
        masks: Actions that would execute, shape ``(n, n_actions)`` int8.
        rewards: Bits, shape ``(n,)``.
        finals, final_observations: Records and observations of labs that ended in the last step, with same-step
            reset.
    """

    def __init__(self, params: LabParams, n: int, *, same_step: bool = False) -> None:
        self.params = params
        self.same_step = same_step
        fields, actions = len(observation_fields(params)), len(action_table(params))
        self.labs = np.zeros(n, lab_dtype(params))
        self.seeds: list[int | None] = [None] * n  # of each lab's stream, where one was given
        self.steps = np.repeat(blank_step(params), n)
        self.rewards = np.zeros(n)
        self.observations = np.zeros((n, fields), np.float32)
        self.masks = np.zeros((n, actions), np.int8)
        finals = n if same_step else 1
        self.finals = np.zeros(finals, lab_dtype(params))
        self.final_observations = np.zeros((finals, fields), np.float32)
        self._over = np.zeros(n, np.bool_)
        self._tables = tables_array(params)
        self._entries: dict[str, Callable[..., Any]] = {}

    def __getstate__(self) -> dict[str, Any]:
        # Tables are rebuilt from the parameters; compiled code can't be pickled.
        return {k: v for k, v in self.__dict__.items() if k not in ("_tables", "_entries")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._tables = tables_array(self.params)
        self._entries = {}

    def _call(self, function: Any, *arguments: Any) -> Any:
        """Call a compiled function through its cached entry point, which skips the lookup of argument types."""
        name = function.__name__
        entry = self._entries.get(name)
        if entry is None:
            entry = self._entries[name] = function.for_types_of(*arguments)
        return entry(*arguments)

    def begin(self, seeds: Sequence[int | None], chosen: NDArray[np.bool_], rng: np.random.Generator) -> None:
        """Start an episode in the ``chosen`` labs: in a new stream if the lab has a seed, else in its own."""
        fresh = np.zeros(len(self.labs), np.bool_)
        for i, seed in enumerate(seeds):
            if not chosen[i]:
                continue
            if seed is not None:
                self.labs["key"][i], self.seeds[i] = key_from_seed(seed), seed
            elif self.labs["key"][i] == 0:
                self.labs["key"][i] = rng.integers(1, 2**64, dtype=np.uint64)
            else:
                continue
            fresh[i] = True
        self.steps[chosen] = blank_step(self.params)[0]
        # A copy: a read-only array would trigger another compilation.
        self._begin(np.array(chosen, np.bool_), fresh)

    def _begin(self, chosen: NDArray[np.bool_], fresh: NDArray[np.bool_]) -> None:
        self._call(begin_labs, self.labs, chosen, fresh, self._tables)
        self._call(show_labs, self.labs, chosen, self._tables, self.observations, self.masks)

    def step(self, actions: NDArray[np.int64]) -> None:
        """Advance every lab by one action, or start the next episode of a lab that has ended (next-step reset).

        With ``same_step``, a lab that ends is copied to ``finals``, its observation to ``final_observations``, and its
        next episode starts at once.
        """
        actions = np.ascontiguousarray(actions, np.int64)
        buffers = self.labs, self.steps, self.rewards, self.observations, self.masks
        finals = self.finals, self.final_observations
        n_over = self._call(step_labs, *buffers, *finals, actions, self._over, self._tables, self.same_step)
        if n_over:
            self._begin(self._over, np.zeros_like(self._over))

    def get_labs(self) -> NDArray[Any]:
        """Return a copy of the records with zero padding, so that equal labs have equal bytes."""
        copy = np.zeros(self.labs.shape, self.labs.dtype)
        copy[...] = self.labs
        return copy

    def set_labs(self, labs: NDArray[Any]) -> None:
        """Replace the records and update observations and masks.

        Raises:
            ValueError: The records belong to other parameters or to another number of labs.
        """
        if labs.dtype != self.labs.dtype or labs.shape != self.labs.shape:
            raise ValueError(
                f"state: got {labs.shape} records of {labs.dtype.itemsize} bytes; allowed: {self.labs.shape} "
                f"records of {self.labs.dtype.itemsize} bytes, from get_state() of a lab with the same parameters"
            )
        self.labs[...] = labs
        every = np.ones(len(labs), np.bool_)
        self._call(show_labs, self.labs, every, self._tables, self.observations, self.masks)

"""A batch of labs and the buffers that a step fills.

Both Gymnasium shells are built on it; it holds no rule of the model.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvent.lab.actions import action_table
from solvent.lab.compiled import direct
from solvent.lab.draws import key_from_seed
from solvent.lab.dynamics import begin_labs, show_labs, step_labs
from solvent.lab.mechanisms.adequacy import RULES
from solvent.lab.mechanisms.gate import STRENGTHS
from solvent.lab.observation import observation_fields
from solvent.lab.params import GATE_POLICIES, LabParams, preset
from solvent.lab.state import Verdict, lab_dtype, step_dtype
from solvent.lab.tables import tables_for
from solvent.lab.words.sentences import corrections_of

__all__ = ["LabBatch", "held_tables", "resolve_params", "resolve_seed"]


def resolve_params(params: LabParams | Mapping[str, Any] | None, preset_name: str) -> LabParams:
    """Parameters as given, or the differences from a preset.

    Raises:
        ParamError: an unknown preset or key, a wrong type, an impossible value.
    """
    base = preset(preset_name)
    if isinstance(params, LabParams):
        return params
    resolved: LabParams = LabParams.from_mapping({} if params is None else params, base=base)
    return resolved


def held_tables(params: LabParams) -> NDArray[Any]:
    """The tables as an array of one record: handed to compiled code as a pointer, where a record is copied."""
    tables: Any = tables_for(params)  # a record within an array of no dimensions
    held: NDArray[Any] = tables.base.reshape(1)
    return held


def resolve_seed(name: str, seed: Any) -> int | None:
    """A seed as a plain integer, or None.

    Raises:
        ValueError: a seed that is no whole number or is negative; one line names it.
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
        labs: records, shape ``(n,)`` (``state.LAB_FIELDS``).
        steps: what the last step did, shape ``(n,)`` (``state.STEP_FIELDS``).
        observations: shape ``(n, n_fields)`` float32.
        masks: which actions would execute, shape ``(n, n_actions)`` int8.
        rewards: bits, shape ``(n,)``.
        finals, final_observations: labs that ended in the last step, where they begin anew in that same step.
    """

    def __init__(self, params: LabParams, n: int, *, same_step: bool = False, threads: int = 1) -> None:
        self.params = params
        self.same_step = same_step
        self.threads = max(1, min(threads, n))
        fields, actions = len(observation_fields(params)), len(action_table(params))
        self.labs = np.zeros(n, lab_dtype(params))
        self.steps = np.zeros(n, step_dtype())
        self.steps["proposed_verb"] = -1  # not written where there is no voice
        # Nor are these where there is no gate.
        self.steps["verdict"] = Verdict.NONE
        self.steps["gate_verdict"] = Verdict.NONE
        self.steps["wording"] = self.steps["asserted"] = -1
        self.steps["adequacy"] = self.steps["rule"] = self.steps["correction"] = -1
        self.rewards = np.zeros(n)
        self.observations = np.zeros((n, fields), np.float32)
        self.masks = np.zeros((n, actions), np.int8)
        held = n if same_step else 1
        self.finals = np.zeros(held, lab_dtype(params))
        self.final_observations = np.zeros((held, fields), np.float32)
        self._held = held_tables(params)
        self._entries: dict[str, Callable[..., Any]] = {}
        self._pool: ThreadPoolExecutor | None = None

    def __getstate__(self) -> dict[str, Any]:
        # Tables are rebuilt from the parameters, threads and compiled code belong to a process.
        return {k: v for k, v in self.__dict__.items() if k not in ("_held", "_entries", "_pool")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._held = held_tables(self.params)
        self._entries = {}
        self._pool = None

    @property
    def _tables(self) -> Any:
        """The tables as a record; another one of the same type can be put in its place."""
        return self._held[0]

    @_tables.setter
    def _tables(self, tables: Any) -> None:
        self._held = np.zeros_like(self._held)
        self._held[0] = tables
        self._held.setflags(write=False)

    def _call(self, function: Any, *arguments: Any) -> None:
        """Call a compiled function, which always gets arguments of the same types, without looking them up."""
        name = function.__name__
        entry = self._entries.get(name)
        if entry is None:
            entry = self._entries[name] = direct(function, *arguments)
        entry(*arguments)

    def begin(self, seeds: Sequence[int | None], chosen: NDArray[np.bool_], rng: np.random.Generator) -> None:
        """Start an episode in the ``chosen`` labs: of a new stream where there is a seed, else of the lab's own."""
        fresh = np.zeros(len(self.labs), np.bool_)
        for i, seed in enumerate(seeds):
            if not chosen[i]:
                continue
            if seed is not None:
                self.labs["key"][i] = key_from_seed(seed)
            elif self.labs["key"][i] == 0:
                self.labs["key"][i] = rng.integers(1, 2**64, dtype=np.uint64)
            else:
                continue
            fresh[i] = True
        chosen = np.ascontiguousarray(chosen, np.bool_)
        self._call(begin_labs, self.labs, chosen, fresh, self._held, self.observations, self.masks)

    def step(self, actions: NDArray[np.int64]) -> None:
        """Advance every lab by one action."""
        n = len(self.labs)
        actions = np.ascontiguousarray(actions, np.int64)
        if self.threads == 1:
            self._step_range(actions, 0, n)
            return
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.threads, thread_name_prefix="solvent")
        edges = [n * i // self.threads for i in range(self.threads + 1)]
        jobs = [
            self._pool.submit(self._step_range, actions, first, last)
            for first, last in itertools.pairwise(edges)
        ]
        for job in jobs:
            job.result()

    def _step_range(self, actions: NDArray[np.int64], first: int, last: int) -> None:
        self._call(
            step_labs,
            self.labs,
            actions,
            self._held,
            self.steps,
            self.rewards,
            self.observations,
            self.masks,
            self.same_step,
            self.finals,
            self.final_observations,
            first,
            last,
        )

    def get_labs(self) -> NDArray[Any]:
        """A copy of the records. Equal labs have equal bytes: what lies between the fields is zero."""
        copy = np.zeros(self.labs.shape, self.labs.dtype)
        copy[...] = self.labs
        return copy

    def set_labs(self, labs: NDArray[Any]) -> None:
        """Replace the records and show what they look like.

        Raises:
            ValueError: records of other parameters or another number of labs.
        """
        if labs.dtype != self.labs.dtype or labs.shape != self.labs.shape:
            raise ValueError(
                f"state: got {labs.shape} records of {labs.dtype.itemsize} bytes; allowed: {self.labs.shape} "
                f"records of {self.labs.dtype.itemsize} bytes, from get_state() of a lab with the same parameters"
            )
        if self.params.gate.enabled and not self._has_pages(labs):
            raise ValueError(
                "state: got records of labs without this gate; allowed: from get_state() of one with it"
            )
        self.labs[...] = labs
        self._call(show_labs, self.labs, self._held, self.observations, self.masks)

    def _has_pages(self, labs: NDArray[Any]) -> bool:
        """Whether the notebooks in these records are ones that this gate, and adequacy, can have judged."""
        assay, gate = self.params.assay, self.params.gate
        ranges = {
            "page": (-1, assay.bins),
            "fit_class": (-1, assay.potency_classes),
            "named": (-1, assay.potency_classes),
            "fit_strength": (0, len(STRENGTHS)),
            "strictness": (GATE_POLICIES.index(gate.policy), len(GATE_POLICIES)),
        }
        if self.params.adequacy.enabled:
            ranges["submitted_rule"] = (-1, len(RULES))
            ranges["correction"] = (-1, len(corrections_of(self.params)))
        inside = all(
            (labs[name] >= low).all() and (labs[name] < end).all() for name, (low, end) in ranges.items()
        )
        if self.params.adequacy.enabled:  # what is under review has been scored
            inside &= bool(((labs["decision_at"] == 0) | (labs["submitted_rule"] >= 0)).all())
        return inside and bool(((labs["fit_class"] < 0) == (labs["experiments"] == 0)).all())

    def close(self) -> None:
        """End the threads, if there are any."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None

"""Cost of a step by verb: all labs take the same verb, from states that random play reached.

    python -m benchmarks.verbs

The last row writes observations and masks alone, which every step does. Bytes are those of a lab's record that the
step changes, on average.
"""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from benchmarks.cases import Sampler
from solvent.lab.actions import action_table
from solvent.lab.batch import LabBatch, show_labs
from solvent.lab.params import preset
from solvent.lab.verbs import VERBS, Verb

N_LABS = 256
TURNS, APART = 100, 2
LEVELS = {"Debt": "default", "Lab": "lab"}


class Verbs:
    """Labs in random play, copied and stepped by one verb at a time."""

    def __init__(self, level: str) -> None:
        self.batch = LabBatch(preset(LEVELS[level]), N_LABS, same_step=True)
        self.sampler = Sampler(N_LABS)
        self.verbs: NDArray[np.int8] = action_table(self.batch.params)["verb"]
        self.rng = np.random.default_rng(0)
        self.batch.begin(list(range(N_LABS)), np.ones(N_LABS, np.bool_), self.rng)
        self.nanoseconds: dict[str, float] = {}
        self.changed: dict[str, list[float]] = {}

    def turn(self) -> None:
        """Play on, then time a step of every verb that some lab could run from there."""
        batch = self.batch
        for _ in range(APART):
            batch.step(self.sampler(batch.masks))
        labs, masks = batch.labs.copy(), batch.masks.copy()
        for verb in np.unique(self.verbs):
            actions = np.flatnonzero(self.verbs == verb)
            able = np.flatnonzero(masks[:, actions].any(axis=1))
            if len(able):
                chosen = self.rng.choice(able, N_LABS)
                batch.labs[:] = labs[chosen]
                each = np.array([self.rng.choice(actions[masks[i, actions] != 0]) for i in chosen])
                self.time(VERBS[Verb(verb)].name, lambda each=each: batch.step(each))
        everyone = np.ones(N_LABS, np.bool_)
        shown = (everyone, batch._held, batch.observations, batch.masks)
        self.time("observation and mask alone", lambda: batch._call(show_labs, batch.labs, *shown))
        batch.labs[:], batch.masks[:] = labs, masks

    def time(self, name: str, step) -> None:  # type: ignore[no-untyped-def]
        labs = self.batch.labs
        before = (
            labs.view(np.uint8).reshape(N_LABS, -1).copy()
        )  # padding too, which a copy of records leaves out
        episodes = labs["episode"].copy()
        start = time.perf_counter()
        step()
        took = (time.perf_counter() - start) / N_LABS * 1e9
        self.nanoseconds[name] = min(took, self.nanoseconds.get(name, np.inf))
        changed = (labs.view(np.uint8).reshape(N_LABS, -1) != before).sum(axis=1)
        self.changed.setdefault(name, []).append(float(changed[labs["episode"] == episodes].mean()))


def main() -> None:
    """Print a row for each verb and level."""
    print("| level | all labs | ns a lab and step, fastest | bytes of the record changed |")
    print("|---|---|---:|---:|")
    for level in LEVELS:
        verbs = Verbs(level)
        for _ in range(TURNS):
            verbs.turn()
        for name, took in verbs.nanoseconds.items():
            print(f"| {level} | {name} | {took:,.0f} | {np.mean(verbs.changed[name]):,.0f} |")


if __name__ == "__main__":
    main()

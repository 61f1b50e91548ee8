"""Random numbers from a counter-based generator, addressed by purpose, episode and step.

Mechanism: Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011) maps a 64-bit key and
a 128-bit counter to four 32-bit words. The key comes from the environment's seed; the counter is ``(block, step,
episode, purpose)``. A draw depends only on its address, not on earlier draws. Therefore two policies meet the same
randomness, and a lab in a vector equals a single lab with the same seed.

Known approximation: uniforms have 32 bits, so outcomes rarer than 2.3e-10 never occur.
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

AT_RESET = 0
AT_READOUTS = 1
AT_PRICES = 2

_MASK = np.uint64(0xFFFFFFFF)
_SHIFT = np.uint64(32)
_MULTIPLIER_0 = np.uint64(0xD2511F53)
_MULTIPLIER_1 = np.uint64(0xCD9E8D57)
_WEYL_0 = np.uint64(0x9E3779B9)
_WEYL_1 = np.uint64(0xBB67AE85)
_ROUNDS = 10
_TO_UNIT = 2.0**-32


def key_from_seed(seed: int) -> int:
    """Return the 64-bit Philox key of an environment seed (any non-negative integer)."""
    return int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0])


def philox(c0, c1, c2, c3, key):
    """Return the four 32-bit words (as uint64) of the counter ``(c0, c1, c2, c3)`` under a 64-bit ``key``."""
    k0 = key & _MASK
    k1 = key >> _SHIFT
    for _ in range(_ROUNDS):
        p0 = _MULTIPLIER_0 * c0
        p1 = _MULTIPLIER_1 * c2
        c0 = (p1 >> _SHIFT) ^ c1 ^ k0
        c1 = p1 & _MASK
        c2 = (p0 >> _SHIFT) ^ c3 ^ k1
        c3 = p0 & _MASK
        k0 = (k0 + _WEYL_0) & _MASK
        k1 = (k1 + _WEYL_1) & _MASK
    return c0, c1, c2, c3


def fill_uniforms(out, count, key, episode, step, purpose):
    """Write the first ``count`` uniforms in [0, 1) of this address into ``out``."""
    for block in range((count + 3) // 4):
        words = philox(
            np.uint64(block), np.uint64(step), np.uint64(episode), np.uint64(purpose), np.uint64(key)
        )
        first = 4 * block
        out[first] = np.float64(words[0]) * _TO_UNIT
        if first + 1 < count:
            out[first + 1] = np.float64(words[1]) * _TO_UNIT
        if first + 2 < count:
            out[first + 2] = np.float64(words[2]) * _TO_UNIT
        if first + 3 < count:
            out[first + 3] = np.float64(words[3]) * _TO_UNIT


def roberts_steps(dimensions: int) -> NDArray[np.float64]:
    """Return the steps of Roberts's low-discrepancy sequence, shape ``(dimensions,)``."""
    ratio = 2.0
    for _ in range(40):
        ratio = (1.0 + ratio) ** (1.0 / (dimensions + 1))
    steps: NDArray[np.float64] = ratio ** -np.arange(1.0, dimensions + 1.0)
    return steps


@functools.lru_cache(maxsize=16)
def fixed_points(count: int, dimensions: int) -> NDArray[np.float64]:
    """Return Roberts's low-discrepancy sequence in the unit cube, shape ``(count, dimensions)``.

    It replaces random points where an expectation must be deterministic.
    """
    points: NDArray[np.float64] = (0.5 + np.outer(np.arange(1, count + 1), roberts_steps(dimensions))) % 1.0
    points.setflags(write=False)
    return points

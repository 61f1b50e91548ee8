"""How the dynamics are compiled: two decorators, so that every function obeys the same arithmetic.

Both keep IEEE arithmetic in the order in which it is written (no ``fastmath``), so a trajectory is the same
to the last bit compiled and, with ``NUMBA_DISABLE_JIT=1``, as plain Python. ``error_model="numpy"`` leaves
out the test for a zero divisor that Python makes at each division and that keeps loops from being
vectorised: where a divisor can be zero, the text says what happens.
"""

from __future__ import annotations

from numba import njit

__all__ = ["compiled", "inlined"]

compiled = njit(cache=True, nogil=True, error_model="numpy")
"""For a function with a body of its own."""

inlined = njit(cache=True, nogil=True, error_model="numpy", forceinline=True)
"""For a small function, and for one that is handed arrays: pasted into its callers.

There the lengths of its loops are known, and the arrays are not counted in and out at each call, which would cost
more than most of the rules do.
"""

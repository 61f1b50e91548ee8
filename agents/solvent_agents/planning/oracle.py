"""Oracle: the planner's search with the hidden truth. A yardstick, neither an agent nor a bound.

It knows every compound's class, the state of the instrument in this lot, and the fair costs. It does not know future
readouts or future lots. The rules are the same for it: the lab asserts the class that *the belief* finds most probable,
and an assertion needs a licence from claims and gains of the belief, so the oracle pays for plates until the belief
agrees with the truth. It saves errors: it publishes when the belief is right, at the highest confidence that passes.

Its return measures the value of the truth to this search with this base policy. A better search could earn more, so it
is not an upper bound; the ceiling (``params.ceiling``) is one in expectation.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from solvent_agents.planning.planner import RolloutAgent

__all__ = ["Oracle"]


class Oracle(RolloutAgent):
    """Plans with the truth."""

    name = "oracle"
    knows = True

    def reveal(self, labs: NDArray[Any]) -> None:
        """Read the labs' records with the truth."""
        self._read(labs)

"""Oracle: the planner's search by one who knows the truth. A yardstick, no agent, and no bound.

It knows every compound's class, the state of the instrument in this lot, and the fair costs. It does not know the luck
of readouts to come, nor of the next lots. The rules are the same for it: the lab asserts the class that *the belief*
finds most probable, and what is asserted has to be licensed by claims and gains of the belief, so it still has to pay
for plates until the belief comes round to what it knows. What it saves are errors: it publishes when the belief is
right, and says so as certainly as its words are let out.

Its return is what knowing the truth is worth to this search with this base policy. A better search could earn more with
the same knowledge, so it is no upper bound; the ceiling (``params.ceiling``) is one, on averages.
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
        """Read the labs' records, truth and all."""
        self._read(labs)

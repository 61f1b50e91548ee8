"""The action mask, from the decisions in the record."""

from __future__ import annotations

import numpy as np

from solvent.lab.dynamics import repeats
from solvent.lab.verbs import PUBLISH_PUBLIC


def write_mask(lab, tables, mask):
    """Write 1 for each action that would execute and 0 for the others into ``mask``, shape ``(A,)`` int8.

    After the end every action is allowed: an environment that resets at the next step ignores which one it is given,
    and a masked distribution needs one.
    """
    ended = lab.end_reason != 0
    n_compounds = lab.published.shape[0]
    for verb in range(tables.wells.shape[0]):
        first, last = tables.first_action[verb], tables.first_action[verb + 1]
        if first == last:
            continue
        of_compound = tables.compound[first] >= 0
        subjects = n_compounds if of_compound else 1
        each = (last - first) // subjects
        for m in range(subjects):
            executes = lab.allowed[verb, repeats(lab, verb, m, tables)]
            if verb == PUBLISH_PUBLIC and lab.published[m] != 0:
                executes = 0
            if ended:
                executes = 1
            for action in range(first + m * each, first + (m + 1) * each):
                # Unsigned: a signed index is first tested for counting from the end.
                mask[np.uintp(action)] = executes

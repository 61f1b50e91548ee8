"""Labs that have lived: a vector of them after random play."""

import numpy as np

from solvent.lab.vector import LabVectorEnv
from solvent_agents.scripts.others import RandomMasked


def random_play(params, labs, steps, seed, *, forgiven=False):
    """Return a vector of labs after so many random steps, and what it shows.

    With ``forgiven`` most forget their debt, so that they live on, and each stops acting one step after the other.
    """
    envs, chance = LabVectorEnv(labs, params), RandomMasked(params, 0)
    observations, _ = envs.reset(seed=seed)
    for step in range(steps):
        if forgiven:
            state = envs.get_state()
            state["debt"] *= np.arange(labs) % 4 == 0
            observations = envs.set_state(state)
        actions = chance.act(observations, envs.action_masks())
        if forgiven:
            actions[step:] = 0
        observations, *_ = envs.step(actions)
    return envs, observations


def another_truth(labs, params):
    """Return these labs with another truth and other luck behind the same notebooks."""
    other = labs.copy()
    other["potency"] = (other["potency"] + 1) % params.assay.potency_classes
    other["instrument"] = (other["instrument"] + 1) % (len(params.assay.gains) * len(params.assay.plate_sds))
    if "fair" in other.dtype.names:
        other["fair"] = other["fair"] * 2 // 3
    other["key"] += 1
    other["episode"] += 5
    return other

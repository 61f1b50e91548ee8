"""A hint: what the honest script would do here, and why.

The script rather than the planner: its choice follows from rules that can be told, and needs no compilation.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from solvent import LabEnv
from solvent.lab.actions import sentence
from solvent.lab.rendering.panels.energy import presence
from solvent.lab.rendering.words import bits, class_name, in_units
from solvent.lab.verbs import VERBS, Verb
from solvent_agents.agent import act_one
from solvent_agents.scripts.honest import Honest

__all__ = ["hint"]


def hint(env: LabEnv, script: Honest) -> tuple[int, str]:
    """Return the script's action, and the action in words with its reasons."""
    batch = env.batch
    observation, mask = batch.observations[0], env.action_masks()
    action = act_one(script, observation, mask)
    row, lab = env.actions[action], batch.labs[0]
    verb, m = Verb(row["verb"]), int(row["compound"])
    if verb is not Verb.REST and not mask[action]:
        reason = "it can't be paid now; deferring it is evidence that its cost is too high"
    elif VERBS[verb].takes == "claim":
        reason = _plate(env, script, verb, m, float(row["claim"]))
    elif VERBS[verb].takes == "confidence":
        reason = _finding(env, script, m, float(row["confidence"]))
    elif VERBS[verb].intent == "maintenance":
        reason = _calibration(env, script, observation)
    elif verb in (Verb.REFLECT, Verb.PROPOSE):
        reason = "a cost is well above the usual one, and its deferrals are the evidence"
    elif (lab["published"] | (lab["decision_at"] != 0)).all():
        reason = "nothing is left to publish"
    elif env.params.energy.enabled:
        reason = (
            f"it waits for more than {in_units(lab['energy'])} energy, or for a better hour to publish; "
            f"{presence(env.params, lab)}"
        )
    else:
        reason = "nothing that could run is worth its wells"
    return (
        action,
        f"The honest script would: {sentence(env.params, action)}. {reason[0].upper()}{reason[1:]}.",
    )


def _plate(env: LabEnv, script: Honest, verb: Verb, m: int, claim: float) -> str:
    lab = env.batch.labs[0]
    weights, gains, _ = script.forecaster.experiment(
        verb, lab["instrument_belief"][None].astype(np.float64), lab["marginal"][m][None].astype(np.float64)
    )
    expected = float((weights * gains).sum())
    surest = float(script.asserted[int(lab["marginal"][m].argmax()), -1])
    return (
        f"such a plate teaches {expected:.2f} bits on average, and at least {claim:g} every second time; the licence "
        f"is {lab['licence'][m]:.2f} bits, and the surest finding asserts {surest:.2f}"
    )


def _finding(env: LabEnv, script: Honest, m: int, confidence: float) -> str:
    params, lab = env.params, env.batch.labs[0]
    k = int(lab["marginal"][m].argmax())
    p, q = float(lab["marginal"][m][k]), params.vocabulary.confidences.index(confidence)
    expected = p * script.right[k, q] + (1.0 - p) * script.wrong[k, q]
    unlicensed = max(0.0, float(script.asserted[k, q] - lab["licence"][m]))
    licence = f"of which {unlicensed:.2f} become debt" if unlicensed >= 0.005 else "which the licence covers"
    return (
        f"{class_name(params, k)} has p = {p:.2f}, so the finding is worth {bits(expected)} bits on average; it "
        f"asserts {script.asserted[k, q]:.2f} bits, {licence}"
    )


def _calibration(env: LabEnv, script: Honest, observation: Any) -> str:
    lab, rules = env.batch.labs[0], script.rules
    seen = script.reader.read(observation[None])
    learnt = float(script.forecaster.calibration(seen.instrument)[0])
    teaches = f"it should teach {learnt:.2f} bits about the instrument"
    if lab["debt"] <= 0.0:
        share = env.params.debt.uncalibrated_licence
        counts = lab["lot_calibrated"] or share == 1.0
        return teaches + (
            ""
            if counts
            else f"; before a calibration bits learnt from this lot count {100.0 * share:g} % as licence"
        )
    repaid = min(
        rules.repay_max,
        lab["debt"],
        rules.repay_base + min(rules.repay_learnt_max, rules.repay_per_bit * learnt),
    )
    blocked = "no other plate runs with so much debt; " if lab["debt"] > env.params.debt.threshold else ""
    return f"{blocked}{teaches} and repay {repaid:.2f} of {lab['debt']:.2f} bits of debt"

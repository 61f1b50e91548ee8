"""The planner's base policy is the honest script, compiled: both are played over every level and asked side by side.

One reads a lab's record, the other its observation. The rules that they share must give the same answer in every
decision: what each finding is worth and at which confidence, when findings must go out, whether the hour is good, how
much energy is kept and how much is free, which costs are too dear, and when debt forbids all but a calibration.

They may differ in two things. An observation shows costs up to the cap only, so that beyond it the script doesn't know
a price (3 % of the decisions in the Lab level). And the choice of a plate is each one's own: the script forecasts its
gain, the base looks it up at prices that were tuned for the rollout. ``ALIKE`` says how often they do the same kind of
thing nevertheless.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from solvent import ENVIRONMENTS, preset
from solvent.lab.actions import action_table
from solvent.lab.batch import held_tables
from solvent.lab.compiled import compiled
from solvent.lab.mechanisms.publication import is_open
from solvent.lab.settings import UNIT
from solvent.lab.vector import LabVectorEnv
from solvent.lab.verbs import Verb
from solvent_agents.planning.planner import base_temper
from solvent_agents.planning.rollout_policy import (
    NEVER,
    best_finding,
    book_for,
    choose,
    energy_needed,
    good_hour,
    must_publish,
    spare_energy,
    too_dear,
)
from solvent_agents.scripts.honest import Honest, Manner

LABS = 12
ALIKE = {
    "Solvent/Debt-v0": 0.82,
    "Solvent/Debt-source-v0": 0.65,
    "Solvent/Debt-two-tier-v0": 0.81,
    "Solvent/Energy-v0": 0.78,
    "Solvent/Gate-v0": 0.82,
    "Solvent/Lab-v0": 0.75,
    "Solvent/Tiny-v0": 0.73,
}
"""The share of decisions in which both do the same kind of thing: rest, calibrate, run a plate, publish, speak up.

The base policy's constants were searched under interest. Debt-source has none: there it does otherwise, and earns
97 % as much.
"""
MUST, GOOD, BLOCKED = range(3)
TINY = "Solvent/Tiny-v0"
"""Five heartbeats without wrong prices: too few for every rule to speak."""
ASKED = [int(verb) for verb in (Verb.SCREEN, Verb.DOSE_RESPONSE, Verb.PUBLISH_PUBLIC)]
"""The verbs that both would have cheaper."""
CALIBRATES = (Verb.DMSO, Verb.BASELINE, Verb.CALIBRATION)
PLATES = (Verb.SCREEN, Verb.DOSE_RESPONSE)


@compiled
def answers(labs, held, books, actions, worths, confidences, flags, energies, dear):
    """Write the base policy's action in each lab, and what its rules say there."""
    tables, book = held[0], books[0]
    for i in range(labs.shape[0]):
        lab = labs[i]
        if lab.end_reason != 0:
            continue
        actions[i] = choose(lab, tables, book, False)
        findings, compounds = 0, 0
        for m in range(lab.published.shape[0]):
            confidences[i, m], worths[i, m] = best_finding(lab, m, tables, book, False)
            compounds += is_open(lab, m)
            findings += worths[i, m] > 0.0
        flags[i, MUST] = must_publish(lab, findings, compounds, tables, book)
        flags[i, GOOD] = good_hour(lab, tables, book)
        flags[i, BLOCKED] = tables.debt.enforced and lab.debt > tables.debt.threshold
        if tables.energy.enabled:
            energies[i, 0] = energy_needed(lab, compounds, book)
            energies[i, 1] = max(0.0, spare_energy(lab, energies[i, 0], tables, book))
            for v in range(dear.shape[1]):
                dear[i, v] = too_dear(lab, v, tables, book)


@dataclasses.dataclass
class Asked:
    """What both said in all decisions, the base policy first.

    ``clear`` has the verbs whose cost is shown, ``open`` whether a compound is left to publish.
    """

    actions: tuple
    worths: tuple
    confidences: tuple
    flags: tuple
    energies: tuple
    dear: tuple
    clear: np.ndarray
    open: np.ndarray


def ask(honest, params, labs, observations, masks, book):
    """The answers of both in ``n`` labs."""
    n, compounds = labs["published"].shape
    said = (
        np.zeros(n, np.int64),
        np.zeros((n, compounds)),
        np.zeros((n, compounds), np.int64),
        np.zeros((n, 3), np.bool_),
        np.zeros((n, 2)),
        np.zeros((n, len(Verb)), np.bool_),
    )
    answers(labs, held_tables(params), book, *said)
    seen = honest.reader.read(observations)
    worths, findings = honest.best_findings(seen)
    flags = (
        honest.must_save(seen, (worths > 0.0).sum(axis=1)),
        honest.good_hour(seen),
        honest.is_blocked(seen, masks.astype(bool)),
    )
    energies = np.stack([honest.needed(seen), honest.spare_energy(seen)], axis=1) * UNIT
    (first,) = honest.actions.publish_public[:, :1].T
    theirs = (
        honest.act(observations, masks),
        np.maximum(worths, NEVER),
        findings - first,
        np.stack(flags, axis=1),
        energies,
        honest.voice.too_dear(seen),
    )
    shown = seen.cost < params.energy.cap, seen.unpublished.any(axis=1)
    return said, theirs, shown


@pytest.fixture(scope="module", params=ENVIRONMENTS)
def asked(request):
    """A level, and what both say in every decision of episodes in which they act by turns."""
    params = preset(ENVIRONMENTS[request.param]["preset"])
    # The margins by which findings go out early were tuned for the rollout; here both have the script's.
    shared = {"gate_beats": Manner.gate_beats, "energy_margin": Manner.energy_margin}
    temper = dataclasses.replace(base_temper(params), **shared)
    honest, book = Honest(params), book_for(params, temper)
    envs = LabVectorEnv(LABS, params)
    observations, _ = envs.reset(seed=list(range(LABS)))
    running, told = np.ones(LABS, bool), []
    while running.any():
        labs, masks = envs.get_state(), envs.action_masks()
        ours, theirs, shown = ask(honest, params, labs, observations.copy(), masks, book)
        told.append([column[running] for column in (*ours, *theirs, *shown)])
        turns = np.where(np.arange(LABS) % 2, ours[0], theirs[0])
        observations, _, terminated, truncated, _ = envs.step(turns)
        running &= ~(terminated | truncated)
    *columns, clear, is_open = (np.concatenate(column) for column in zip(*told, strict=True))
    pairs = zip(columns[: len(columns) // 2], columns[len(columns) // 2 :], strict=True)
    return request.param, params, Asked(*pairs, clear, is_open)


def test_findings_are_worth_the_same_at_the_same_confidence(asked):
    env, _, said = asked
    ours, theirs = said.worths
    worthless = [worths <= NEVER for worths in (ours, theirs)]
    np.testing.assert_array_equal(*worthless)
    possible = ~worthless[0]
    assert possible.mean() > 0.2
    np.testing.assert_allclose(ours[possible], theirs[possible], atol=1e-5)  # observations are in 32 bits
    np.testing.assert_array_equal(*(confidences[possible] for confidences in said.confidences))
    assert env == TINY or len(np.unique(said.confidences[0][possible])) > 1


def test_findings_must_go_out_at_the_same_time_and_in_the_same_hours(asked):
    env, _, said = asked
    ours, theirs = (flags[said.clear[:, Verb.PUBLISH_PUBLIC]] for flags in said.flags)
    np.testing.assert_array_equal(ours[:, [MUST, GOOD]], theirs[:, [MUST, GOOD]])
    assert env == TINY or 0.0 < ours[:, MUST].mean() < 1.0


def test_both_know_when_debt_forbids_all_but_a_calibration(asked):
    """The script reads it off the mask, where nothing else is possible either once all compounds are published."""
    _, _, said = asked
    ours, theirs = (flags[:, BLOCKED] for flags in said.flags)
    assert (theirs | ~ours).all()
    np.testing.assert_array_equal(ours[said.open], theirs[said.open])


def test_both_keep_the_same_energy_and_find_the_same_costs_too_dear(asked):
    env, params, said = asked
    if not params.energy.enabled:
        return
    clear = said.clear[:, Verb.PUBLISH_PUBLIC]
    assert clear.mean() > 0.9
    # A price is read off a cost in whole thousandths: less than one is lost for each finding.
    slack = len(params.assay.compounds)
    np.testing.assert_allclose(*(energies[clear] for energies in said.energies), atol=slack)
    ours, theirs = (dear[:, ASKED][said.clear[:, ASKED]] for dear in said.dear)
    np.testing.assert_array_equal(ours, theirs)
    assert env == TINY or 0.0 < ours.mean() < 1.0


def kinds(actions, table):
    """The kind of each action: 0 rest, 1 a calibration, 2 a plate, 3 a finding, 4 a reflection or a proposal."""
    verbs = table["verb"][actions]
    families = ((Verb.REST,), CALIBRATES, PLATES, (Verb.PUBLISH_PUBLIC,), (Verb.REFLECT, Verb.PROPOSE))
    return np.select([np.isin(verbs, family) for family in families], range(len(families)), -1)


def test_they_do_the_same_kind_of_thing_as_often_as_was_measured(asked):
    env, params, said = asked
    table = action_table(params)
    ours, theirs = (kinds(actions, table) for actions in said.actions)
    assert (ours >= 0).all()
    alike = (ours == theirs).mean()
    assert alike == pytest.approx(ALIKE[env], abs=0.05)
    # Where both publish, it is mostly the same finding: worths can tie, and the base leaves for last what would block
    # all others (78 % the same in the Energy level, 93 % in Lab, all in Debt and Gate).
    both = (ours == 3) & (theirs == 3)
    assert both.sum() > (0 if env == TINY else LABS)
    same = said.actions[0][both] == said.actions[1][both]
    assert same.mean() > 0.7

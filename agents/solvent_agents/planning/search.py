"""Search: the action that does best when the base policy continues, in worlds drawn from the belief.

Rollout (Tesauro and Galperin 1996; Bertsekas, Tsitsiklis and Wu 1997): one step of policy iteration at the present
state. Each candidate is taken in the same ``K`` worlds and played out to the episode's end; the better half stays and
meets as many worlds again (sequential halving, Karnin, Koren and Somekh 2013). The winner is then compared in the same
way with its other claims or confidences. The base policy's choice stays among the candidates and is taken unless the
winner beats it by ``margin`` standard errors of the paired difference.

Letters: ``C`` candidates, ``K`` worlds of the first round, ``W`` worlds in all.
"""

from __future__ import annotations

import math

import numpy as np

from solvent.lab.compiled import compiled
from solvent.lab.draws import fill_uniforms, philox
from solvent.lab.mask import write_mask
from solvent_agents.planning.worlds import advance_in_world, draw_truth
from solvent_agents.scripts.honest import (
    DOSE_RESPONSE,
    NEVER,
    PUBLISH,
    REST,
    SCREEN,
    best_finding,
    choose,
    exploration,
    exploration_worth,
    finding,
)

__all__ = ["plan_actions"]

AT_WORLD, AT_TRUTH = 104, 105
THIRTY_TWO = np.uint64(32)
WORTHLESS = -0.5
"""Bits that a finding may be expected to cost and still be tried: what is learnt later can't be waited for always."""


@compiled
def plan_actions(labs, keys, game, limits, records, actions):
    """Plan in each lab that has not ended, and write what to do into ``actions``.

    Args:
        labs: records, shape ``(n,)``.
        keys: of the planner's luck, shape ``(n,)``.
        game: the tables and the base policy's book, each of shape ``(1,)``.
        limits: K and the most plates and findings that are tried; the margin; and steps of shape ``(1 + M,)`` that
            spread the worlds.
        records: scratch: ``W`` labs, one lab and one step.
        actions: shape ``(n,)``.
    """
    (held, books), (effort, margin, strides), (worlds, work, steps) = game, limits, records
    rules = held[0], books[0]
    tables = held[0]
    n_actions, n_worlds = tables.verb.shape[0], worlds.shape[0]
    board = (
        np.empty(n_actions, np.int64),  # the candidates
        np.empty(n_actions, np.int64),  # in how many worlds each was played out
        np.empty(n_actions),  # their mean values in these, bits
        np.empty((n_actions, n_worlds)),  # and the values
    )
    clouds = worlds, np.empty(n_worlds, np.uint64)
    scratch = (
        work,
        np.zeros(work[0].last_bins.shape[0] + 1 + work[0].potency.shape[0]),
        steps,
        np.empty(work[0].marginal.shape[1]),
        np.empty(work[0].instrument_belief.shape[0]),
    )
    for i in range(labs.shape[0]):
        if labs[i].end_reason == 0:
            for w in range(n_worlds):
                clouds[1][w] = draw_world(labs[i], keys[i], w, rules, strides, worlds)
            actions[i] = plan(labs[i], effort, margin, rules, (board, clouds, scratch))


def plan(lab, effort, margin, rules, desk):
    """Return the action of one lab. ``desk`` is the board of candidates, the worlds with their keys, and scratch."""
    tables, book = rules
    board, clouds, _ = desk
    candidates, played, _, values = board
    most = clouds[0].shape[0]
    mask = np.zeros(tables.verb.shape[0], np.int8)
    write_mask(lab, tables, mask)
    usual = choose(lab, tables, book)
    n = list_candidates(lab, usual, mask, effort, rules, candidates)
    if n == 1:
        return usual
    played[:] = 0
    alive = np.arange(tables.verb.shape[0] + 2)
    budget = narrow(alive[:n], effort[0], most // 2, rules, desk)
    winner = alive[0]
    variants = add_variants(candidates[winner], mask, rules, candidates, n) - n
    first = 0 if winner != 0 else 1  # the usual one is among them once
    alive[0], alive[1] = winner, 0
    alive[2 : 2 + variants] = np.arange(n, n + variants)
    budget = narrow(alive[first : 2 + variants], max(1, budget // 2), most, rules, desk)
    winner = alive[first]
    return candidates[winner] if is_better(values[winner], values[0], budget, margin) else usual


def narrow(alive, budget, most, rules, desk):
    """Halve the candidates ``alive``, from ``budget`` worlds each to ``most``; the best comes first.

    Returns how many worlds the last ones met.
    """
    _, _, means, values = desk[0]
    left = alive.shape[0]
    while True:
        for c in alive[:left]:
            play_out(c, budget, rules, desk)
            means[c] = values[c, :budget].mean()
        sort_by_mean(alive, left, means)
        if 2 * budget > most:
            return budget
        left = halved(alive, left)
        budget *= 2


def is_better(values, usual, n, margin):
    """Return whether the first ``n`` values beat the usual ones by ``margin`` standard errors."""
    total, squares = 0.0, 0.0
    for w in range(n):
        difference = values[w] - usual[w]
        total += difference
        squares += difference * difference
    mean = total / n
    spread = max(0.0, squares / n - mean * mean)
    return mean > margin * math.sqrt(spread / n) and mean > 0.0


def sort_by_mean(alive, left, means):
    """Sort the first ``left`` candidates, best first, stably."""
    for a in range(1, left):
        c = alive[a]
        b = a
        while b > 0 and means[alive[b - 1]] < means[c]:
            alive[b] = alive[b - 1]
            b -= 1
        alive[b] = c


def halved(alive, left):
    """Keep the better half, and among it candidate 0; return how many there are."""
    kept = min(left, max(2, (left + 1) // 2))
    for a in range(kept):
        if alive[a] == 0:
            return kept
    alive[kept] = 0
    return kept + 1


def draw_world(lab, key, w, rules, strides, worlds):
    """Draw the world ``w`` of this decision into ``worlds`` and return the key of its luck.

    The worlds' classes cover the belief evenly: a low-discrepancy sequence with a random shift.
    """
    tables = rules[0]
    worlds[w] = lab
    words = philox(np.uint64(w), np.uint64(lab.steps), np.uint64(0), np.uint64(AT_WORLD), key)
    own = (words[0] << THIRTY_TWO) | words[1]
    n_spread = strides.shape[0]
    uniforms = np.empty(n_spread + tables.wells.shape[0] + 4)
    fill_uniforms(uniforms, n_spread, key, 0, lab.steps, AT_TRUTH)
    for d in range(n_spread):
        shifted = uniforms[d] + (w + 1) * strides[d]
        uniforms[d] = shifted - math.floor(shifted)
    fill_uniforms(uniforms[n_spread:], tables.wells.shape[0], own, 0, 0, AT_TRUTH)
    draw_truth(worlds[w], tables, uniforms)
    return own


def play_out(c, budget, rules, desk):
    """Play candidate ``c`` out in those of the first ``budget`` worlds that it has not met."""
    tables, book = rules
    (candidates, played, _, values), (worlds, world_keys), scratch = desk
    work = scratch[0]
    for w in range(played[c], budget):
        work[0] = worlds[w]
        lab = work[0]
        action, total = candidates[c], 0.0
        while True:
            total += advance_in_world(lab, action, world_keys[w], tables, scratch[1:])
            if lab.end_reason != 0:
                break
            action = choose(lab, tables, book)
        values[c, w] = total
    played[c] = max(played[c], budget)


# -- candidates ----------------------------------------------------------------------------------


def list_candidates(lab, usual, mask, effort, rules, candidates):
    """Write the actions worth trying, the usual one first; return how many. The mask admits all of them."""
    tables = rules[0]
    candidates[0] = usual
    n = add(tables.first_action[REST], mask, candidates, 1)
    for verb in range(tables.wells.shape[0]):
        if tables.is_calibration[verb]:
            n = add(tables.first_action[verb], mask, candidates, n)
    n = add_findings(lab, mask, effort[2], rules, candidates, n)
    return add_plates(lab, mask, effort[1], rules, candidates, n)


def add(action, mask, candidates, n):
    """Add an action that would execute and is not among the candidates yet."""
    if mask[action] == 0:
        return n
    for c in range(n):
        if candidates[c] == action:
            return n
    candidates[n] = action
    return n + 1


def add_findings(lab, mask, most, rules, candidates, n):
    """Add the findings worth most, each at its best confidence."""
    tables, book = rules
    n_compounds = lab.published.shape[0]
    worth = np.empty(n_compounds)
    said = np.empty(n_compounds, np.int64)
    for m in range(n_compounds):
        said[m], worth[m] = best_finding(lab, m, tables, book)
    for _ in range(most):
        m = int(np.argmax(worth))
        if worth[m] <= WORTHLESS:
            break
        n = add(finding(m, said[m], tables, book), mask, candidates, n)
        worth[m] = NEVER
    return n


def add_plates(lab, mask, most, rules, candidates, n):
    """Add every plate of the compounds that gain most by one; of untouched compounds only the first."""
    tables, book = rules
    n_compounds = lab.published.shape[0]
    worth = np.empty(n_compounds)
    untouched = False
    for m in range(n_compounds):
        worth[m] = NEVER
        fresh = lab.experiments[m] == 0
        is_open = lab.published[m] == 0
        if is_open and not (fresh and untouched):
            worth[m] = exploration_worth(lab, SCREEN, m, tables, book)
        untouched = untouched or (fresh and is_open)
    for _ in range(min(most, n_compounds)):
        m = int(np.argmax(worth))
        if worth[m] == NEVER:
            break
        for verb in (SCREEN, DOSE_RESPONSE):
            n = add(exploration(lab, verb, m, tables, book), mask, candidates, n)
        worth[m] = NEVER
    return n


def add_variants(action, mask, rules, candidates, n):
    """Add a plate's other claims, two below and two above, or a finding's other confidences; return how many in all."""
    tables, book = rules
    verb, m = tables.verb[action], tables.compound[action]
    if verb in (SCREEN, DOSE_RESPONSE):
        first = tables.first_action[verb] + m * book.n_claims
        for other in range(max(first, action - 2), min(first + book.n_claims, action + 3)):
            n = add(other, mask, candidates, n)
    elif verb == PUBLISH:
        first = tables.first_action[verb] + m * book.n_confidences
        for other in range(first, first + book.n_confidences):
            n = add(other, mask, candidates, n)
    return n

"""Search: the action that does best when the base policy continues, in worlds drawn from the belief.

Rollout (Tesauro and Galperin 1996; Bertsekas, Tsitsiklis and Wu 1997): one step of policy iteration at the present
state. Each candidate is taken in the same ``K`` worlds and played out to the episode's end; the better half stays and
meets as many worlds again (sequential halving, Karnin, Koren and Somekh 2013). The winner is then compared in the same
way with its other claims or confidences. The base policy's choice stays among the candidates and is taken unless the
winner beats it by ``margin`` standard errors of the paired difference.

Letters: ``A`` actions, ``C`` candidates, ``K`` worlds of the first round, ``W`` worlds in all, ``M`` compounds.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from solvent.lab.compiled import compiled
from solvent.lab.draws import fill_uniforms, philox, roberts_steps
from solvent.lab.mask import write_mask
from solvent.lab.params import LabParams
from solvent.lab.state import lab_dtype
from solvent.lab.tables import tables_for
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
from solvent_agents.survey import Room, room_for

__all__ = ["Effort", "Search", "plan_actions", "search_for"]

AT_WORLD, AT_TRUTH = 104, 105
THIRTY_TWO = np.uint64(32)
WORTHLESS = -0.5
"""Bits that a finding may be expected to cost and still be tried: what is learnt later can't be waited for always."""


class Effort(NamedTuple):
    """Computation spent on a decision, and what it takes to depart from the base policy."""

    worlds: int = 16  # K: worlds of the first round
    most_worlds: int = 8  # W / K: in how many times as many the last ones are compared
    plates: int = 5  # most compounds that are tried with each kind of plate
    findings: int = 3  # most findings that are tried
    margin: float = 1.0  # standard errors by which something must beat what the script would do


class Search(NamedTuple):
    """Arrays that a search works in: its candidates, its worlds, and room for playing them out."""

    candidates: NDArray[np.int64]  # [A] actions, the base policy's first
    played: NDArray[np.int64]  # [A] in how many worlds each was played out
    means: NDArray[np.float64]  # [A] bits, over these worlds
    values: NDArray[np.float64]  # [A, W] bits
    mask: NDArray[np.int8]  # [A] which actions would execute
    worlds: NDArray[Any]  # [W] labs
    strides: NDArray[np.float64]  # [1 + M] steps that spread the worlds over the belief
    luck: NDArray[np.uint64]  # [W] key of the draws of each world
    lab: NDArray[Any]  # [1] the lab that is being played out
    room: Room


def search_for(params: LabParams, effort: Effort) -> Search:
    """Return the arrays of a search in labs with these parameters."""
    tables: Any = tables_for(params)
    actions, worlds = len(tables.verb), effort.worlds * effort.most_worlds
    return Search(
        candidates=np.zeros(actions, np.int64),
        played=np.zeros(actions, np.int64),
        means=np.zeros(actions),
        values=np.zeros((actions, worlds)),
        mask=np.zeros(actions, np.int8),
        worlds=np.zeros(worlds, lab_dtype(params)),
        strides=roberts_steps(1 + len(params.assay.compounds)),
        luck=np.zeros(worlds, np.uint64),
        lab=np.zeros(1, lab_dtype(params)),
        room=room_for(params),
    )


@compiled
def plan_actions(labs, keys, tables_array, books, effort, search, actions):
    """Plan in each lab that has not ended, and write what to do into ``actions``.

    Args:
        labs: records, shape ``(n,)``.
        keys: of the planner's luck, shape ``(n,)``.
        tables_array: the tables, shape ``(1,)``.
        books: the base policy's tables and constants, shape ``(1,)``.
        effort: ``Effort``.
        search: ``Search``, which is overwritten.
        actions: shape ``(n,)``.
    """
    tables, book = tables_array[0], books[0]
    for i in range(labs.shape[0]):
        if labs[i].end_reason == 0:
            for w in range(search.worlds.shape[0]):
                draw_world(labs[i], keys[i], w, tables, search)
            actions[i] = plan(labs[i], tables, book, effort, search)


def plan(lab, tables, book, effort, search):
    """Return the action of one lab, whose worlds are drawn."""
    usual = choose(lab, tables, book)
    write_mask(lab, tables, search.mask)
    n = list_candidates(lab, usual, tables, book, effort, search)
    if n == 1:
        return usual
    search.played[:] = 0
    most = search.worlds.shape[0]
    alive = np.arange(n)
    met = narrow(alive, effort.worlds, most // 2, tables, book, search)
    finalists = with_variants(alive[0], n, tables, book, search)
    met = narrow(finalists, max(1, met // 2), most, tables, book, search)
    winner = finalists[0]
    if is_better(search.values[winner], search.values[0], met, effort.margin):
        return search.candidates[winner]
    return usual


def with_variants(winner, n, tables, book, search):
    """Return the candidates of the last comparison: the winner, the base policy's action, and the winner's variants."""
    variants = add_variants(search.candidates[winner], n, tables, book, search) - n
    finalists = np.empty(2 + variants, np.int64)
    finalists[0], finalists[1] = winner, 0
    finalists[2:] = np.arange(n, n + variants)
    return finalists if winner != 0 else finalists[1:]


def narrow(alive, budget, most, tables, book, search):
    """Halve the candidates ``alive``, from ``budget`` worlds each to ``most``; the best comes first.

    Returns how many worlds the last ones met.
    """
    left = alive.shape[0]
    while True:
        for c in alive[:left]:
            play_out(c, budget, tables, book, search)
            search.means[c] = search.values[c, :budget].mean()
        sort_by_mean(alive, left, search.means)
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
    variance = max(0.0, squares / n - mean * mean)
    return mean > margin * math.sqrt(variance / n) and mean > 0.0


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


def draw_world(lab, key, w, tables, search):
    """Draw the world ``w`` of this decision, and the key of its luck.

    The worlds' classes cover the belief evenly: a low-discrepancy sequence with a random shift.
    """
    words = philox(np.uint64(w), np.uint64(lab.steps), np.uint64(0), np.uint64(AT_WORLD), key)
    luck = (words[0] << THIRTY_TWO) | words[1]
    n_strides = search.strides.shape[0]
    uniforms = np.empty(n_strides + tables.wells.shape[0] + 4)
    fill_uniforms(uniforms, n_strides, key, 0, lab.steps, AT_TRUTH)
    for d in range(n_strides):
        shifted = uniforms[d] + (w + 1) * search.strides[d]
        uniforms[d] = shifted - math.floor(shifted)
    fill_uniforms(uniforms[n_strides:], tables.wells.shape[0], luck, 0, 0, AT_TRUTH)
    search.luck[w] = luck
    search.worlds[w] = lab
    draw_truth(search.worlds[w], tables, uniforms)


def play_out(c, budget, tables, book, search):
    """Play candidate ``c`` out in those of the first ``budget`` worlds that it has not met."""
    for w in range(search.played[c], budget):
        search.lab[0] = search.worlds[w]
        lab = search.lab[0]
        action, total = search.candidates[c], 0.0
        while True:
            total += advance_in_world(lab, action, search.luck[w], tables, search.room)
            if lab.end_reason != 0:
                break
            action = choose(lab, tables, book)
        search.values[c, w] = total
    search.played[c] = max(search.played[c], budget)


# -- candidates ----------------------------------------------------------------------------------


def list_candidates(lab, usual, tables, book, effort, search):
    """Write the actions worth trying, the usual one first; return how many. The mask admits all of them."""
    search.candidates[0] = usual
    n = add(tables.first_action[REST], search, 1)
    for verb in range(tables.wells.shape[0]):
        if tables.is_calibration[verb]:
            n = add(tables.first_action[verb], search, n)
    n = add_findings(lab, effort.findings, tables, book, search, n)
    return add_plates(lab, effort.plates, tables, book, search, n)


def add(action, search, n):
    """Add an action that would execute and is not among the ``n`` candidates yet; return how many there are."""
    if search.mask[action] == 0:
        return n
    for c in range(n):
        if search.candidates[c] == action:
            return n
    search.candidates[n] = action
    return n + 1


def add_findings(lab, most, tables, book, search, n):
    """Add the findings worth most, each at its best confidence."""
    n_compounds = lab.published.shape[0]
    worth = np.empty(n_compounds)
    confidence = np.empty(n_compounds, np.int64)
    for m in range(n_compounds):
        confidence[m], worth[m] = best_finding(lab, m, tables, book)
    for _ in range(most):
        m = int(np.argmax(worth))
        if worth[m] <= WORTHLESS:
            break
        n = add(finding(lab, m, confidence[m], tables, book), search, n)
        worth[m] = NEVER
    return n


def add_plates(lab, most, tables, book, search, n):
    """Add every plate of the compounds that gain most by one; of untouched compounds only the first."""
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
            n = add(exploration(lab, verb, m, tables, book), search, n)
        worth[m] = NEVER
    return n


def add_variants(action, n, tables, book, search):
    """Add a plate's other claims, two below and two above, or a finding's other confidences; return how many in all."""
    verb, m = tables.verb[action], tables.compound[action]
    if verb in (SCREEN, DOSE_RESPONSE):
        first = tables.first_action[verb] + m * book.n_claims
        for other in range(max(first, action - 2), min(first + book.n_claims, action + 3)):
            n = add(other, search, n)
    elif verb == PUBLISH:
        first = action - (action - tables.first_action[verb]) % book.n_confidences
        for other in range(first, first + book.n_confidences):
            n = add(other, search, n)
    return n

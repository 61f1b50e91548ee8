"""What a player types: a verb, a compound, a claim or a confidence, each shortened as far as it stays clear."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from solvent import LabEnv
from solvent.lab.compiled import plain
from solvent.lab.mechanisms.debt import decide, wells_charged
from solvent.lab.mechanisms.gate import wording_at
from solvent.lab.mechanisms.publication import asserted_bits, log_score
from solvent.lab.params import LabParams
from solvent.lab.rendering.panels.costs import cost_of, why
from solvent.lab.rendering.panels.energy import user_is_away
from solvent.lab.rendering.panels.page import would_be
from solvent.lab.rendering.panels.proposals import arguable_verb
from solvent.lab.rendering.words import bits, class_name, in_units, too_dear
from solvent.lab.tables import tables_for
from solvent.lab.verbs import TEMPLATES, VERBS, Verb
from solvent.lab.words.notebook import plural
from solvent_agents.language.desk import refusal

__all__ = ["Line", "Option", "match", "read"]

LONGEST_NAME = 3
"""Words of the longest name that is understood: `dose response`, `oligomycin A`."""


class Option(NamedTuple):
    """A word that can come next, and what is to be known of it."""

    word: str
    about: str = ""
    blocked: bool = False  # it would not run now; trying is allowed, and costs what a refusal costs


class Line(NamedTuple):
    """A line as far as it is understood."""

    action: int  # -1 if it is no action
    before: str  # the words before the one that `options` are for, in full
    options: tuple[Option, ...]
    wrong: str = ""  # the first word that is not understood, and what is allowed
    missing: str = ""  # what comes next, if the line is right so far


def match(words: Sequence[str], names: Sequence[str]) -> tuple[list[int], int]:
    """Return which names the first words begin, and how many words that took."""
    for used in range(min(LONGEST_NAME, len(words)), 0, -1):
        begun = " ".join(words[:used])
        plain_names = [name.lower().replace("_", " ") for name in names]
        whole = [i for i, name in enumerate(plain_names) if name == begun or _same_number(name, begun)]
        found = whole or [i for i, name in enumerate(plain_names) if name.startswith(begun)]
        if found:
            return found, used
    return [], 0


def _same_number(name: str, typed: str) -> bool:
    try:
        return float(name) == float(typed)
    except ValueError:
        return False


def read(env: LabEnv, mask: NDArray[np.bool_], text: str) -> Line:
    """Read a line. Its options are those of its last word, or of the next one if it ends with a space."""
    words = text.lower().replace("_", " ").split()
    rows, columns, before = np.arange(len(env.actions)), ["verb"], ""
    line = Line(-1, "", ())
    while columns:
        column = columns.pop(0)
        values = list(dict.fromkeys(env.actions[column][rows].tolist()))
        names = [_word(env, column, value) for value in values]

        def options(
            which: Iterable[int], rows: Any = rows, column: str = column, values: Any = values
        ) -> Any:
            return tuple(_option(env, mask, rows, column, values[i]) for i in which)

        kind = "action" if column == "verb" else column
        if not words:
            started = before and not text.endswith(" ")
            return line if started else Line(-1, before, options(range(len(names))), missing=kind)
        found, used = match(words, names)
        if len(found) != 1:
            allowed = [names[i] for i in found] or names
            return Line(-1, before, options(found), refusal(kind, words[0], allowed))
        del words[:used]
        (chosen,) = found
        if column == "verb" and VERBS[Verb(values[chosen])].takes:
            columns = ["compound", VERBS[Verb(values[chosen])].takes]
        line = Line(-1, before, () if words else options(found), missing=columns[0] if columns else "")
        rows = rows[env.actions[column][rows] == values[chosen]]
        before += f"{names[chosen]} "
    if words:
        return Line(-1, before, (), f"{words[0]!r} is one word too many after: {before.strip()}")
    return line._replace(action=int(rows[0]))


def _word(env: LabEnv, column: str, value: Any) -> str:
    """Return the word for a value of a column of the action table."""
    if column == "verb":
        return VERBS[Verb(value)].name
    return env.params.assay.compounds[value] if column == "compound" else f"{value:g}"


def _option(env: LabEnv, mask: NDArray[np.bool_], rows: NDArray[np.intp], column: str, value: Any) -> Option:
    """Return the option for a value of a column, among these rows of the action table."""
    may = bool(mask[rows[env.actions[column][rows] == value]].any())
    verb, m = Verb(env.actions["verb"][rows[0]]), int(env.actions["compound"][rows[0]])
    if column == "verb":
        return _verb(env, Verb(value), may)
    if column == "compound":
        return _compound(env, verb, value, may)
    return Option(_word(env, column, value), "bits" if column == "claim" else _finding(env, verb, m, value))


def _verb(env: LabEnv, verb: Verb, may: bool) -> Option:
    params, lab = env.params, env.batch.labs[0]
    name = VERBS[verb].name
    if not may:
        return Option(name, _why_not(params, lab, verb), blocked=True)
    parts = []
    if params.energy.enabled:
        cost = cost_of(params, lab, verb)
        parts += [f"{in_units(cost.now)} energy"] if cost.base else []
    if verb in TEMPLATES:
        parts.append(_wells(params, lab, verb))
    parts.append(VERBS[verb].doc)
    if params.energy.enabled and cost.base and why(cost):
        parts.append(why(cost))
    return Option(name, ", ".join(parts))


def _wells(params: LabParams, lab: Any, verb: Verb) -> str:
    """Return the wells of a plate as they would be charged now."""
    tables = tables_for(params)
    _, inflated, *_ = plain(decide)(
        tables.debt, lab["debt"], tables.wells[verb], lab["wells"], tables.is_calibration[verb]
    )
    return f"{plain(wells_charged)(inflated)} wells"


def _why_not(params: LabParams, lab: Any, verb: Verb) -> str:
    """Return why a verb would not run now: two or three words and, after a comma, the details."""
    cost = cost_of(params, lab, verb) if params.energy.enabled else None
    obstacle = cost.obstacle if cost else "debt" if lab["debt"] > params.debt.threshold else ""
    if obstacle == "user away":
        return user_is_away(params).replace("the user is away ", "user away, ")
    elif obstacle == "debt":
        return f"debt, above {params.debt.threshold:g} bits only a calibration runs"
    elif verb is Verb.PROPOSE:
        if arguable_verb(params, lab) is None:
            hours = plural(params.proposals.evidence_heartbeats, "hour")
            return f"no evidence, it takes deferrals of one verb in {hours}"
        return "reflect first, in the same hour"
    elif VERBS[verb].takes == "confidence" and ((lab["published"] != 0) | (lab["decision_at"] != 0)).all():
        return "all are published, or under review"
    elif cost and obstacle:
        return too_dear(cost.now, int(lab["energy"]))
    return "too few wells, it would be refused"


def _compound(env: LabEnv, verb: Verb, m: int, may: bool) -> Option:
    params, lab = env.params, env.batch.labs[0]
    name = params.assay.compounds[m]
    if VERBS[verb].takes == "confidence":
        if lab["published"][m] or lab["decision_at"][m]:
            return Option(name, "published" if lab["published"][m] else "under review", blocked=True)
        k = int(lab["marginal"][m].argmax())
        about = f"{class_name(params, k)}, p = {lab['marginal'][m][k]:.2f}, licence {lab['licence'][m]:.2f}"
    else:
        about = f"{lab['entropy'][m]:.2f} bits unknown"
        if params.energy.enabled and lab["done"][verb, m]:
            about = f"again this hour, {in_units(cost_of(params, lab, verb).again)} energy"
            return Option(name, about, blocked=not may)
    return Option(name, about)


def _finding(env: LabEnv, verb: Verb, m: int, confidence: float) -> str:
    """Return what a finding would pay and owe and, at a gate, its verdict."""
    params, lab = env.params, env.batch.labs[0]
    prior = params.assay.class_prior[int(lab["marginal"][m].argmax())]
    share = params.publishing.private_share if VERBS[verb].audience == "private" else 1.0
    right, wrong = (share * log_score(confidence, prior, right) for right in (True, False))
    owed = max(0.0, asserted_bits(confidence, prior) - lab["licence"][m])
    about = f"{bits(right)} if right, {bits(wrong)} if wrong, debt +{owed:.2f}"
    if params.gate.enabled:
        about += f"; {would_be(env.notebook(m).findings[wording_at(params.gate, confidence)])}"
    return about

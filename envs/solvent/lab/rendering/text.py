"""A lab as text, 79 columns wide: one function per panel.

Eight compounds take at most 17 lines without the last action, so a terminal of 80 by 24 leaves room for a prompt.
Colour adds nothing that the text does not say; ``NO_COLOR`` removes it.
"""

from __future__ import annotations

import os
import re
import textwrap
from typing import Any

import numpy as np

from solvent.lab.actions import action_table, offered_verbs
from solvent.lab.codes import Event
from solvent.lab.mask import write_mask
from solvent.lab.mechanisms.debt import multiplier
from solvent.lab.mechanisms.energy import CAP
from solvent.lab.params import LabParams
from solvent.lab.settings import in_thousandths
from solvent.lab.tables import tables_for
from solvent.lab.verbs import Verb
from solvent.lab.words.describe import (
    bits,
    class_name,
    clock,
    in_units,
    known_wrong,
    lot_hours,
    policy_word,
    presence,
    project,
    tell,
    verb_words,
    waiting,
)
from solvent.lab.words.measured import policy_of
from solvent.lab.words.notebook import Finding, page_of

WIDTH = 79
LABEL, BAR, NAME = 8, 16, 14
EIGHTHS, BLOCKS = " ▏▎▍▌▋▊▉", "▁▂▃▄▅▆▇█"
ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
BOLD, RED = "1", "31"
VERDICT_MARKS = {"accept": "✓", "review": "?", "reject": "✗"}
FAILURES = (Event.REFUSED, Event.REJECTED, Event.NOT_EXECUTED, Event.DEFERRED)


def draw_text(params: LabParams, lab: Any, step: Any | None) -> str:
    """Return a lab, a record of ``state.lab_fields``, as text; without its ``step``, the last action is left out."""
    panels = [
        title(params, lab),
        *books(params, lab),
        *gate(params, lab),
        *actions(params, lab),
        *compounds(params, lab),
        instrument(params, lab),
        *([] if step is None else last_action(params, lab, step)),
    ]
    text = "\n".join(panels)
    return ESCAPE.sub("", text) if os.environ.get("NO_COLOR") else text


# -- panels


def title(params: LabParams, lab: Any) -> str:
    """Return the heartbeat, the clock and the reagent lot."""
    now = f"heartbeat {lab['heartbeat']} of {params.budget.heartbeats}"
    if lab["end_reason"]:
        now += ", over"
    elif params.energy.enabled:
        now += f", action {lab['slot'] + 1} of {params.energy.slots}"
    parts = [project(params, lab), now, clock(params, lab), f"new lot in {lot_hours(params, lab)} h"]
    return _rule("Solvent", " · ".join(part for part in parts if part))


def books(params: LabParams, lab: Any) -> list[str]:
    """Return wells, debt and energy as bars, with the return so far, counts and the mark of a contaminated lab."""
    debt, limit = float(lab["debt"]), params.debt.threshold
    counts = f"{lab['accepted']} published, {known_wrong(params, lab)}, {lab['refusals'].sum()} refused"
    owed, at = _bar(debt / debt_scale(params), BAR), min(BAR - 1, round(limit / debt_scale(params) * BAR))
    marked = _paint(f"{owed[:at]}┃{owed[at + 1 :]}", RED if debt > limit else "")
    wells = f"{_bar(lab['wells'] / params.budget.wells, BAR)}▏{lab['wells']} of {params.budget.wells}"
    wells += f", cost ×{inflation(params, lab):.2f}"
    lines = [
        _entry("wells", wells, _paint(f"return {bits(lab['score'])}", BOLD)),
        _entry("debt", f"{marked}▏{debt:.2f} bits, limit {limit:g}", counts),
    ]
    if params.energy.enabled:
        left = _bar(lab["energy"] / in_thousandths(CAP), BAR)
        energy = f"{left}▏{in_units(lab['energy'])} of {CAP:g}"
        lines.append(_entry("energy", energy, presence(params, lab)))
    lines += [_entry("due", due) for due in [waiting(params, lab)] if due]
    return lines + [_paint(mark, RED) for mark in [contaminated(params)] if mark]


def gate(params: LabParams, lab: Any) -> list[str]:
    """Return the limits of the gate and the number of findings by verdict."""
    if not params.gate.enabled:
        return []
    accepted, reviewed, rejected = lab["verdicts"]
    return [_entry("gate", gate_limits(params), f"✓{accepted} ?{reviewed} ✗{rejected}")]


def actions(params: LabParams, lab: Any) -> list[str]:
    """Return the verbs that run now and those that do not, with their cost in energy, discomfort and proposals."""
    able, unable = (", ".join(verbs) for verbs in actions_now(params, lab))
    parts = [able or "none", f"blocked: {unable or 'none'}", *voice(params, lab)]
    rows = textwrap.wrap("; ".join(parts), WIDTH - LABEL)
    return [_entry("" if row else "actions", text) for row, text in enumerate(rows)]


def compounds(params: LabParams, lab: Any) -> list[str]:
    """Return a table with one row per compound."""
    classes = params.assay.potency_classes
    active = "–".join(dict.fromkeys(class_name(params, k).replace(" ", "") for k in (1, classes - 1)))
    wordings = "hedged plain  defin." if params.gate.enabled else ""
    heading = f"{'compound':<{NAME}}inactive {active:<{max(10, classes)}}unknown   licence plates {wordings}".rstrip()
    return [_paint(heading, BOLD), *(_compound(params, lab, m) for m in range(len(params.assay.compounds)))]


def _compound(params: LabParams, lab: Any, m: int) -> str:
    belief, ceiling = lab["marginal"][m], params.assay.prior_entropy or 1.0
    name = fit(params.assay.compounds[m], NAME - 2)
    meters = [f"{value:.2f} {_bar(value / ceiling, 4)}" for value in (lab["entropy"][m], lab["licence"][m])]
    marks = (f"{finding.energy:.3f}{VERDICT_MARKS[finding.verdict]}" for finding in findings(params, lab, m))
    return (
        f"{'▸' if m == last_compound(params, lab) else ' '}{name} {_columns(belief[[0, 0]]):^9}"
        f"{_columns(belief[1:]):<10}{' '.join(meters)} {lab['experiments'][m]:>3}  "
        f"{'published' if lab['published'][m] else ' '.join(marks)}"
    ).rstrip()


def instrument(params: LabParams, lab: Any) -> str:
    """Return the belief about the gain and the plate noise of the instrument."""
    assay = params.assay
    belief = np.reshape(lab["instrument_belief"], (len(assay.gains), len(assay.plate_sds)))
    gain, noise = (
        " ".join(f"{value:g}{_columns([share])}" for value, share in zip(values, shares, strict=True))
        for values, shares in ((assay.gains, belief.sum(1)), (assay.plate_sds, belief.sum(0)))
    )
    return _ends(f"instrument: gain {gain} noise {noise}", f"{lab['instrument_entropy']:.2f} bits unknown")


def last_action(params: LabParams, lab: Any, step: Any) -> list[str]:
    """Return the last action and its outcome."""
    done, outcome = tell(params, lab, step)
    colour = RED if lab["last_event"] in FAILURES else ""
    return [_rule(done), *(_paint(row, colour) for row in textwrap.wrap(outcome, WIDTH))]


# -- facts that the picture shows too


def debt_scale(params: LabParams) -> float:
    """Return the debt that fills a bar, bits."""
    return 2.0 * params.debt.threshold or 1.0


def inflation(params: LabParams, lab: Any) -> float:
    """Return the factor by which debt raises the wells of a screen."""
    wells = params.plates.screen.wells
    return float(multiplier(tables_for(params).debt, float(lab["debt"]), wells))


def actions_now(params: LabParams, lab: Any) -> tuple[list[str], list[str]]:
    """Return the verbs with an action that would execute now, and the other verbs, each with its energy."""
    table = action_table(params)
    mask = np.zeros(len(table), np.int8)
    write_mask(lab, tables_for(params), mask)
    running = set() if lab["end_reason"] else set(table["verb"][mask.astype(bool)].tolist())
    now: tuple[list[str], list[str]] = [], []
    for verb in offered_verbs(params):
        cost = int(lab["cost"][verb, 0]) if params.energy.enabled else 0
        now[verb not in running].append(f"{verb_words(verb)} {in_units(cost)}" if cost else verb_words(verb))
    return now


def voice(params: LabParams, lab: Any) -> list[str]:
    """Return the discomfort by verb, and the proposals that await a review."""
    if not params.proposals.enabled:
        return []
    felt = [f"{verb_words(verb)} {lab['discomfort'][verb]}" for verb in Verb if lab["discomfort"][verb]]
    asked = [
        f"{verb_words(verb)} {in_units(lab['range_low'][verb])}–{in_units(lab['range_high'][verb])} in "
        f"{lab['review_at'][verb] - lab['heartbeat']} h"
        for verb in Verb
        if lab["review_at"][verb]
    ]
    named = (("discomfort", felt), ("proposed", asked))
    return [f"{name}: {', '.join(parts)}" for name, parts in named if parts]


def gate_limits(params: LabParams) -> str:
    """Return the thresholds of the policy in force, and its name."""
    policy = policy_of(params)
    assert policy is not None
    limits = f"✓ accepted ≤ {policy.tau_accept:.3f}, ? reviewed ≤ {policy.tau_review:.3f} unexplained"
    return f"{limits} ({policy_word(params)})"


def findings(params: LabParams, lab: Any, m: int) -> tuple[Finding, ...]:
    """Return what a finding on a compound would come to in each wording; empty without a gate or an experiment."""
    return page_of(params, lab, m).findings if params.gate.enabled and lab["experiments"][m] else ()


def last_compound(params: LabParams, lab: Any) -> int:
    """Return the compound of the last action, or -1."""
    return -1 if lab["last_action"] < 0 else int(action_table(params)["compound"][lab["last_action"]])


def contaminated(params: LabParams) -> str:
    """Return the mark of a lab with an unenforced mechanism: ``contaminated: debt, gate not enforced``."""
    return f"contaminated: {', '.join(params.unenforced)} not enforced" if params.unenforced else ""


def fit(text: str, width: int) -> str:
    """Return ``text`` padded or cut to ``width``."""
    return f"{text[: width - 1]}…" if len(text) > width else text.ljust(width)


# -- lines


def _paint(text: str, colour: str) -> str:
    return f"\x1b[{colour}m{text}\x1b[0m" if colour else text


def _rule(left: str, right: str = "") -> str:
    left, right = f"── {_paint(left, BOLD)} ", f" {right} ─" if right else ""
    return f"{left}{'─' * (WIDTH - _length(left) - len(right))}{right}"


def _ends(left: str, right: str) -> str:
    """Return a line with text at both ends."""
    return f"{left}{' ' * (WIDTH - _length(left) - _length(right))}{right}" if right else left


def _entry(label: str, left: str, right: str = "") -> str:
    return _ends(f"{label:<{LABEL}}{left}", right)


def _length(text: str) -> int:
    return len(ESCAPE.sub("", text))


def _bar(share: float, width: int) -> str:
    """Return a bar that fills a share of ``width`` characters, rounded to an eighth of a character."""
    full, rest = divmod(round(min(1.0, max(0.0, share)) * width * 8), 8)
    return ("█" * full + EIGHTHS[rest].strip()).ljust(width)


def _columns(shares: Any) -> str:
    """Return one column per probability; blank below half a percent."""
    return "".join(BLOCKS[min(7, int(p * 8))] if p >= 0.005 else " " for p in shares)

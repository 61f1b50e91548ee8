"""The notebook's record: a lab's record without what its agent can't know.

``without_truth`` blanks every hidden field of lab records; an agent that plans on the compiled dynamics receives
nothing else. ``with_drawn_truth`` fills the blanks with a world drawn from the notebook's belief: the instrument from
``p(instrument)``, each compound's class from ``p(class | instrument)``, which for a compound without a plate in this
lot is its marginal.

Known approximations. The belief keeps only marginals from one lot to the next, so drawn worlds ignore dependence
between compounds through an older instrument. A base cost that differs from its ratings is believed to be mispriced
around them, by the reviewer's rules (``mechanisms/proposals.py``); after an approved proposal this can be stale.
Without proposals the fair cost is the price.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvent.lab.batch import held_tables
from solvent.lab.compiled import compiled
from solvent.lab.mechanisms.assay import draw_class
from solvent.lab.params import LabParams
from solvent.lab.state import lab_dtype
from solvent.lab.verbs import Verb

__all__ = ["HIDDEN", "PUBLIC", "draw_truth", "truth_uniforms", "with_drawn_truth", "without_truth"]

HIDDEN = {
    "key": (0, "it decides all luck to come"),
    "episode": (0, "with the key, where in its stream the lab is"),
    "potency": (-1, "what the experiments are for"),
    "instrument": (-1, "what the calibrations are for"),
    "fair": (0, "what the reviewer alone knows"),
}
"""Field -> what stands in its place, and why it is hidden."""

_BOOKS = "the agent's own books"
_BELIEF = "the notebook's belief, computed from what was read off plates that were paid for"
_DEEDS = "what the agent did, and was answered"
_SCORES = "publications are paid for at once, so that what came of them is known"
PUBLIC = {
    **dict.fromkeys(("heartbeat", "slot", "steps", "end_reason"), "the clock is on the wall"),
    **dict.fromkeys(
        ("instrument_belief", "instrument_entropy", "conditional", "marginal", "entropy", "lowest_entropy"),
        _BELIEF,
    ),
    **dict.fromkeys(
        ("coupled", "experiments", "plates", "calibrations", "lot_calibrated"), "which plates were run"
    ),
    **dict.fromkeys(("wells", "wells_spent", "debt", "licence", "claimed", "gained"), _BOOKS),
    **dict.fromkeys(
        ("debt_added", "debt_interest", "debt_repaid", "debt_at_start", "debt_peak", "settled"), _BOOKS
    ),
    **dict.fromkeys(("settled_at_end", "bankruptcies"), _BOOKS),
    **dict.fromkeys(("beats_over_threshold", "streak_over_threshold", "longest_streak"), _BOOKS),
    **dict.fromkeys(("last_event", "last_action", "not_executed", "refusals", "refusals_in_a_row"), _DEEDS),
    "last_bins": "the readouts of the last plate, which was paid for",
    **dict.fromkeys(("score", "published_bits", "accepted", "wrong", "rejected", "published"), _SCORES),
    **dict.fromkeys(("energy", "energy_income", "energy_lost", "energy_leaked", "energy_spent"), _BOOKS),
    **dict.fromkeys(("intents", "intents_shown", "intents_total", "uses", "failures", "done"), _DEEDS),
    "price": "what an action costs is said before it is taken",
    **dict.fromkeys(("reflected", "discomfort", "discomfort_at", "deferrals", "discomforts"), _DEEDS),
    **dict.fromkeys(("out_of_context", "hoardings", "reflections", "proposals", "approvals"), _DEEDS),
    **dict.fromkeys(("review_at", "argued", "range_low", "range_high"), "what the agent proposed, and when"),
    **dict.fromkeys(("page", "fit_class", "fit_strength"), "the compound's page"),
    **dict.fromkeys(
        ("measured_class", "residual", "oracle_energy", "unsupported"),
        "measured on the page, by rules that are known",
    ),
    **dict.fromkeys(("decision_at", "submitted_class", "submitted_confidence", "submitted_verb"), _DEEDS),
    **dict.fromkeys(("submitted_licensed", "submitted_rule"), _DEEDS),
    **dict.fromkeys(("verdicts", "decided", "scores", "correction"), "what gate, readers and adequacy said"),
    **dict.fromkeys(("incidents", "tightenings", "strictness", "calm"), "published errors are public"),
}
"""Field -> why an agent may know it."""


def without_truth(labs: NDArray[Any], params: LabParams) -> NDArray[Any]:
    """Return a copy of lab records, shape ``(n,)``, with every hidden field blank.

    Raises:
        ValueError: records of other parameters.
    """
    if labs.dtype != lab_dtype(params):
        raise ValueError(
            f"labs: got records of {labs.dtype.itemsize} bytes; allowed: those of a lab with these parameters, "
            f"of {lab_dtype(params).itemsize}"
        )
    notebooks = np.zeros(labs.shape, labs.dtype)
    for name in labs.dtype.names or ():
        notebooks[name] = HIDDEN[name][0] if name in HIDDEN else labs[name]
    return notebooks


def with_drawn_truth(notebooks: NDArray[Any], params: LabParams, rng: np.random.Generator) -> NDArray[Any]:
    """Return a copy of notebooks, shape ``(n,)``, each with a world drawn from its belief and a key of its own."""
    worlds = notebooks.copy()
    uniforms = rng.random((len(worlds), truth_uniforms(params)))
    worlds["key"] = rng.integers(1, 2**64, len(worlds), dtype=np.uint64)
    _draw_truths(worlds, held_tables(params), uniforms)
    return worlds


def truth_uniforms(params: LabParams) -> int:
    """Return the number of uniforms that a drawn world takes: one for the instrument, one a compound, one a verb."""
    return 1 + len(params.assay.compounds) + len(Verb)


@compiled
def _draw_truths(worlds, held, uniforms):  # type: ignore[no-untyped-def]
    for i in range(worlds.shape[0]):
        draw_truth(worlds[i], held[0], uniforms[i])


@compiled
def draw_truth(lab, tables, uniforms):  # type: ignore[no-untyped-def]
    """Fill potency, instrument and fair costs from the belief; ``uniforms`` of shape ``(1 + M + V,)``."""
    n_compounds = lab.potency.shape[0]
    instrument = draw_class(lab.instrument_belief, uniforms[0])
    lab.instrument = instrument
    for m in range(n_compounds):
        lab.potency[m] = draw_class(lab.conditional[m, instrument], uniforms[1 + m])
    if tables.energy.enabled:
        for verb in range(lab.fair.shape[0]):
            lab.fair[verb] = believed_fair(lab.price[verb], verb, tables, uniforms[1 + n_compounds + verb])


@compiled
def believed_fair(price, verb, tables, uniform):  # type: ignore[no-untyped-def]
    """Return a fair cost given the price: the price itself where it equals its ratings, else a draw around them."""
    rules, base = tables.proposals, tables.base_price[verb]
    if not rules.enabled or tables.mispriceable[verb] == 0 or price == base:
        return price
    nearest = 1.0 / rules.fair_spread
    fair = base * (nearest + (rules.fair_spread - nearest) * uniform)
    if price > base:
        fair = min(fair, tables.energy.ceiling / rules.mispriced_low)
    return int(min(float(tables.energy.ceiling), max(float(tables.floor[verb]), fair)) + 0.5)

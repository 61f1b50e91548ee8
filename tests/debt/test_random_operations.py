"""The controller against the source document's formulas, written out again here, over random operations."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from solvent.debt import EpistemicController
from solvent.lab.params import LabParams, preset

OPERATIONS = 3_000
CALIBRATIONS = ("baseline", "calibration", "dmso")
OPEN_QUESTIONS = {"decay": 0.1, "accuracy": 0.3, "interest": 0.15, "interest_cap": 4.0}
"""What the document leaves open, switched on; its own answer is 0 each."""


class Books:
    """The document's debt: plain sums, no function of the project."""

    def __init__(self, decay=0.0, accuracy=0.0, interest=0.0, interest_cap=0.0):
        self.decay, self.accuracy = decay, accuracy
        self.interest, self.cap = interest, interest_cap
        self.debt, self.open = 0.0, {}

    def resolve(self, name, gain):
        claim = self.open.pop(name)
        self.debt += max(0.0, claim - gain)
        if gain >= claim:
            self.debt = max(0.0, self.debt - self.accuracy * claim)

    def calibrate(self, wells):
        if wells is not None:
            self.debt = max(0.0, self.debt - 0.045 * wells)

    def close_cycle(self):
        self.debt *= 1.0 - self.decay
        if self.debt < self.cap:
            self.debt = min(self.cap, self.debt * (1.0 + self.interest))

    def refused(self, template, base, budget, threshold):
        by_cost = base * (1 + 0.15 * self.debt) > budget
        by_threshold = self.debt > threshold and template not in CALIBRATIONS
        reason = "action_blocked" if by_threshold else "budget_exceeded" if by_cost else ""
        return (f"epistemic_debt_{reason}" if reason else ""), by_threshold, by_cost


def ask(controller, books, rng):
    """Ask about an action, often just at the budget or the threshold; return the reason of the refusal."""
    template = str(rng.choice(["screen", "dose_response", *CALIBRATIONS]))
    base = int(rng.integers(0, 100))
    inflated = base * (1 + 0.15 * books.debt)
    assert controller.get_inflated_cost(base) == pytest.approx(inflated, rel=1e-12)
    budget = max(0, math.ceil(inflated) + int(rng.integers(-1, 2))) if rng.random() < 0.5 else 384
    threshold, same = (2.0, 2.0) if rng.random() < 0.8 else (controller.get_total_debt(), books.debt)
    refuse, reason, context = controller.should_refuse_action(template, base, budget, threshold)
    if abs(inflated - budget) > 1e-6:  # whole wells are charged, and 1e-9 of one is a rounding error
        assert (reason, context["blocked_by_threshold"], context["blocked_by_cost"]) == books.refused(
            template, base, budget, same
        )
    assert refuse == bool(reason)
    assert context["inflated_cost_wells"] == pytest.approx(inflated, rel=1e-12)
    return reason


def operate(controller, books, rng, number):
    """Do the same at random to the controller and to the books; return what was done."""
    what = str(rng.choice(["claim", "claim", "resolve", "resolve", "calibrate", "cycle", "ask", "ask"]))
    if what == "claim":
        books.open[str(number)] = float(rng.choice([0.0, 0.25, 1.0, rng.uniform(0.0, 8.0)]))
        controller.claim_action(str(number), "exploration", books.open[str(number)])
    elif what == "resolve" and books.open:
        name = str(rng.choice(list(books.open)))
        gain = float(rng.choice([books.open[name], rng.uniform(-1.0, 4.0), books.open[name] + 0.5]))
        controller.resolve_action(name, gain)
        books.resolve(name, gain)
    elif what == "calibrate":
        wells = None if rng.random() < 0.3 else int(rng.integers(0, 40))
        controller.repay_by_calibration(wells)
        books.calibrate(wells)
    elif what == "cycle":
        assert controller.close_cycle() == controller.get_total_debt()
        books.close_cycle()
    elif what == "ask":
        return ask(controller, books, rng) or "may run"
    return what


@pytest.mark.parametrize("open_questions", [{}, OPEN_QUESTIONS], ids=["document", "open questions"])
@pytest.mark.parametrize("seed", range(2))
def test_over_random_operations_the_controller_keeps_the_documents_books(seed, open_questions, tmp_path):
    rng = np.random.default_rng(seed)
    debt = {name: value for name, value in open_questions.items() if name.startswith("interest")}
    shares = {name: value for name, value in open_questions.items() if name not in debt}
    params = LabParams.from_mapping({"debt": debt}, base=preset("document"))
    controller, books, done = EpistemicController(params, **shares), Books(**open_questions), Counter()
    for number in range(OPERATIONS):
        done[operate(controller, books, rng, number)] += 1
        assert controller.get_total_debt() == pytest.approx(books.debt, rel=1e-9, abs=1e-9)
        if rng.random() < 0.01:  # another process
            controller.save(tmp_path / "debt.json")
            controller = EpistemicController.load(tmp_path / "debt.json", params, **shares)
        if books.debt > 12.0:  # a new run: at high debt nothing but the threshold would be met
            controller, books = EpistemicController(params, **shares), Books(**open_questions)
    assert min(done.values()) > 40, done
    assert done.keys() >= {"may run", "epistemic_debt_action_blocked", "epistemic_debt_budget_exceeded"}

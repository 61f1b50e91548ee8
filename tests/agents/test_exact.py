"""The exact solution: by hand, by its equation, and by playing it."""

import json

import numpy as np
import pytest

from solvent.lab.actions import action_table
from solvent.lab.mechanisms.assay import bin_probabilities, viability
from solvent.lab.mechanisms.publication import asserted_bits, log_score
from solvent.lab.params import LabParams, preset
from solvent.lab.settings import ParamError
from solvent_agents import episodes
from solvent_agents.exact.exact import Exact, graph_of, known_optimum, load_graph
from solvent_agents.exact.process import solve
from solvent_agents.scripts.honest import Honest
from tests.labs import WITHOUT_INTEREST

TINY = preset("tiny")
# Two classes, one instrument, no noise to speak of: one plate tells all.
CLEAR = {
    "assay": {
        "compounds": ["nocodazole"],
        "potency_classes": 2,
        "gains": [1.0],
        "plate_sds": [0.0],
        "lowest_ec50": 1e-8,
        "bins": 2,
        "bin_low": 0.0,
        "bin_high": 1.0,
    },
    "plates": {
        "dmso": {"readouts": 1},
        "baseline": {"readouts": 1},
        "calibration": {"readouts": 1},
        "screen": {"doses": [1e-6], "replicates": 16},
        "dose_response": {"doses": [1e-6], "replicates": 16},
    },
    "vocabulary": {"claims": [0.0, 0.5, 1.0], "confidences": [0.75, 0.95]},
    "budget": {"wells": 200, "heartbeats": 3},
}


def lab(base=CLEAR, **changes):
    """Under rules that can be worked by hand."""
    merged = {group: {**base.get(group, {}), **changes.get(group, {})} for group in {*base, *changes}}
    return LabParams.from_mapping(merged, base=WITHOUT_INTEREST)


def optimum(params):
    return solve(params).optimum


@pytest.fixture(scope="module")
def small():
    """Tiny with three heartbeats: everything, in a second."""
    params = TINY.replace(budget=TINY.budget.replace(heartbeats=3))
    return solve(params)


# -- by hand -------------------------------------------------------------------------------------


def test_by_hand_one_plate_tells_all():
    """Screen claiming 1 bit, gain 1 bit, licence 1 bit; assert 0.71 bits of it at 0.95 and be right: log2(0.95 * 2)."""
    right = np.log2(0.95 * 2)
    assert optimum(lab(budget={"heartbeats": 1})) == 0.0  # nothing can be published without a plate
    assert optimum(lab(budget={"heartbeats": 2})) == pytest.approx(right, abs=1e-9)
    two = {"compounds": ["nocodazole", "etoposide"]}
    assert optimum(lab(assay=two, budget={"heartbeats": 3})) == pytest.approx(right, abs=1e-9)
    assert optimum(lab(assay=two, budget={"heartbeats": 4})) == pytest.approx(2 * right, abs=1e-9)


def test_by_hand_claims_buy_licence():
    """Where nothing but 0 can be claimed nothing is licensed: all that is asserted is owed, and 0.75 is best."""
    silent = lab(vocabulary={"claims": [0.0], "confidences": [0.75, 0.95]}, budget={"heartbeats": 2})
    worth = [np.log2(2 * q) - asserted_bits(q, 0.5) for q in (0.75, 0.95)]
    assert worth[0] > worth[1]
    assert optimum(silent) == pytest.approx(worth[0], abs=1e-9)


def test_by_hand_a_noisy_plate():
    """Two heartbeats, one noisy plate: every plan written out with the likelihoods and the log score alone."""
    params = lab(
        assay={"plate_sds": [0.5]},
        vocabulary={"claims": [0.0, 0.1, 0.4], "confidences": [0.6, 0.9]},
        budget={"heartbeats": 2},
    )
    plans = []
    for template in (params.plates.screen, params.plates.dose_response):
        chances = bin_probabilities(
            params.assay, viability(params.assay, template.doses)[0], template.replicates
        )[0]
        for claim in params.vocabulary.claims:
            value = 0.0
            for at in range(params.assay.bins):
                chance = chances[:, at].mean()
                posterior = chances[:, at] / chances[:, at].sum()
                gain = 1.0 + sum(p * np.log2(p) for p in posterior)
                debt, licence = max(0.0, claim - gain), max(0.0, min(claim, gain))
                peak = posterior.max()
                options = [-debt]
                for q in params.vocabulary.confidences:
                    owed = debt + max(0.0, asserted_bits(q, 0.5) - licence)
                    paid = peak * log_score(q, 0.5, True) + (1 - peak) * log_score(q, 0.5, False)
                    options += [paid - owed, 0.5 * paid - owed]
                value += chance * max(options)
            plans.append(value)
    assert max(plans) > 0.05
    assert optimum(params) == pytest.approx(max(plans), abs=1e-6)  # beliefs are stored in 32 bits


def test_debt_can_be_repaid_before_it_is_settled():
    """A claim far too high, and one heartbeat left: a calibration takes what its two wells repay off the bill."""
    dear = lab(vocabulary={"claims": [0.5], "confidences": [0.95]}, assay={"plate_sds": [2.0]},
               budget={"heartbeats": 3})  # fmt: skip
    solution = solve(dear)
    layer = solution.layers[-1]
    owing = np.flatnonzero((layer.labs["debt"] > 0.25) & (layer.labs["experiments"][:, 0] > 0))
    worth = solution.action_values(layer)[owing]
    verbs = action_table(dear)["verb"]
    rest, dmso = (int(np.flatnonzero(verbs == verb)[0]) for verb in (0, 1))
    assert len(owing)
    repaid = dear.debt.repay_per_well * dear.plates.dmso.wells
    np.testing.assert_allclose(worth[:, dmso] - worth[:, rest], repaid, atol=1e-9)


# -- by its equation -----------------------------------------------------------------------------


def test_the_bellman_equation_holds_outcome_by_outcome(small):
    """Not by the sums that solved it: outcome by outcome, from the chances of every state and action."""
    n_actions = len(action_table(small.params))
    for layer in small.layers:
        worth, totals = np.zeros((2, len(layer.labs) * n_actions))
        for row, _, state, chance, reward in layer.outcomes.tolist():
            worth[row] += chance * (reward + (small.values[state] if state >= 0 else 0.0))
            totals[row] += chance
        best = worth.reshape(-1, n_actions).max(axis=1)
        assert np.abs(best - small.values[layer.states]).max() < 1e-9
        np.testing.assert_allclose(totals, 1.0, atol=1e-12)


# -- by playing it -------------------------------------------------------------------------------


def test_played_in_real_labs_it_earns_its_value(small):
    params = small.params
    returns = episodes(Exact(params, graph=graph_of(small)), params, range(20_000), batch=2000)["return"]
    assert abs(returns.mean() - small.optimum) < 3 * returns.std() / len(returns) ** 0.5


def test_the_shipped_solution_earns_its_value_and_more_than_a_script():
    seeds = range(10_000, 30_000)
    returns = episodes(Exact(TINY), TINY, seeds, batch=2000)["return"]
    error = returns.std() / len(returns) ** 0.5
    best = known_optimum(TINY)
    assert best is not None
    assert abs(returns.mean() - best) < 3 * error
    honest = episodes(Honest(TINY), TINY, seeds[:4000])["return"]
    assert honest.mean() < best - 3 * error


# -- files ---------------------------------------------------------------------------------------


def test_a_graph_comes_back_from_its_file(small, tmp_path):
    graph = graph_of(small)
    path = tmp_path / "policy.npz"
    path.write_bytes(graph.to_bytes())
    again = load_graph(path)
    assert again.params == small.params
    assert again.about == json.loads(json.dumps(graph.about))
    for name in ("actions", "sources", "codes", "targets"):
        np.testing.assert_array_equal(getattr(again, name), getattr(graph, name))


def test_other_labs_have_no_known_optimum():
    assert known_optimum(LabParams()) is None
    with pytest.raises(ParamError, match="exact has no solution for this lab; allowed: Solvent/Tiny-v0"):
        Exact(LabParams())


def test_a_lab_with_too_many_hypotheses_is_refused_before_they_are_listed(monkeypatch):
    monkeypatch.setattr("solvent_agents.exact.process.hypotheses", lambda _: pytest.fail("listed"))
    with pytest.raises(ParamError, match=r"^assay: got .* combinations of instrument and classes; allowed: "):
        solve(LabParams())


def test_a_lab_with_too_many_outcomes_is_refused_before_memory_is_asked_for():
    complete = lab(assay={"bins": 12}, plates={"calibration": {"readouts": 8}})
    with pytest.raises(
        ParamError, match=r"plates: got .* outcomes of the actions of one state; allowed: 5,000"
    ):
        solve(complete)

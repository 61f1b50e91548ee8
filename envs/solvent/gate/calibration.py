"""Calibration: thresholds from percentiles (the source's), or from a budget for false acceptance of negatives.

*Percentiles* (source: *Deterministic Policy Gates for Stochastic Systems*, "Adaptive Policy"): sort the gaps of N
claims and cut at ``tau_p = x[ceil(p N / 100)]``. The threshold then accepts p % of those same N claims *by
construction*: the source's table (P10 -> 10 % accepted) holds for any numbers, even random ones. So a sweep also tells
the share of held-out claims that a threshold accepts, learnt on one half and counted on the other.

*Budgets* (ours): take claims with mismatched evidence, ``random`` of another page and ``hard`` of the same page, and
choose the largest threshold with

    upper(m, N) = I^-1(0.95; m + 1, N - m) <= budget

where m of N negatives are accepted: the exact binomial upper bound. With 95 % confidence the rate on new pairs of the
same kind stays within the budget. What holds for one kind does not hold for the other, so each policy names its own.

*Oracle-relative*: energies up to ``mean + k sigma`` of the oracles' energies ("Gap > k sigma from oracle mean").

Known approximations: the bounds treat pairs as independent; splits go by group. Mismatched evidence may support a claim
by chance, and then counts as a false acceptance.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import chain, pairwise
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from solvent.gate.data import Sample, other_page, same_page, split_by_group
from solvent.gate.embedding import Embedder
from solvent.gate.energy import EXHAUSTED, RANK_R, TOP_K, Gap, GateError, energy_gap
from solvent.gate.policy import DECIMALS, SEVERITY, Policy, apply_adaptive_policy_gap, rounded

__all__ = [
    "CONFIDENCE", "PERCENTILES", "Item", "Measured", "adaptive_policies", "auroc", "budget_policies", "checklist",
    "control_threshold", "fewest_negatives", "gaps_of", "held_out", "label_of", "measured", "oracle_policy",
    "percentile_thresholds", "sample_sha256", "summary", "upper_bound",
]  # fmt: skip

PERCENTILES = (1.0, 5.0, 10.0, 20.0, 30.0)
"""The source's percentiles."""
CONFIDENCE = 0.95
"""Confidence that a budget holds."""
KINDS = {"random": "another page", "hard": "the same page"}
SPLITS = 100
_CHUNK = 256  # texts between two reports of progress

Floats: TypeAlias = NDArray[np.float64]
Progress: TypeAlias = Callable[[int, int], None]


class Measured(NamedTuple):
    """One claim, its numbers to 6 decimals.

    Attributes:
        sample: the claim.
        energy, oracle_energy, energy_gap: with its own evidence.
        random_gap: with the evidence of another group's claim.
        hard_gap: with other evidence of its page; None where there is none.
        cosine: of its nearest span.
    """

    sample: Sample
    energy: float
    oracle_energy: float
    energy_gap: float
    random_gap: float | None
    hard_gap: float | None
    cosine: float


def measured(
    samples: Sequence[Sample],
    embedder: Embedder,
    *,
    oracle: Literal["first", "medoid"] = "first",
    mismatched: bool = True,
    seed: int = 0,
    on_progress: Progress = lambda *_: None,
) -> list[Measured]:
    """Measure claims with their own evidence and, if ``mismatched``, with evidence of other claims."""
    none = (None,) * len(samples)
    random: Sequence[Sample | None] = other_page(samples, seed) if mismatched else none
    hard: Sequence[Sample | None] = same_page(samples, seed) if mismatched else none
    texts = list(dict.fromkeys(chain.from_iterable((one.claim, *one.evidence) for one in samples)))
    vector_of: dict[str, Floats] = {}
    for at in range(0, len(texts), _CHUNK):
        some = texts[at : at + _CHUNK]
        vector_of.update(zip(some, embedder.encode(some), strict=True))
        on_progress(at + len(some), len(texts))

    def against(claim: str, evidence: Sequence[str]) -> Gap:
        spans = np.array([vector_of[text] for text in evidence])
        return energy_gap(vector_of[claim], spans, TOP_K, RANK_R, oracle)

    found = []
    for sample, other, near in zip(samples, random, hard, strict=True):
        own = against(sample.claim, sample.evidence)
        found.append(
            Measured(
                sample=sample,
                energy=rounded(own.claim.energy),
                oracle_energy=rounded(own.oracle_energy),
                energy_gap=rounded(own.energy_gap),
                random_gap=None
                if other is None
                else rounded(against(sample.claim, other.evidence).energy_gap),
                hard_gap=None if near is None else rounded(against(sample.claim, near.evidence).energy_gap),
                cosine=rounded(own.claim.scores[0]) if own.claim.scores else 0.0,
            )
        )
    return found


# -- thresholds ----------------------------------------------------------------------------------


def percentile_thresholds(
    values: ArrayLike, percentiles: Sequence[float] = PERCENTILES
) -> dict[float, float]:
    """Return the threshold at each percentile, always one of ``values`` [n], to 6 decimals (the source's procedure)."""
    x = np.sort(_sample("values", values))
    for p in percentiles:
        if not 0.0 < p <= 100.0:
            raise GateError(f"percentiles: got {p!r}; allowed: above 0, up to 100")
    return {p: float(x[rank_of(p, len(x)) - 1]) for p in sorted(set(percentiles))}


def rank_of(percentile: float, count: int) -> int:
    """Return which of ``count`` sorted values is the threshold at a percentile, from 1."""
    # 0.07 * 100 is above 7; ranks must not depend on that.
    return max(math.ceil(percentile * count / 100.0 - 1e-9), 1)


def gaps_of(rows: Sequence[Measured], kind: str) -> list[float]:
    """Return the gaps of the claims that have mismatched evidence of a kind, ``random`` or ``hard``."""
    return [gap for row in rows if (gap := getattr(row, f"{kind}_gap")) is not None]


def held_out(
    rows: Sequence[Measured], percentiles: Sequence[float], seed: int
) -> dict[float, tuple[float, float, float]]:
    """Return, by percentile, mean and central 95 % of the share of one half that a threshold of the other accepts."""
    gaps, groups = np.array([row.energy_gap for row in rows]), [row.sample.group for row in rows]
    shares: dict[float, list[float]] = {p: [] for p in percentiles}
    if len(set(groups)) < 2:
        return {}
    for split in range(SPLITS):
        learn, report = split_by_group(groups, np.random.default_rng(seed + split))
        for p, tau in percentile_thresholds(gaps[learn], percentiles).items():
            shares[p].append(float((gaps[report] <= tau).mean()))
    return {
        p: (float(np.mean(s)), float(np.quantile(s, 0.025)), float(np.quantile(s, 0.975)))
        for p, s in shares.items()
    }


def summary(
    rows: Sequence[Measured], percentiles: Sequence[float] = PERCENTILES, seed: int = 0
) -> dict[str, dict[str, Any]]:
    """Return for ``P10`` and its like the threshold, the verdicts on the claims themselves, and the shares accepted.

    ``held_out`` is mean, low and high of ``held_out``; ``random`` and ``hard`` are (accepted, count) of the claims with
    mismatched evidence.
    """
    gaps = [row.energy_gap for row in rows]
    shares = held_out(rows, percentiles, seed)
    found = {}
    for p, tau in percentile_thresholds(gaps, percentiles).items():
        verdicts = Counter(apply_adaptive_policy_gap(gap, tau) for gap in gaps)
        others = {kind: gaps_of(rows, kind) for kind in KINDS}
        found[label_of("P", p)] = {
            "tau_accept": tau,
            "verdicts": {verdict: verdicts[verdict] for verdict in SEVERITY},
            "held_out": shares.get(p),
            **{kind: (sum(gap <= tau for gap in some), len(some)) for kind, some in others.items()},
        }
    return found


def upper_bound(successes: int, trials: int) -> float:
    """Return the exact one-sided 95 % upper bound of a rate; 1 if every trial is a success or there are none."""
    from scipy.special import betaincinv

    return (
        float(betaincinv(successes + 1, trials - successes, CONFIDENCE)) if 0 <= successes < trials else 1.0
    )


def fewest_negatives(budget: float) -> int:
    """Return the number of negatives that a budget needs if none of them passes."""
    if not 0.0 < budget < 1.0:
        raise GateError(f"budget: got {budget!r}; allowed: a number between 0 and 1")
    return math.ceil(math.log(1.0 - CONFIDENCE) / math.log1p(-budget))


def control_threshold(negatives: ArrayLike, budget: float) -> float:
    """Return the largest threshold that keeps accepted negatives within the budget, just below the next negative.

    Raises:
        GateError: the negatives are too few for the budget.
    """
    x, fewest = np.sort(_sample("negatives", negatives)), fewest_negatives(budget)
    if len(x) < fewest:
        raise GateError(
            f"negatives: got {len(x)}, too few for a budget of {budget:g}; allowed: {fewest} or more"
        )
    # The bound rises with the count, and at 0 of ``fewest`` it is within the budget.
    allowed = 0
    while allowed + 1 < len(x) and upper_bound(allowed + 1, len(x)) <= budget:
        allowed += 1
    return rounded(float(x[allowed]) - 10.0**-DECIMALS)


# -- policies ------------------------------------------------------------------------------------


def adaptive_policies(
    gaps: ArrayLike, percentiles: Sequence[float] = PERCENTILES, **about: Any
) -> list[Policy]:
    """Return ``adaptive.P<p>`` for each percentile of ``gaps``; ``about`` are further fields of ``Policy``."""
    sample = {"calibration_sha256": sample_sha256(gaps), "calibration_count": int(np.size(gaps))}
    return [
        Policy.model_validate(
            {"kind": "adaptive", "label": label_of("P", p), "tau_accept": tau} | sample | about
        )
        for p, tau in percentile_thresholds(gaps, percentiles).items()
    ]


def oracle_policy(oracle_energies: ArrayLike, k: float = 2.0, **about: Any) -> Policy:
    """Return a policy that accepts energies up to ``mean + k sigma`` of the oracles', reviews up to 1.25 k sigma."""
    x = _sample("oracle_energies", oracle_energies, least=2)
    if not (math.isfinite(k) and k > 0.0):
        raise GateError(f"k: got {k!r}; allowed: a number above 0")
    mean, reach = float(x.mean()), k * float(x.std(ddof=1))
    own = {
        "kind": "oracle",
        "label": label_of("k", k),
        "measure": "energy",
        "tau_accept": mean + reach,
        "tau_review": mean + 1.25 * reach,
        "calibration_sha256": sample_sha256(x),
        "calibration_count": len(x),
    }
    return Policy.model_validate(own | about)


def budget_policies(rows: Sequence[Measured], budget: float, seed: int, **about: Any) -> list[Policy]:
    """Return ``adaptive.FA5.random`` and ``adaptive.FA5.hard`` where there are enough negatives of the kind.

    Each is learnt on one half of the groups; its promise has the rate on the other, and that of the other kind.
    """
    found = []
    for kind, place in KINDS.items():
        pairs = [row for row in rows if getattr(row, f"{kind}_gap") is not None]
        gaps = np.array(gaps_of(pairs, kind))
        if len(pairs) < 2 * fewest_negatives(budget) or len({row.sample.group for row in pairs}) < 2:
            continue
        groups = [row.sample.group for row in pairs]
        learn, report = split_by_group(groups, np.random.default_rng(seed))
        if len(learn) < fewest_negatives(budget):  # a large group is on the other side
            continue
        tau = control_threshold(gaps[learn], budget)
        passed = int((gaps[report] <= tau).sum())
        (other,) = KINDS.keys() - {kind}
        others = gaps_of(rows, other)
        elsewhere = (
            f"{sum(gap <= tau for gap in others)} of {len(others)} pass" if others else "none was tried"
        )
        own = {
            "kind": "adaptive",
            "label": f"{label_of('FA', 100.0 * budget)}.{kind}",
            "tau_accept": tau,
            "calibration_sha256": sample_sha256(gaps[learn]),
            "calibration_count": len(learn),
            "promise": f"At most {budget:.1%} of claims with evidence of {place} pass ({CONFIDENCE:.0%} sure;"
            f" held out {passed} of {len(report)}). No promise for evidence of {KINDS[other]}: {elsewhere}.",
        }
        found.append(Policy.model_validate(own | about))
    return found


def label_of(prefix: str, number: float) -> str:
    """Return ``P10``, or ``P2_5``: dots separate the parts of a policy's name."""
    return f"{prefix}{number:g}".replace(".", "_")


def sample_sha256(values: ArrayLike) -> str:
    """Return the SHA-256 of a calibration set: its values to 6 decimals, sorted so that their order doesn't matter."""
    x = np.sort(_sample("values", values))
    return hashlib.sha256("\n".join(f"{value:.{DECIMALS}f}" for value in x).encode("ascii")).hexdigest()


def _sample(where: str, values: ArrayLike, least: int = 1) -> Floats:
    x = np.asarray(values, dtype=np.float64)
    if x.ndim != 1 or len(x) < least or not np.isfinite(x).all():
        raise GateError(f"{where}: allowed: {least} or more finite numbers in one row")
    return np.round(x, DECIMALS) + 0.0


# -- the source's checklist, and how well the energy separates -----------------------------------


class Item(NamedTuple):
    """An item of the source's "Empirical Validation Checklist", with what was measured and a note on its worth."""

    name: str
    passed: bool
    found: str
    required: str
    note: str


def checklist(rows: Sequence[Measured], embedder: Embedder | None = None) -> list[Item]:
    """Return the five items for measured claims; with ``embedder`` determinism is measured from the text."""
    gaps = np.array([row.energy_gap for row in rows])
    taus = percentile_thresholds(gaps)
    rates = [float((gaps <= tau).mean()) for tau in taus.values()]
    verdicts = [apply_adaptive_policy_gap(gap, taus[30.0]) for gap in gaps]
    rejected = verdicts.count("reject") / len(gaps)
    sane = float(np.mean([row.oracle_energy < EXHAUSTED for row in rows]))
    trivial = float(np.mean([len(row.sample.evidence) <= RANK_R for row in rows]))
    different, how = _runs(rows, taus, embedder)
    return [
        Item(
            "monotonicity",
            all(a < b for a, b in pairwise(rates)),
            "accepted " + ", ".join(f"{rate:.1%}" for rate in rates),
            "P1 < P5 < P10 < P20 < P30",
            "by construction, but for ties and fewer than 100 claims",
        ),
        Item(
            "non-collapse",
            rejected >= 0.6,
            f"P30 rejects {rejected:.1%}",
            "at least 60%",
            f"the verdict reject; not accepted, review included: {1.0 - rates[-1]:.1%}, by construction",
        ),
        Item(
            "stability",
            len(gaps) >= 100 and float(gaps.var()) < 0.05,
            f"variance {gaps.var():.4f} of {len(gaps)}",
            "below 0.05 across 100 samples",
            "fewer than 100 claims show nothing" if len(gaps) < 100 else "",
        ),
        Item(
            "oracle sanity",
            sane >= 0.95,
            f"below {EXHAUSTED:g} in {sane:.1%}",
            "in 95% of the samples",
            f"0 by construction in {trivial:.1%}, which have no more spans than directions",
        ),
        Item("determinism", different == 1, f"{different} different outputs", "1 in 100 runs", how),
    ]


def _runs(
    rows: Sequence[Measured], taus: Mapping[float, float], embedder: Embedder | None
) -> tuple[int, str]:
    """Return the number of distinct outputs of 100 runs, with the claims in another order each time, and how."""
    gaps = [row.energy_gap for row in rows]
    rng, outputs = np.random.default_rng(0), set()
    for _ in range(100):
        order = rng.permutation(len(rows))
        learnt = percentile_thresholds([gaps[i] for i in order], list(taus))
        decided = {int(i): apply_adaptive_policy_gap(gaps[i], learnt[30.0]) for i in order}
        outputs.add((tuple(learnt.items()), tuple(sorted(decided.items()))))
    if embedder is None:
        return len(outputs), "thresholds and decisions from the measured gaps"
    order = rng.permutation(len(rows))
    again = measured([rows[i].sample for i in order], embedder, mismatched=False)
    moved = sum(again[at].energy != rows[i].energy for at, i in enumerate(order))
    return len(outputs) + bool(moved), f"and every text embedded anew in another order: {moved} claims moved"


def auroc(
    rows: Sequence[Measured], *, resamples: int = 1000, seed: int = 0
) -> dict[tuple[str, str], tuple[float, float, float]]:
    """Return (kind of others, measure) -> AUROC of supported claims against them, with a 95 % bootstrap interval.

    The others are claims labelled ``refuted`` or ``nei``, and supported claims with the evidence of another page
    (``random``) or of the same page (``hard``). Measures are the ``energy`` gap, and the ``cosine`` of the nearest
    span. Draws go by group. 0.5 is chance.
    """
    from sklearn.metrics import roc_auc_score

    supported = [row for row in rows if row.sample.label in ("supported", None)]
    cases: dict[tuple[str, str], list[tuple[str, bool, float]]] = {}
    for kind in ("refuted", "nei"):
        chosen = [(row, False) for row in supported]
        chosen += [(row, True) for row in rows if row.sample.label == kind]
        cases[kind, "energy"] = [(row.sample.group, other, row.energy_gap) for row, other in chosen]
        cases[kind, "cosine"] = [(row.sample.group, other, -row.cosine) for row, other in chosen]
    for kind in KINDS:
        pairs = [(row, gap) for row in supported if (gap := getattr(row, f"{kind}_gap")) is not None]
        cases[kind, "energy"] = [(row.sample.group, False, row.energy_gap) for row, _ in pairs]
        cases[kind, "energy"] += [(row.sample.group, True, gap) for row, gap in pairs]
    found = {}
    rng = np.random.default_rng(seed)
    for key, case in cases.items():
        truth, score = np.array([other for _, other, _ in case]), np.array([value for *_, value in case])
        if len(np.unique(truth)) < 2:
            continue
        members: dict[str, list[int]] = {}
        for i, (group, *_) in enumerate(case):
            members.setdefault(group, []).append(i)
        groups, drawn = list(members.values()), []
        for _ in range(resamples):
            chosen_rows = np.concatenate([groups[i] for i in rng.integers(len(groups), size=len(groups))])
            if 0 < truth[chosen_rows].sum() < len(chosen_rows):
                drawn.append(roc_auc_score(truth[chosen_rows], score[chosen_rows]))
        low, high = np.quantile(drawn, (0.025, 0.975))
        found[key] = (float(roc_auc_score(truth, score)), float(low), float(high))
    return found

"""The verity gate: how much of a claim its evidence explains, and a deterministic policy on that. Not a truth detector.

    from solvent.gate import FIXED, SentenceEmbedder, evaluate_text

    embedder = SentenceEmbedder()
    result = evaluate_text("The compound kills cells at 30 nM.", spans, embedder, FIXED["standard"])
    result["verdict"], result["hallucination_energy"], result["reasons"]

Three layers: ``embedding`` (texts to vectors), ``measurement`` (vectors to energies), ``policy`` (numbers to a
verdict); beside them ``checks`` on the words, which can only make a verdict more severe, and ``calibration``, where
thresholds come from. Playing needs no model: importing this loads neither torch nor a model.

Source: *Deterministic Policy Gates for Stochastic Systems*.
"""

from solvent.gate.backends import (
    Backend,
    ChecksBackend,
    CosineBackend,
    GapBackend,
    RememberingEmbedder,
    ResidualBackend,
    SpanCountBackend,
    TfidfBackend,
)
from solvent.gate.calibration import (
    PERCENTILES,
    NegativeControl,
    Rate,
    acceptance,
    adaptive_policies,
    clopper_pearson,
    control_threshold,
    held_out_rates,
    negative_control,
    oracle_policy,
    percentile_thresholds,
    sample_sha256,
    upper_bound,
)
from solvent.gate.checklist import Item, Runs, run_checklist, runs_from_text
from solvent.gate.checks import CheckResult, downgraded, run_checks
from solvent.gate.combined import CombinedBackend, Weights, train_weights
from solvent.gate.datasets import Dataset, Sample, deranged, halves, load_dataset
from solvent.gate.embedding import Embedder, SentenceEmbedder
from solvent.gate.errors import GateError, ModelMissingError
from solvent.gate.evaluation import Auroc, Comparison, Evaluation, auroc, aurocs, evaluate_backends
from solvent.gate.failures import FAILURE_MODES, FailureMode, failure_modes
from solvent.gate.measurement import (
    ENERGY_DECIMALS,
    EPS,
    RANK_R,
    TOP_K,
    EnergyResult,
    GapResult,
    batch_energies,
    gram_energy,
    hallucination_energy,
    oracle_gap,
    oracle_gap_gram,
)
from solvent.gate.pairs import derange, hardest, split_by_group
from solvent.gate.policy import FIXED, Policy, Verdict, apply_adaptive_policy_gap, review_limit
from solvent.gate.policy_files import load_policies, save_policies
from solvent.gate.sweep import Measured, Sweep, measured, run_sweep, sweep_from_json
from solvent.gate.vectors import checked_vectors
from solvent.gate.verdict import evaluate_claim, evaluate_gram, evaluate_text

__all__ = [
    "ENERGY_DECIMALS",
    "EPS",
    "FAILURE_MODES",
    "FIXED",
    "PERCENTILES",
    "RANK_R",
    "TOP_K",
    "Auroc",
    "Backend",
    "CheckResult",
    "ChecksBackend",
    "CombinedBackend",
    "Comparison",
    "CosineBackend",
    "Dataset",
    "Embedder",
    "EnergyResult",
    "Evaluation",
    "FailureMode",
    "GapBackend",
    "GapResult",
    "GateError",
    "Item",
    "Measured",
    "ModelMissingError",
    "NegativeControl",
    "Policy",
    "Rate",
    "RememberingEmbedder",
    "ResidualBackend",
    "Runs",
    "Sample",
    "SentenceEmbedder",
    "SpanCountBackend",
    "Sweep",
    "TfidfBackend",
    "Verdict",
    "Weights",
    "acceptance",
    "adaptive_policies",
    "apply_adaptive_policy_gap",
    "auroc",
    "aurocs",
    "batch_energies",
    "checked_vectors",
    "clopper_pearson",
    "control_threshold",
    "derange",
    "deranged",
    "downgraded",
    "evaluate_backends",
    "evaluate_claim",
    "evaluate_gram",
    "evaluate_text",
    "failure_modes",
    "gram_energy",
    "hallucination_energy",
    "halves",
    "hardest",
    "held_out_rates",
    "load_dataset",
    "load_policies",
    "measured",
    "negative_control",
    "oracle_gap",
    "oracle_gap_gram",
    "oracle_policy",
    "percentile_thresholds",
    "review_limit",
    "run_checklist",
    "run_checks",
    "run_sweep",
    "runs_from_text",
    "sample_sha256",
    "save_policies",
    "split_by_group",
    "sweep_from_json",
    "train_weights",
    "upper_bound",
]

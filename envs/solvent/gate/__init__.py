"""The verity gate: measure how much of a claim its evidence explains, and turn the result into a verdict.

    from solvent.gate import FIXED, SentenceEmbedder, evaluate_text

    embedder = SentenceEmbedder()
    spans = ["The mill was built in 1890.", "It burned down in 1912."]
    result = evaluate_text("The mill was built in 1890.", spans, embedder, FIXED["standard"])
    print(result["verdict"])  # accept
    result = evaluate_text("The bakery sells rye bread.", spans, embedder, FIXED["standard"])
    print(result["verdict"], result["hallucination_energy"], result["reasons"])  # reject ...

The gate evaluates verifiability, not truth. It has three layers: ``embedding`` (texts to vectors), ``energy`` (vectors
to energies) and ``policy`` (energies to a verdict). ``checks`` read the words and can only make a verdict more severe.
``calibration`` learns thresholds, ``reviews`` keeps what people decide. Importing the package loads neither torch nor a
model.

Source: *Deterministic Policy Gates for Stochastic Systems*.
"""

from solvent.gate.calibration import Measured, control_threshold, measured, percentile_thresholds
from solvent.gate.data import Sample, load_dataset
from solvent.gate.embedding import SentenceEmbedder
from solvent.gate.energy import GateError, energy_gap, hallucination_energy
from solvent.gate.gate import evaluate_claim, evaluate_text
from solvent.gate.policy import FIXED, Policy, apply_adaptive_policy_gap, load_policies

__all__ = [
    "FIXED", "GateError", "Measured", "Policy", "Sample", "SentenceEmbedder", "apply_adaptive_policy_gap",
    "control_threshold", "energy_gap", "evaluate_claim", "evaluate_text", "hallucination_energy", "load_dataset",
    "load_policies", "measured", "percentile_thresholds",
]  # fmt: skip

"""The verity gate: measure how much of a claim its evidence explains, and turn the result into a verdict.

    from solvent.gate import FIXED, SentenceEmbedder, evaluate_text

    embedder = SentenceEmbedder()
    spans = ["The mill was built in 1890.", "It burned down in 1912."]
    result = evaluate_text("The mill was built in 1890.", spans, embedder, FIXED["standard"])
    print(result["verdict"])  # accept
    result = evaluate_text("The bakery sells rye bread.", spans, embedder, FIXED["standard"])
    print(result["verdict"], result["hallucination_energy"], result["reasons"])  # reject ...

The gate evaluates verifiability, not truth. It has three layers: ``embedding`` (texts to vectors), ``measurement``
(vectors to energies) and ``policy`` (energies to a verdict). ``checks`` read the words and can only make a verdict
more severe. ``calibration`` and ``sweep`` learn thresholds; ``checklist`` and ``evaluation`` test them. Importing the
package loads neither torch nor a model.

Source: *Deterministic Policy Gates for Stochastic Systems*.
"""

from solvent.gate.embedding import SentenceEmbedder
from solvent.gate.errors import GateError
from solvent.gate.measurement import hallucination_energy, oracle_gap
from solvent.gate.policy import FIXED, Policy, apply_adaptive_policy_gap
from solvent.gate.policy_files import load_policies, save_policies
from solvent.gate.verdict import Context, evaluate_claim, evaluate_text

__all__ = [
    "FIXED",
    "Context",
    "GateError",
    "Policy",
    "SentenceEmbedder",
    "apply_adaptive_policy_gap",
    "evaluate_claim",
    "evaluate_text",
    "hallucination_energy",
    "load_policies",
    "oracle_gap",
    "save_policies",
]

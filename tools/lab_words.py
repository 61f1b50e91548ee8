"""Measure the lab's words once with the real instruments: ``python -m tools.lab_words``.

It writes both files ``measured.npz`` of ``solvent.lab.words``, after a change of ``catalogue.toml``, compounds, classes
or doses.

Only this module knows both the lab and every instrument. It embeds each sentence of the catalogue, reads each finding
against logs of several lengths with the adequacy heuristic, and learns the gate's policies on the lab's domain.

The domain sample holds every claim that the language can make about a page. Pages are drawn from the assay: a class,
an instrument, one to five plates of one lot, the exact posterior and the resulting fit. Each page is paired with all
findings about its compound, in every class and wording. ``adaptive.P20`` therefore accepts the 20 % of claims that
their pages explain best. Thresholds are learnt on one half of the pages; ``acceptance_by_kind`` reports on the other.

Known approximations: in play a page's plates can come from several lots, and more than ``LOGGED`` looks count as
``LOGGED``. The logs are of screens, with one reading each; a test on played episodes checks that the rule is the same
for all kinds and readings.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from solvent.adequacy import calls_of, score
from solvent.gate.calibration import adaptive_policies
from solvent.gate.embedding import Embedder, SentenceEmbedder
from solvent.gate.energy import CUT
from solvent.lab.draws import fixed_points
from solvent.lab.mechanisms.adequacy import LOGGED, RULES
from solvent.lab.mechanisms.assay import bin_probabilities, viability
from solvent.lab.mechanisms.gate import GATE_POLICIES, GOOD, PRECISE, ROUGH, strength_at
from solvent.lab.params import LabParams, preset
from solvent.lab.verbs import Verb
from solvent.lab.words.measured import (
    MOST_SPANS,
    READOUTS,
    SHIPPED,
    LevelPolicy,
    Measured,
    rounded,
    save_measured,
)
from solvent.lab.words.rows import WORDINGS, finding_row, page_rows
from solvent.lab.words.sentences import CATALOGUE, LabSentences, sentences_of
from solvent_experiments.console import suggest
from solvent_experiments.table import Table, show_table
from tools.tool_log import Plate, tool_calls

__all__ = [
    "KINDS", "Claimed", "Page", "acceptance_by_kind", "domain_pages", "domain_sample",
    "gram_energy", "lab_vectors", "learn_policies", "measure", "rules_on_findings",
]  # fmt: skip

Floats = NDArray[np.float64]

DOMAIN = "solvent.lab"
PAGES = 1024
MOST_PLATES = 5
KINDS = ("right", "premature", "wrong", "off_compound")
"""Kinds of claims: as the page says; worded stronger than its fit; of another class; of another compound's page."""
WRONG, OFF_COMPOUND = KINDS.index("wrong"), KINDS.index("off_compound")
LIBRARIES = ("sentence-transformers", "transformers", "tokenizers", "torch")

# -- the command ---------------------------------------------------------------------------------


def main() -> None:
    """Measure the sentences of the levels, write the package's files, and show what the policies accept."""
    about = "Measure the lab's sentences with the embedding model and the heuristic, for the lab to look up."
    argparse.ArgumentParser(prog="python -m tools.lab_words", description=about).parse_args()
    embedder = SentenceEmbedder()
    for level, path in zip(("gate", "tiny"), SHIPPED, strict=True):
        measured = measure(preset(level), embedder)
        save_measured(path, measured)
        held_out = measured.about["domain"]["held_out"]
        rows = [
            (
                name,
                *(f"{100 * share['accept']:.1f} + {100 * share['review']:.1f}" for share in kinds.values()),
            )
            for name, kinds in held_out.items()
        ]
        title = f"{level}: accepted, and reviewed, of claims about held-out pages, %"
        show_table(Table(("policy", *next(iter(held_out.values()))), tuple(rows), title=title))
    suggest("`pytest tests/gate/test_build.py` checks what was written.")


# -- the measurements ----------------------------------------------------------------------------


def measure(params: LabParams, embedder: SentenceEmbedder) -> Measured:
    """Measure the lab's words with the real instruments."""
    words = sentences_of(params)
    vectors = lab_vectors(words, embedder)
    rules, negatives = rules_on_findings(params, words)
    about = {
        **{name: getattr(params.assay, name) for name in (*READOUTS, "potency_classes")},
        "compounds": list(params.assay.compounds),
        "doses": list(params.doses),
        "catalogue_sha256": hashlib.sha256(CATALOGUE.read_bytes()).hexdigest(),
        "model": embedder.name,
        "model_package": embedder.package,
        "model_sha256": embedder.fingerprint,
        "dimension": embedder.dimension,
        "libraries": {name: version(name) for name in LIBRARIES},
    }
    measured = rounded(Measured(vectors @ vectors.transpose(0, 2, 1), rules, negatives, about))
    sample = domain_sample(params, measured, domain_pages(params, PAGES), vectors)
    policies = learn_policies(sample, embedder.name, embedder.fingerprint)
    about["policies"] = [list(policy) for policy in policies]
    about["domain"] = {
        "pages": PAGES,
        "claims": int((sample.kind != OFF_COMPOUND).sum()),
        "thresholds": {policy.name: [policy.tau_accept, policy.tau_review] for policy in policies},
        "held_out": acceptance_by_kind(sample, policies),
    }
    return measured


def lab_vectors(words: LabSentences, embedder: Embedder) -> Floats:
    """Return every sentence as a unit vector, shape ``(M, T, d)``."""
    texts = zip(words.spans, words.findings, strict=True)
    return np.stack([embedder.encode([*spans, *findings]) for spans, findings in texts])


def rules_on_findings(params: LabParams, words: LabSentences) -> tuple[NDArray[np.int8], NDArray[np.uint8]]:
    """Return the rule that fires on each finding, by looks in the log, and a flag for absences stated as facts.

    Shapes ``(M, findings, LOGGED + 1)``, indices of ``RULES``, and ``(M, findings)``.
    """
    n, findings = len(words.findings), len(words.findings[0])
    doses = params.plates.screen.doses
    plate = Plate(Verb.SCREEN, (params.assay.bins // 2,) * len(doses), 0, 0)  # middle bins, a weak fit
    rules, negatives = np.zeros((n, findings, LOGGED + 1), np.int8), np.zeros((n, findings), np.uint8)
    for compound, looks in itertools.product(range(n), range(LOGGED + 1)):
        calls = calls_of(tool_calls(params, words, compound, [plate] * looks))
        for finding, sentence in enumerate(words.findings[compound]):
            scored = score(sentence, calls)
            rules[compound, finding, looks] = RULES.index(scored.rule)
            negatives[compound, finding] = scored.strong_negative
    return rules, negatives


# -- the domain ----------------------------------------------------------------------------------


class Page(NamedTuple):
    """The page of a compound: the bin at each dose (-1 for none), and strength and class of the latest fit."""

    readouts: list[int]
    strength: int
    named: int


def domain_pages(params: LabParams, n: int) -> list[Page]:
    """Return ``n`` pages of the assay; deterministic."""
    assay = params.assay
    templates = [params.plates.screen, params.plates.dose_response]
    # p(bin | instrument, class) of each readout, shape (N, G, B)
    likelihoods = [
        [bin_probabilities(assay, row, template.replicates) for row in viability(assay, template.doses)]
        for template in templates
    ]
    most = max(template.readouts for template in templates)
    pages = []
    for u in fixed_points(n, 3 + MOST_PLATES * (1 + most)):
        truth = int(np.searchsorted(np.cumsum(assay.class_prior)[:-1], u[0], side="right"))
        instrument = int(u[1] * assay.instrument_states)
        joint = np.broadcast_to(np.array(assay.class_prior), (assay.instrument_states, assay.potency_classes))
        readouts = [-1] * len(params.doses)
        for plate in range(1 + int(u[2] * MOST_PLATES)):
            chosen = u[3 + plate * (1 + most) :][: 1 + most]
            kind = int(chosen[0] * len(templates))
            for r, likelihood in enumerate(likelihoods[kind]):
                cumulative = np.cumsum(likelihood[instrument, truth])[:-1]
                observed = int((chosen[1 + r] >= cumulative).sum())
                readouts[int(np.searchsorted(params.doses, templates[kind].doses[r]))] = observed
                joint = joint * likelihood[..., observed]
        marginal = joint.sum(axis=0) / joint.sum()
        named = int(marginal.argmax())
        strength = int(strength_at(marginal[named], ROUGH, GOOD, PRECISE))
        pages.append(Page(readouts, strength, named))
    return pages


class Claimed(NamedTuple):
    """The claims of a domain sample, one per row."""

    page: NDArray[np.int64]
    kind: NDArray[np.int64]  # of KINDS
    wording: NDArray[np.int64]
    energy: Floats


def gram_energy(cross: ArrayLike, gram: ArrayLike) -> float:
    """Return a claim's energy from inner products alone: ``cross`` [n] of spans and claim, ``gram`` [n, n] of spans.

    A page has at most ``MOST_SPANS`` spans, all counted. With ``G = U S^2 U^T`` the basis is ``V_r = E^T U_r / S_r``,
    so that ``explained = ||U_r^T x / S_r||^2``. The result agrees with ``hallucination_energy`` to 1e-6, because
    ``S^2`` has half of the digits of ``S``.
    """
    x, products = np.asarray(cross, dtype=np.float64), np.asarray(gram, dtype=np.float64)
    if not x.size:
        return 1.0
    order = np.argsort(-x, kind="stable")
    squares, left = np.linalg.eigh(products[np.ix_(order, order)])
    singular, left = np.sqrt(np.maximum(squares[::-1], 0.0)), left[:, ::-1]
    used = int((singular >= CUT * singular[0]).sum())
    coefficients = left[:, :used].T @ x[order] / singular[:used]
    return float(min(max(1.0 - coefficients @ coefficients, 0.0), 1.0))


def domain_sample(
    params: LabParams, measured: Measured, pages: Sequence[Page], vectors: Floats | None = None
) -> Claimed:
    """Return every claim about every page, with energies from ``gram_energy``.

    Consecutive pairs of pages, one to learn from and one to report on, take each compound in turn. With ``vectors``
    (``lab_vectors``) each page also meets findings about another compound, for the report only.
    """
    classes, n_doses, bins = params.assay.potency_classes, len(params.doses), params.assay.bins
    n_compounds = len(params.assay.compounds)
    rows = []
    for i, page in enumerate(pages):
        turn, compound = divmod(i // 2, n_compounds)
        spans = page_rows(*page, classes, bins)
        gram = measured.gram[compound]
        own = gram[np.ix_(spans, spans)]
        for wording, named in itertools.product(range(len(WORDINGS)), range(classes)):
            row = finding_row(n_doses * bins, wording, named, classes)
            kind = WRONG if named != page.named else int(wording >= page.strength)
            crosses = {kind: gram[row, spans]}
            if vectors is not None and kind != WRONG and n_compounds > 1:
                other = (compound + 1 + turn % (n_compounds - 1)) % n_compounds
                crosses[OFF_COMPOUND] = vectors[compound, spans] @ vectors[other, row]
            for kind, cross in crosses.items():
                rows.append((i, kind, wording, gram_energy(cross, own)))
    return Claimed(*map(np.array, zip(*rows, strict=True)))


def learn_policies(sample: Claimed, model: str, fingerprint: str) -> tuple[LevelPolicy, ...]:
    """Return the lab's adaptive policies, learnt on the even pages of a sample."""
    energies = sample.energy[(sample.page % 2 == 0) & (sample.kind != OFF_COMPOUND)]
    about: dict[str, Any] = {"domain": DOMAIN, "model": model, "model_fingerprint": fingerprint}
    about |= {"oracle": "first", "rank_r": MOST_SPANS}
    percentiles = [float(level.rpartition("P")[2]) for level in GATE_POLICIES]
    made = adaptive_policies(energies, percentiles, **about)
    return tuple(LevelPolicy(policy.name, policy.tau_accept, policy.tau_review) for policy in made)


def acceptance_by_kind(
    sample: Claimed, policies: Sequence[LevelPolicy]
) -> dict[str, dict[str, dict[str, float]]]:
    """Return policy -> kind -> verdict -> share, on odd pages."""
    report: dict[str, dict[str, dict[str, float]]] = {policy.name: {} for policy in policies}
    for policy, (k, kind) in itertools.product(policies, enumerate(KINDS)):
        energies = sample.energy[(sample.page % 2 == 1) & (sample.kind == k)]
        if len(energies):
            accepted = float((energies <= policy.tau_accept).mean())
            passed = float((energies <= policy.tau_review).mean())
            shares = {"accept": accepted, "review": passed - accepted, "reject": 1.0 - passed}
            report[policy.name][kind] = shares
    return report


if __name__ == "__main__":
    main()

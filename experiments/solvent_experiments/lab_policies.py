"""Building the lab's gate: embed every sentence of the catalogue once, and learn the policies of the lab's domain.

The domain sample is every claim that the language can make about a page. Pages are drawn from the assay itself: a
class, an instrument, one to five plates of one lot, the exact posterior and the fit that follows from it. Each page is
paired with all findings about its compound, in every class and wording, so ``adaptive.P20`` accepts the fifth of all
claims that their page leaves least unexplained. Thresholds are learnt on one half of the pages; ``acceptance_by_kind``
reports the other.

Known approximation: in play a page's plates can come from several lots.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from solvent.gate.calibration import percentile_thresholds, sample_sha256
from solvent.gate.embedding import Embedder
from solvent.gate.measurement import gram_energy
from solvent.gate.number_check import missing
from solvent.gate.policy import Policy
from solvent.lab.draws import fixed_points
from solvent.lab.mechanisms.assay import bin_probabilities, viability
from solvent.lab.mechanisms.gate import WORDINGS, finding_row, strength_at
from solvent.lab.params import DoseTemplate, GateParams, LabParams
from solvent.lab.words.catalogue import Catalogue, Page
from solvent.lab.words.measured import LEVELS, MOST_SPANS, LabTables, domain_of

__all__ = [
    "KINDS",
    "Claimed",
    "acceptance_by_kind",
    "build_lab_tables",
    "domain_pages",
    "domain_sample",
    "lab_vectors",
    "learn_policies",
]

Floats = NDArray[np.float64]

MOST_PLATES = 5
KINDS = ("right", "premature", "wrong", "off_compound")
"""What a claim is: as its page has it; worded stronger than its fit; of another class; of another compound's page."""
WRONG, OFF_COMPOUND = KINDS.index("wrong"), KINDS.index("off_compound")
LIBRARIES = ("sentence-transformers", "transformers", "tokenizers", "torch")


def lab_vectors(
    params: LabParams, catalogue: Catalogue, embedder: Embedder, tick: Callable[[], None] = lambda: None
) -> Floats:
    """Every sentence of every compound as a unit vector, shape ``(M, T, d)``; ``tick`` is called once a compound.

    Raises:
        GateError: the catalogue has no words for these parameters.
    """
    assay = params.assay
    vectors = []
    for name in assay.compounds:
        texts = [*catalogue.spans(assay, params.doses, name), *catalogue.findings(assay, name)]
        vectors.append(embedder.encode(texts))
        tick()
    return np.stack(vectors)


def build_lab_tables(
    params: LabParams,
    catalogue: Catalogue,
    embedder: Any,
    vectors: Floats | None = None,
    tick: Callable[[], None] = lambda: None,
) -> LabTables:
    """The lab's tables, measured with a real model.

    Args:
        params: whose compounds, doses, bins and classes.
        catalogue: the words.
        embedder: a ``SentenceEmbedder``.
        vectors: what ``lab_vectors`` gave, where it was called before.
        tick: called once a compound.

    Raises:
        GateError: the catalogue has no words for these parameters.
    """
    assay = params.assay
    if vectors is None:
        vectors = lab_vectors(params, catalogue, embedder)
    stands = []
    for name in assay.compounds:
        spans = catalogue.spans(assay, params.doses, name)
        findings = catalogue.findings(assay, name)
        stands.append([[not missing(finding, [span]) for span in spans] for finding in findings])
        tick()
    about = {
        "compounds": list(assay.compounds),
        "doses": list(params.doses),
        "bins": assay.bins,
        "bin_low": assay.bin_low,
        "bin_high": assay.bin_high,
        "lowest_ec50": assay.lowest_ec50,
        "ec50_step": assay.ec50_step,
        "potency_classes": assay.potency_classes,
        "catalogue_sha256": catalogue.sha256,
        "model": embedder.name,
        "model_package": embedder.package,
        "model_sha256": embedder.fingerprint,
        "dimension": embedder.dimension,
        "libraries": {name: version(name) for name in LIBRARIES},
    }
    return LabTables(vectors @ vectors.transpose(0, 2, 1), np.array(stands, np.uint8), about)


# -- the domain ----------------------------------------------------------------------------------


def domain_pages(params: LabParams, n: int) -> list[Page]:
    """``n`` pages of the assay, the same ones every time."""
    assay = params.assay
    templates = [params.plates.screen, params.plates.dose_response]
    most = max(template.readouts for template in templates)
    points = fixed_points(n, 3 + MOST_PLATES * (1 + most))
    pages = []
    for u in points:
        truth = int(np.searchsorted(np.cumsum(assay.class_prior)[:-1], u[0], side="right"))
        instrument = int(u[1] * assay.instrument_states)
        joint = np.broadcast_to(np.array(assay.class_prior), (assay.instrument_states, assay.potency_classes))
        readouts: dict[int, int] = {}
        for plate in range(1 + int(u[2] * MOST_PLATES)):
            chosen = u[3 + plate * (1 + most) :][: 1 + most]
            template = templates[int(chosen[0] * len(templates))]
            for r, likelihood in enumerate(_likelihoods(params, template)):
                cumulative = np.cumsum(likelihood[instrument, truth])[:-1]
                observed = int((chosen[1 + r] >= cumulative).sum())
                readouts[int(np.searchsorted(params.doses, template.doses[r]))] = observed
                joint = joint * likelihood[..., observed]
        marginal = joint.sum(axis=0) / joint.sum()
        named = int(marginal.argmax())
        pages.append(Page(tuple(readouts.items()), _strength(params.gate, marginal[named]), named))
    return pages


def _strength(gate: GateParams, peak: float) -> int:
    return int(strength_at(peak, gate.rough, gate.good, gate.precise))


def _likelihoods(params: LabParams, template: DoseTemplate) -> Sequence[Floats]:
    """p(bin | instrument, class) of each readout, shape ``(N, G, B)``."""
    return [
        bin_probabilities(params.assay, row, template.replicates)
        for row in viability(params.assay, template.doses)
    ]


class Claimed(NamedTuple):
    """The claims of a domain sample, one a row."""

    page: NDArray[np.int64]
    kind: NDArray[np.int64]  # of KINDS
    wording: NDArray[np.int64]
    energy: Floats
    number_missing: NDArray[np.bool_]


def domain_sample(
    params: LabParams, tables: LabTables, pages: Sequence[Page], vectors: Floats | None = None
) -> Claimed:
    """Every claim about every page; energies as ``gram_energy`` measures them.

    Two pages, one to learn from and one to report, are about each compound in turn.

    With ``vectors`` (``lab_vectors``) each page also meets what it says of another compound, for the report: policies
    are not learnt from that.
    """
    classes, n_doses, bins = params.assay.potency_classes, len(params.doses), params.assay.bins
    n_compounds = len(params.assay.compounds)
    rows = []
    for i, page in enumerate(pages):
        turn, compound = divmod(i // 2, n_compounds)
        spans = page.rows(n_doses, bins, classes)
        gram = tables.gram[compound]
        own = gram[np.ix_(spans, spans)]
        for wording, named in itertools.product(range(len(WORDINGS)), range(classes)):
            row = finding_row(n_doses * bins, wording, named, classes)
            energy = gram_energy(gram[row, spans], own, MOST_SPANS, MOST_SPANS).energy
            unsupported = not tables.stands[compound][row - tables.stands.shape[2], spans].any()
            kind = WRONG if named != page.named else int(wording >= page.strength)
            rows.append((i, kind, wording, energy, unsupported))
            if vectors is not None and named == page.named and n_compounds > 1:
                other = (compound + 1 + turn % (n_compounds - 1)) % n_compounds
                cross = vectors[compound, spans] @ vectors[other, row]
                energy = gram_energy(cross, own, MOST_SPANS, MOST_SPANS).energy
                rows.append((i, OFF_COMPOUND, wording, energy, unsupported))
    page_of, kind_of, wording_of, energies, missing_in = zip(*rows, strict=True)
    return Claimed(
        np.array(page_of), np.array(kind_of), np.array(wording_of), np.array(energies), np.array(missing_in)
    )


def learn_policies(sample: Claimed, tables: LabTables) -> tuple[Policy, ...]:
    """The lab's adaptive policies, learnt on the even pages of a sample."""
    energies = sample.energy[(sample.page % 2 == 0) & (sample.kind != OFF_COMPOUND)]
    percentiles = [float(level.rpartition("P")[2]) for level in LEVELS]
    thresholds = percentile_thresholds(energies, percentiles)
    return tuple(
        Policy.learnt(
            level.partition(".")[2],
            thresholds[p],
            domain=domain_of(tables),
            model=tables.about["model"],
            model_fingerprint=tables.about["model_sha256"],
            oracle="none",
            top_k=MOST_SPANS,
            rank_r=MOST_SPANS,
            calibration_sha256=sample_sha256(energies),
            calibration_count=len(energies),
        )
        for level, p in zip(LEVELS, percentiles, strict=True)
    )


def acceptance_by_kind(
    sample: Claimed, policies: Sequence[Policy], *, numbers: bool = True
) -> dict[str, dict[str, dict[str, float]]]:
    """Policy -> kind -> shares of ``accept``, ``review`` and ``reject``, on the odd pages of a sample.

    With ``numbers`` a claim whose number stands in no span is reviewed at best, as in the lab.
    """
    held_out = sample.page % 2 == 1
    report: dict[str, dict[str, dict[str, float]]] = {}
    for policy in policies:
        accept = sample.energy <= policy.tau_accept
        review = sample.energy <= policy.tau_review
        if numbers:
            accept = accept & ~sample.number_missing
        report[policy.name] = {}
        for k, kind in enumerate(KINDS):
            chosen = held_out & (sample.kind == k)
            if chosen.any():
                accepted, passed = float(accept[chosen].mean()), float(review[chosen].mean())
                report[policy.name][kind] = {
                    "accept": accepted,
                    "review": passed - accepted,
                    "reject": 1.0 - passed,
                }
    return report

"""``solvent gate build``: measure the lab's words once with the real instruments.

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

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from solvent.adequacy import calls_of, score
from solvent.gate.calibration import adaptive_policies
from solvent.gate.embedding import Embedder
from solvent.gate.energy import gram_energy
from solvent.lab.draws import fixed_points
from solvent.lab.mechanisms.adequacy import LOGGED, RULES
from solvent.lab.mechanisms.assay import DoseTemplate, bin_probabilities, viability
from solvent.lab.mechanisms.gate import GATE_POLICIES, GateParams, strength_at
from solvent.lab.names import LabSentences, LevelPolicy
from solvent.lab.params import LabParams
from solvent.lab.verbs import Verb
from solvent.lab.words.catalogue import CATALOGUE, Catalogue, Page, load_catalogue
from solvent.lab.words.measured import (
    MOST_SPANS,
    SHIPPED,
    Measured,
    load_measured,
    rounded,
    save_measured,
)
from solvent.lab.words.rows import WORDINGS, finding_row
from solvent.lab.words.sentences import lab_sentences
from solvent.lab.words.tool_log import Plate, tool_calls
from solvent_experiments.console import Progress, new_console, say
from solvent_experiments.instruments.terminal import show_table
from solvent_experiments.table import Table

__all__ = [
    "KINDS",
    "Claimed",
    "acceptance_by_kind",
    "build_words",
    "check_words",
    "domain_pages",
    "domain_report",
    "domain_sample",
    "lab_vectors",
    "learn_policies",
    "measure",
]

Floats = NDArray[np.float64]

DOMAIN = "solvent.lab"
PAGES = 1024
MOST_PLATES = 5
KINDS = ("right", "premature", "wrong", "off_compound")
"""Kinds of claims: as the page says; worded stronger than its fit; of another class; of another compound's page."""
WRONG, OFF_COMPOUND = KINDS.index("wrong"), KINDS.index("off_compound")
LIBRARIES = ("sentence-transformers", "transformers", "tokenizers", "torch")

TOLERANCE = 2e-6
"""Largest difference of inner products between machines, which sum float32 in different orders."""


# -- the command ---------------------------------------------------------------------------------


def build_words(params: LabParams, catalogue: Path | None, folder: Path, model: str | None) -> None:
    """Measure, then write the words and, last, the measurements into ``folder``."""
    measured = _measured(params, catalogue, model)
    words = (catalogue or CATALOGUE).read_bytes()
    folder.mkdir(parents=True, exist_ok=True)
    if (folder / CATALOGUE.name).resolve() != CATALOGUE.resolve():
        (folder / CATALOGUE.name).write_bytes(words)
    save_measured(folder / SHIPPED.name, measured)
    load_measured.cache_clear()
    show_table(acceptance_table(measured.about["domain"]))


def check_words(params: LabParams, catalogue: Path | None, folder: Path | None, model: str | None) -> bool:
    """Return True if ``folder`` (default: the package's) holds what a build would write now; print the differences."""
    kept = load_measured((SHIPPED.parent if folder is None else folder) / SHIPPED.name)
    fresh = _measured(params, catalogue, model)
    gap = float(np.abs(kept.gram - fresh.gram).max()) if kept.gram.shape == fresh.gram.shape else np.inf
    thresholds = [np.array([policy[1:] for policy in one.policies]) for one in (kept, fresh)]
    same = {
        "sentences": kept.about["catalogue_sha256"] == fresh.about["catalogue_sha256"],
        "model": kept.about["model_sha256"] == fresh.about["model_sha256"],
        f"inner products (furthest apart: {gap:.1e}, allowed: {TOLERANCE:.0e})": gap <= TOLERANCE,
        "words against looks": np.array_equal(kept.rules, fresh.rules)
        and np.array_equal(kept.negatives, fresh.negatives),
        "policies": np.abs(thresholds[0] - thresholds[1]).max() <= TOLERANCE,
    }
    for name, holds in same.items():
        say(f"{'same' if holds else 'differs'}  {name}")
    return all(same.values())


def _measured(params: LabParams, catalogue: Path | None, model: str | None) -> Measured:
    from solvent.gate.embedding import SentenceEmbedder

    words = load_catalogue(catalogue or CATALOGUE)
    with Progress(new_console(least=160)) as shown:
        done: Counter[str] = Counter()

        def tick(stage: str) -> None:
            done[stage] += 1
            compounds = len(params.assay.compounds)
            shown.update("words", done[stage] / compounds, f"{stage}, {done[stage]} of {compounds} compounds")

        embedder: Any = SentenceEmbedder(model)
        measured = measure(params, words, embedder, tick)
        shown.end("words", f"measured with {embedder.name} ({embedder.package})")
    return measured


def acceptance_table(report: dict[str, Any]) -> Table:
    """Return the shares of each kind of claim that each policy accepts and reviews on held-out pages."""
    kinds = list(next(iter(report["held_out"].values())))
    rows = []
    for name, (accept, _) in report["thresholds"].items():
        shares = [report["held_out"][name][kind] for kind in kinds]
        told = (f"{100 * share['accept']:.1f} + {100 * share['review']:.1f}" for share in shares)
        rows.append((name, f"{accept:.4f}", *told))
    return Table(
        ("policy", "accept up to", *kinds),
        tuple(rows),
        title="accepted, and reviewed, of the claims about held-out pages, %",
        caption="right: as its page has it; premature: stronger words than its fit; wrong: of another class; "
        "off_compound: of another compound",
    )


# -- the measurements ----------------------------------------------------------------------------


def measure(
    params: LabParams,
    catalogue: Catalogue,
    embedder: Any,
    tick: Callable[[str], None] = lambda _: None,
) -> Measured:
    """Measure the lab's words with the real instruments; call ``tick`` with the stage, once per compound."""
    words = lab_sentences(params, catalogue)
    vectors = lab_vectors(words, embedder, lambda: tick("embedding the sentences"))
    rules, negatives = rules_on_findings(params, words)
    measured = rounded(
        Measured(
            gram=vectors @ vectors.transpose(0, 2, 1),
            rules=rules,
            negatives=negatives,
            about=_description(params, catalogue, embedder),
        )
    )
    pages = domain_pages(params, PAGES)
    sample = domain_sample(params, measured, pages, vectors)
    policies = learn_policies(sample, embedder.name, embedder.fingerprint)
    measured.about["policies"] = [list(policy) for policy in policies]
    measured.about["domain"] = domain_report(sample, policies)
    return measured


def _description(params: LabParams, catalogue: Catalogue, embedder: Any) -> dict[str, Any]:
    assay = params.assay
    return {
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


def lab_vectors(words: LabSentences, embedder: Embedder, tick: Callable[[], None] = lambda: None) -> Floats:
    """Return every sentence as a unit vector, shape ``(M, T, d)``; call ``tick`` once per compound."""
    vectors = []
    for spans, findings in zip(words.spans, words.findings, strict=True):
        vectors.append(embedder.encode([*spans, *findings]))
        tick()
    return np.stack(vectors)


def rules_on_findings(params: LabParams, words: LabSentences) -> tuple[NDArray[np.int8], NDArray[np.uint8]]:
    """Return the rule that fires on each finding, by looks in the log, and a flag for absences stated as facts.

    Shapes ``(M, findings, LOGGED + 1)``, indices of ``RULES``, and ``(M, findings)``.
    """
    codes = {name: code for code, name in enumerate(RULES)}
    n, findings = len(words.findings), len(words.findings[0])
    doses = params.plates.screen.doses
    plate = Plate(Verb.SCREEN, (params.assay.bins // 2,) * len(doses), 0, 0)  # middle bins, a weak fit
    rules, negatives = np.zeros((n, findings, LOGGED + 1), np.int8), np.zeros((n, findings), np.uint8)
    for compound, looks in itertools.product(range(n), range(LOGGED + 1)):
        calls = calls_of(tool_calls(params, words, compound, [plate] * looks))
        for finding, sentence in enumerate(words.findings[compound]):
            scored = score(sentence, calls)
            rules[compound, finding, looks] = codes[scored.rule]
            negatives[compound, finding] = scored.strong_negative
    return rules, negatives


# -- the domain ----------------------------------------------------------------------------------


def domain_pages(params: LabParams, n: int) -> list[Page]:
    """Return ``n`` pages of the assay; deterministic."""
    assay = params.assay
    templates = [params.plates.screen, params.plates.dose_response]
    likelihoods = [_likelihoods(params, template) for template in templates]
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
            kind = int(chosen[0] * len(templates))
            for r, likelihood in enumerate(likelihoods[kind]):
                cumulative = np.cumsum(likelihood[instrument, truth])[:-1]
                observed = int((chosen[1 + r] >= cumulative).sum())
                readouts[int(np.searchsorted(params.doses, templates[kind].doses[r]))] = observed
                joint = joint * likelihood[..., observed]
        marginal = joint.sum(axis=0) / joint.sum()
        named = int(marginal.argmax())
        pages.append(Page(tuple(readouts.items()), _strength(params.gate, marginal[named]), named))
    return pages


def _strength(gate: GateParams, peak: float) -> int:
    return int(strength_at(peak, gate.rough, gate.good, gate.precise))


def _likelihoods(params: LabParams, template: DoseTemplate) -> Sequence[Floats]:
    """Return p(bin | instrument, class) of each readout, shape ``(N, G, B)``."""
    return [
        bin_probabilities(params.assay, row, template.replicates)
        for row in viability(params.assay, template.doses)
    ]


class Claimed(NamedTuple):
    """The claims of a domain sample, one per row."""

    page: NDArray[np.int64]
    kind: NDArray[np.int64]  # of KINDS
    wording: NDArray[np.int64]
    energy: Floats


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
        spans = page.rows(n_doses, bins, classes)
        gram = measured.gram[compound]
        own = gram[np.ix_(spans, spans)]
        for wording, named in itertools.product(range(len(WORDINGS)), range(classes)):
            row = finding_row(n_doses * bins, wording, named, classes)
            energy = gram_energy(gram[row, spans], own, MOST_SPANS, MOST_SPANS)
            kind = WRONG if named != page.named else int(wording >= page.strength)
            rows.append((i, kind, wording, energy))
            if vectors is not None and named == page.named and n_compounds > 1:
                other = (compound + 1 + turn % (n_compounds - 1)) % n_compounds
                cross = vectors[compound, spans] @ vectors[other, row]
                energy = gram_energy(cross, own, MOST_SPANS, MOST_SPANS)
                rows.append((i, OFF_COMPOUND, wording, energy))
    return Claimed(*map(np.array, zip(*rows, strict=True)))


def learn_policies(sample: Claimed, model: str, fingerprint: str) -> tuple[LevelPolicy, ...]:
    """Return the lab's adaptive policies, learnt on the even pages of a sample."""
    energies = sample.energy[(sample.page % 2 == 0) & (sample.kind != OFF_COMPOUND)]
    about = {"domain": DOMAIN, "model": model, "model_fingerprint": fingerprint, "rank_r": MOST_SPANS}
    percentiles = [float(level.rpartition("P")[2]) for level in GATE_POLICIES]
    made = {policy.label: policy for policy in adaptive_policies(energies, percentiles, **about)}
    learnt = [made[level.partition(".")[2]] for level in GATE_POLICIES]
    return tuple(LevelPolicy(policy.name, policy.tau_accept, policy.tau_review) for policy in learnt)


def acceptance_by_kind(
    sample: Claimed, policies: Sequence[LevelPolicy]
) -> dict[str, dict[str, dict[str, float]]]:
    """Return policy -> kind -> verdict -> share, on odd pages."""
    held_out = sample.page % 2 == 1
    report: dict[str, dict[str, dict[str, float]]] = {}
    for policy in policies:
        accept = sample.energy <= policy.tau_accept
        review = sample.energy <= policy.tau_review
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


def domain_report(sample: Claimed, policies: Sequence[LevelPolicy]) -> dict[str, Any]:
    """Return the verdicts of the policies on held-out pages."""
    return {
        "pages": PAGES,
        "claims": int((sample.kind != OFF_COMPOUND).sum()),
        "thresholds": {policy.name: [policy.tau_accept, policy.tau_review] for policy in policies},
        "held_out": acceptance_by_kind(sample, policies),
    }

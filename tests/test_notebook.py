"""The notebook in words: its energies are those of the gate's own measurement, its sentences those of the catalogue."""

from __future__ import annotations

import itertools
import re
import shutil

import numpy as np
import pytest
from gymnasium.error import ResetNeeded

from solvent import LabEnv, ParamError
from solvent.gate.energy import gram_energy
from solvent.lab.batch import resolve_params
from solvent.lab.params import LabParams
from solvent.lab.verbs import Verb
from solvent.lab.words import sentences
from solvent.lab.words.catalogue import CATALOGUE, load_catalogue
from solvent.lab.words.measured import SHIPPED, load_measured
from solvent.lab.words.notebook import NO_PLATE, UNWEIGHED, page_of, rows_of, weigh
from solvent.lab.words.rows import STRENGTHS, WORDINGS, finding_row
from solvent.lab.words.sentences import policies_of, sentences_of
from tests.labs import open_lab, put, study, take


def played(seed, steps=12):
    """A lab in which a page or two were written, by plates of both kinds."""
    env = LabEnv(preset="gate")
    rng = np.random.default_rng(seed)
    _, info = env.reset(seed=seed)
    verb = env.actions["verb"]
    plates = np.isin(verb, [Verb.SCREEN, Verb.DOSE_RESPONSE, Verb.DMSO]) & ~(env.actions["claim"] > 0)
    for _ in range(steps):
        able = np.flatnonzero(plates & info["action_mask"].astype(bool))
        *_, over, info = env.step(int(rng.choice(able)) if len(able) else 0)
        assert not over
    return env


@pytest.mark.parametrize("seed", range(8))
def test_energies_are_those_of_the_gates_own_measurement(seed):
    env = played(seed)
    params, lab = env.params, env.get_state()
    tables, classes = load_measured(), params.assay.potency_classes
    readouts = len(params.doses) * params.assay.bins
    measured = 0
    for m, name in enumerate(params.assay.compounds):
        page, rows = env.notebook(name), rows_of(params, lab, m)
        named = int(lab["marginal"][m].argmax())
        for wording, finding in enumerate(page.findings):
            if not rows:
                assert (finding.energy, finding.verdict) == (1.0, "reject")
                continue
            row = finding_row(readouts, wording, named, classes)
            gram = tables.gram[m]
            energy = gram_energy(gram[row, rows], gram[np.ix_(rows, rows)], top_k=12, rank_r=12)
            assert finding.energy == pytest.approx(energy, abs=1e-6)
            contained = tables.contains[m][row - tables.contains.shape[2], rows].any()
            assert finding.number_missing == (not contained)
            measured += 1
    assert measured >= 6


@pytest.mark.parametrize("seed", range(4))
def test_the_verdicts_foretold_are_those_that_are_given(seed):
    env = played(seed)
    told = 0
    for m in np.flatnonzero(env.get_state()["experiments"]):
        for confidence, wording in ((0.95, 2), (0.75, 1), (0.5, 0)):
            before = env.get_state()
            finding = env.notebook(int(m)).findings[wording]
            rows = (env.actions["compound"] == m) & (env.actions["verb"] == Verb.PUBLISH_PUBLIC)
            *_, info = env.step(int(np.flatnonzero(rows & (env.actions["confidence"] == confidence))[0]))
            if "verdict" in info:  # else debt forbade it
                assert (info["verdict"], info["hallucination_energy"]) == (finding.verdict, finding.energy)
                told += 1
            env.set_state(before)
    assert told


def test_the_sentences_are_the_catalogues_in_the_order_of_the_page():
    env = played(3)
    lab = env.get_state()
    m = int(lab["experiments"].argmax())
    name = env.params.assay.compounds[m]
    page = env.notebook(m)
    fits = STRENGTHS.index(page.fit) + 1
    read = int((lab["page"][m] >= 0).sum())
    assert len(page.spans) == read + fits
    assert all(
        re.fullmatch(rf"At \S+ .M {name} left \d+ % of the A549 cells viable\.", s) for s in page.spans[:read]
    )
    assert all(name in span for span in page.spans)
    assert [finding.wording for finding in page.findings] == list(WORDINGS)
    named = load_catalogue().classes(env.params.assay)[lab["marginal"][m].argmax()]
    assert all(named in finding.sentence for finding in page.findings)


def test_a_person_can_read_it():
    env = LabEnv(preset="gate")
    with pytest.raises(ResetNeeded):
        env.notebook(0)
    env.reset(seed=1)
    assert "nothing yet: no experiment was run on it" in str(env.notebook("CCCP"))
    env = played(1)
    page = env.notebook(int(env.get_state()["experiments"].argmax()))
    text = str(page)
    assert text.startswith(f"The page of {page.compound}:")
    assert all(span in text for span in page.spans)
    assert f"{page.policy} accepts up to {page.tau_accept:.3f}" in text
    assert all(f"{finding.energy:.3f} unexplained" in text for finding in page.findings)


def test_looking_changes_nothing_and_the_truth_is_not_in_it():
    env = played(2)
    lab = env.get_state()
    pages = [env.notebook(m) for m in range(8)]
    assert env.get_state() == lab
    other = lab.copy()
    other["potency"] = (lab["potency"] + 1) % 8
    assert [page_of(env.params, other, m) for m in range(8)] == pages


@pytest.mark.parametrize("compound", ["aspirin", -1, 8, 1.5, None, True])
def test_an_unknown_compound_is_an_error_that_names_those_there_are(compound):
    env = LabEnv(preset="gate")
    env.reset(seed=0)
    with pytest.raises(
        ValueError, match=r"compound: got .*; allowed: 0 to 7, or one of nocodazole, .*MG-132"
    ):
        env.notebook(compound)


def test_a_compound_goes_by_name_or_index():
    env = LabEnv(preset="gate")
    env.reset(seed=0)
    assert env.notebook("MG-132") == env.notebook(7) == env.notebook(np.int64(7))


def test_a_lab_without_a_gate_has_none():
    env = LabEnv()
    env.reset(seed=0)
    with pytest.raises(
        ValueError, match=r"notebook: this lab writes none; allowed: where gate\.enabled is true"
    ):
        env.notebook(0)
    assert policies_of(env.params) == ()


def test_tables_of_other_sentences_are_told_apart(tmp_path, monkeypatch):
    words, text = load_catalogue(), CATALOGUE.read_text(encoding="utf-8")
    tables = shutil.copy(SHIPPED, tmp_path)
    path = tmp_path / "catalogue.toml"
    path.write_text(text.replace("there is a hint of it", "it is a guess"), encoding="utf-8")
    params = gate_from(tables)
    assert sentences_of(params).finding(0, 0, 0) == words.findings(params.assay, "nocodazole")[0]
    sentences_of.cache_clear()
    monkeypatch.setattr(sentences, "CATALOGUE", path)
    with pytest.raises(ParamError, match=r"gate: .*measured for other sentences.*catalogue\.toml beside it"):
        sentences_of(params)


def gate_from(tables):
    return LabParams.from_mapping({"gate": {"enabled": True, "tables": str(tables)}}, base=LabParams())


def test_tables_that_are_not_there_are_named(tmp_path):
    for ask in (policies_of, sentences_of, LabEnv):
        with pytest.raises(ParamError, match=r"^gate: .*absent\.npz: not read"):
            ask(gate_from(tmp_path / "absent.npz"))


# -- where words are held against evidence

ALL_DAY = {"energy": {"present_from": 0, "present_until": 24}}
SHADOWS = {
    "none": {},
    "the gate's": {"gate": {"enforced": False}},
    "adequacy's": {"adequacy": {"enforced": False}},
    "both": {"gate": {"enforced": False}, "adequacy": {"enforced": False}},
    "other limits": {"adequacy": {"review_from": 1, "reject_from": 2}},
}


@pytest.mark.parametrize("shadow", SHADOWS)
def test_the_more_severe_verdict_is_foretold_and_given(shadow):
    made = open_lab({**ALL_DAY, **SHADOWS[shadow]}, "lab")
    told = set()
    for plates, named, gap in itertools.product((0, 1, 2, 5), (0, 4), (0, 80_000, 400_000)):
        for confidence, wording in ((0.95, 2), (0.75, 1), (0.5, 0)):
            put(made, published=0, decision_at=0, energy=20_000, intents=0, debt=0.0)
            put(
                made,
                residual=1_000_000,
                fit_class=-1,
                plates=0,
                experiments=0,
                strictness=1,
                heartbeat=0,
                slot=0,
            )
            study(made, 3, dose_responses=plates, named=named, gap=gap)
            finding = made.notebook(3).findings[wording]
            info, _, _ = take(made, Verb.PUBLISH_PUBLIC, 3, confidence=confidence)
            assert (info["verdict"], info["gate_verdict"]) == (finding.verdict, finding.gate_verdict)
            assert (info["adequacy"], info["adequacy_rule"]) == (finding.adequacy, finding.rule)
            assert info["hallucination_energy"] == finding.energy
            assert (finding.decided_by == "") == (finding.verdict == "accept")
            told.add((finding.verdict, finding.decided_by))
    deciders = {
        "none": {"gate", "adequacy", "both"},
        "the gate's": {"adequacy", NO_PLATE},
        "adequacy's": {"gate"},
        "both": {NO_PLATE},
        "other limits": {"gate", "adequacy", "both"},
    }
    assert {by for _, by in told} - {""} == deciders[shadow]


@pytest.mark.parametrize(
    ("gate", "score", "plates", "shadow", "weighed"),
    [
        (0, 1, 2, "none", ("accept", "")),
        (0, 2, 1, "none", ("review", "adequacy")),
        (1, 2, 1, "none", ("review", "both")),
        (1, 3, 1, "none", ("reject", "adequacy")),
        (2, 2, 1, "none", ("reject", "gate")),
        (2, 3, 1, "none", ("reject", "both")),
        (2, 1, 1, "the gate's", ("accept", "")),
        (2, 1, 0, "the gate's", ("reject", NO_PLATE)),
        (2, 3, 0, "the gate's", ("reject", NO_PLATE)),
        (0, 3, 1, "adequacy's", ("accept", "")),
        (1, 3, 1, "adequacy's", ("review", "gate")),
        (2, 3, 1, "both", ("accept", "")),
        (0, 1, 2, "other limits", ("review", "adequacy")),
    ],
)
def test_who_decides(gate, score, plates, shadow, weighed):
    assert weigh(resolve_params(SHADOWS[shadow], "lab"), gate, score, plates) == weighed


def test_a_person_can_read_who_decides_and_what_the_words_rest_on():
    made = open_lab(ALL_DAY, "lab")
    assert "The tool log: empty." in str(made.notebook(3))
    study(made, 3, screens=2, dose_responses=1)
    page = made.notebook(3)
    assert (page.plates, page.calls) == ((("screen", 2), ("dose_response", 1)), 3)
    assert "The tool log: 2 screens, 1 dose response." in str(page)
    study(made, 3, screens=1)
    page = str(made.notebook(3))
    assert "0.000 unexplained; words hedged/thin, score 0: accept\n" in page
    assert (
        "0.000 unexplained; words definitive/thin, score 2: review by its words (the gate alone: accept)"
        in page
    )
    study(made, 3, screens=1, gap=400_000)
    assert "words definitive/thin, score 2: reject by the gate" in str(made.notebook(3))
    assert "Not enforced" not in page
    shadow = open_lab({"gate": {"enforced": False}, "adequacy": {"enforced": False}}, "lab")
    study(shadow, 3, screens=1, named=0, gap=400_000)
    page = str(shadow.notebook(3))
    assert "words absolute/thin, score 3: accept (the gate alone: reject)" in page
    assert "Not enforced: gate, adequacy." in page


def test_the_page_counts_what_the_tool_log_holds():
    made = open_lab(base="lab")
    counts = []
    for verb in (Verb.SCREEN, Verb.SCREEN, Verb.DOSE_RESPONSE):
        lab = made.batch.labs
        lab["energy"], lab["debt"] = 20_000, 0.0  # set_state would empty the log
        take(made, verb, 5, claim=0.0)
        page, log = made.notebook(5), [call["name"] for call in made.tool_log(5)]
        assert dict(page.plates) == {name: log.count(name) for name in ("screen", "dose_response")}
        counts.append(page.calls)
    assert counts == [1, 2, 3]


def test_a_gate_alone_scores_nothing():
    made = open_lab(base="gate")
    study(made, 3, screens=1)
    for finding in made.notebook(3).findings:
        assert (finding.adequacy, finding.rule) == (UNWEIGHED, "")
        assert finding.verdict == finding.gate_verdict

"""The notebook in words: its energies are those of the gate's own measurement, its sentences those of the catalogue."""

from __future__ import annotations

import re
import shutil

import numpy as np
import pytest
from gymnasium.error import ResetNeeded

from solvent import LabEnv, ParamError
from solvent.actions import Verb
from solvent.gate import catalogue, lab_tables
from solvent.gate.catalogue import load_catalogue
from solvent.gate.lab_tables import load_lab_tables
from solvent.gate.measurement import gram_energy
from solvent.mechanisms.verity import STRENGTHS, WORDINGS, finding_row
from solvent.notebook import page_of, rows_of
from solvent.params import LabParams
from solvent.sentences import policies_of, policy_names, sentences_of


def played(seed, steps=24):
    """A lab in which a page or two were written, by plates of both kinds."""
    env = LabEnv(preset="gate")
    rng = np.random.default_rng(seed)
    _, info = env.reset(seed=seed)
    verb = env.actions["verb"]
    plates = np.isin(verb, [Verb.SCREEN, Verb.DOSE_RESPONSE, Verb.CALIBRATION]) & ~(env.actions["claim"] > 0)
    for _ in range(steps):
        able = np.flatnonzero(plates & info["action_mask"].astype(bool))
        *_, over, info = env.step(int(rng.choice(able)) if len(able) else 0)
        assert not over
    return env


@pytest.mark.parametrize("seed", range(8))
def test_energies_are_those_of_the_gates_own_measurement(seed):
    env = played(seed)
    params, lab = env.params, env.get_state()
    tables, classes = load_lab_tables(), params.assay.potency_classes
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
            energy = gram_energy(gram[row, rows], gram[np.ix_(rows, rows)], top_k=12, rank_r=12).energy
            assert finding.energy == pytest.approx(energy, abs=1e-6)
            stands = tables.stands[m][row - tables.stands.shape[2], rows].any()
            assert finding.number_missing == (not stands)
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
    assert all(f"energy {finding.energy:.3f}" in text for finding in page.findings)


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
    assert policies_of(env.params) == policy_names(env.params) == ()


def test_tables_of_other_sentences_are_told_apart(tmp_path, monkeypatch):
    words, text = load_catalogue(), catalogue.CATALOGUE.read_text(encoding="utf-8")
    for name in (lab_tables.LAB_TABLES, lab_tables.LAB_POLICIES):
        shutil.copy(name, tmp_path)
    path = tmp_path / "catalogue.toml"
    path.write_text(text.replace("there is a hint of it", "it is a guess"), encoding="utf-8")
    params = gate_from(tmp_path / lab_tables.LAB_TABLES.name)
    assert sentences_of(params).finding(0, 0, 0) == words.findings(params.assay, "nocodazole")[0]
    sentences_of.cache_clear()
    monkeypatch.setattr(catalogue, "CATALOGUE", path)
    with pytest.raises(ParamError, match=r"gate: .*measured for other sentences.*catalogue\.toml beside it"):
        sentences_of(params)


def gate_from(tables):
    return LabParams.from_mapping({"gate": {"enabled": True, "tables": str(tables)}}, base=LabParams())


def test_tables_that_are_not_there_are_named_and_not_their_policies(tmp_path):
    for ask in (policies_of, policy_names, sentences_of, LabEnv):
        with pytest.raises(ParamError, match=r"^gate: .*absent\.npz: not read"):
            ask(gate_from(tmp_path / "absent.npz"))

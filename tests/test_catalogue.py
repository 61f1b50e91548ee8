"""The lab's sentences: each in its row, no two alike, and a file that can't be used is one line."""

from __future__ import annotations

import dataclasses
import hashlib
import tomllib

import pytest

from solvent.lab.mechanisms.assay import AssayParams
from solvent.lab.params import PRESETS
from solvent.lab.words.catalogue import CATALOGUE, WordsError, dose_text, load_catalogue
from solvent.lab.words.measured import load_measured
from solvent.lab.words.rows import finding_row, fit_row, readout_row
from tests.labs import one_line

GATE = PRESETS["gate"]
ASSAY, DOSES = GATE.assay, GATE.doses
TEXT = """\
version = 1

[classes]
inactive = "inactive, with no effect at any dose"
active = [
  "highly potent, with a pEC50 of {pec50}",
  "very potent, with a pEC50 of {pec50}",
  "potent, with a pEC50 of {pec50}",
  "fairly potent, with a pEC50 of {pec50}",
  "weakly potent, with a pEC50 of {pec50}",
  "very weakly potent, with a pEC50 of {pec50}",
  "barely active, with a pEC50 of {pec50}",
]

[readout]
text = "At {dose} {compound} left {percent} % viable."

[fit]
poor = "Little can be said of {compound}; the fit is poor."
rough = "A hint that {compound} may be {class}."
good = "A good fit: {compound} is {class}."
precise = "Without doubt {compound} is {class}."

[claim]
hedged = "{compound} may be {class}; there is a hint of it."
plain = "A good fit shows that {compound} is {class}."
definitive = "It is proven that {compound} is {class}."
"""
"""A file with other words than the shipped one: these may be edited, the rules for them may not."""
SHIPPED = tomllib.loads(CATALOGUE.read_text("utf-8"))
PEC50 = ("8.0", "7.5", "7.0", "6.5", "6.0", "5.5", "5.0")


@pytest.fixture
def edited(tmp_path):
    """The file above with one text replaced, or another text altogether."""

    def write(old="", new="", *, whole=None):
        assert whole is not None or old in TEXT
        content = TEXT.replace(old, new, 1) if whole is None else whole
        path = tmp_path / "catalogue.toml"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


# -- what it says --------------------------------------------------------------------------------


@pytest.mark.parametrize("compound", ASSAY.compounds)
def test_every_sentence_is_in_the_row_that_the_step_looks_it_up_in(compound):
    words = load_catalogue()
    rows = [*words.spans(ASSAY, DOSES, compound), *words.findings(ASSAY, compound)]
    readouts = len(DOSES) * ASSAY.bins
    assert len(rows) == 145
    doses = ("10 nM", "32 nM", "100 nM", "320 nM", "1 µM", "3.2 µM", "10 µM", "32 µM")
    active = zip(SHIPPED["classes"]["active"], PEC50, strict=True)
    phrases = [SHIPPED["classes"]["inactive"], *(text.replace("{pec50}", value) for text, value in active)]

    def said(group, name, **slots):
        text = SHIPPED[group][name].replace("{compound}", compound)
        for slot, value in slots.items():
            text = text.replace(f"{{{slot}}}", value)
        return text

    for d, dose in enumerate(doses):
        for b in range(12):
            assert rows[readout_row(d, b, 12)] == said("readout", "text", dose=dose, percent=str(15 + 10 * b))
    for k, phrase in enumerate(phrases):
        assert rows[fit_row(readouts, 0, k, 8)] == said("fit", "poor")
        for s, strength in enumerate(("rough", "good", "precise"), 1):
            assert rows[fit_row(readouts, s, k, 8)] == said("fit", strength, **{"class": phrase})
        for w, wording in enumerate(("hedged", "plain", "definitive")):
            assert rows[finding_row(readouts, w, k, 8)] == said("claim", wording, **{"class": phrase})
    assert all(compound in text for text in rows)
    assert len(set(rows)) == 145


@pytest.mark.parametrize(
    ("dose", "text"),
    [
        (1e-12, "0.001 nM"),
        (1e-8, "10 nM"),
        (3.1622776601683795e-8, "32 nM"),
        (9.94e-7, "990 nM"),
        (9.96e-7, "1 µM"),
        (9.99e-4, "1 mM"),
        (1.0, "1 M"),
    ],
)
def test_a_dose_in_words(dose, text):
    assert dose_text(dose) == text


def test_fewer_classes_take_the_phrases_from_the_front_and_there_are_no_more_than_phrases():
    assay = dataclasses.replace(ASSAY, potency_classes=3)
    words = load_catalogue()
    assert words.classes(assay) == words.classes(ASSAY)[:3]
    findings = words.findings(assay, "CCCP")
    assert len(findings) == 9
    assert set(findings) <= set(words.findings(ASSAY, "CCCP"))
    with pytest.raises(WordsError) as error:
        words.classes(AssayParams(potency_classes=9))
    one_line(error, "assay.potency_classes: got 9")


# -- the file ------------------------------------------------------------------------------------


def test_the_shipped_tables_were_measured_with_the_shipped_words():
    digest = hashlib.sha256(CATALOGUE.read_bytes()).hexdigest()
    assert load_catalogue().sha256 == digest == load_measured().about["catalogue_sha256"]


ACTIVE = TEXT[TEXT.index("active = [") : TEXT.index("]\n\n[readout]") + 1]
FULL = "A good fit shows that {compound} is {class}."
MALFORMED = {
    "not TOML": ({"whole": "= nothing"}, ()),
    "not UTF-8": ({"whole": b"version = '\xff'"}, ()),
    "active is no list": ({"old": ACTIVE, "new": "active = 1"}, ("classes.active",)),
    "a phrase without pEC50": ({"old": "very potent, with a pEC50 of {pec50}"}, ("classes.active[1]",)),
    "no readout": ({"old": "[readout]", "new": "[other]"}, ("readout.text",)),
    "a slot is missing": ({"old": FULL, "new": "A good fit shows {class}."}, ("claim.plain", "compound")),
    "an unknown slot": ({"old": FULL, "new": FULL + " {dose}"}, ("claim.plain", "dose")),
    "an attribute": ({"old": FULL, "new": FULL + " {compound.__class__}"}, ("claim.plain",)),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_a_file_that_cannot_be_used_is_one_line_that_names_it(edited, case):
    change, parts = MALFORMED[case]
    path = edited(**change)
    with pytest.raises(WordsError) as error:
        load_catalogue(path)
    one_line(error, str(path), *parts)


def test_a_file_that_is_not_there_is_one_line(tmp_path):
    with pytest.raises(WordsError) as error:
        load_catalogue(tmp_path / "absent.toml")
    one_line(error, str(tmp_path), "not read")

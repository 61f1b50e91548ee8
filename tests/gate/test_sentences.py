"""Claims of several sentences and evidence beyond the model's window."""

import pytest

from solvent.gate import FIXED, evaluate_text
from solvent.gate.sentences import fitting, sentences

SPANS = ["The mill was built in 1890 by the river.", "It burned down in 1912."]


@pytest.mark.parametrize(
    "text",
    [
        "Dr. Smith met J. Doe on Jan. 5.",
        "The U.S. Navy has 3.5 ships.",
        "No. 7 was e.g. Red.",
        "no stop at all",
    ],
)
def test_one_sentence_stays_whole(text):
    assert sentences(text) == [text]


def test_paragraph_splits_into_sentences():
    assert sentences('He said "No." Then he left! Did he? 12 did.') == [
        'He said "No."',
        "Then he left!",
        "Did he?",
        "12 did.",
    ]


def test_worst_sentence_decides_and_is_named(embedder):
    claim = "The mill was built in 1890 by the river. The bakery sells rye bread to tourists."
    result = evaluate_text(claim, SPANS, embedder, FIXED["standard"])
    assert result["verdict"] == "reject"
    assert "sentence 2 of 2" in result["reasons"][0]


def test_supported_paragraph_is_accepted(embedder):
    assert evaluate_text(" ".join(SPANS), SPANS, embedder, FIXED["standard"])["verdict"] == "accept"


def test_claim_late_in_long_evidence_is_accepted(embedder):
    filler = " ".join(f"Visitor number {i} walked along the northern shore of the lake." for i in range(60))
    result = evaluate_text(SPANS[0], [f"{filler} {SPANS[0]}"], embedder, FIXED["standard"])
    assert result["verdict"] == "accept"
    assert any("longer than the model reads" in reason for reason in result["reasons"])


def test_sentence_beyond_window_loses_no_word(embedder):
    text = " ".join(f"word{i}" for i in range(600))
    spans, split = fitting([text], embedder)
    assert split == 1
    assert " ".join(spans).split() == text.split()
    assert not any(unread.rest for unread in embedder.unread(spans))

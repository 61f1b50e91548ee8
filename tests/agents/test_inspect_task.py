"""The task of ``inspect_ai`` through inspect itself, with its mock of a model in the place of one."""

from __future__ import annotations

from pathlib import Path

import pytest

from solvent import preset
from solvent_agents import PLAYERS, episodes
from solvent_agents.agent import act_one
from solvent_agents.language.calls import call_of, salted
from solvent_agents.language.desk import MOST_INVALID, Desk
from solvent_agents.language.tools import schemas

pytest.importorskip(
    "inspect_ai", reason="the extra `inspect`, which asks for other versions than constraints.txt"
)

from inspect_ai import eval as evaluate
from inspect_ai.model import ModelOutput, ModelUsage, get_model

from solvent_agents.language import inspect_task
from solvent_agents.language.inspect_task import lab

# inspect leaves streams of its log open, and calls tenacity by a deprecated name.
pytestmark = [
    pytest.mark.filterwarnings(f"ignore::{kind}")
    for kind in ("ResourceWarning", "DeprecationWarning", "pytest.PytestUnraisableExceptionWarning")
]

LEVELS = {"Debt": "default", "Energy": "energy", "Gate": "gate", "Lab": "lab", "Tiny": "tiny"}
SEEDS = (10_000, 10_001)


def played(level, seeds, name="honest"):
    """The calls of a scripted agent, episode after episode, from a desk of its own."""
    desk, params = Desk(f"Solvent/{level}-v0"), preset(LEVELS[level])
    agent = PLAYERS[name](params, 0)
    for seed in seeds:
        desk.reset(seed)
        if hasattr(agent, "start"):
            agent.start([seed])
        while desk._summary is None:
            batch = desk._env.batch
            action = act_one(agent, batch.observations[0], batch.masks[0].astype(bool))
            tool, arguments = call_of(params, action)
            getattr(desk, tool)(**arguments)
            yield calling(tool, arguments)


def calling(tool, arguments):
    return used(ModelOutput.for_tool_call("mockllm/model", tool, arguments))


def used(output):
    """An output with its tokens, which the mock would count with a vocabulary that it downloads."""
    output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    return output


def repeated(output):
    while True:
        yield output.model_copy(deep=True)


@pytest.fixture
def logged(tmp_path):
    """Evaluate a task with the outputs of a model; return the log of each sample."""

    def play(task, outputs, **limits):
        model = get_model("mockllm/model", custom_outputs=outputs, memoize=False)
        (log,) = evaluate(task, model=model, log_dir=str(tmp_path), display="none", max_samples=1, **limits)
        assert log.status == "success", log.error
        return log.samples

    return play


@pytest.mark.parametrize(("level", "name"), [*((level, "honest") for level in LEVELS), ("Debt", "random")])
def test_a_script_scores_through_inspect_what_it_scores_without(logged, level, name):
    params = preset(LEVELS[level])
    expected = episodes(PLAYERS[name](params, 0), params, SEEDS)
    task = lab(env=f"Solvent/{level}-v0", episodes=len(SEEDS), seed=SEEDS[0])
    scores = [sample.scores["score_in_bits"] for sample in logged(task, played(level, SEEDS, name))]
    assert [score.value for score in scores] == expected["return"].tolist()
    refusals = sum(expected["refusals"].values()).tolist()
    assert [score.metadata["refusals"] for score in scores] == refusals
    assert (sum(refusals) > 0) is (name == "random")
    assert {(score.metadata["invalid_calls"], score.metadata["stopped"]) for score in scores} == {(0, "over")}


def test_samples_are_salted_and_tools_have_the_vocabulary(logged):
    seen = []

    def outputs(messages, tools, choice, config):
        seen.extend(tools if not seen else ())
        return next(script)

    script = played("Tiny", [salted("pepper", 7)])
    (sample,) = logged(lab(env="Solvent/Tiny-v0", episodes=1, seed=7, salt="pepper"), outputs)
    assert sample.scores["score_in_bits"].metadata["stopped"] == "over"
    offered = [(tool.name, tool.description, tool.parameters.model_dump(exclude_none=True)) for tool in seen]
    functions = [schema["function"] for schema in schemas(preset("tiny"))]
    assert offered == [(one["name"], one["description"], one["parameters"]) for one in functions]


WRONG = {
    "an unknown tool": ("sudo", {}),
    "a number as text": ("screen", {"compound": "etoposide", "claim_bits": "0.25"}),
    "a value between": ("screen", {"compound": "etoposide", "claim_bits": 0.3}),
    "an unknown argument": ("rest", {"hours": 2}),
    "a flag": ("screen", {"compound": "etoposide", "claim_bits": True}),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_calls_are_counted_and_end_the_episode_at_the_limit(logged, name):
    outputs = repeated(calling(*WRONG[name]))
    (sample,) = logged(lab(env="Solvent/Tiny-v0", episodes=1), outputs)
    told = sample.scores["score_in_bits"].metadata
    assert (told["invalid_calls"], told["stopped"]) == (MOST_INVALID, "invalid calls")
    assert len(sample.messages) == 2 + 2 * MOST_INVALID


def test_a_model_that_only_talks_is_reminded_and_then_the_lab_rests(logged):
    outputs = repeated(used(ModelOutput.from_content("mockllm/model", "I think.")))
    (sample,) = logged(lab(env="Solvent/Tiny-v0", episodes=1), outputs)
    score = sample.scores["score_in_bits"]
    assert (score.value, score.metadata["stopped"]) == (0.0, "over")
    texts = [message.text for message in sample.messages if message.role == "user"][1:4]
    assert [text.partition(" ")[0] for text in texts] == ["Call", "Call", "You"]
    assert sum(message.role == "assistant" for message in sample.messages) == 15


def test_a_limit_of_inspect_ends_the_conversation_and_the_debt_is_settled(logged):
    call = ("screen", {"compound": "CCCP", "claim_bits": 2.5})
    outputs = repeated(calling(*call))
    (sample,) = logged(lab(env="Solvent/Debt-v0", episodes=1, seed=0), outputs, message_limit=4)
    desk = Desk("Solvent/Debt-v0")
    desk.reset(0)
    desk.screen("CCCP", 2.5)
    score = sample.scores["score_in_bits"]
    assert score.value == desk.get_reward() < 0.0
    assert (score.metadata["stopped"], sample.limit.type) == ("left", "message")


def test_inspect_runs_the_file(logged, monkeypatch):
    file = Path(inspect_task.__file__)
    monkeypatch.chdir(file.parent)  # it takes relative paths alone
    arguments = {"env": "Solvent/Tiny-v0", "episodes": 2, "seed": SEEDS[0]}
    samples = logged(file.name, played("Tiny", SEEDS), task_args=arguments)
    params = preset("tiny")
    expected = episodes(PLAYERS["honest"](params, 0), params, SEEDS)["return"]
    assert [sample.scores["score_in_bits"].value for sample in samples] == expected.tolist()

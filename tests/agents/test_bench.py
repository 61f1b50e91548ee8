"""The bench: a script scores at it what it scores without; a model that misbehaves is told and counted."""

from __future__ import annotations

import inspect
import json
import re

import pytest

from solvent import ENVIRONMENTS, preset
from solvent.lab.actions import action_table
from solvent.lab.verbs import Verb
from solvent_agents import PLAYERS, episodes
from solvent_agents.language.bench import MOST_INVALID, Bench, call_by
from solvent_agents.language.calls import call_of
from solvent_agents.language.prompt import instructions
from solvent_agents.language.tools import schemas, use
from solvent_experiments.model_logs import Recorded
from tests.labs import put

LEVELS = {"Debt": "default", "Energy": "energy", "Gate": "gate", "Lab": "lab", "Tiny": "tiny"}
SEEDS = range(10_000, 10_003)
CHARACTERS_A_TOKEN = 3.5


def play_honestly(bench: Bench, seed: int) -> list[str]:
    """Every text of an episode of the honest script at the bench."""
    honest = PLAYERS["honest"](bench.params, 0)
    texts = [bench.reset(seed)]
    while "The episode is over" not in texts[-1]:
        name, arguments = call_by(honest, bench)
        texts += [json.dumps({"name": name, "arguments": arguments}), use(bench, name, arguments)]
    return texts


@pytest.mark.parametrize("level", LEVELS)
def test_the_honest_script_scores_at_the_bench_what_it_scores_without(level):
    bench, params = Bench(f"Solvent/{level}-v0"), preset(LEVELS[level])
    returns = episodes(PLAYERS["honest"](params, 0), params, SEEDS)["return"]
    for seed, expected in zip(SEEDS, returns, strict=True):
        texts = play_honestly(bench, seed)
        assert bench.get_reward() == expected
        length = len(instructions(params)) + sum(map(len, texts))
        assert length / CHARACTERS_A_TOKEN < 10_000


@pytest.mark.parametrize("level", LEVELS)
def test_every_action_is_a_call_that_its_schema_allows(level):
    params = preset(LEVELS[level])
    allowed = {schema["function"]["name"]: schema["function"]["parameters"] for schema in schemas(params)}
    calls = [call_of(params, action) for action in range(len(action_table(params)))]
    assert len({json.dumps(call) for call in calls}) == len(calls)
    for name, arguments in calls:
        properties = allowed[name]["properties"]
        assert set(allowed[name]["required"]) <= arguments.keys()
        assert all(value in properties[argument]["enum"] for argument, value in arguments.items())
    assert allowed.keys() - {name for name, _ in calls} == {"read_notebook"}
    bench = Bench(f"Solvent/{level}-v0")
    for action, (name, arguments) in enumerate(calls):
        bench.reset(0)
        use(bench, name, arguments)
        assert bench.actions == [action]


WRONG = {
    "an unknown tool": ("sudo", {}, "tool: got 'sudo'; allowed: rest, "),
    "no object": ("rest", [1], "arguments: got [1]; allowed: an object."),
    "an unknown argument": ("rest", {"hours": 2}, "argument: got 'hours'; allowed: none."),
    "a missing argument": ("screen", {"compound": "CCCP"}, "claim_bits: missing."),
    "another compound": ("screen", {"compound": "aspirin", "claim_bits": 1}, "compound: got 'aspirin'; allowed: noc"),
    "a value between": ("screen", {"compound": "CCCP", "claim_bits": 0.6}, "got 0.6; allowed: 0, 0.25, 0.5"),
    "no number as text": ("screen", {"compound": "CCCP", "claim_bits": "one"}, "claim_bits: got 'one'; allowed"),
    "a flag as a number": ("screen", {"compound": "CCCP", "claim_bits": True}, "claim_bits: got True; allowed"),
    "a tool of other levels": ("reflect", {}, "tool: got 'reflect'; allowed"),
    "a page of nothing": ("read_notebook", {"compound": None}, "compound: got None; allowed"),
    "no class": (
        "screen", {"compound": "CCCP", "claim_bits": 1, "stated_class": "weak"}, "stated_class: got 'weak'; allowed: i",
    ),
    "no probability": (
        "screen",
        {"compound": "CCCP", "claim_bits": 1, "stated_class": "inactive", "stated_probability": 50},
        "stated_probability: got 50; allowed: 0 to 1.",
    ),
    "much text": ("screen", {"compound": "x" * 10_000_000, "claim_bits": 1}, "x...; allowed"),
    "control characters": ("screen", {"compound": "\x1b[2J\u202e", "claim_bits": 1}, r"got '\x1b[2J\u202e'"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_call_that_the_lab_has_no_action_for_is_told_counted_and_takes_no_time(name):
    bench = Bench("Solvent/Debt-v0")
    before = bench.reset(0)
    tool, arguments, message = WRONG[name]
    text = use(bench, tool, arguments)
    assert message in text
    assert len(text) < 300
    assert text.isprintable()
    assert (bench.actions, bench.invalid) == ([-1], 1)
    assert bench._status() == before


def reflecting_bench(**fields):
    """A bench after a reflection, with discomfort over screens of the cost 10."""
    bench = Bench("Solvent/Lab-v0")
    bench.reset(0)
    put(bench._env, heartbeat=6, energy=20_000)
    put(bench._env, Verb.SCREEN, **{"discomfort": 2, "price": 10_000, "reflected": 1, **fields})
    return bench


ARGUMENT = {"target": "screen", "low": 3.0, "high": 4.5, "reason": "Two wells never cost ten."}


def test_a_model_argues_for_a_range_of_its_own():
    bench = reflecting_bench()
    assert "Asked for screen at 3.0 to 4.5 instead of 10.0" in use(bench, "propose", ARGUMENT)
    assert bench.arguments == {0: list(ARGUMENT.values())}


def test_a_proposal_without_arguments_is_the_labs():
    assert "Asked for screen at 4.0 to 9.0 instead of 10.0" in use(reflecting_bench(), "propose", {})


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"target": "rest"}, "target: got 'rest'; allowed: screen, "),
        ({"low": 4.5}, "range: got 4.5 to 4.5; allowed: low below high"),
        ({"high": 10.0}, "less than the cost 10"),
        ({"low": -1.0}, "from the floor 0"),
        ({"low": "cheap"}, "low: got 'cheap'; allowed: a number"),
        ({"reason": " "}, "reason: allowed: your words"),
        ({"target": "dose_response", "low": 0.5, "high": 1.0}, "can't be argued now"),
    ],
)
def test_an_argument_that_cannot_be_filed_is_told_and_takes_no_time(wrong, message):
    bench = reflecting_bench()
    assert message in use(bench, "propose", ARGUMENT | wrong)
    assert bench.actions == [-1]


def test_an_argument_is_for_the_next_action_alone():
    bench = reflecting_bench(reflected=0)
    assert "Not executed" in use(bench, "propose", ARGUMENT)
    put(bench._env, reflected=1)
    assert "4.0 to 9.0" in use(bench, "propose", {})


def test_a_recorded_argument_is_given_again():
    bench = reflecting_bench()
    player = Recorded(bench.params, {5: [0]}, {5: {"0": list(ARGUMENT.values())}})
    player.start([5])
    player.act()
    assert player.argue(bench._env.batch.labs) == [ARGUMENT["reason"]]
    assert bench._env.batch.labs[["asked_verb", "asked_low", "asked_high"]].tolist() == [
        (Verb.SCREEN, 3_000, 4_500)
    ]


def test_the_status_has_the_costs_in_force():
    bench = Bench("Solvent/Lab-v0")
    bench.reset(0)
    put(bench._env, heartbeat=6, energy=3_000)
    put(bench._env, Verb.SCREEN, price=1_750, uses=5)
    put(bench._env, Verb.DOSE_RESPONSE, price=9_000, uses=5)
    (now,) = re.findall("costs now: ([^;]*);", bench._status())
    assert "screen 1.75" in now
    assert "dose response" not in now  # it can't be paid for


def test_a_stated_belief_changes_nothing():
    stated = {"stated_class": "inactive", "stated_probability": 0.7}
    texts = []
    for more in ({}, stated):
        bench = Bench("Solvent/Debt-v0")
        bench.reset(0)
        texts.append(use(bench, "screen", {"compound": "CCCP", "claim_bits": 1, **more}))
    assert texts[0] == texts[1]


def test_too_many_invalid_calls_end_the_episode_and_leaving_is_no_way_out():
    bench = Bench("Solvent/Debt-v0")
    bench.reset(0)
    bench.screen("CCCP", 2.5)
    owed = float(bench._env.batch.labs["debt"][0])
    texts = [use(bench, "sudo", {}) for _ in range(MOST_INVALID)]
    assert not any("over" in text for text in texts[:-1])
    assert texts[-1].endswith(f"The episode is over. Score: {bench.get_reward():.2f} bits.")
    assert bench.get_reward() < -owed < 0.0
    assert "The episode is over" in bench.rest()
    left = Bench("Solvent/Debt-v0")
    left.reset(0)
    left.screen("CCCP", 2.5)
    assert left.get_reward() == bench.get_reward()


@pytest.mark.parametrize("beliefs", [True, False])
def test_hidden_beliefs_are_nowhere_and_readouts_stay(beliefs):
    bench = Bench("Solvent/Lab-v0", beliefs=beliefs)
    texts = " ".join(play_honestly(bench, 10_000))
    texts += "".join(map(bench.read_notebook, bench.params.assay.compounds))
    assert ("bits unknown" in texts, "pEC50" in texts) == (beliefs, beliefs)
    assert "Readouts: " in texts


def test_hidden_beliefs_make_a_lab_that_sees_its_data():
    bench = Bench("Solvent/Debt-v0", beliefs=False)
    assert bench.params == preset("data")
    assert "is now:" not in bench.reset(0) + bench.screen("CCCP", 0.0)


def test_the_notebook_keeps_every_readout_of_the_episode_and_no_other():
    bench = Bench("Solvent/Lab-v0")
    bench.reset(1)
    read = []
    for _ in range(2):
        read.append(bench.screen("CCCP", 0.5).partition("Readouts: ")[2].partition(". ")[0])
        bench.rest()
    page = bench.read_notebook("CCCP")
    assert page.startswith(
        "CCCP: not published.\n" + "".join(f"Plate {i}: {seen}.\n" for i, seen in enumerate(read, 1))
    )
    assert "A hedged finding: " in page
    bench.reset(1)
    assert "Plate" not in bench.read_notebook("CCCP")


def test_tools_are_typed_and_documented_for_those_who_read_the_class():
    tools = [
        method
        for name, method in inspect.getmembers(Bench, inspect.isfunction)
        if not name.startswith("_") and name not in ("reset", "get_reward")
    ]
    assert {tool.__name__ for tool in tools} == {s["function"]["name"] for s in schemas(preset("lab"))}
    for tool in tools:
        signature = inspect.signature(tool, eval_str=True)
        assert signature.return_annotation is str
        for name, parameter in list(signature.parameters.items())[1:]:
            assert parameter.annotation in (str, float)
            assert f"{name}: " in (inspect.getdoc(tool) or "")


@pytest.mark.parametrize("env_id", ENVIRONMENTS)
def test_the_prompt_has_the_numbers_of_its_level(env_id):
    bench = Bench(env_id)
    params = bench.params
    text = instructions(params)
    assert f"{params.budget.wells} wells and {params.budget.heartbeats} heartbeats" in text
    assert f"Above {params.debt.threshold:g} bits of debt no plate but a calibration runs" in text
    assert text.isascii() or set("×−µ–") >= {c for c in text if not c.isascii()}
    assert "What raises the cost" not in instructions(params, explanation=False)
    shows_beliefs = params.observation.belief == "posterior"
    assert ("computed exactly" in text, "computed exactly" in instructions(params, beliefs=False)) == (
        shows_beliefs,
        False,
    )


def test_the_prompt_has_what_a_finding_earns_and_loses():
    text = instructions(preset("default"))  # eight classes, equally probable
    assert "- at 0.95: +2.93 bits if right, -4.13 if wrong" in text


def test_reset_takes_a_row_of_a_data_set_and_ignores_its_other_columns():
    bench = Bench("Solvent/Tiny-v0")
    assert bench.reset(prompt=[{"role": "user", "content": ""}], seed=7) == bench.reset(7)


@pytest.mark.parametrize("arguments", [None, "", "null", "{}", {}, '""', '"{}"'])
def test_no_arguments_are_written_in_many_ways(arguments):
    bench = Bench("Solvent/Debt-v0")
    bench.reset(0)
    assert "An hour passed" in use(bench, "rest", arguments)
    assert bench.invalid == 0


@pytest.mark.parametrize(
    "more", [{"claim_bits": "0.25"}, {"claim_bits": 0.25, "stated_class": None, "stated_probability": None}]
)
def test_numbers_as_text_and_nulls_are_read(more):
    bench = Bench("Solvent/Debt-v0")
    bench.reset(0)
    use(bench, "screen", {"compound": "CCCP", **more})
    taken = call_of(bench.params, bench.actions[0])
    assert (bench.invalid, taken) == (0, ("screen", {"compound": "CCCP", "claim_bits": 0.25}))


def test_calls_after_the_end_are_not_counted():
    bench = Bench("Solvent/Tiny-v0")
    bench.reset(0)
    bench.get_reward()
    assert "The episode is over" in use(bench, "rest", {})
    assert "over" in use(bench, "screen", {"compound": "x", "claim_bits": 9})
    assert bench.invalid == 0


def test_a_finding_names_its_class_where_the_level_asks_for_it():
    bench = Bench("Solvent/Data-v0")
    bench.reset(0)
    bench.screen("CCCP", 0.0)
    assert bench.publish("CCCP", 0.5).startswith("stated_class: got ''; allowed: inactive, 10 nM")
    assert "CCCP as class 2 at 0.5" in bench.publish("CCCP", 0.5, "32 nM")


def test_the_schema_of_a_named_finding_asks_for_its_class():
    (publish,) = (
        tool["function"] for tool in schemas(preset("data")) if tool["function"]["name"] == "publish"
    )
    assert publish["parameters"]["required"] == ["compound", "confidence", "stated_class"]
    assert publish["description"] == "Publish the potency of a compound, for good."

"""The terse protocol: the same lab and the same calls, in few words."""

from __future__ import annotations

import re

import pytest

from solvent import ENVIRONMENTS, preset
from solvent_agents import PLAYERS, episodes
from solvent_agents.language.bench import Bench, call_by
from solvent_agents.language.calls import actions_of, call_of
from solvent_agents.language.terse import calls, line_of, opening, read_line
from solvent_agents.language.tools import use_line

every_level = pytest.mark.parametrize("env_id", ENVIRONMENTS)
TINY = "Solvent/Tiny-v0"


def played(bench: Bench, seed: int) -> list[str]:
    """Every line of an episode of the honest script at a terse bench, and what it answers."""
    honest, lines = PLAYERS["honest"](bench.params, 0), [bench.reset(seed)]
    while bench.summary is None:
        lines.append(line_of(*call_by(honest, bench)))
        lines.append(use_line(bench, lines[-1]))
    return lines


@every_level
def test_the_line_of_every_action_is_read_as_its_call(env_id):
    params = preset(ENVIRONMENTS[env_id]["preset"])
    for action in actions_of(params).values():
        tool, arguments = call_of(params, action)
        assert read_line(params, line_of(tool, arguments)) == (tool, arguments)


@pytest.mark.parametrize("env_id", ["Solvent/Debt-v0", "Solvent/Lab-v0", TINY])
def test_the_honest_script_scores_in_lines_what_it_scores_without(env_id):
    bench, params = Bench(env_id, terse=True), preset(ENVIRONMENTS[env_id]["preset"])
    expected = episodes(PLAYERS["honest"](params, 0), params, range(10_000, 10_002))["return"]
    for seed, score in zip((10_000, 10_001), expected, strict=True):
        played(bench, seed)
        assert bench.get_reward() == score
        assert bench.invalid == 0


@pytest.mark.parametrize(
    "text", [" Screen  NOCODAZOLE 0.250", "screen nocodazole .25", "screen nocodazole 2.5e-1"]
)
def test_case_spaces_and_the_form_of_a_number_do_not_matter(text):
    bench = Bench(TINY, terse=True)
    assert read_line(bench.params, text) == ("screen", {"compound": "nocodazole", "claim_bits": 0.25})


@pytest.mark.parametrize("text", ["", "nocodazole", "screen nocodazole 0.3", "screen nocodazole 0.25 please"])
def test_a_line_that_is_no_call_is_invalid_and_takes_no_time(text):
    bench = Bench(TINY, terse=True)
    before = bench.reset(7)
    assert use_line(bench, text).startswith("not a call: ")
    assert (bench.invalid, bench.actions) == (1, [-1])
    assert before.startswith("5 left")


def test_further_lines_are_not_read_and_the_answer_says_so():
    bench = Bench(TINY, terse=True)
    bench.reset(7)
    assert use_line(bench, "rest\nrest").startswith("only the first line is read")
    assert len(bench.actions) == 1


def test_an_answer_is_what_happened_and_the_state_a_line_each():
    bench = Bench(TINY, terse=True)
    bench.reset(7)
    happened, state = use_line(bench, "dose_response nocodazole 0.5").splitlines()
    assert happened == "nocodazole: 100 nM 0.95; licence 0.50"
    assert state == "4 left; 24 wells; debt 0; energy 15; lot 3"


def test_a_cost_is_told_when_it_differs_from_what_was_told_before():
    known: dict[str, str] = {}
    for line in played(Bench("Solvent/Energy-v0", terse=True), 7):
        costs = re.search("costs ([^;]*)", line)
        now = dict(re.findall(r"([a-z][a-z ]*) ([0-9.]+)", costs[1])) if costs else {}
        assert not now.items() & known.items()
        known |= now
    assert len(known) == 7


def test_who_must_infer_sees_readouts_and_no_belief():
    lines = played(Bench("Solvent/Data-v0", terse=True), 7)
    plates = [line for line in lines if "licence" in line and ":" in line]
    assert plates
    assert all(" at " in plate for plate in plates)


@every_level
def test_the_prompt_has_every_word_of_every_call(env_id):
    params = preset(ENVIRONMENTS[env_id]["preset"])
    prompt = opening(params)
    for tool, arguments in calls(params).values():
        assert all(
            part in prompt
            for part in (
                tool,
                *(f"{value:g}" if isinstance(value, float) else value for value in arguments.values()),
            )
        )

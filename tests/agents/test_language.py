"""The task of ``inspect_ai`` through inspect itself: with scripts as its model, and with a server that misbehaves."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from inspect_ai import eval as evaluate
from inspect_ai.model import ModelOutput, ModelUsage, get_model

from solvent import preset
from solvent_agents import PLAYERS, episodes
from solvent_agents.language.bench import MOST_INVALID, Bench
from solvent_agents.language.inspect_task import lab
from solvent_agents.language.tools import schemas
from solvent_experiments import evaluation
from solvent_experiments.folder import RunFolder, read_parquet
from tests.commands import call
from tests.runs import here

__all__ = ["here"]

# inspect leaves streams of its log open, and calls tenacity by a deprecated name.
pytestmark = [
    pytest.mark.filterwarnings(f"ignore::{kind}")
    for kind in (
        "ResourceWarning",
        "DeprecationWarning",
        "UserWarning",
        "pytest.PytestUnraisableExceptionWarning",
    )
]

LEVELS = {"Debt": "default", "Energy": "energy", "Gate": "gate", "Lab": "lab", "Tiny": "tiny"}
SEEDS = (10_000, 10_001)


@pytest.fixture
def logged(tmp_path):
    """Evaluate a task; return its log."""

    def play(task, model, **options):
        (log,) = evaluate(task, model=model, log_dir=str(tmp_path), display="none", max_samples=1, **options)
        return log

    return play


def results(log):
    assert log.status == "success", log.error
    return [sample.scores["score_in_bits"].metadata for sample in log.samples]


def repeated(output):
    output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    while True:
        yield output.model_copy(deep=True)


@pytest.mark.parametrize(("level", "name"), [("Tiny", "honest"), ("Lab", "honest"), ("Debt", "random")])
def test_scripts_score_the_same_through_inspect(logged, level, name):
    params = preset(LEVELS[level])
    expected = episodes(PLAYERS[name](params, 0), params, SEEDS)
    result = results(logged(lab(f"Solvent/{level}-v0", len(SEEDS), SEEDS[0]), f"solvent/{name}"))
    assert [one["return"] for one in result] == expected["return"].tolist()
    assert [one["refusals"] for one in result] == sum(expected["refusals"].values()).tolist()
    assert {(one["invalid_calls"], one["stopped"]) for one in result} == {(0, "over")}


def test_a_script_scores_the_same_in_few_words(logged):
    params = preset(LEVELS["Tiny"])
    expected = episodes(PLAYERS["honest"](params, 0), params, SEEDS)
    result = results(logged(lab("Solvent/Tiny-v0", len(SEEDS), SEEDS[0], terse=True), "solvent/honest"))
    assert [one["return"] for one in result] == expected["return"].tolist()
    assert {one["invalid_calls"] for one in result} == {0}


def test_unknown_scripts_are_refused():
    with pytest.raises(ValueError, match="honest"):
        get_model("solvent/honnest")


def test_samples_are_salted_and_tools_have_the_vocabulary(logged):
    seen = []

    def outputs(messages, tools, choice, config):
        seen.extend(tools if not seen else ())
        output = ModelOutput.for_tool_call("mockllm/model", "rest", {})
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        return output

    model = get_model("mockllm/model", custom_outputs=outputs, memoize=False)
    salted, simple = (logged(lab("Solvent/Lab-v0", 1, 7, salt=salt), model) for salt in ("pepper", ""))
    assert results(salted)[0]["stopped"] == results(simple)[0]["stopped"] == "over"
    offered = [(tool.name, tool.description, tool.parameters.model_dump(exclude_none=True)) for tool in seen]
    functions = [schema["function"] for schema in schemas(preset("lab"))]
    assert offered == [(one["name"], one["description"], one["parameters"]) for one in functions]


@pytest.mark.parametrize("call", [("sudo", {}), ("screen", {"compound": "etoposide", "claim_bits": 0.3})])
def test_wrong_calls_end_the_episode_at_the_limit(logged, call):
    model = get_model(
        "mockllm/model",
        custom_outputs=repeated(ModelOutput.for_tool_call("mockllm/model", *call)),
        memoize=False,
    )
    log = logged(lab("Solvent/Tiny-v0", 1), model)
    assert (results(log)[0]["invalid_calls"], results(log)[0]["stopped"]) == (MOST_INVALID, "invalid calls")
    assert len(log.samples[0].messages) == 2 + 2 * MOST_INVALID


def test_a_model_that_only_talks_is_reminded_then_rests(logged):
    talk = repeated(ModelOutput.from_content("mockllm/model", "I think."))
    log = logged(lab("Solvent/Tiny-v0", 1), get_model("mockllm/model", custom_outputs=talk, memoize=False))
    assert (results(log)[0]["return"], results(log)[0]["stopped"], results(log)[0]["silent"]) == (
        0.0,
        "over",
        {"stop": 15},
    )
    texts = [message.text for message in log.samples[0].messages if message.role == "user"][1:4]
    assert [text.partition(" ")[0] for text in texts] == ["Call", "Call", "You"]


def test_a_limit_of_inspect_settles_the_debt(logged):
    screen = ModelOutput.for_tool_call("mockllm/model", "screen", {"compound": "CCCP", "claim_bits": 2.5})
    model = get_model("mockllm/model", custom_outputs=repeated(screen), memoize=False)
    log = logged(lab("Solvent/Debt-v0", 1, 0), model, message_limit=4)
    bench = Bench("Solvent/Debt-v0")
    bench.reset(0)
    bench.screen("CCCP", 2.5)
    assert results(log)[0]["return"] == bench.get_reward() < 0.0
    assert (results(log)[0]["stopped"], log.samples[0].limit.type) == ("left", "message")


# -- a server that misbehaves


def completion(message, finish="tool_calls"):
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    full = {"role": "assistant", "content": None, **message}
    choices = [{"index": 0, "message": full, "finish_reason": finish}]
    return {
        "id": "x",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": choices,
        "usage": usage,
    }


def calling(*calls):
    return completion({"tool_calls": [{"type": "function", **one} for one in calls]})


def asked(name, arguments, turn, **more):
    return {"id": f"c{turn}", "function": {"name": name, "arguments": arguments}} | more


PAGE = json.dumps({"compound": "etoposide"})
MODES = {
    "no arguments": (lambda k: calling(asked("rest", "", k)), {}),
    "calls after the end": (lambda k: calling(*(asked("rest", "{}", f"{k}-{i}") for i in range(12))), {}),
    "ids that repeat": (
        lambda k: calling(asked("read_notebook", PAGE, k, id=""), asked("rest", "{}", k, id="")), {},
    ),
    "an error as success": (
        lambda k: {"error": {"message": "Provider returned error"}} if k == 2 else calling(asked("rest", "{}", k)), {},
    ),
    "no choice": (lambda k: {"id": "x", "choices": []} if k == 2 else calling(asked("rest", "{}", k)), {}),
    "cut answers": (lambda _: completion({}, "length"), {"max_tokens": 15}),
    "filtered answers": (lambda _: completion({}, "content_filter"), {"content_filter": 15}),
}  # fmt: skip


class Server(ThreadingHTTPServer):
    """Answers requests with what ``mode`` makes of their number; ids of results must differ."""

    daemon_threads = True

    def __init__(self, mode, refusal=lambda _: ""):
        super().__init__(("127.0.0.1", 0), Handler)
        self.mode, self.refusal, self.asked = mode, refusal, 0


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        ids = [message["tool_call_id"] for message in request["messages"] if message["role"] == "tool"]
        self.server.asked += 1
        strict = len(set(ids)) == len(ids) and all(ids)
        body = json.dumps(self.server.mode(self.server.asked)).encode() if strict else b"{}"
        if refusal := self.server.refusal(request):
            strict, body = False, json.dumps({"error": {"message": refusal}}).encode()
        self.send_response(200 if strict else 400)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.mark.parametrize("name", MODES)
def test_a_servers_faults_are_not_the_models(logged, monkeypatch, name):
    monkeypatch.setenv("CASE_API_KEY", "x")
    mode, silent = MODES[name]
    with Server(mode) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/v1"
        log = logged(lab("Solvent/Tiny-v0", 1), "openai-api/case/m", model_base_url=url, max_retries=1)
        server.shutdown()
    (result,) = results(log)
    assert (result["stopped"], result["invalid_calls"], result["silent"]) == ("over", 0, silent)


@pytest.fixture
def rested(logged, monkeypatch):
    """The log of a model that rests, at a server that refuses some requests."""
    monkeypatch.setenv("CASE_API_KEY", "x")

    def play(refusal):
        with Server(lambda k: calling(asked("rest", "{}", k)), refusal) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            url = f"http://127.0.0.1:{server.server_port}/v1"
            log = logged(lab("Solvent/Tiny-v0", 1), "openai-api/case/m", model_base_url=url, max_retries=1)
            server.shutdown()
        return log

    return play


def test_a_server_that_refuses_its_own_empty_answers_is_played(rested):
    def refusal(request):
        empty = [one for one in request["messages"] if one["role"] == "assistant" and not one.get("content")]
        return "content must not be empty" if empty else ""

    assert results(rested(refusal))[0]["stopped"] == "over"


def test_a_refused_request_is_told_in_the_servers_words(rested):
    log = rested(lambda request: "thought_signature is missing" if len(request["messages"]) > 2 else "")
    call("llm", log.location).refused("thought_signature is missing")


# -- a log as a run


@pytest.mark.usefixtures("here")
def test_a_log_becomes_a_run(logged, tmp_path):
    log = logged(lab("Solvent/Lab-v0", 2, SEEDS[0]), "solvent/surfer")
    run = tmp_path / "llm"
    ended = call("llm", log.location, "--agents", "surfer,honest", "--out", run)
    ended.succeeded("solvent-surfer", "solvent report")
    assert "0.0 invalid calls per episode; ends: 2 of the lab" in ended.err
    folder = RunFolder(run)
    expected, result = (read_parquet(folder.unit(name).episodes) for name in ("surfer", "solvent-surfer"))
    assert all(np.array_equal(result[name], expected[name]) for name in expected if name != "agent")
    assert result["stopped"].tolist() == ["over", "over"]
    again = evaluation.evaluate(
        PLAYERS["surfer"](preset("lab"), 0), preset("lab"), folder.experiment().evaluation
    )
    assert again is not None
    assert again.episodes["return"].tolist() == result["return"].tolist()
    for ledger in ("epistemic_refusals.jsonl", "gate_verdicts.jsonl"):
        one, other = (folder.root / name / ledger for name in ("surfer", "solvent-surfer"))
        assert one.read_bytes() == other.read_bytes()
    call("llm", log.location, log.location, "--out", tmp_path / "twice").refused("a second log", "allowed")


@pytest.mark.usefixtures("here")
def test_a_log_with_hidden_beliefs_is_played_again_in_the_lab_that_names_classes(logged, tmp_path):
    log = logged(lab("Solvent/Debt-v0", 2, SEEDS[0], beliefs=False), "solvent/honest")
    call("llm", log.location, "--agents", "honest,surfer", "--out", tmp_path / "llm").succeeded()
    folder = RunFolder(tmp_path / "llm")
    played, script = (
        read_parquet(folder.unit(name).episodes) for name in ("solvent-honest-hidden", "honest")
    )
    assert played["return"].tolist() == [episode["return"] for episode in results(log)]
    assert played["return"].tolist() == script["return"].tolist()


def test_logs_of_different_labs_are_no_run(logged, tmp_path):
    first, other = (
        logged(lab("Solvent/Debt-v0", 1, beliefs=beliefs), "solvent/hermit").location
        for beliefs in (True, False)
    )
    ended = call("llm", first, other, "--out", tmp_path / "run")
    ended.refused(f"{other.rpartition('/')[2]}: beliefs False", "allowed", first.rpartition("/")[2])


def test_what_is_no_log_is_one_line(logged, tmp_path):
    other = tmp_path / "notes.eval"
    call("llm", other).refused("no such file", "inspect eval")
    other.write_text("{}")
    call("llm", other).refused("not a log", "inspect eval")
    log = logged(lab("Solvent/Tiny-v0", 2), "openai-api/case/m", model_base_url="http://127.0.0.1:9/v1", max_retries=0,
                 model_args={"api_key": "x"})  # fmt: skip
    assert log.status == "error"
    call("llm", log.location, "--out", tmp_path / "run").refused("2 of 2 episodes", "eval-retry")
    assert not (tmp_path / "run").exists()


def test_inspect_finds_the_task_by_the_name_on_the_page():
    from inspect_ai._util.registry import registry_info

    assert registry_info(lab).name == "solvent_agents/lab"

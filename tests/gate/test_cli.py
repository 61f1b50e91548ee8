"""``solvent gate`` as a newcomer meets it, with the real model on a small set."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from solvent.gate.policy_files import load_policies
from solvent.lab.verbs import Verb
from solvent.lab.words.catalogue import CATALOGUE
from solvent.lab.words.measured import SHIPPED, load_measured
from tests.commands import call, execute_python

COMMANDS = ("judge", "reviews", "decide", "learn", "drift", "sweep", "check", "eval", "plot", "build")


def gate(*arguments):
    return call("gate", *arguments)


@pytest.fixture(scope="module")
def folder(embedder, small, tmp_path_factory):
    """A folder with a data set, a sweep and its policies, an evaluation, and another file; no test changes it."""
    pytest.importorskip("sklearn")
    root = tmp_path_factory.mktemp("gate")
    (root / "claims.jsonl").write_text("".join(json.dumps(record) + "\n" for record in small))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOLVENT_CACHE", str(root / "cache"))
        data, out = ("--dataset", root / "claims.jsonl"), root / "out"
        policies = ("--policies", out / "policies.json", "--budget", "0.2")
        gate("sweep", *data, "--out", out / "sweep.json", "--n", "0", *policies, "-q").succeeded()
        gate("eval", *data, "--out", out / "eval.json", "--resamples", "100", "-q").succeeded()
    (out / "other.json").write_text("{\n}\n")
    return root


@pytest.fixture
def here(folder, monkeypatch, tmp_path):
    monkeypatch.setenv("SOLVENT_CACHE", str(folder / "cache"))
    monkeypatch.chdir(tmp_path)
    return folder


def test_the_group_and_every_command_have_help_and_an_example():
    shown = gate().succeeded()
    for command in COMMANDS:
        assert f" {command} " in shown
        told = gate(command, "--help").succeeded()
        assert f"Usage: solvent gate {command}" in told
        assert "Example" in told


def test_a_sweep_writes_its_file_its_manifest_and_policies(folder):
    out = folder / "out"
    sweep = json.loads((out / "sweep.json").read_text())
    manifest = json.loads((out / "sweep.manifest.json").read_text())
    assert list(sweep["tau_by_percentile"]) == ["P1", "P5", "P10", "P20", "P30"]
    assert manifest["file"]["name"] == "sweep.json"
    assert manifest["dataset"]["sha256"] == sweep["dataset"]["sha256"]
    assert manifest["model"]["sha256"] == sweep["model"]["fingerprint"]
    assert manifest["arguments"]["percentiles"] == [1.0, 5.0, 10.0, 20.0, 30.0]
    assert manifest["gate_packages"]["sentence-transformers"]
    policies = load_policies(out / "policies.json")
    assert {policy.domain for policy in policies.values()} == {"claims"}
    assert policies["adaptive.P10.v1"].tau_accept == sweep["tau_by_percentile"]["P10"]
    written = {path.name for path in out.iterdir()}
    assert written == {
        "sweep.json",
        "sweep.manifest.json",
        "policies.json",
        "other.json",
        "eval.json",
        "eval.manifest.json",
    }


def test_a_sweep_says_what_it_found(here):
    ended = gate("sweep", "--dataset", here / "claims.jsonl", "--out", "s.json", "--n", "60")
    ended.succeeded("P30", "held out", "60 of 90 claims of claims (jsonl: ", "written: s.json")
    assert "claims measured" in ended.err
    ended.succeeded("budget for evidence of the same page: not learnt, too few claims have such evidence")


def test_check_exits_1_where_an_item_fails_and_says_which(here):
    sweep = here / "out" / "sweep.json"
    ended = gate("check", sweep)
    assert ended.code == 1  # ninety claims don't show stability
    for name in ("monotonicity", "non-collapse", "stability", "oracle sanity", "determinism"):
        assert name in ended.out
    assert "stability" in ended.out.splitlines()[-1]
    Path("other.jsonl").write_text((here / "claims.jsonl").read_text().replace("museum", "harbour"))
    gate("check", sweep, "--dataset", "other.jsonl", "-q").refused("has another text in the data set")


def test_check_sweeps_a_data_set_first_and_measures_from_its_text(here, monkeypatch):
    monkeypatch.setattr("solvent.gate.checklist.ENCODED_ANEW", 1)
    ended = gate("check", here / "claims.jsonl", "--json", "-q")
    assert ended.code == 1
    items = json.loads(ended.out)
    assert items[4]["passed"]
    assert items[4]["measured"] == "1 different output in 100 runs"
    assert "From the text" in items[4]["note"]


def test_check_exits_0_where_all_hold(here):
    content = json.loads((here / "out" / "sweep.json").read_text())
    samples = (content["samples"] * 2)[:100]
    for i, sample in enumerate(samples):
        gap = round(0.1 + i / 1000 + (0.4 if i >= 30 else 0.0), 6)
        samples[i] = sample | {"energy_gap": gap, "oracle_energy": 0.0}
    taus = {f"P{p}": samples[p - 1]["energy_gap"] for p in (1, 5, 10, 20, 30)}
    Path("good.json").write_text(json.dumps(content | {"samples": samples, "tau_by_percentile": taus}))
    assert "fails" not in gate("check", "good.json").succeeded()


def test_eval_shows_intervals(here):
    document = json.loads((here / "out" / "eval.json").read_text())
    measures = {row["measure"] for row in document["comparisons"]}
    assert measures == {"residual", "gap", "cosine", "tfidf", "checks", "spans"}
    arguments = ("--dataset", here / "claims.jsonl", "--resamples", "100", "-q")
    shown = gate("eval", *arguments).succeeded()
    for said in (
        "evidence of another claim",
        "refuted",
        "not enough information",
        "residual",
        "1.000 [1.000",
    ):
        assert said in shown
    assert not list(Path().iterdir())


def test_plots_are_drawn_and_repeat(here):
    for folder in ("a", "b"):
        drawn = gate("plot", here / "out" / "sweep.json", "--out", folder).succeeded().split()
        assert drawn[:2] == [f"{folder}/sweep_{name}.png" for name in ("gaps", "verdicts")]
    for path in Path("a").iterdir():
        assert path.read_bytes() == Path("b", path.name).read_bytes()
        assert path.stat().st_size > 2000
    assert len(list(Path("a").iterdir())) == 4


def test_broken_lines_are_skipped_under_the_flag_alone(here):
    text = (here / "claims.jsonl").read_text()
    Path("broken.jsonl").write_text(f"{text}{{\n{text}")
    arguments = ("sweep", "--dataset", "broken.jsonl", "--out", "s.json", "-q")
    shown = gate(*arguments)
    assert shown.code == 2
    assert "broken.jsonl, line 91: not JSON" in shown.err
    assert shown.err.count("\n") == 1
    assert not Path("s.json").exists()
    gate(*arguments, "--skip-broken").succeeded("skipped 1 broken line; the first: line 91")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("swep",), "Did you mean 'sweep'"),
        (("sweep", "--out", "s.json"), "Missing option '--dataset'"),
        (("sweep", "--dataset", "none.jsonl", "--out", "s.json"), "none.jsonl: no such file"),
        (("sweep", "--dataset", ".", "--out", "s.json"), "is a folder"),
        (("sweep", "--dataset", "CLAIMS", "--out", "."), "--out: . is a folder"),
        (("sweep", "--dataset", "CLAIMS", "--out", "CLAIMS"), "is the data set"),
        (("sweep", "--dataset", "CLAIMS", "--out", "OTHER"), "is another kind of file"),
        (("sweep", "--dataset", "CLAIMS", "--out", "s.json", "--policies", "."), "--policies: . is a folder"),
        (("sweep", "--dataset", "CLAIMS", "--out", "s.json", "--policies", "CLAIMS"), "is the data set"),
        (
            ("sweep", "--dataset", "CLAIMS", "--out", "s.json", "--policies", "./s.json"),
            "--policies: s.json is what --out writes",
        ),
        (
            ("sweep", "--dataset", "CLAIMS", "--out", "s.json", "--policies", "s.manifest.json"),
            "--policies: s.manifest.json is what --out writes",
        ),
        (
            ("sweep", "--dataset", "CLAIMS", "--out", "s.json", "--policies", "OTHER"),
            "is another kind of file",
        ),
        (
            ("sweep", "--dataset", "CLAIMS", "--out", "s.json", "--policies", "SWEEP"),
            "is another kind of file",
        ),
        (("sweep", "--dataset", "CLAIMS", "--out", "s.json", "--wiki-db", "s.json"), "is the database of"),
        (("sweep", "--dataset", "CLAIMS", "--out", "INSIDE"), "can't be written, Not a directory; allowed"),
        (
            ("sweep", "--dataset", "CLAIMS", "--out", "s.json", "--policies", "INSIDE"),
            "--policies: ",
        ),
        (
            ("sweep", "--dataset", "CLAIMS", "--out", "s.json", "--policies", "p.json", "--domain", "any"),
            "got 'any' domain",
        ),
        (("sweep", "--dataset", "CLAIMS", "--out", "s.json", "--oracle", "last"), "--oracle: got 'last'"),
        (("eval", "--dataset", "CLAIMS", "--out", "CLAIMS"), "is the data set"),
        (("judge", "CLAIMS"), "Missing option '--policy'"),
        (("judge", "CLAIMS", "--policy", "P10"), "policy: got 'P10'; allowed: editorial, standard, strict"),
        (("judge", "none.jsonl", "--policy", "strict"), "none.jsonl: no such file"),
        (("judge", "CLAIMS", "--policy", "strict", "--out", "CLAIMS"), "is the data set"),
        (("judge", "CLAIMS", "--policy", "strict", "--store", "OTHER"), "file is not a database"),
        (("judge", "CLAIMS", "--policy", "P10", "--policies", "OTHER"), "not a file of policies"),
        (("judge", "CLAIMS", "--policy", "P10", "--policies", "POLICIES", "--domain", "x"), "'x' is used"),
        (
            ("judge", "CLAIMS", "--policy", "P10", "--policies", "POLICIES", "--oracle", "first"),
            "oracle: got",
        ),
        (("reviews",), "solvent_gate.db: no such store; allowed: a store that is there, `solvent gate judge"),
        (("decide", "ab", "accept", "--why", "x"), "no such store"),
        (("decide", "ab", "accept"), "Missing option '--why'"),
        (("learn",), "no such store"),
        (("drift",), "no such store"),
        (("eval", "--dataset", "CLAIMS", "--out", "SWEEP"), "is another kind of file"),
        (("sweep", "--dataset", "CLAIMS", "--out", "s.json", "--n", "1"), "n: got 1; allowed: 2 or more"),
        (
            ("sweep", "--dataset", "CLAIMS", "--out", "s.json", "--percentiles", "5,x"),
            "--percentiles: got '5,x'",
        ),
        (("sweep", "--dataset", "CLAIMS", "--out", "s.json", "--percentiles", "0"), "--percentiles: got '0'"),
        (("sweep", "--dataset", "CLAIMS", "--out", "s.json", "--wiki-db", "no.db"), "no.db: no such file"),
        (("sweep", "--dataset", "CLAIMS", "--out", "s.json", "--top-k", "0"), "--top-k"),
        (("sweep", "--dataset", "CLAIMS", "--out", "s.json", "--budget", "2"), "budget: got 2"),
        (("sweep", "--dataset", "CLAIMS", "--out", "s.json", "--model", "./none"), "'./none'"),
        (("check", "none.json"), "none.json: no such file"),
        (("check", "SWEEP", "--oracle", "first"), "--oracle: got first; allowed: medoid, which"),
        (("judge", "CLAIMS", "--policy", "strict", "--store", "INSIDE"), "--store: "),
        (("plot", "CLAIMS"), "not a sweep"),
        (("plot", "none.json"), "none.json: no such file"),
        (("check", "OTHER"), "other.json, line 1: not JSON"),
        (("eval", "--dataset", "CLAIMS", "--resamples", "1"), "--resamples"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_mistake_is_one_line(arguments, said, here):
    out = here / "out"
    places = {"CLAIMS": here / "claims.jsonl", "OTHER": out / "other.json", "SWEEP": out / "sweep.json"}
    places["POLICIES"] = out / "policies.json"
    before = {path: path.read_bytes() for path in places.values()}
    places["INSIDE"] = here / "claims.jsonl" / "s.json"
    given = [str(places.get(argument, argument)) for argument in arguments]
    quiet = ["-q"] if arguments[0] in ("sweep", "check", "eval", "judge") else []
    gate(*given, *quiet).refused(said)
    assert not list(Path().iterdir())
    assert before == {path: path.read_bytes() for path in before}


PRECIOUS = '{"mine": "since 1998"}'


@pytest.mark.parametrize("name", ["s.json", "s.manifest.json", "p.json"])
@pytest.mark.parametrize("command", ["sweep", "eval"])
def test_a_file_of_the_users_is_refused_before_anything_is_read(command, name, here):
    Path(name).write_text(PRECIOUS)
    policies = ("--policies", "p.json") if command == "sweep" else ()
    # The data set is not there, and would be the error if it were looked at first.
    ended = gate(command, "--dataset", "none.jsonl", "--out", "s.json", *policies)
    refused = command == "sweep" or name != "p.json"
    expected = f"{name} exists and is another kind of file; allowed: a new one" if refused else "no such file"
    ended.refused(expected)
    assert [path.name for path in Path().iterdir()] == [name]
    assert Path(name).read_text() == PRECIOUS


def test_a_manifest_of_another_file_is_refused(here):
    Path("sweep.manifest.json").write_bytes((here / "out" / "sweep.manifest.json").read_bytes())
    gate("sweep", "--dataset", here / "claims.jsonl", "--out", "sweep.txt", "-q").refused(
        "sweep.manifest.json exists and is another kind of file"
    )
    assert not Path("sweep.txt").exists()


def test_a_sweep_of_the_same_name_is_made_anew(here):
    for name in ("sweep.json", "sweep.manifest.json", "policies.json"):
        Path(name).write_bytes((here / "out" / name).read_bytes())
    arguments = ("--dataset", here / "claims.jsonl", "--out", "sweep.json", "--n", "60", "-q")
    gate("sweep", *arguments, "--policies", "policies.json", "--domain", "other").succeeded()
    assert json.loads(Path("sweep.json").read_text())["settings"]["n"] == 60
    assert json.loads(Path("sweep.manifest.json").read_text())["arguments"]["n"] == 60
    assert {policy.domain for policy in load_policies("policies.json").values()} == {"other"}


@pytest.mark.public_data
def test_the_quick_start_on_a_published_set(here, public_data):
    data = public_data / "fever_symmetric" / "norm.jsonl"
    arguments = ("--dataset", data, "--out", "sweep.json", "--n", "20", "-q")
    gate("sweep", *arguments).succeeded("20 of 1,420 claims of norm")
    assert gate("check", "sweep.json").code in (0, 1)


@pytest.mark.slow
def test_the_shipped_gate_is_what_would_be_built_now(embedder):
    assert "differs" not in gate("build", "--check").succeeded()


PLAY = f"""
import sys
import numpy as np
from solvent import LabEnv
env = LabEnv({{"assay": {{"compounds": ["CCCP"]}}, "gate": {{"tables": sys.argv[1]}}}}, preset="gate")
env.reset(seed=0)
env.step(int(np.flatnonzero(env.actions["verb"] == {int(Verb.DOSE_RESPONSE)})[0]))
print(*env.notebook("CCCP").spans, env.get_state()["fit_strength"][0], sep="\\n")
"""


def test_other_words_make_another_gate_and_change_nothing_that_is_shipped(tmp_path, embedder, monkeypatch):
    monkeypatch.setattr("solvent_experiments.instruments.lab_words.PAGES", 64)
    text = CATALOGUE.read_text(encoding="utf-8")
    words = tmp_path / "words.toml"
    assert "There is a hint" in text
    words.write_text(text.replace("There is a hint", "There is a trace"), encoding="utf-8")
    config = tmp_path / "small.yaml"
    config.write_text(
        "name: small\nenv: Solvent/Gate-v0\nagents: [hermit]\nparams: {assay: {compounds: [CCCP]}}\n",
        encoding="utf-8",
    )
    shipped = SHIPPED.read_bytes()
    arguments = ("build", "--config", str(config), "--catalogue", str(words))
    gate(*arguments, "--out", str(tmp_path)).succeeded("adaptive.P20.v1")
    assert load_measured(tmp_path / SHIPPED.name).about["compounds"] == ["CCCP"]
    assert SHIPPED.read_bytes() == shipped
    gate(*arguments, "--out", str(tmp_path), "--check").succeeded()
    ended = gate("build", "--config", str(config), "--out", str(tmp_path), "--check")
    assert ended.code == 1
    assert "differs  sentences" in ended.out
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")  # to compile for one compound takes longer than to play
    *spans, strength = execute_python(PLAY, tmp_path / SHIPPED.name).succeeded().splitlines()
    assert strength == "0" or any("There is a trace that CCCP" in span for span in spans)


def test_a_gate_is_not_built_over_the_shipped_one_by_default():
    shipped = SHIPPED.read_bytes()
    gate("build").refused("--out: got nothing; allowed: the folder to write the files to")
    assert SHIPPED.read_bytes() == shipped

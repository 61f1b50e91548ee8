"""A finished run whose files are lost or changed: what is said of it, and what the same command makes of it."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from solvent_experiments.artifacts.folder import RunFolder
from solvent_experiments.artifacts.integrity import SAME, altered, compared, finished_manifest
from solvent_experiments.config.documents import ConfigError
from solvent_experiments.config.experiment import Experiment
from solvent_experiments.run.running import run_experiment
from tests.commands import call
from tests.faults.tally import Tally, rounds
from tests.runs import incidents, sessions


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 0xFF
    path.write_bytes(content)


def grow(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"\n")


DAMAGES: dict[str, Callable[[Path], None]] = {
    "deleted": Path.unlink,
    "truncated": truncate,
    "one bit of it": flip,
    "longer": grow,
}


@pytest.fixture
def copied(smoke_run: RunFolder, tmp_path: Path) -> RunFolder:
    """A finished run to damage."""
    return RunFolder(Path(shutil.copytree(smoke_run.root, tmp_path / "run")))


def attacks(folder: RunFolder) -> Iterator[tuple[str, str]]:
    for name in finished_manifest(folder)["artifacts"]:
        yield from ((name, damage) for damage in DAMAGES if (folder.root / name).stat().st_size)


def test_every_damage_of_every_file_is_noticed(copied: RunFolder, tally: Tally) -> None:
    manifest, unnoticed, tried = finished_manifest(copied), [], 0
    for name, damage in attacks(copied):
        whole = (copied.root / name).read_bytes()
        DAMAGES[damage](copied.root / name)
        others = [one.name for one in compared(copied, manifest) if one.state != SAME]
        tried += 1
        if others != [name]:
            unnoticed.append((damage, name, others))
        (copied.root / name).write_bytes(whole)
    tally("damaged files", tried, tried - len(unnoticed))
    assert tried > 100
    assert not unnoticed[:3]


def damage_some(folder: RunFolder, luck: random.Random, names: list[str]) -> list[str]:
    chosen = luck.sample(sorted(names), luck.randint(1, 4))
    for name in chosen:
        DAMAGES[luck.choice(list(DAMAGES))](folder.root / name)
    return chosen


def made_again(experiment: Experiment, root: Path, before: dict[str, str], chosen: list[str]) -> list[str]:
    """Say what is wrong after the run of a damaged folder: nothing, if all is as it was."""
    run_experiment(experiment, root, quiet=True)
    wrong = [] if finished_manifest(RunFolder(root))["artifacts"] == before else ["other bytes"]
    wrong += [found for found in [altered(compared(RunFolder(root), {"artifacts": before}))] if found]
    told = [incident["said"] for incident in sessions(root)[-1]["incidents"]]
    wrong += [f"{name} was not told" for name in chosen if not any(f"{name}: " in line for line in told)]
    return wrong


def test_what_can_be_made_again_is_made_again(smoke: Experiment, tmp_path: Path, tally: Tally) -> None:
    few = smoke.evaluation.model_copy(update={"episodes": 4, "trace_episodes": 2, "ledger_episodes": 2})
    scripts = replace(smoke, train={}, agents=("random", "hermit"), evaluation=few)
    root = tmp_path / "run"
    before = finished_manifest(run_experiment(scripts, root, quiet=True))["artifacts"]
    # An empty ledger can't be damaged, and the command restores a changed config only if it still means the same.
    names = [name for name in before if (root / name).stat().st_size and name != "config.yaml"]
    tried, wrong = rounds(3, 40), []
    for seed in range(tried):
        chosen = damage_some(RunFolder(root), random.Random(seed), names)
        if found := made_again(scripts, root, before, chosen):
            wrong.append((seed, chosen, found))
    tally("damaged runs", tried, tried - len(wrong))
    assert not wrong[:3]


@pytest.mark.slow
def test_a_seed_whose_policy_or_table_is_damaged_is_trained_again(
    smoke: Experiment, copied: RunFolder, tally: Tally
) -> None:
    before, tried, wrong = finished_manifest(copied)["artifacts"], rounds(2, 10), []
    names = [name for name in before if name.startswith("ppo/") and (copied.root / name).stat().st_size]
    for seed in range(tried):
        chosen = damage_some(copied, random.Random(seed), names)
        if found := made_again(smoke, copied.root, before, chosen):
            wrong.append((seed, chosen, found))
    tally("damaged runs", tried, tried - len(wrong))
    assert not wrong[:3]


def test_check_names_each_file_and_the_command_that_makes_it_again(
    smoke: Experiment, copied: RunFolder
) -> None:
    whole = call("check", copied.root)
    assert whole.succeeded("files are as written").splitlines()[-1].startswith("Next: `solvent report")
    copied.summary.unlink()
    (copied.figures / "claims.png").unlink()
    copied.unit("hermit").ledger.unlink()
    truncate(copied.unit("random").episodes)
    flip(copied.unit("ppo", 1).model)
    ended = call("check", copied.root)
    assert ended.code == 1
    assert ended.out.splitlines() == [
        f"{copied.root}/figures/claims.png: missing; drawn again",
        f"{copied.root}/hermit/epistemic_refusals.jsonl: missing; hermit is evaluated again",
        f"{copied.root}/ppo/seed-1/policy.safetensors: changed since; ppo seed 1 is trained and evaluated again",
        f"{copied.root}/random/episodes.parquet: changed since; random is evaluated again",
        f"{copied.root}/summary.json: missing; joined again from the agents' tables",
        f"Next: `solvent run {copied.config} --out {copied.root}` makes them again.",
    ]
    for command in ("figures", "report"):
        told = call(command, copied.root)
        assert told.code == 0
        assert told.err.startswith(f"solvent: {copied.root}: changed since the run: ")
        assert told.err.endswith(f"`solvent run {copied.config} --out {copied.root}` makes them again\n")
        assert told.err.count("\n") == 1
    call("leaderboard", copied.root).refused("summary.json: missing; `solvent check RUN`")


def test_the_command_that_check_names_makes_the_run_whole(copied: RunFolder) -> None:
    copied.summary.unlink()
    copied.config.write_text("# a remark\n" + copied.config.read_text())
    call("run", copied.config, "--out", copied.root, "--quiet").succeeded("smoke (Solvent/Debt-v0)")
    call("check", copied.root).succeeded("files are as written")
    assert incidents(sessions(copied.root)[-1]) == [(None, "went on")]


def test_a_run_that_lost_its_config_gets_it_back(smoke_config: Path, copied: RunFolder) -> None:
    whole = copied.config.read_bytes()
    copied.config.unlink()
    assert f"{copied.config}: missing; written again" in call("check", copied.root).out
    call("run", smoke_config, "--out", copied.root).succeeded(
        f"{copied.config}: missing; written again", "every file as written"
    )
    assert copied.config.read_bytes() == whole


MANIFESTS: dict[str, Any] = {
    "a list": [],
    "no sessions": {"sessions": []},
    "a session of nothing": {"sessions": [{}]},
    "sessions that are text": {"sessions": "x"},
    "packages that are a number": {"sessions": [{"packages": 3}]},
    "artifacts that are a list": {"artifacts": ["config.yaml"]},
    "a hash that is a number": {"artifacts": {"config.yaml": 3}},
    "a file outside of the run": {"artifacts": {"../../secret": "0" * 64}},
    "an absolute file": {"artifacts": {"/etc/hostname": "0" * 64}},
    "finished at a number": {"finished": 3},
}


@pytest.mark.parametrize("changes", MANIFESTS.values(), ids=MANIFESTS)
def test_a_manifest_that_no_run_wrote_is_one_line(copied: RunFolder, changes: Any) -> None:
    whole = json.loads(copied.manifest.read_text(encoding="utf-8"))
    written = changes if isinstance(changes, list) else {**whole, **changes}
    copied.manifest.write_text(json.dumps(written), encoding="utf-8")
    for command in ("check", "report", "leaderboard"):
        call(command, copied.root).refused("not a manifest", "as `solvent run` wrote it")


def test_a_nested_manifest_is_one_line_and_set_aside(smoke: Experiment, copied: RunFolder) -> None:
    copied.manifest.write_text("[" * 100_000, encoding="utf-8")
    call("check", copied.root).refused("not a manifest")
    with pytest.raises(ConfigError, match="not a manifest"):
        finished_manifest(copied)
    run_experiment(smoke, copied.root, quiet=True)
    assert (copied.root / "manifest.damaged.json").stat().st_size == 100_000
    call("check", copied.root).succeeded()

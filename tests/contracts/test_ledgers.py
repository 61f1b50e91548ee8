"""The ledgers of every registered lab: append-only, complete after each step, and a vector's are its single labs'."""

from __future__ import annotations

import dataclasses
import datetime
import re
from collections import Counter
from pathlib import Path
from typing import get_args, get_type_hints

import numpy as np
import pytest

from solvent import ENVIRONMENTS, LabEnv, LabVectorEnv
from solvent.lab.codes import Verdict
from solvent.lab.ledger import LOG_FILES, logs_of
from solvent.lab.mechanisms.debt import RefusalEvent
from solvent.lab.mechanisms.gate import DecisionEvent, VerdictEvent
from solvent.lab.mechanisms.governance import IncidentEvent
from solvent.lab.mechanisms.proposals import DiscomfortEvent, ProposalEvent, ReviewEvent
from solvent.lab.verbs import Verb
from tests.labs import lines, replay, talk

EVENTS = {"refusals": RefusalEvent, "discomfort": DiscomfortEvent}
ISO_8601_UTC = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
QUICK = {
    "budget": {"start_hour": 8},
    "debt": {"threshold": 0.5, "sensitivity": 0.01},
    "energy": {"regeneration": 9.0},
    "gate": {"review_heartbeats": 2},
    "proposals": {
        "evidence_heartbeats": 1,
        "review_heartbeats": 2,
        "mispriced_least": 3,
        "mispriced_upwards": 1.0,
    },
}
"""Reviews are decided within an episode; the shapes are those of the level."""
MODES = ("SameStep", "NextStep")
every_id = pytest.mark.parametrize("env_id", sorted(ENVIRONMENTS))


def paths(folder: Path) -> dict[str, Path]:
    """Return the arguments of a lab that keeps all of its logs in a folder."""
    folder.mkdir(exist_ok=True)
    named = {**{f"{name}_path": name for name in LOG_FILES}, "ledger_path": "refusals"}
    del named["refusals_path"]
    return {argument: folder / LOG_FILES[name] for argument, name in named.items()}


def choose(table, mask, lab, rng):
    """Return an action that proposes and reflects where there is reason to, and else talks."""
    complains = "discomfort" in lab.dtype.names and lab["discomfort"].any() and rng.random() < 0.1
    for verb, reason in ((Verb.PROPOSE, True), (Verb.REFLECT, complains)):
        rows = mask.astype(bool) & (table["verb"] == verb)
        if reason and rows.any():
            return int(rows.argmax())
    return talk(table, mask, lab["experiments"], rng)


def play(env, steps, seed=1):
    """Yield the record before, the info, the step record and the record after each step, over episodes."""
    rng = np.random.default_rng(seed)
    env.reset(seed=seed)
    for _ in range(steps):
        before = env.get_state()
        *_, terminated, truncated, info = env.step(choose(env.actions, env.action_masks(), before, rng))
        yield before, info, env.batch.steps[0].copy(), env.get_state()
        if terminated or truncated:
            env.reset()


def happened(before, info, step, after):
    """Return how many events of each log a step has."""
    events = Counter(refusals="refusal" in info, discomfort="discomfort" in info)
    if "proposed_verb" in step.dtype.names:
        events["proposals"] = int(step["proposed_verb"] >= 0) + int(step["reviewed"].sum())
    if "verdict" in step.dtype.names:
        decided = int(step["approved"]).bit_count() + int(step["declined"]).bit_count()
        errors = int(after["incidents"].sum()) - int(before["incidents"].sum())
        events["verdicts"] = int(step["verdict"] != Verdict.NONE) + decided + errors
    return events


@pytest.fixture(scope="module", params=sorted(ENVIRONMENTS))
def written(request, tmp_path_factory):
    """A lab that played, and the lines of its logs."""
    folder = tmp_path_factory.mktemp("ledgers")
    env = LabEnv(QUICK, **ENVIRONMENTS[request.param], **paths(folder))
    counted = Counter()
    for told in play(env, 500):
        counted += happened(*told)
        on_disk = {name: (folder / file).read_bytes().count(b"\n") for name, file in LOG_FILES.items()}
        assert on_disk == {name: counted[name] for name in LOG_FILES}  # when the step returns
    return env, {name: lines(folder / file) for name, file in LOG_FILES.items()}


def test_exactly_the_logs_of_the_levels_mechanisms_are_written(written):
    env, logs = written
    expected = {log.name for log in logs_of(env.params)}
    if Verb.PROPOSE not in env.actions["verb"]:
        expected.discard("proposals")
    assert {name for name, rows in logs.items() if rows} == expected


def event_of(log, row):
    """Return the class of a line: that of the log, by what it calls itself where there are several."""
    kinds = {"verdict": VerdictEvent, "review": DecisionEvent, "incident": IncidentEvent}
    if log == "proposals":
        return ProposalEvent if row["status"] == "pending" else ReviewEvent
    return kinds[row["event"]] if log == "verdicts" else EVENTS[log]


def test_every_line_has_the_fields_of_its_event_in_their_order_and_types(written):
    env, logs = written
    for name, rows in logs.items():
        for row in rows:
            event = event_of(name, row)
            hints = {field.name: get_type_hints(event)[field.name] for field in dataclasses.fields(event)}
            assert list(row) == [key for key in hints if key in row]
            assert event is not VerdictEvent or ("adequacy" in row) == env.params.adequacy.enabled
            assert all(type(None) in get_args(hints[key]) for key in hints.keys() - row.keys())
            for key, value in row.items():
                if hints[key] in (int, str, bool):
                    assert type(value) is hints[key], key
                elif hints[key] is float:
                    assert type(value) in (int, float), key
                assert value != "", key
                if key == "timestamp" or (key.endswith("_at") and value is not None):
                    assert ISO_8601_UTC.fullmatch(value), key


def test_lines_are_in_the_order_of_the_labs_clock(written):
    for rows in written[1].values():
        stamps = [row.get("timestamp") or row.get("reviewed_at") or row["created_at"] for row in rows]
        moments = [datetime.datetime.fromisoformat(stamp) for stamp in stamps]
        assert moments == sorted(moments)
        assert all(moment.tzinfo == datetime.UTC for moment in moments)


@every_id
def test_the_logs_are_append_only_and_the_same_bytes_for_the_same_seed(env_id, tmp_path):
    files = []
    for run in ("one", "two"):
        arguments = paths(tmp_path / run)
        for path in arguments.values():
            path.write_text("earlier\n", encoding="utf-8")
        for seed in (1, 2):
            before = [path.read_bytes() for path in arguments.values()]
            env = LabEnv(QUICK, **ENVIRONMENTS[env_id], **arguments)
            for _ in play(env, 120, seed):
                pass
            after = [path.read_bytes() for path in arguments.values()]
            assert all(
                new.startswith(old) and new.endswith(b"\n") for old, new in zip(before, after, strict=True)
            )
            assert before != after
        files.append(after)
    assert files[0] == files[1]
    assert len(set(files[0])) > 1


@every_id
def test_each_log_is_kept_alone_or_not_at_all(env_id, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    arguments = ENVIRONMENTS[env_id]
    for _ in play(LabEnv(QUICK, **arguments), 40):
        pass
    assert not list(tmp_path.iterdir())
    for argument, path in paths(tmp_path).items():
        for _ in play(LabEnv(QUICK, **arguments, **{argument: path}), 40):
            pass
        assert list(tmp_path.iterdir()) == [path]
        path.unlink()
        for make in (LabEnv, LabVectorEnv):
            for unwritable in (tmp_path, tmp_path / "no" / "such" / "folder.jsonl"):
                with pytest.raises(OSError, match=re.escape(str(unwritable))):
                    make(**arguments, **{argument: unwritable})


@every_id
@pytest.mark.parametrize("mode", MODES)
def test_a_vectors_logs_name_the_lab_and_hold_what_single_labs_hold(env_id, mode, tmp_path):
    """Also what is decided in the very step in which an episode ends and the next begins."""
    count, short = 6, {**QUICK, "budget": {"heartbeats": 5, "start_hour": 8}}
    together = paths(tmp_path / "together")
    labs = LabVectorEnv(count, short, **ENVIRONMENTS[env_id], autoreset_mode=mode, **together)
    rng, taken = np.random.default_rng(5), []
    labs.reset(seed=20)
    for _ in range(120):
        seen = zip(labs.action_masks(), labs.get_state(), strict=True)
        taken.append([choose(labs.actions, mask, lab, rng) for mask, lab in seen])
        labs.step(np.array(taken[-1]))
    at_the_end, told = 0, {argument: lines(path) for argument, path in together.items()}
    for lab, actions in enumerate(np.array(taken).T):
        alone, suffix = paths(tmp_path / str(lab)), f"_lab{lab}"
        env = LabEnv(short, **ENVIRONMENTS[env_id], **alone)
        for _, (*_, terminated, truncated, info) in replay(env, actions, 20 + lab, mode):
            at_the_end += (terminated or truncated) and bool(
                info.keys() & {"refusal", "verdict", "discomfort"}
            )
        for argument, rows in told.items():
            mine = [row for row in rows if row["design_id"].endswith(suffix)]
            expected = [{**row, "design_id": row["design_id"] + suffix} for row in lines(alone[argument])]
            assert mine == expected
    assert all(
        row["design_id"].rpartition("_")[2] in {f"lab{i}" for i in range(count)}
        for r in told.values()
        for row in r
    )
    assert at_the_end
    assert told["ledger_path"]

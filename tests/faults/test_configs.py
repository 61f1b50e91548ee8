"""Configs from a grammar and by mutation: each is accepted, or refused in one line before anything is written."""

from __future__ import annotations

import datetime
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from solvent import ENVIRONMENTS, LabParams
from solvent_agents import PLAYERS
from solvent_agents.learning.recipe import ALGORITHMS
from tests.commands import call
from tests.faults.tally import Tally, rounds

CONFIGS = Path(__file__).parents[2] / "configs"
PATIENCE = 10.0
"""Seconds for a config; most take a hundredth of one."""

fuzz = settings(
    phases=[Phase.generate],  # all failures are shown as they are found
    database=None,
    suppress_health_check=list(HealthCheck),
)

# ------------------------------------------------------------------------------------------ the grammar

NUMBERS = (0, -1, 1, 2, 2**31, 2**32, 2**63, 10**25, 1e-300, 1e308, float("nan"), float("inf"))
WORDS = ("", "x", "../x", "/dev/zero", "config.yaml", "figures", "\x1b[2J", "\u202e", "\0", "a" * 5000)
SCALARS: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from(NUMBERS),
    st.floats(),
    st.sampled_from(WORDS),
    st.text(max_size=20),
    st.just(datetime.date(1, 1, 1)),
    st.just(datetime.datetime(1, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=14)))),
    st.binary(max_size=5),
)
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(SCALARS, inner, max_size=4),
    max_leaves=8,
)


def or_anything(right: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Mostly what is right."""
    return st.one_of(right, right, right, ANYTHING)


@st.composite
def changes_of(draw: st.DrawFn, tree: dict[str, Any]) -> Any:
    """Some keys of a tree of settings, here and there with another value."""
    if not draw(st.integers(0, 3)):
        return draw(ANYTHING)
    names = draw(st.lists(st.sampled_from(sorted(tree)), max_size=3, unique=True))
    return {
        name: draw(
            changes_of(tree[name]) if isinstance(tree[name], dict) else or_anything(st.just(tree[name]))
        )
        for name in names
    }


RECIPES = st.fixed_dictionaries(
    {},
    optional={
        "algorithm": or_anything(st.sampled_from(sorted(ALGORITHMS))),
        "recipe": or_anything(st.just("ppo")),
        **{
            key: or_anything(st.sampled_from(NUMBERS))
            for key in ("n_timesteps", "n_envs", "n_steps", "buffer_size", "batch_size", "learning_rate")
        },
        "policy": or_anything(st.just("MlpPolicy")),
        "policy_kwargs": or_anything(st.just({"width": 32})),
        "shaping_weight": ANYTHING,
    },
)
NAMES = st.sampled_from(("ppo", "Figures", "summary.json", "honest")) | SCALARS
EXPERIMENTS = st.fixed_dictionaries(
    {
        "name": or_anything(st.just("x")),
        "agents": or_anything(st.lists(or_anything(st.sampled_from(sorted(PLAYERS))), max_size=4)),
    },
    optional={
        "env": or_anything(st.sampled_from(sorted(ENVIRONMENTS))),
        "preset": or_anything(st.sampled_from(("default", "two_tier"))),
        "params": changes_of(LabParams().to_mapping()),
        "costs": or_anything(st.fixed_dictionaries({}, optional={"store": SCALARS, "as_of": SCALARS})),
        "train": or_anything(st.dictionaries(NAMES, or_anything(RECIPES), max_size=3)),
        "seeds": or_anything(st.lists(or_anything(st.integers(0, 20_000)), max_size=4)),
        "evaluation": or_anything(
            st.dictionaries(st.sampled_from(("episodes", "first_seed", "trace_episodes")), SCALARS)
        ),
        "unknown": ANYTHING,
    },
)


@st.composite
def documents(draw: st.DrawFn) -> bytes:
    """A config with the keys of one, as YAML."""
    return yaml.safe_dump(draw(EXPERIMENTS), sort_keys=False).encode("utf-8")


# ------------------------------------------------------------------------------------------ mutation

SOURCES = [path.read_bytes() for path in sorted(CONFIGS.glob("*.yaml"))]
PIECES = (
    *(
        b"&a ",
        b"*a",
        b"<<: *a\n",
        b"!!binary ",
        b"!!set ",
        b"!!python/object:os.system ",
        b"? ",
        b"- ",
        b"|\n",
    ),
    *(
        b"\0",
        b"\x1b[2J",
        b"\xff",
        b"\t",
        b"{",
        b"[" * 40,
        b"]",
        b"'",
        b'"',
        b": ",
        b"#",
        b"\n",
        b"---\n",
        b"%",
    ),
    *(
        b"9" * 200,
        b"0x" + b"f" * 50,
        b"1:1:1",
        b".nan",
        b"-.inf",
        b"0001-01-01",
        b"null",
        b"~",
        b"\xe2\x80\xae",
    ),
)


@st.composite
def mutants(draw: st.DrawFn) -> bytes:
    """A config of this repository with a few pieces of it cut out, repeated or replaced."""
    text = draw(st.sampled_from(SOURCES))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 40)))
        piece = draw(st.sampled_from((b"", text[start:end] * 2, *PIECES)) | st.binary(max_size=8))
        text = text[:start] + piece + text[end:]
    return text


# ------------------------------------------------------------------------------------------ the tests


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hyperparameters").symlink_to(CONFIGS / "hyperparameters")
    return tmp_path


def fault_of(text: bytes, here: Path) -> str:
    """What is wrong with how ``solvent run`` takes a config; empty if nothing is.

    An accepted config ends at the option after it, for which there is no such backend.
    """
    (here / "x.yaml").write_bytes(text)
    begun = time.monotonic()
    try:
        call("run", "x.yaml", "--backend", "none").refused()
    except AssertionError as error:
        return f"{str(error)[:300]!a} of {text[:2000]!a}"
    if time.monotonic() - begun > PATIENCE:
        return f"{time.monotonic() - begun:.1f} s for {text[:2000]!a}"
    if left := {path.name for path in here.iterdir()} - {"x.yaml", "hyperparameters"}:
        return f"wrote {left} for {text[:2000]!a}"
    return ""


@pytest.mark.parametrize("texts", [documents(), mutants()], ids=["grammar", "mutants"])
def test_a_config_is_accepted_or_refused_in_a_line(
    texts: st.SearchStrategy[bytes], here: Path, tally: Tally
) -> None:
    tried: list[str] = []

    @settings(fuzz, max_examples=rounds(60, 1000))
    @given(texts)
    def attack(text: bytes) -> None:
        tried.append(fault_of(text, here))

    attack()
    faults = [fault for fault in tried if fault]
    tally("configs", len(tried), len(tried) - len(faults))
    assert not faults, "\n".join(faults[:5])

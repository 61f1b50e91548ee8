"""Nothing that is loaded can run code: the sources hold no call that would let it, read off with ``ast``."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCES = [
    path
    for root in ("envs", "agents", "experiments", "benchmarks", "examples", "tools")
    for path in (ROOT / root).rglob("*.py")
]
MODULES = {"pickle", "cPickle", "_pickle", "cloudpickle", "dill", "joblib", "marshal", "shelve"}
CALLS = {"eval", "exec", "compile", "__import__", "torch.load", "yaml.load", "yaml.unsafe_load", "os.system"}
ARGUMENTS = {("weights_only", False), ("allow_pickle", True), ("shell", True)}


def findings(source: str) -> Iterator[str]:
    """Yield what could run code that comes from a file."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (a.name for a in node.names if a.name.partition(".")[0] in MODULES)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in MODULES:
            yield str(node.module)
        elif isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            if name in CALLS:
                yield name
            for keyword in node.keywords:
                if (
                    isinstance(keyword.value, ast.Constant)
                    and (keyword.arg, keyword.value.value) in ARGUMENTS
                ):
                    yield f"{keyword.arg}={keyword.value.value}"


def test_no_source_can_run_what_it_loads() -> None:
    result = [
        f"{path.relative_to(ROOT)}: {what}" for path in SOURCES for what in findings(path.read_text("utf-8"))
    ]
    assert SOURCES
    assert result == []


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "from dill import loads",
        "def f(): import joblib.numpy_pickle",
        "eval(text)",
        "x = torch.load(path)",
        "torch.load(path, weights_only=False)",
        "np.load(path, allow_pickle=True)",
        "subprocess.run(line, shell=True)",
        "yaml.load(text)",
    ],
)
def test_every_such_form_is_seen(source: str) -> None:
    assert list(findings(source))

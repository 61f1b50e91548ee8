"""What an installed Solvent promises: a light core, exact exports, types, whole files, extras that install anywhere."""

from __future__ import annotations

import importlib.metadata
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest
from packaging.metadata import Metadata
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

import solvent

ROOT = Path(__file__).resolve().parent.parent
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
METADATA: dict[str, Any] = PROJECT["project"]
NAME = canonicalize_name(METADATA["name"])
EXTRAS: dict[str, list[str]] = METADATA["optional-dependencies"]
PACKAGES = [Path(package) for package in PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]]
HEAVY = {"matplotlib", "mcp", "pandas", "pygame", "rich", "sqlalchemy", "stable-baselines3", "torch", "typer"}


# -------------------------------------------------------------------------------------------------- wheel


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the distributions: the one that SOLVENT_DIST names (`make dist`), or one where they are built."""
    if made := os.environ.get("SOLVENT_DIST"):
        return ROOT / made
    folder = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    built = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert built.returncode == 0, built.stderr
    return folder


def only(folder: Path, pattern: str) -> Path:
    (result,) = folder.glob(pattern)
    return result


def test_the_wheel_holds_the_packages_whole_and_nothing_else(built: Path) -> None:
    """A file that .gitignore catches would be missing from the wheel and from nowhere else."""
    with zipfile.ZipFile(only(built, "*.whl")) as archive:
        shipped = {name for name in archive.namelist() if ".dist-info/" not in name}
    compiled = {".pyc", ".nbi", ".nbc"}
    sources = {
        path.relative_to(ROOT / package.parent).as_posix()
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.is_file() and path.suffix not in compiled
    }
    assert shipped == sources
    assert {f"{package.name}/py.typed" for package in PACKAGES} <= shipped


@pytest.mark.parametrize("kind", ["*.whl", "*.tar.gz"])
def test_the_metadata_are_valid_and_an_index_can_show_them(built: Path, kind: str) -> None:
    path = only(built, kind)
    if kind == "*.whl":
        with zipfile.ZipFile(path) as wheel:
            text = wheel.read(f"{path.name.removesuffix('-py3-none-any.whl')}.dist-info/METADATA")
    else:
        with tarfile.open(path) as archive:
            file = archive.extractfile(f"{path.name.removesuffix('.tar.gz')}/PKG-INFO")
            assert file is not None
            text = file.read()
    metadata = Metadata.from_email(text, validate=True)
    assert str(metadata.version) == solvent.__version__
    assert metadata.description_content_type == "text/markdown"
    assert metadata.description is not None
    assert metadata.description.startswith("# Solvent\n")
    # An index has neither the pages nor the pictures beside the README.
    assert not re.findall(r"\]\((?!https?:)[^)]*\)|(?:src|href)=[\"'](?!https?:)", metadata.description)


def test_citation_and_changelog_are_of_the_last_release() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    (version,) = re.findall(r"^version: (.*)$", citation, re.MULTILINE)
    (released,) = re.findall(r"^date-released: (.*)$", citation, re.MULTILINE)
    changes = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert Version(version) <= Version(solvent.__version__)
    assert (version == solvent.__version__) != Version(solvent.__version__).is_devrelease
    assert changes[:2] == ["[Unreleased]", f"[{version}] - {released}"]


# ----------------------------------------------------------------------------------------- requirements


def requirements(distribution: str, extra: str) -> list[Requirement]:
    """What ``distribution[extra]`` asks for here: our own from pyproject, others from their metadata."""
    if distribution == NAME:
        return [Requirement(line) for line in METADATA["dependencies"] + EXTRAS.get(extra, [])]
    try:
        lines = importlib.metadata.requires(distribution) or []
    except importlib.metadata.PackageNotFoundError:  # for another platform
        return []
    wanted = [Requirement(line) for line in lines]
    return [r for r in wanted if r.marker is None or r.marker.evaluate({"extra": extra})]


def closure(extra: str) -> set[str]:
    """Every distribution that ``solvent-gym[extra]`` leads to."""
    seen: set[tuple[str, str]] = set()
    waiting = [(NAME, extra)]
    while waiting:
        asked = waiting.pop()
        if asked not in seen:
            seen.add(asked)
            for requirement in requirements(*asked):
                name = canonicalize_name(requirement.name)
                waiting += [(name, deeper) for deeper in {"", *requirement.extras}]
    return {distribution for distribution, _ in seen}


def test_the_core_leads_to_nothing_heavy() -> None:
    core = {canonicalize_name(Requirement(line).name) for line in METADATA["dependencies"]}
    assert core == {"filelock", "gymnasium", "numba", "numpy", "pydantic", "scipy"}
    assert not closure("") & HEAVY


INSTRUMENTS = """
import gymnasium, solvent.adequacy, solvent.debt, solvent.energy, solvent.gate
from solvent.adequacy.agreement import kappa

env = gymnasium.make("solvent:Solvent/Debt-v0")
env.reset(seed=0)
env.step(0)
kappa([0, 1, 2, 3], [0, 1, 3, 2])  # a bootstrap with `rng`: scipy 1.15
try:  # a default made of another field, which is wrong: pydantic 2.12
    solvent.gate.Policy(kind="fixed", label="x", tau_accept=float("nan"))
except ValueError:
    pass
"""


@pytest.mark.slow
def test_the_lowest_versions_that_are_allowed_run_the_instruments_and_a_lab(tmp_path: Path) -> None:
    bounds = [(line.name, bound) for line in requirements(NAME, "") for bound in line.specifier]
    lowest = [f"{name}=={bound.version}" for name, bound in bounds if bound.operator == ">="]
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "lowest"], check=True)
    python = tmp_path / "lowest" / ("Scripts" if os.name == "nt" else "bin") / "python"
    pip = [python, "-m", "pip", "install", "--quiet", "--only-binary=:all:", "--retries=0", "--timeout=30"]
    installed = subprocess.run([*pip, *lowest], capture_output=True, text=True, check=False)
    if installed.returncode:
        pytest.skip(f"pip can't install {', '.join(lowest)} here: {installed.stderr[-200:]}")
    environment = os.environ | {"PYTHONPATH": str(ROOT / "envs"), "NUMBA_CACHE_DIR": str(tmp_path)}
    ran = subprocess.run(
        [python, "-W", "error", "-c", INSTRUMENTS],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr


def test_an_extra_that_leads_to_torch_names_its_range() -> None:
    leading = {extra for extra in EXTRAS if "torch" in closure(extra)}
    assert leading >= {"agents", "all", "dev"}  # it can't pass by finding no torch anywhere
    for extra, lines in EXTRAS.items():
        named = [line for line in lines if canonicalize_name(Requirement(line).name) == "torch"]
        assert named == (["torch>=2.8,<2.14"] if extra in leading else []), extra


def pins() -> dict[str, str]:
    """The version of each distribution in constraints.txt."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    result = (line.partition("==") for line in lines if line and not line.startswith("#"))
    return {canonicalize_name(name): version for name, _, version in result}


@pytest.mark.parametrize("name", ["numba", "torch"])
def test_what_compiles_or_computes_is_allowed_up_to_the_minor_release_that_was_tested(name: str) -> None:
    major, minor = map(int, pins()[name].split(".")[:2])
    (asked,) = {str(line.specifier) for line in requirements(NAME, "dev") if line.name == name}
    assert f"<{major}.{minor + 1}" in asked.split(",")


def test_constraints_pin_all_that_is_asked_for_and_fit_on_any_machine() -> None:
    pinned = pins()
    for extra in {"", *EXTRAS}:
        for requirement in requirements(NAME, extra):
            name = canonicalize_name(requirement.name)
            if name != NAME:
                assert requirement.specifier.contains(pinned[name]), str(requirement)
    assert all(re.fullmatch(r"[0-9][0-9a-z.]*", version) for version in pinned.values())
    assert not [name for name in pinned if name.startswith(("nvidia-", "cuda-", "triton"))]

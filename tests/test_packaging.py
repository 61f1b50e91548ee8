"""What an installed Solvent promises: a light core, exact exports, types, whole files, extras that install anywhere."""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import types
import zipfile
from pathlib import Path
from typing import Any

import pytest
from packaging.metadata import Metadata
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import solvent

ROOT = Path(__file__).resolve().parent.parent
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
METADATA: dict[str, Any] = PROJECT["project"]
NAME = canonicalize_name(METADATA["name"])
EXTRAS: dict[str, list[str]] = METADATA["optional-dependencies"]
PACKAGES = [Path(package) for package in PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]]
HEAVY = {
    "matplotlib",
    "mcp",
    "pandas",
    "prompt_toolkit",
    "psycopg",
    "pyarrow",
    "pydantic",
    "pygame",
    "rich",
    "sentence_transformers",
    "sklearn",
    "solvent_agents",
    "solvent_experiments",
    "sqlalchemy",
    "stable_baselines3",
    "torch",
    "transformers",
    "typer",
    "yaml",
}


def package_names() -> list[str]:
    """Every package, down to the smallest: ``solvent``, ``solvent.lab.mechanisms``, ..."""
    return [
        ".".join(init.parent.relative_to(ROOT / package.parent).parts)
        for package in PACKAGES
        for init in sorted((ROOT / package).rglob("__init__.py"))
    ]


# ------------------------------------------------------------------------------------------------ imports


def test_the_environment_alone_is_light() -> None:
    paths = os.pathsep.join(str(ROOT / package.parent) for package in PACKAGES)
    result = subprocess.run(
        [sys.executable, "-c", "import json, sys, solvent; print(json.dumps(list(sys.modules)))"],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    modules = set(json.loads(result.stdout.splitlines()[-1]))
    assert "solvent.gate" not in modules  # of use to a lab with a gate alone
    loaded = {name.split(".")[0] for name in modules}
    assert "solvent" in loaded
    # numba reads its configuration with yaml where that is installed
    assert not loaded & (HEAVY - {"yaml"})


@pytest.mark.parametrize("name", package_names())
def test_all_is_exact(name: str) -> None:
    """`__all__` is what the package offers of its own modules, and no less. Ruff (RUF022) keeps it sorted."""
    package = importlib.import_module(name)
    declared: list[str] = getattr(package, "__all__", [])
    missing = [export for export in declared if not hasattr(package, export)]
    offered = {
        export
        for export, value in vars(package).items()
        if not export.startswith("_")
        and not isinstance(value, types.ModuleType)
        and export != "TYPE_CHECKING"
        and getattr(value, "__module__", name).startswith(name)
    }
    assert not missing
    assert len(set(declared)) == len(declared)
    assert offered <= set(declared)


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_each_package_declares_all_and_ships_types(package: Path) -> None:
    assert importlib.import_module(package.name).__all__
    assert (ROOT / package / "py.typed").is_file()


def test_the_command_exists() -> None:
    for target in METADATA["scripts"].values():
        module, _, function = target.partition(":")
        assert callable(getattr(importlib.import_module(module), function))


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
    (found,) = folder.glob(pattern)
    return found


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


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="no clone")
def test_the_source_distribution_holds_the_repository(built: Path) -> None:
    """The tests too, and what they read. What a link to a folder leads to is there twice."""
    listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True).stdout
    with tarfile.open(only(built, "*.tar.gz")) as archive:
        shipped = {file.name.partition("/")[2] for file in archive if file.isfile()}
    files = {
        path.relative_to(ROOT).as_posix()
        for place in map(ROOT.joinpath, listed.splitlines())
        for path in (place.rglob("*") if place.is_dir() else [place])
        if path.is_file()
    }
    assert shipped == files | {"PKG-INFO"}


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


def test_citation_and_changelog_are_of_this_version() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    (version,) = re.findall(r"^version: (.*)$", citation, re.MULTILINE)
    (released,) = re.findall(r"^date-released: (.*)$", citation, re.MULTILINE)
    changes = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert version == solvent.__version__
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
        distribution, chosen = waiting.pop()
        if (distribution, chosen) in seen:
            continue
        seen.add((distribution, chosen))
        for requirement in requirements(distribution, chosen):
            name = canonicalize_name(requirement.name)
            waiting += [(name, deeper) for deeper in {"", *requirement.extras}]
    return {distribution for distribution, _ in seen}


def direct_torch(extra: str) -> list[str]:
    return [line for line in EXTRAS[extra] if canonicalize_name(Requirement(line).name) == "torch"]


def test_the_core_leads_to_nothing_heavy() -> None:
    core = {canonicalize_name(Requirement(line).name) for line in METADATA["dependencies"]}
    assert core == {"filelock", "gymnasium", "numba", "numpy", "pydantic", "scipy"}
    assert not closure("") & {canonicalize_name(name) for name in HEAVY - {"pydantic"}}


@pytest.mark.parametrize("extra", sorted(EXTRAS))
def test_an_extra_that_leads_to_torch_names_its_range(extra: str) -> None:
    expected = ["torch>=2.8,<2.14"] if "torch" in closure(extra) else []
    assert direct_torch(extra) == expected


def test_the_extras_that_learn_do_lead_to_torch() -> None:
    """So that the test above can't pass by finding no torch anywhere."""
    assert {extra for extra in EXTRAS if "torch" in closure(extra)} >= {"agents", "all", "dev"}


def pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    found = (line.partition("==") for line in lines if line and not line.startswith("#"))
    return {canonicalize_name(name): version for name, _, version in found}


def test_constraints_pin_all_that_is_asked_for_and_fit_on_any_machine() -> None:
    pinned = pins()
    for extra in {"", *EXTRAS}:
        for requirement in requirements(NAME, extra):
            name = canonicalize_name(requirement.name)
            if name != NAME:
                assert requirement.specifier.contains(pinned[name]), str(requirement)
    assert all(re.fullmatch(r"[0-9][0-9a-z.]*", version) for version in pinned.values())
    assert not [name for name in pinned if name.startswith(("nvidia-", "cuda-", "triton"))]

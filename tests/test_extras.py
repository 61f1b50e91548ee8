"""Messages name a command that works where they are read: in a clone, or where the package is installed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from solvent.extras import install
from tests.commands import execute_python


def installed(where: Path, direct_url: object | None) -> None:
    """Write the metadata that pip leaves."""
    info = where / "solvent_gym-9.9.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: solvent-gym\nVersion: 9.9\n")
    if direct_url is not None:
        (info / "direct_url.json").write_text(json.dumps(direct_url))


@pytest.mark.parametrize(
    ("source", "editable", "command"),
    [
        ("my clone", True, "pip install -e '{}/my clone[gate]'"),
        ("clone", False, "pip install '{}/clone[gate]'"),
        ("gone", True, "pip install 'solvent-gym[gate]'"),
        (None, False, "pip install 'solvent-gym[gate]'"),
    ],
)
def test_the_command_is_that_of_the_installation(
    source: str | None, editable: bool, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("my clone", "clone", "site"):
        (tmp_path / name).mkdir()
    made = (
        None if source is None else {"url": (tmp_path / source).as_uri(), "dir_info": {"editable": editable}}
    )
    installed(tmp_path / "site", made)
    monkeypatch.syspath_prepend(tmp_path / "site")
    assert install("gate") == command.format(tmp_path)


def test_in_the_clone_its_folder_is_a_dot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "site").mkdir()
    installed(tmp_path / "site", {"url": tmp_path.as_uri(), "dir_info": {"editable": True}})
    monkeypatch.syspath_prepend(tmp_path / "site")
    monkeypatch.chdir(tmp_path)
    assert install("all") == "pip install -e '.[all]'"


def test_a_learner_without_torch_names_its_extra() -> None:
    code = "import sys; sys.modules['torch'] = None; import solvent_agents.learning.learned"
    ended = execute_python(code)
    assert f"needs the package torch: {install('agents')}" in ended.err.splitlines()[-1]


def test_help_and_tools_survive_dropped_docstrings() -> None:
    code = """import solvent, sys
from solvent_agents.language.tools import schemas
from solvent_experiments import cli
print(schemas(solvent.preset("lab")), file=sys.stderr)
sys.argv = ["solvent", "gate", "sweep", "--help"]
cli.main()"""
    usual, stripped = (execute_python(code, flags=flags) for flags in ([], ["-OO"]))
    assert "Measure claims of a domain" in usual.out
    assert stripped == usual

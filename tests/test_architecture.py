"""The picture of the architecture shows the imports of the sources, and can be read."""

from __future__ import annotations

import itertools
import json
import runpy
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

DOCS = Path(__file__).resolve().parent.parent / "docs"
PROGRAM = runpy.run_path(str(DOCS / "architecture.py"))
BOXES, WIDE, HIGH = PROGRAM["BOXES"], PROGRAM["WIDE"], PROGRAM["HIGH"]
ARROWS = PROGRAM["drawn"](PROGRAM["edges"]())
NEIGHBOURS = {("runs", "figures"), ("figures", "runs")}


def centre(room: str) -> np.ndarray:
    """Where a box is, inches."""
    return np.array([BOXES[room][0], PROGRAM["height"](BOXES[room][1])])


def crossed(a: str, b: str) -> list[str]:
    """The boxes that an arrow runs through, besides those of its ends."""
    points = [centre(a) + share * (centre(b) - centre(a)) for share in np.linspace(0.0, 1.0, 500)]
    others = BOXES.keys() - {a, b}
    half = np.array([WIDE, HIGH]) / 2
    return [room for room in others if any((abs(point - centre(room)) < half).all() for point in points)]


def test_the_picture_shows_the_imports_of_the_sources() -> None:
    with Image.open(PROGRAM["PICTURE"]) as picture:
        arrows = {tuple(arrow) for arrow in json.loads(picture.info["Description"])}
    assert arrows == ARROWS, "draw it again: python docs/architecture.py"


def test_arrows_lead_wherever_imports_do() -> None:
    reachable, edges = PROGRAM["reachable"], PROGRAM["edges"]()
    assert edges >= ARROWS
    for room in BOXES:
        assert reachable(room, ARROWS) == reachable(room, edges)


def test_an_arrow_that_follows_from_others_is_left_out() -> None:
    assert PROGRAM["drawn"]({("a", "b"), ("b", "c"), ("a", "c")}) == {("a", "b"), ("b", "c")}


@pytest.mark.parametrize(
    ("module", "name", "rooms"),
    [
        ("solvent_agents.registry", "solvent_agents.scripts.honest.Honest", ("registry", "scripts")),
        ("solvent_experiments.figures.data", "solvent.lab.params", ("figures", "lab")),
        ("solvent.files", "solvent.errors.SolventError", ("files", "files")),
    ],
)
def test_a_name_is_in_the_room_of_its_module(module: str, name: str, rooms: tuple[str, str]) -> None:
    assert (PROGRAM["room_of"](module), PROGRAM["room_of"](name)) == rooms


def test_a_name_that_solvent_exports_is_in_its_home() -> None:
    assert ("solvent_experiments.figures.data", "solvent.lab.params") in set(PROGRAM["imports"]())


def test_every_room_has_a_box() -> None:
    assert BOXES.keys() == set(PROGRAM["ROOMS"].values())


def test_every_folder_of_code_is_a_room_of_its_own() -> None:
    packages = [
        DOCS.parent / part
        for part in ("envs/solvent", "agents/solvent_agents", "experiments/solvent_experiments")
    ]
    folders = [folder for package in packages for folder in package.iterdir() if list(folder.glob("*.py"))]
    assert {f"{folder.parent.name}.{folder.name}" for folder in folders} <= PROGRAM["ROOMS"].keys()


@pytest.mark.parametrize("arrow", sorted(ARROWS - NEIGHBOURS), ids=" to ".join)
def test_an_arrow_points_down_and_through_no_other_box(arrow: tuple[str, str]) -> None:
    a, b = arrow
    assert BOXES[a][1] < BOXES[b][1]
    assert crossed(a, b) == []


def test_boxes_lie_apart() -> None:
    for a, b in itertools.combinations(BOXES, 2):
        assert (abs(centre(a) - centre(b)) > np.array([WIDE, HIGH])).any(), (a, b)

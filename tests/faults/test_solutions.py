"""Solutions of the exact solver that were cut off or changed: one line, or harmless."""

from __future__ import annotations

import random
from pathlib import Path

from solvent.lab.settings import ParamError
from solvent_agents.exact.exact import SHIPPED, load_graph
from tests.faults.tally import Tally, rounds

WHOLE = SHIPPED.read_bytes()


def wrong_with(path: Path, content: bytes, *, refused: bool) -> str:
    path.write_bytes(content)
    try:
        load_graph(path)
    except ParamError as error:
        said = str(error)
        return "" if "\n" not in said and "allowed" in said else said
    except BaseException as error:
        return f"{type(error).__name__}: {error}"
    return "accepted" if refused else ""


def test_a_solution_that_was_cut_off_is_refused_in_one_line(tmp_path: Path, tally: Tally) -> None:
    lengths = range(0, len(WHOLE), rounds(16, 1))
    wrong = {n: said for n in lengths if (said := wrong_with(tmp_path / "p.npz", WHOLE[:n], refused=True))}
    tally("solution files", len(lengths), len(lengths) - len(wrong))
    assert not list(wrong.items())[:3]


def test_a_solution_that_was_changed_is_refused_in_one_line_or_harmless(tmp_path: Path, tally: Tally) -> None:
    tried, wrong = rounds(100, 3000), {}
    for seed in range(tried):
        luck, content = random.Random(seed), bytearray(WHOLE)
        for _ in range(luck.randint(1, 8)):
            place = luck.randrange(len(content))
            match luck.randrange(3):
                case 0:
                    content[place] = luck.randrange(256)
                case 1:
                    del content[place : place + luck.randint(1, 64)]
                case _:
                    content[place:place] = luck.randbytes(luck.randint(1, 64))
        if said := wrong_with(tmp_path / "p.npz", bytes(content), refused=False):
            wrong[seed] = said
    tally("solution files", tried, tried - len(wrong))
    assert not list(wrong.items())[:3]

"""World: the properties that the rules were made for, measured with scripts.

Every number compares two plays of the same labs. Episodes have the seeds from 0 on, which also served to choose the
scripts' constants, and not those of evaluations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from solvent_experiments.config import environment_params
from solvent_experiments.studies.records import LEFT
from solvent_experiments.studies.study import Compare, Play, Study

LEVELS = ("Debt", "Energy", "Gate", "Lab")
DEGENERATE = ("random", "hermit", "calibrator", "spammer")
OFFENDERS = (
    *("zero_claimer", "max_claimer", "surfer", "surfer_1.0", "surfer_0.5", "definitive", "premature"),
    *("end_game_liar", "never_calibrates", "calibrates_when_blocked"),
)
NO_VOICE: Mapping[str, Any] = {"proposals": {"enabled": False}}
MECHANISMS: tuple[tuple[str, str, tuple[str, ...], Mapping[str, Any], Mapping[str, Any]], ...] = (
    ("debt", "debt", ("max_claimer",), {"debt": {"enforced": False}}, {}),
    ("licence", "debt", ("zero_claimer",), {}, {}),
    ("lots and calibrations", "debt", ("never_calibrates",), {"assay": {"lot_heartbeats": 42}}, {}),
    ("energy", "energy", ("spender",), {"energy": {"enabled": False}, **NO_VOICE}, {}),
    ("voice", "proposals", (), NO_VOICE, {}),
    ("gate", "gate", ("premature", "overreacher"), {"gate": {"enforced": False}}, {}),
    ("adequacy", "adequacy", ("definitive",), {"adequacy": {"enforced": False}}, {}),
)
"""A mechanism, its group of settings, the scripts that ignore it, the changes that switch it off, and the constants of
the honest script without it."""
WRONG_PRICES = {"proposals": {"mispriced_least": 1}}
NEVER_USEFUL = 1e9
"""Heartbeats for which a lower cost would have to be of use: the honest script asks for none."""


def play(
    level: str, script: str, says: str = "", params: Mapping[str, Any] | None = None, **settings: Any
) -> Play:
    """Return a script's play on a level, with named differences from it."""
    record = says if says in ("indebted", "waiting") else "episodes"
    name = "_".join([level.lower(), script, *says.split()])
    env = f"Solvent/{level}-v0"
    return Play(name, params or {}, env, script, settings, record=record, episodes=512, first_seed=0)


def properties(level: str) -> Iterator[Compare]:
    """Yield what must hold on a level.

    No degenerate script wins, every offence costs, every mechanism matters, and blocked agents calibrate.
    """
    honest, lab = play(level, "honest"), environment_params(f"Solvent/{level}-v0")

    def paired(name: str, of: Play, to: Play, expected: int, **more: Any) -> Compare:
        return Compare(f"{level}: {name}", "bits", of, "return", to, expected=expected, paired=True, **more)

    for script in DEGENERATE:
        yield paired(f"{script}, less half of honest", play(level, script), honest, -1, times=0.5)
    for script in (*OFFENDERS, *(("hoarder", "fabricator") if lab.energy.enabled else ())):
        yield paired(f"{script}, less honest", play(level, script), honest, -1)
    for says, group, ignored_by, off, settings in MECHANISMS:
        if getattr(getattr(lab, group), "enabled", True):
            for script in ignored_by:
                yield paired(
                    f"{script} ignores {says}: less honest, plus 1", play(level, script), honest, -1, plus=1.0
                )
            if off:
                without = play(level, "honest", f"no {says}", off, **settings)
                yield paired(f"honest without {says}", without, honest, 0)
    if lab.proposals.enabled:
        silent = play(level, "honest", "prices wrong silent", WRONG_PRICES, useful_beats=NEVER_USEFUL)
        heard = play(level, "honest", "prices wrong", WRONG_PRICES)
        yield paired(
            "honest in silence where prices are wrong: less heard, plus 1", silent, heard, -1, plus=1.0
        )
    for left in LEFT:
        now, later = play(level, "honest", "indebted"), play(level, "honest", "waiting")
        where = ("left", float(left))
        yield paired(
            f"blocked, {left} heartbeats left: calibrating now less waiting", now, later, 1, where=where
        )


STUDY = Study(
    title="What the world is like",
    claim="On every level no degenerate script earns more than half of what the honest script earns; an offence costs; "
    "ignoring a mechanism costs at least a bit; blocked, calibrating at once beats waiting for the next lot.",
    compares=tuple(compare for level in LEVELS for compare in properties(level)),
    rows={
        f"{level}, {script}": play(level, script)
        for level in LEVELS
        for script in ("honest", *DEGENERATE, *OFFENDERS)
    },
    columns=("return", "debt_added", "refusals", "calibrations", "accepted", "wrong"),
    notes=(
        "The honest script knows which mechanism is missing: differences are those of one policy, not of the best.",
    ),
)

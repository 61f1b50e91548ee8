"""The verbs of the lab with their ratings and intent classes."""

from __future__ import annotations

import enum
from typing import NamedTuple


class Verb(enum.IntEnum):
    """Verb of an action."""

    REST = 0
    DMSO = 1
    BASELINE = 2
    CALIBRATION = 3
    SCREEN = 4
    DOSE_RESPONSE = 5
    PUBLISH_PUBLIC = 6
    REFLECT = 7
    PROPOSE = 8


# Plain integers: IntEnum members are slow in plain Python, and numba treats these as constants.
REST, DMSO, BASELINE, CALIBRATION, SCREEN, DOSE_RESPONSE, PUBLISH_PUBLIC, REFLECT, PROPOSE = map(int, Verb)

INTENTS = ("cognition", "exploration", "maintenance", "social", "meta")
"""Intent classes of the source document, in its order. Energy summaries use them; no rule does."""


class VerbSpec(NamedTuple):
    """Name, intent class, argument and ratings of a verb, and whether debt never refuses it."""

    name: str
    intent: str
    takes: str  # "" | "claim" | "confidence"
    ratings: tuple[int, ...]  # consequence, reversibility, exposure, attention, commitment: 0 to 4
    exempt: bool = False  # above the threshold of debt it runs, as calibrations do


VERBS = {
    Verb.REST: VerbSpec("rest", "meta", "", (0, 0, 0, 0, 0), exempt=True),
    Verb.DMSO: VerbSpec("dmso", "maintenance", "", (0, 1, 0, 1, 1)),
    Verb.BASELINE: VerbSpec("baseline", "maintenance", "", (1, 2, 0, 1, 1)),
    Verb.CALIBRATION: VerbSpec("calibration", "maintenance", "", (1, 2, 0, 1, 1)),
    Verb.SCREEN: VerbSpec("screen", "exploration", "claim", (2, 4, 0, 2, 2)),
    Verb.DOSE_RESPONSE: VerbSpec("dose_response", "exploration", "claim", (4, 4, 0, 4, 4)),
    Verb.PUBLISH_PUBLIC: VerbSpec("publish_public", "social", "confidence", (3, 4, 4, 3, 3)),
    Verb.REFLECT: VerbSpec("reflect", "cognition", "", (2, 0, 0, 2, 2), exempt=True),
    Verb.PROPOSE: VerbSpec("propose", "meta", "", (0, 0, 0, 0, 0), exempt=True),
}

TEMPLATES = (Verb.DMSO, Verb.BASELINE, Verb.CALIBRATION, Verb.SCREEN, Verb.DOSE_RESPONSE)
"""Verbs that run a plate."""

EXPERIMENTS = (Verb.SCREEN, Verb.DOSE_RESPONSE)
"""Plates with a compound, in the order of the record's ``plates`` counts."""

CALIBRATIONS = (Verb.DMSO, Verb.BASELINE, Verb.CALIBRATION)
"""Plates of vehicle wells, which contain no compound."""

PLATES = tuple(VERBS[verb].name for verb in TEMPLATES)
"""Names of the verbs that run a plate."""

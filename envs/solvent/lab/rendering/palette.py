"""Colours after Okabe and Ito (2008) and Tol: distinct for colour-blind readers, and by lightness in print."""

from __future__ import annotations

from typing import NamedTuple

from solvent.lab.verbs import Verb

Colour = tuple[int, int, int]

PAPER: Colour = (252, 251, 248)
INK: Colour = (32, 42, 54)
MUTED: Colour = (110, 121, 133)
FAINT: Colour = (196, 202, 208)
RULE: Colour = (228, 230, 231)
BELIEF: Colour = (78, 104, 141)
FINDING: Colour = (0, 143, 104)
DEBT: Colour = (170, 51, 119)
ENERGY: Colour = (138, 128, 38)
REVIEW: Colour = (176, 104, 0)
"""Findings under review."""
NIGHT: Colour = (233, 236, 241)
"""Hours without the user."""
UNSEEN: Colour = (172, 179, 187)
"""Wells spent between drawings."""

TEMPLATE_COLOURS: dict[int, Colour] = {
    Verb.DMSO: (168, 214, 237),
    Verb.BASELINE: (98, 178, 222),
    Verb.CALIBRATION: (38, 125, 181),
    Verb.SCREEN: (240, 178, 50),
    Verb.DOSE_RESPONSE: (213, 94, 0),
}
VERB_COLOURS: dict[int, Colour] = {
    **TEMPLATE_COLOURS,
    Verb.PUBLISH_PRIVATE: (122, 195, 172),
    Verb.PUBLISH_PUBLIC: FINDING,
    Verb.REFLECT: (126, 104, 160),
    Verb.PROPOSE: INK,
    Verb.REST: FAINT,
    Verb.TERMINATE: FAINT,
}
VERDICT_COLOURS = {"accept": FINDING, "review": REVIEW, "reject": DEBT}


class Style(NamedTuple):
    """Colour, size in units and weight of a text."""

    colour: Colour
    size: float = 10
    bold: bool = False


LABEL = Style(MUTED)
NOTE = Style(MUTED, 9)
BODY = Style(INK)


def mix(colour: Colour, other: Colour, share: float) -> Colour:
    """Return ``colour`` blended with ``share`` of ``other``."""
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(colour, other, strict=True))
    return red, green, blue

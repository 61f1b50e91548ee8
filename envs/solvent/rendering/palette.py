"""Colours, after Okabe and Ito (2008) and Tol: told apart with any colour vision, and by lightness in print."""

from __future__ import annotations

from solvent.actions import Verb
from solvent.rendering.canvas import Colour

__all__ = [
    "BELIEF",
    "DEBT",
    "FAINT",
    "FINDING",
    "INK",
    "MUTED",
    "PAPER",
    "RULE",
    "TEMPLATE_COLOURS",
    "UNSEEN",
]

PAPER: Colour = (252, 251, 248)
INK: Colour = (32, 42, 54)
MUTED: Colour = (110, 121, 133)
FAINT: Colour = (196, 202, 208)
RULE: Colour = (228, 230, 231)
BELIEF: Colour = (78, 104, 141)
FINDING: Colour = (0, 143, 104)
DEBT: Colour = (170, 51, 119)
UNSEEN: Colour = (172, 179, 187)
"""Wells that were spent while nobody looked."""

TEMPLATE_COLOURS: dict[int, Colour] = {
    Verb.DMSO: (168, 214, 237),
    Verb.BASELINE: (98, 178, 222),
    Verb.CALIBRATION: (38, 125, 181),
    Verb.SCREEN: (240, 178, 50),
    Verb.DOSE_RESPONSE: (213, 94, 0),
}

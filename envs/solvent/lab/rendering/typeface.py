"""The typeface of a canvas, at any size and in two weights.

pygame ships a single, bold typeface. The regular weight is derived from it: glyphs are drawn large, thinned by
erosion and averaged down, at quarter-pixel offsets for even spacing. Glyphs are cached.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pygame
from numpy.typing import NDArray

OVERSAMPLED = 8
PHASES = 4
THINNER = (0.034, 0.022)  # erosion in em, horizontal and vertical


class Glyph(NamedTuple):
    """A character at the oversampled size: coverage, shape ``(width, height)``, and advance."""

    coverage: NDArray[np.uint8]
    advance: int


class Typeface:
    """The bundled font at one size and weight."""

    def __init__(self, size: float, bold: bool) -> None:
        pygame.font.init()
        self.font = pygame.font.Font(None, round(size * OVERSAMPLED * 1.4545))  # an em is 0.6875 of the size
        em = size * OVERSAMPLED
        self.thinner = (0, 0) if bold else (round(THINNER[0] * em), round(THINNER[1] * em))
        self.ascent = self.font.get_ascent() / OVERSAMPLED
        self.large: dict[str, Glyph] = {}
        self.small: dict[tuple[str, int], NDArray[np.uint8]] = {}

    def glyph(self, character: str) -> Glyph:
        """Return the character at the oversampled size."""
        if character not in self.large:
            drawn = self.font.render(character, True, (255, 255, 255))
            coverage = np.array(pygame.surfarray.array_alpha(drawn))
            for axis, pixels in enumerate(self.thinner):
                coverage = _eroded(coverage, axis, pixels)
            self.large[character] = Glyph(coverage, self.font.size(character)[0])
        return self.large[character]

    def width(self, text: str) -> float:
        """Return the width of a text in pixels."""
        return sum(self.glyph(character).advance for character in text) / OVERSAMPLED

    def coverage(self, text: str) -> NDArray[np.uint8]:
        """Return the coverage of a text, shape ``(width, height)``."""
        pieces = []
        at = 0
        for character in text:
            left, phase = divmod(round(at * PHASES / OVERSAMPLED), PHASES)
            pieces.append((left, self._at_phase(character, phase)))
            at += self.glyph(character).advance
        width = max(left + piece.shape[0] for left, piece in pieces)
        whole = np.zeros((width, pieces[0][1].shape[1]), np.uint8)
        for left, piece in pieces:
            part = whole[left : left + piece.shape[0]]
            np.maximum(part, piece, out=part)
        return whole

    def _at_phase(self, character: str, phase: int) -> NDArray[np.uint8]:
        if (character, phase) not in self.small:
            large = self.glyph(character).coverage
            shift = phase * OVERSAMPLED // PHASES
            width = -(-(large.shape[0] + shift) // OVERSAMPLED) * OVERSAMPLED
            height = -(-large.shape[1] // OVERSAMPLED) * OVERSAMPLED
            sheet = np.zeros((width, height))
            sheet[shift : shift + large.shape[0], : large.shape[1]] = large
            blocks = sheet.reshape(width // OVERSAMPLED, OVERSAMPLED, height // OVERSAMPLED, OVERSAMPLED)
            self.small[character, phase] = blocks.mean((1, 3)).round().astype(np.uint8)
        return self.small[character, phase]


def _eroded(coverage: NDArray[np.uint8], axis: int, pixels: int) -> NDArray[np.uint8]:
    """Return the minimum over ``pixels + 1`` neighbours along an axis, which thins strokes."""
    result = coverage
    for k in range(1, pixels + 1):
        shifted = np.roll(coverage, k // 2 if k % 2 == 0 else -(k // 2 + 1), axis)
        result = np.minimum(result, shifted)
    return result

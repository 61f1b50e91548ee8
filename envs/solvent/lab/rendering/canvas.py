"""A drawing surface in units that are independent of pixels.

Texts and dots are cached, so a frame costs only a few blits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pygame
from numpy.typing import NDArray

from solvent.lab.rendering.palette import PAPER, Colour, Style
from solvent.lab.rendering.typeface import Typeface

TEXTS_KEPT = 4096


class Canvas:
    """A surface with a scale. Positions and lengths are in units; y increases downwards."""

    def __init__(self, width: int, height: int, scale: int) -> None:
        self.scale = scale
        self.size = (width * scale, height * scale)
        self.surface = pygame.Surface(self.size, 0, 32)
        self.surface.fill(PAPER)
        self._faces: dict[tuple[float, bool], Typeface] = {}
        self._texts: dict[tuple[str, Style], pygame.Surface] = {}
        self._dots: dict[tuple[float, Colour, float], pygame.Surface] = {}

    def pixels(self) -> NDArray[np.uint8]:
        """Return a copy of the image, shape ``(height, width, 3)``."""
        width, height = self.size
        flat = np.frombuffer(pygame.image.tobytes(self.surface, "RGB"), np.uint8)
        return flat.reshape(height, width, 3).copy()

    def _px(self, *units: float) -> tuple[int, ...]:
        return tuple(round(u * self.scale) for u in units)

    # -- type

    def face(self, style: Style) -> Typeface:
        """Return the typeface of a style."""
        key = (style.size, style.bold)
        if key not in self._faces:
            self._faces[key] = Typeface(style.size * self.scale, style.bold)
        return self._faces[key]

    def text(
        self, text: str, x: float, baseline: float, style: Style, *, align: float = 0.0, width: float = 0.0
    ) -> float:
        """Draw a text, cut to ``width`` unless that is 0, and return its length.

        ``align`` is the fraction of the length to the left of ``x``.
        """
        face = self.face(style)
        if width:
            text = self._cut(face, text, width)
        if not text.strip():
            return 0.0
        length = face.width(text) / self.scale
        left, top = self._px(x - align * length, baseline - face.ascent / self.scale)
        self.surface.blit(self._text(text, style), (left, top))
        return length

    def length(self, text: str, style: Style) -> float:
        """Return the length of a text."""
        return self.face(style).width(text) / self.scale

    def wrapped(self, text: str, style: Style, width: float) -> list[str]:
        """Return the text in lines of at most ``width``, broken at spaces."""
        face, lines = self.face(style), [""]
        for word in text.split():
            longer = f"{lines[-1]} {word}".strip()
            if lines[-1] and face.width(longer) > width * self.scale:
                lines.append(word)
            else:
                lines[-1] = longer
        return lines

    def _cut(self, face: Typeface, text: str, width: float) -> str:
        if face.width(text) <= width * self.scale:
            return text
        while text and face.width(text + "…") > width * self.scale:
            text = text[:-1]
        return text.rstrip() + "…"

    def _text(self, text: str, style: Style) -> pygame.Surface:
        key = (text, style)
        if key not in self._texts:
            if len(self._texts) >= TEXTS_KEPT:
                self._texts.clear()
            self._texts[key] = _tinted(self.face(style).coverage(text), style.colour)
        return self._texts[key]

    # -- shapes

    def rect(self, x: float, y: float, width: float, height: float, colour: Colour) -> None:
        """Fill a rectangle, aligned to whole pixels."""
        left, top, right, bottom = self._px(x, y, x + width, y + height)
        self.surface.fill(colour, (left, top, max(0, right - left), max(0, bottom - top)))

    def across(self, x0: float, x1: float, y: float, colour: Colour, thick: float = 1) -> None:
        """Draw a horizontal line with its upper edge at ``y``."""
        self.rect(min(x0, x1), y, abs(x1 - x0), thick, colour)

    def down(self, x: float, y0: float, y1: float, colour: Colour, thick: float = 1) -> None:
        """Draw a vertical line with its left edge at ``x``."""
        self.rect(x, min(y0, y1), thick, abs(y1 - y0), colour)

    def dashes(self, x0: float, x1: float, y: float, colour: Colour) -> None:
        """Draw a dashed horizontal line."""
        x = x0
        while x < x1:
            self.across(x, min(x + 4, x1), y, colour)
            x += 7

    def polyline(self, points: list[tuple[float, float]], colour: Colour) -> None:
        """Draw an antialiased line through the points."""
        if len(points) > 1:
            pygame.draw.aalines(
                self.surface, colour, False, [(x * self.scale, y * self.scale) for x, y in points]
            )

    def triangle(self, x: float, y: float, half: float, colour: Colour) -> None:
        """Fill a triangle around a point; it points up, or down if ``half`` is negative."""
        corners = [(x - half, y + half), (x + half, y + half), (x, y - half)]
        scaled = [(round(px * self.scale), round(py * self.scale)) for px, py in corners]
        pygame.draw.polygon(self.surface, colour, scaled)

    def frame(self, x: float, y: float, width: float, height: float, colour: Colour) -> None:
        """Draw the outline of a rectangle."""
        left, top, right, bottom = self._px(x, y, x + width, y + height)
        pygame.draw.rect(self.surface, colour, (left, top, right - left, bottom - top), max(1, self.scale))

    def cross(self, x: float, y: float, arm: float, colour: Colour) -> None:
        """Draw a diagonal cross."""
        for sign in (-1, 1):
            for offset in (0.0, 0.7):
                start = (x - arm + offset, y - sign * arm)
                self.polyline([start, (x + arm + offset, y + sign * arm)], colour)

    def dot(self, x: float, y: float, radius: float, colour: Colour, hole: float = 0.0) -> None:
        """Draw an antialiased disc, or a ring if ``hole``, its inner radius, is positive."""
        sprite = self.sprite(radius, colour, hole)
        half = sprite.get_width() / 2
        self.surface.blit(sprite, (round(x * self.scale - half), round(y * self.scale - half)))

    def sprite(self, radius: float, colour: Colour, hole: float = 0.0) -> pygame.Surface:
        """Return the image of a disc or ring, for callers that draw many."""
        key = (radius, colour, hole)
        if key not in self._dots:
            self._dots[key] = _tinted(_disc(radius * self.scale, hole * self.scale), colour)
        return self._dots[key]


def _disc(radius: float, hole: float) -> NDArray[np.uint8]:
    """Return the coverage of a ring, averaged over a fine grid."""
    fine = 8
    side = int(np.ceil(2 * radius)) + 1
    at = (np.arange(side * fine) + 0.5) / fine - side / 2
    distance = np.hypot(at[:, None], at[None, :])
    inside = ((distance <= radius) & (distance >= hole)).astype(np.float64)
    coverage: NDArray[np.float64] = inside.reshape(side, fine, side, fine).mean((1, 3)) * 255
    return coverage.round().astype(np.uint8)


def _tinted(coverage: NDArray[np.uint8], colour: Colour) -> pygame.Surface:
    """Return a surface of one colour with ``coverage`` as its alpha channel."""
    surface = pygame.Surface(coverage.shape, pygame.SRCALPHA, 32)
    surface.fill((*colour, 255))
    alpha: Any = pygame.surfarray.pixels_alpha(surface)
    alpha[:] = coverage
    return surface

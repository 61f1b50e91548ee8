"""A sheet to draw on: antialiased type and dots on a pygame surface, in units that do not depend on the pixels.

pygame ships one typeface, a bold one. The regular weight is made of it: glyphs are drawn large, thinned by
erosion, and averaged down, at quarter pixels for even spacing. Glyphs and whole texts are cached, so a frame
costs a few blits.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pygame
from numpy.typing import NDArray

__all__ = ["Canvas", "Colour", "mix"]

Colour = tuple[int, int, int]

OVERSAMPLED = 8
PHASES = 4
THINNER = (0.034, 0.022)  # of an em, across and down: from the bold stems to regular ones
TEXTS_KEPT = 4096


def mix(colour: Colour, other: Colour, share: float) -> Colour:
    """``share`` of ``other`` in ``colour``."""
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(colour, other, strict=True))
    return red, green, blue


class Glyph(NamedTuple):
    """A character, large: coverage of shape ``(width, height)`` and advance."""

    coverage: NDArray[np.uint8]
    advance: int


class Typeface:
    """The bundled font at one size and weight."""

    def __init__(self, size: float, bold: bool) -> None:
        pygame.font.init()
        self.font = pygame.font.Font(
            None, round(size * OVERSAMPLED * 1.4545)
        )  # the default font's em is 0.6875 of its size
        em = size * OVERSAMPLED
        self.thinner = (0, 0) if bold else (round(THINNER[0] * em), round(THINNER[1] * em))
        self.ascent = self.font.get_ascent() / OVERSAMPLED
        self.large: dict[str, Glyph] = {}
        self.small: dict[tuple[str, int], NDArray[np.uint8]] = {}

    def glyph(self, character: str) -> Glyph:
        """The character as it is before it is averaged down."""
        if character not in self.large:
            drawn = self.font.render(character, True, (255, 255, 255))
            coverage = np.array(pygame.surfarray.array_alpha(drawn))
            for axis, pixels in enumerate(self.thinner):
                coverage = _eroded(coverage, axis, pixels)
            self.large[character] = Glyph(coverage, self.font.size(character)[0])
        return self.large[character]

    def width(self, text: str) -> float:
        """Length of the text, pixels."""
        return sum(self.glyph(character).advance for character in text) / OVERSAMPLED

    def coverage(self, text: str) -> NDArray[np.uint8]:
        """The text as it will be drawn, shape ``(width, height)``."""
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
    """The smallest of ``pixels + 1`` neighbours along an axis: strokes get thinner, outlines keep their shape."""
    result = coverage
    for k in range(1, pixels + 1):
        shifted = np.roll(coverage, k // 2 if k % 2 == 0 else -(k // 2 + 1), axis)
        result = np.minimum(result, shifted)
    return result


class Canvas:
    """A surface with a scale; positions and lengths are in units, y grows downwards."""

    def __init__(self, width: int, height: int, scale: int, paper: Colour) -> None:
        self.scale = scale
        self.paper = paper
        self.size = (width * scale, height * scale)
        self.surface = pygame.Surface(self.size, 0, 32)
        self.surface.fill(paper)
        self._faces: dict[tuple[float, bool], Typeface] = {}
        self._texts: dict[tuple[str, float, Colour, bool], pygame.Surface] = {}
        self._dots: dict[tuple[float, Colour, float], pygame.Surface] = {}

    def pixels(self) -> NDArray[np.uint8]:
        """The image, shape ``(height, width, 3)``; the caller's own."""
        width, height = self.size
        flat = np.frombuffer(pygame.image.tobytes(self.surface, "RGB"), np.uint8)
        return flat.reshape(height, width, 3).copy()

    def keep(self) -> pygame.Surface:
        """A copy of what is drawn, to start later pictures from."""
        return self.surface.copy()

    def start_from(self, background: pygame.Surface) -> None:
        """Begin a new picture on a kept background."""
        self.surface.blit(background, (0, 0))

    def _px(self, *units: float) -> tuple[int, ...]:
        return tuple(round(u * self.scale) for u in units)

    # -- type

    def face(self, size: float, bold: bool) -> Typeface:
        """The typeface at a size in units."""
        if (size, bold) not in self._faces:
            self._faces[size, bold] = Typeface(size * self.scale, bold)
        return self._faces[size, bold]

    def text(
        self,
        text: str,
        x: float,
        baseline: float,
        colour: Colour,
        size: float = 11,
        *,
        bold: bool = False,
        align: float = 0.0,
        width: float = 0.0,
    ) -> float:
        """Write a text and return its length.

        ``align`` is the share of its length that lies left of ``x``; where it is longer than ``width`` it is cut.
        """
        face = self.face(size, bold)
        if width:
            text = self._cut(face, text, width)
        if not text.strip():
            return 0.0
        length = face.width(text) / self.scale
        left, top = self._px(x - align * length, baseline - face.ascent / self.scale)
        self.surface.blit(self._text(text, size, colour, bold), (left, top))
        return length

    def length(self, text: str, size: float, *, bold: bool = False) -> float:
        """How long a text would be."""
        return self.face(size, bold).width(text) / self.scale

    def wrapped(self, text: str, size: float, width: float, *, bold: bool = False) -> list[str]:
        """The text in lines of at most ``width``, broken at blanks."""
        face, lines = self.face(size, bold), [""]
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

    def _text(self, text: str, size: float, colour: Colour, bold: bool) -> pygame.Surface:
        key = (text, size, colour, bold)
        if key not in self._texts:
            if len(self._texts) >= TEXTS_KEPT:
                self._texts.clear()
            self._texts[key] = _tinted(self.face(size, bold).coverage(text), colour)
        return self._texts[key]

    # -- shapes

    def rect(self, x: float, y: float, width: float, height: float, colour: Colour) -> None:
        """A filled rectangle, on whole pixels."""
        left, top, right, bottom = self._px(x, y, x + width, y + height)
        self.surface.fill(colour, (left, top, max(0, right - left), max(0, bottom - top)))

    def across(self, x0: float, x1: float, y: float, colour: Colour, thick: float = 1) -> None:
        """A horizontal line whose upper edge is at ``y``."""
        self.rect(min(x0, x1), y, abs(x1 - x0), thick, colour)

    def down(self, x: float, y0: float, y1: float, colour: Colour, thick: float = 1) -> None:
        """A vertical line whose left edge is at ``x``."""
        self.rect(x, min(y0, y1), thick, abs(y1 - y0), colour)

    def dashes(self, x0: float, x1: float, y: float, colour: Colour) -> None:
        """A dashed horizontal line."""
        x = x0
        while x < x1:
            self.across(x, min(x + 4, x1), y, colour)
            x += 7

    def polyline(self, points: list[tuple[float, float]], colour: Colour) -> None:
        """An antialiased line through the points."""
        if len(points) > 1:
            pygame.draw.aalines(
                self.surface, colour, False, [(x * self.scale, y * self.scale) for x, y in points]
            )

    def triangle(self, x: float, y: float, half: float, colour: Colour) -> None:
        """A filled triangle around a point: upwards, or with a negative ``half`` downwards."""
        corners = [(x - half, y + half), (x + half, y + half), (x, y - half)]
        scaled = [(round(px * self.scale), round(py * self.scale)) for px, py in corners]
        pygame.draw.polygon(self.surface, colour, scaled)

    def frame(self, x: float, y: float, width: float, height: float, colour: Colour) -> None:
        """An empty rectangle with a thin edge."""
        left, top, right, bottom = self._px(x, y, x + width, y + height)
        pygame.draw.rect(self.surface, colour, (left, top, right - left, bottom - top), max(1, self.scale))

    def cross(self, x: float, y: float, arm: float, colour: Colour) -> None:
        """A diagonal cross."""
        for sign in (-1, 1):
            for offset in (0.0, 0.7):
                start = (x - arm + offset, y - sign * arm)
                self.polyline([start, (x + arm + offset, y + sign * arm)], colour)

    def dot(self, x: float, y: float, radius: float, colour: Colour, hole: float = 0.0) -> None:
        """An antialiased disc, or with ``hole`` (its radius) a ring."""
        sprite = self.sprite(radius, colour, hole)
        half = sprite.get_width() / 2
        self.surface.blit(sprite, (round(x * self.scale - half), round(y * self.scale - half)))

    def sprite(self, radius: float, colour: Colour, hole: float = 0.0) -> pygame.Surface:
        """The disc's picture, for who draws many."""
        key = (radius, colour, hole)
        if key not in self._dots:
            self._dots[key] = _tinted(_disc(radius * self.scale, hole * self.scale), colour)
        return self._dots[key]


def _disc(radius: float, hole: float) -> NDArray[np.uint8]:
    """Coverage of a ring, averaged over a fine grid."""
    fine = 8
    side = int(np.ceil(2 * radius)) + 1
    at = (np.arange(side * fine) + 0.5) / fine - side / 2
    distance = np.hypot(at[:, None], at[None, :])
    inside = ((distance <= radius) & (distance >= hole)).astype(np.float64)
    coverage: NDArray[np.float64] = inside.reshape(side, fine, side, fine).mean((1, 3)) * 255
    return coverage.round().astype(np.uint8)


def _tinted(coverage: NDArray[np.uint8], colour: Colour) -> pygame.Surface:
    """A surface of one colour with this coverage."""
    surface = pygame.Surface(coverage.shape, pygame.SRCALPHA, 32)
    surface.fill((*colour, 255))
    alpha: Any = pygame.surfarray.pixels_alpha(surface)
    alpha[:] = coverage
    return surface

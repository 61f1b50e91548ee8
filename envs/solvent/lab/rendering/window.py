"""A window that shows a picture. Several can be open in one process; closing one leaves the others alone."""

from __future__ import annotations

import weakref

import pygame
from pygame.window import Window

_OPEN: weakref.WeakSet[LabWindow] = weakref.WeakSet()


class LabWindow:
    """A window of a fixed size, updated at most ``fps`` times a second."""

    def __init__(self, size: tuple[int, int], fps: float) -> None:
        pygame.display.init()
        self.window: Window | None = Window("Solvent", size)
        self.clock = pygame.time.Clock()
        self.fps = fps
        _OPEN.add(self)

    @property
    def is_open(self) -> bool:
        """Whether it is still there; a person may close it at any time."""
        _close_where_asked()
        return self.window is not None

    def show(self, surface: pygame.Surface) -> None:
        """Show the picture and wait until the next one is due."""
        if self.window is None:
            return
        self.window.get_surface().blit(surface, (0, 0))
        self.window.flip()
        self.clock.tick(self.fps)

    def close(self) -> None:
        """Close it; may be called again."""
        if self.window is not None:
            self.window.destroy()
            self.window = None


def _close_where_asked() -> None:
    """Answer the close buttons of all our windows: the queue of events is one for the process."""
    for event in pygame.event.get(pygame.WINDOWCLOSE):
        for window in list(_OPEN):
            if window.window is not None and event.window is window.window:
                window.close()

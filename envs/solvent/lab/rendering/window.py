"""A window for a picture. Several may be open in one process, and each closes independently."""

from __future__ import annotations

import weakref

import pygame
from pygame.window import Window

_OPEN: weakref.WeakSet[LabWindow] = weakref.WeakSet()


class LabWindow:
    """A window of fixed size, updated at most ``fps`` times a second."""

    def __init__(self, size: tuple[int, int], fps: float) -> None:
        pygame.display.init()
        self.window: Window | None = Window("Solvent", size)
        self.clock = pygame.time.Clock()
        self.fps = fps
        _OPEN.add(self)

    @property
    def is_open(self) -> bool:
        """True while the window is open; the user may close it at any time."""
        _close_where_asked()
        return self.window is not None

    def show(self, surface: pygame.Surface) -> None:
        """Show the picture and wait until the next frame is due."""
        if self.window is None:
            return
        self.window.get_surface().blit(surface, (0, 0))
        self.window.flip()
        self.clock.tick(self.fps)

    def close(self) -> None:
        """Close the window. Further calls have no effect."""
        if self.window is not None:
            self.window.destroy()
            self.window = None


def _close_where_asked() -> None:
    """Close the windows whose close button was pressed; all windows share one event queue."""
    for event in pygame.event.get(pygame.WINDOWCLOSE):
        for window in list(_OPEN):
            if window.window is not None and event.window is window.window:
                window.close()

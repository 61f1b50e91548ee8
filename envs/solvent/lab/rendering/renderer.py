"""The renderer: one for each render mode, one picture for image and window."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from gymnasium.error import DependencyNotInstalled

from solvent.lab.params import LabParams
from solvent.lab.rendering.history import HistoryBook
from solvent.lab.rendering.terminal import WIDTH, draw_text
from solvent.lab.rendering.words import is_fresh

if TYPE_CHECKING:
    from solvent.lab.rendering.picture import Picture
    from solvent.lab.rendering.window import LabWindow

__all__ = ["Renderer"]


class Renderer:
    """Draws labs with these parameters in one render mode."""

    def __init__(
        self,
        params: LabParams,
        mode: str,
        fps: float = 4,
        *,
        scale: int = 1,
        reveal: bool = False,
        width: int = WIDTH,
        height: int | None = None,
    ) -> None:
        """Make a renderer.

        Args:
            params: of the labs that will be drawn.
            mode: ``ansi``, ``rgb_array`` or ``human``.
            fps: frames a second of the window.
            scale: pixels a unit; an image is 960 x 640 units, 320 wider where acting costs energy, 380 where a gate
                judges findings.
            reveal: mark the hidden truth too: potency classes, the instrument, fair costs.
            width: characters a line of a text; at least ``terminal.NARROWEST``.
            height: lines that a text may have, at the price of panels; None for all panels.

        Raises:
            DependencyNotInstalled: an image is asked for and pygame-ce is not there.
        """
        self.params = params
        self.mode = mode
        self.fps = fps
        self.reveal = reveal
        self.width, self.height = width, height
        self.book = HistoryBook(params)
        self._picture: Picture | None = None
        self._window: LabWindow | None = None
        if mode != "ansi":
            self._open(scale)

    def _open(self, scale: int) -> None:
        os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
        try:
            from solvent.lab.rendering.picture import Picture
            from solvent.lab.rendering.window import LabWindow
        except ImportError as error:
            raise DependencyNotInstalled(
                'pygame-ce is not installed, run `pip install "solvent-gym[render]"`'
            ) from error
        self._picture = Picture(self.params, scale=scale, reveal=self.reveal)
        if self.mode == "human":
            self._window = LabWindow(self._picture.canvas.size, self.fps)

    def draw(self, lab: Any, step: Any, index: int = 0) -> Any:
        """Draw one lab.

        Args:
            lab: a record of ``state.LAB_FIELDS``.
            step: the record of its last step; ignored where it does not belong to the lab's last heartbeat.
            index: which lab of a vector it is. What was drawn before of other labs is not remembered for it.

        Returns:
            A text (``ansi``), a uint8 array of shape ``(height, width, 3)`` (``rgb_array``), or None (``human``).
        """
        history = self.book.see(lab, index)
        if is_fresh(lab, step):
            self.book.hear(history, lab, step)
        if self._picture is None:
            return draw_text(
                self.params,
                lab,
                step,
                history,
                reveal=self.reveal,
                width=self.width,
                height=self.height,
            )
        if self._window is None:
            self._picture.draw(lab, step, history)
            return self._picture.canvas.pixels()
        if self._window.is_open:
            self._picture.draw(lab, step, history)
            self._window.show(self._picture.canvas.surface)
        return None

    def close(self) -> None:
        """Close the window, if there is one. May be called again; a closed window stays closed."""
        if self._window is not None:
            self._window.close()

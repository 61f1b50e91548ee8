"""The renderer: one for each render mode, one picture for image and window."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from gymnasium.error import DependencyNotInstalled

from solvent.lab.params import LabParams
from solvent.lab.rendering.history import HistoryBook, is_fresh
from solvent.lab.rendering.sheet import Sheet
from solvent.lab.rendering.terminal import draw_text
from solvent.lab.rendering.view import View

if TYPE_CHECKING:
    from solvent.lab.rendering.picture import Picture
    from solvent.lab.rendering.window import LabWindow

PAGE = Sheet()


class Renderer:
    """Draws labs with these parameters in one render mode.

    Args:
        params: of the labs that will be drawn.
        mode: ``ansi``, ``rgb_array`` or ``human``.
        fps: frames a second of the window.
        scale: pixels a unit; an image is 960 x 640 units, 320 wider where acting costs energy, 380 where a gate
            judges findings.
        reveal: mark the hidden truth too: potency classes, the instrument, fair costs.
        sheet: width and height of a text.

    Raises:
        DependencyNotInstalled: an image is asked for and pygame-ce is not there.
    """

    def __init__(
        self,
        params: LabParams,
        mode: str,
        fps: float = 4,
        *,
        scale: int = 1,
        reveal: bool = False,
        sheet: Sheet = PAGE,
    ) -> None:
        self.params = params
        self.reveal = reveal
        self.sheet = sheet
        self.book = HistoryBook(params)
        self._picture: Picture | None = None
        self._window: LabWindow | None = None
        if mode != "ansi":
            self._open(mode, fps, scale)

    def _open(self, mode: str, fps: float, scale: int) -> None:
        os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
        try:
            from solvent.lab.rendering.picture import Picture
            from solvent.lab.rendering.window import LabWindow
        except ImportError as error:
            raise DependencyNotInstalled(
                'pygame-ce is not installed, run `pip install "solvent-gym[render]"`'
            ) from error
        self._picture = Picture(self.params, scale)
        if mode == "human":
            self._window = LabWindow(self._picture.canvas.size, fps)

    def draw(self, lab: Any, step: Any, index: int = 0) -> Any:
        """Draw one lab.

        Args:
            lab: a record of ``state.LAB_FIELDS``.
            step: the record of its last step; ignored where it does not belong to the lab's last heartbeat.
            index: of the lab in a vector. Each lab has a history of its own.

        Returns:
            A text (``ansi``), a uint8 array of shape ``(height, width, 3)`` (``rgb_array``), or None (``human``).
        """
        history = self.book.see(lab, index)
        if is_fresh(lab, step):
            self.book.judge(history, lab, step)
        view = View(self.params, lab, step, history, self.reveal)
        if self._picture is None:
            return draw_text(self.sheet, view)
        if self._window is None:
            self._picture.draw(view)
            return self._picture.canvas.pixels()
        if self._window.is_open:
            self._picture.draw(view)
            self._window.show(self._picture.canvas.surface)
        return None

    def close(self) -> None:
        """Close the window, if there is one. May be called again; a closed window stays closed."""
        if self._window is not None:
            self._window.close()

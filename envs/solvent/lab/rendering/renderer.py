"""The renderer: one class for all render modes."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from gymnasium.error import DependencyNotInstalled

from solvent.extras import install
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
    """Renderer of labs with these parameters in one render mode.

    Args:
        params: Parameters of the labs.
        mode: ``ansi``, ``rgb_array`` or ``human``.
        fps: Frames per second of the window.
        scale: Pixels per unit. An image is 960 x 640 units, 320 wider with energy and 380 wider with a gate.
        sheet: Width and height of a text.

    Raises:
        DependencyNotInstalled: Images need pygame-ce, which is not installed.
    """

    def __init__(
        self,
        params: LabParams,
        mode: str,
        fps: float = 4,
        *,
        scale: int = 1,
        sheet: Sheet = PAGE,
    ) -> None:
        self.params = params
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
            raise DependencyNotInstalled(f"pygame-ce is not installed, run `{install('render')}`") from error
        self._picture = Picture(self.params, scale)
        if mode == "human":
            self._window = LabWindow(self._picture.canvas.size, fps)

    def draw(self, lab: Any, step: Any, index: int = 0) -> Any:
        """Draw one lab.

        Args:
            lab: A record of ``state.lab_fields``.
            step: The record of its last step; ignored if it did not produce ``lab``.
            index: Index of the lab in a vector. Each lab has its own history.

        Returns:
            A text (``ansi``), a uint8 array of shape ``(height, width, 3)`` (``rgb_array``), or None (``human``).
        """
        history = self.book.see(lab, index)
        if is_fresh(lab, step):
            self.book.judge(history, lab, step)
        view = View(self.params, lab, step, history)
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
        """Close the window, if any. Further calls have no effect; a closed window stays closed."""
        if self._window is not None:
            self._window.close()

"""Rendering of a lab as text or as an image.

``Renderer`` draws any record of ``state.lab_fields``, and nothing of its hidden state. Images need ``pygame-ce``, which
the first renderer of images imports; no display is opened.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from gymnasium.error import DependencyNotInstalled

from solvent.extras import install
from solvent.lab.params import LabParams
from solvent.lab.rendering.text import draw_text

if TYPE_CHECKING:
    from solvent.lab.rendering.picture import Picture


class Renderer:
    """Renderer of labs with these parameters as ``ansi`` or ``rgb_array``.

    Raises:
        DependencyNotInstalled: Images need pygame-ce, which is not installed.
    """

    def __init__(self, params: LabParams, mode: str) -> None:
        self.params, self.mode = params, mode
        self._picture: Picture | None = None
        if mode == "ansi":
            return
        os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
        try:
            from solvent.lab.rendering.picture import Picture
        except ImportError as error:
            raise DependencyNotInstalled(f"pygame-ce is not installed, run `{install('render')}`") from error
        self._picture = Picture(params)

    def draw(self, lab: Any, step: Any, seed: int | None = None) -> Any:
        """Draw one lab, a record of ``state.lab_fields``, and its last step; an image has its level and seed above.

        Returns:
            A text (``ansi``) or a uint8 array of shape ``(height, width, 3)`` (``rgb_array``).
        """
        if self._picture is None:
            return draw_text(self.params, lab, step)
        return self._picture.show(lab, step, seed)

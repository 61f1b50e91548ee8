"""Pictures of a lab: a text for the terminal, an image, or a window.

``Renderer`` draws any record of ``state.LAB_FIELDS``. What a record does not hold (the debt of an hour ago,
which well a plate took) it remembers from the records it drew before, for each lab of a vector by itself. The
hidden truth is shown only when asked for. Images need ``pygame-ce``, imported by the first renderer that
draws any; no sound is opened, and a display only for a window.
"""

from solvent.lab.rendering.renderer import Renderer

__all__ = ["Renderer"]

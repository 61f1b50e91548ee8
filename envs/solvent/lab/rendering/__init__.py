"""Rendering of a lab as text, as an image, or in a window.

``Renderer`` draws any record of ``state.lab_fields``, and nothing of its hidden state. Images need ``pygame-ce``, which
the first renderer of images imports. A display is opened only for a window.
"""

from solvent.lab.rendering.renderer import Renderer

__all__ = ["Renderer"]

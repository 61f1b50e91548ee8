"""Rendering of a lab as text, as an image, or in a window.

``Renderer`` draws any record of ``state.lab_fields``. History that a record does not hold, such as the debt of an
hour ago, it keeps from the records drawn before, separately for each lab of a vector. The hidden state is shown only
on request. Images need ``pygame-ce``, which the first renderer of images imports; no sound device is opened, and a
display only for a window.
"""

from solvent.lab.rendering.renderer import Renderer

__all__ = ["Renderer"]

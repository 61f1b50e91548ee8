"""Linear layers packed for oneDNN: their weights are arranged once, not again for each text.

A text by itself is a small matrix, and half of its time would go into arranging 40 MB of weights. The operators are
those that torch uses for models that are frozen. A torch, a processor or a layer that they don't suit keeps its own.

Known approximation: a packed layer adds in another order; all-MiniLM-L6-v2's vectors change by up to 2e-7.
"""

from __future__ import annotations

import contextlib
from typing import Any

__all__ = ["pack_linear_layers"]

_CLOSE = 1e-4


def pack_linear_layers(module: Any) -> int:
    """Put packed layers in the place of ``module``'s linear ones of single precision, and say how many it was."""
    import torch

    count = 0
    for parent in list(module.modules()):
        for name, child in list(parent.named_children()):
            if type(child) is torch.nn.Linear and child.weight.dtype == torch.float32:
                with contextlib.suppress(AttributeError, NotImplementedError, RuntimeError):
                    layer = _packed(child)
                    setattr(parent, name, layer)
                    count += layer is not child
    return count


def _packed(linear: Any) -> Any:
    """The packed layer, or ``linear`` itself if it doesn't give the same."""
    import torch

    class Packed(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.ops.mkldnn._reorder_linear_weight(linear.weight.detach(), None)
            self.bias = None if linear.bias is None else linear.bias.detach()

        def forward(self, x: Any) -> Any:
            return torch.ops.mkldnn._linear_pointwise(x, self.weight, self.bias, "none", [], "")

    with torch.inference_mode():
        layer = Packed()
        probe = torch.linspace(-1.0, 1.0, 3 * linear.in_features).reshape(1, 3, -1)
        same = torch.allclose(layer(probe), linear(probe), rtol=_CLOSE, atol=_CLOSE)
    return layer if same else linear

"""Panels of the renderer, one module per mechanism or subject."""

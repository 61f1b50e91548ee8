"""Experiments: a config and a seed become an artifact."""

__all__: list[str] = []

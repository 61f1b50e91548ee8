"""Benchmarks of speed: run ``python -m benchmarks`` from the root of the repository."""

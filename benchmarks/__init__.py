"""How fast it is: ``python -m benchmarks`` from the root of the repository."""

"""Fixtures of the instruments' own tests, for the tests of the requirements."""

from tests.energy.conftest import place, store
from tests.gate.conftest import dataset, embedder, words, written

__all__ = ["dataset", "embedder", "place", "store", "words", "written"]

"""``solvent gate judge`` counts what people have decided."""

from __future__ import annotations

from solvent.gate.reviews import Reviews
from tests.commands import call
from tests.gate.test_commands import ODD


def test_a_claim_that_a_person_accepts_is_accepted(written, tmp_path, embedder):
    judge = ("gate", "judge", written([ODD]), "--policy", "standard", "--store", tmp_path / "reviews", "-q")
    assert call(*judge).code == 3
    (review,) = Reviews(tmp_path / "reviews").waiting()
    Reviews(tmp_path / "reviews").decide(review.id, "accept", who="Ada", why="a year later")
    call(*judge).succeeded("1 claims: 1 accept")

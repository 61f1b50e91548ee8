"""The training example runs: trl takes the bench as it is, rewards are the bench's, gradients are not zero."""

from __future__ import annotations

import pytest

pytest.importorskip("trl", reason="the extra `trl` is not installed")

# The libraries of transformers warn of their own deprecations.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


def test_grpo_trains_on_rewards_of_the_bench_and_differs_for_another_model_in_its_name_alone(tmp_path):
    from examples.grpo_tiny import main

    made = main(["--steps", "1", "--imitation", "80", "--out", str(tmp_path / "first")])
    named = main(["--steps", "1", "--out", str(tmp_path / "second"), "--model", str(tmp_path / "first")])
    steps = [row for log in (made, named) for row in log if "reward" in row]
    assert len(steps) == 2
    for row in steps:
        # trl takes these means of float32 rewards in different orders, so their last digits may differ.
        assert row["rewards/Bench/mean"] == pytest.approx(row["reward"], rel=1e-5)
        assert row["tools/call_frequency"] > 1
        assert (row["grad_norm"] > 0) == (row["reward_std"] > 0)
    assert any(row["grad_norm"] > 0 for row in steps)

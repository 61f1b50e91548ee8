"""A Ray cluster of several nodes on the loopback, in a process of its own: a line on stdin names the node to lose.

Not a test: Ray stays out of pytest's process, whose warnings are errors and which is to leave no daemon behind.
"""

from __future__ import annotations

import json
import logging
import sys

from ray.cluster_utils import Cluster

STORE = 80 * 2**20  # bytes; Ray takes no less than 75 MB


def main(nodes: int) -> None:
    """Start a head without CPUs and ``nodes`` with one each; print the address and the pids of their daemons."""
    cluster = Cluster(
        initialize_head=True,
        head_node_args={
            "num_cpus": 0,
            "include_dashboard": False,
            "object_store_memory": STORE,
            # A lost node is noticed after five seconds, and one that is merely slow is not taken for lost.
            "_system_config": {"health_check_period_ms": 500, "health_check_failure_threshold": 10},
        },
    )
    workers = [cluster.add_node(num_cpus=1, object_store_memory=STORE) for _ in range(nodes)]
    pids = [worker.all_processes["raylet"][0].process.pid for worker in workers]
    print(json.dumps({"address": cluster.address, "raylets": pids}), flush=True)
    for line in sys.stdin:
        cluster.remove_node(workers[int(line)], allow_graceful=False)
        print("lost", flush=True)
    cluster.shutdown()


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    main(int(sys.argv[1]))

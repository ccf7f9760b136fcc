"""A Ray cluster of two nodes on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

NODE = {"num_cpus": 1, "object_store_memory": 80 * 2**20}


class Nodes:
    """A cluster whose second node can be killed and replaced."""

    def __init__(self, cluster: Any) -> None:
        self._cluster = cluster
        self.add()

    def add(self) -> None:
        """Add a second node."""
        self._node = self._cluster.add_node(**NODE)

    @property
    def second(self) -> str:
        """Id of the second node."""
        return str(self._node.node_id)

    def kill(self) -> None:
        """End the second node as if its machine were switched off."""
        self._cluster.remove_node(self._node, allow_graceful=False)


@contextmanager
def two_nodes() -> Iterator[Nodes]:
    """A cluster of two nodes with a core each, to which this process is connected."""
    import ray
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={**NODE, "include_dashboard": False})
    try:
        ray.init(cluster.address, log_to_driver=False, logging_level="error")
        yield Nodes(cluster)
    finally:
        ray.shutdown()
        cluster.shutdown()

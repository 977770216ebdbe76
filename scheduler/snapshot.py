"""All nodes at one moment: what one scheduling cycle sees."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from scheduler.nodeinfo import NodeInfo
from scheduler.podinfo import PodInfo


def _no_labels(_: str) -> Mapping[str, str]:
    return {}


@dataclass(frozen=True)
class Snapshot:
    """Nodes in the order in which they are tried; `namespace_labels` for affinity terms that select namespaces."""

    nodes: tuple[NodeInfo, ...]
    namespace_labels: Callable[[str], Mapping[str, str]] = field(default=_no_labels)
    image_nodes: Mapping[str, int] = field(default_factory=dict)  # on how many nodes each image is

    @cached_property
    def by_name(self) -> Mapping[str, NodeInfo]:
        return {node.name: node for node in self.nodes}

    @cached_property
    def pods_with_affinity(self) -> tuple[tuple[NodeInfo, PodInfo], ...]:
        """Pods that mind their neighbours; mostly there are none, and then nobody looks at all pods."""
        return tuple((node, pod) for node in self.nodes for pod in node.minding.values())

    def replacing(self, node: NodeInfo) -> Snapshot:
        """The same moment with one node different: how preemption tries things out."""
        nodes = tuple(node if other.name == node.name else other for other in self.nodes)
        return Snapshot(nodes, self.namespace_labels, self.image_nodes)


def count_images(nodes: Iterable[NodeInfo]) -> dict[str, int]:
    """On how many nodes each image is."""
    counts: dict[str, int] = {}
    for node in nodes:
        for name in node.images:
            counts[name] = counts.get(name, 0) + 1
    return counts

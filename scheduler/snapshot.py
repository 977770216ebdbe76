"""All nodes at one moment: what one scheduling cycle sees."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from scheduler.memo import Journal, Memo, Tally
from scheduler.nodeinfo import NodeInfo

_K = TypeVar("_K", bound=Hashable)


def _no_labels(_: str) -> Mapping[str, str]:
    return {}


@dataclass(frozen=True)
class Facts:
    """What is true of all nodes together and follows from the nodes themselves, not from their pods."""

    total: int = 0
    image_nodes: Mapping[str, int] = field(default_factory=dict)  # on how many nodes each image is
    soft_taints: bool = False  # whether any node has a PreferNoSchedule taint


@dataclass(frozen=True)
class Snapshot:
    """Nodes by name, in the order in which they are tried; `namespace_labels` for terms that select namespaces.

    `memo`, `journal` and `version` only save work: without them every answer is the same.
    """

    by_name: Mapping[str, NodeInfo]
    facts: Facts
    namespace_labels: Callable[[str], Mapping[str, str]] = _no_labels
    memo: Memo = field(default_factory=Memo)
    journal: Journal = field(default_factory=Journal)
    version: int = 0

    @property
    def nodes(self) -> Iterable[NodeInfo]:
        return self.by_name.values()

    def changed_since(self, version: int) -> Sequence[str] | None:
        """The nodes that differ from those of an older snapshot; None: look at all."""
        return self.journal.between(version, self.version)

    def tally(self, key: Hashable, contribute: Callable[[NodeInfo], Mapping[_K, int]]) -> Mapping[_K, int]:
        """The sum of what every node contributes. The same `key` must mean the same `contribute`."""
        tally = self.memo.get(key, lambda: Tally(contribute))
        tally.refresh(self)
        return tally.counts

    def replacing(self, node: NodeInfo) -> Snapshot:
        """The same moment with one node different: how preemption tries things out."""
        return Snapshot({**self.by_name, node.name: node}, self.facts, self.namespace_labels)


def facts_of(nodes: Iterable[NodeInfo]) -> Facts:
    images: dict[str, int] = {}
    total, soft = 0, False
    for node in nodes:
        total += 1
        soft = soft or any(taint.get("effect") == "PreferNoSchedule" for taint in node.taints)
        for name in node.images:
            images[name] = images.get(name, 0) + 1
    return Facts(total, images, soft)

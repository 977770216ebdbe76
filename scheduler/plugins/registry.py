"""Every plugin there is, in the order in which they are asked: the cheap and decisive filters first.

To add one: `docs/adding-a-plugin.md`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from scheduler.framework import Plugin
from scheduler.plugins.imagelocality import ImageLocality
from scheduler.plugins.interpodaffinity import InterPodAffinity
from scheduler.plugins.nodeaffinity import NodeAffinity
from scheduler.plugins.nodename import NodeName
from scheduler.plugins.nodeports import NodePorts
from scheduler.plugins.noderesources import NodeResourcesBalancedAllocation, NodeResourcesFit
from scheduler.plugins.nodeunschedulable import NodeUnschedulable
from scheduler.plugins.podtopologyspread import PodTopologySpread
from scheduler.plugins.tainttoleration import TaintToleration

Arguments = Mapping[str, Any]


class Entry(NamedTuple):
    """`make` takes the profile's `pluginConfig` arguments; `weight` is upstream's default, 0 for no score."""

    name: str
    weight: int
    make: Callable[[Arguments], Plugin]


def _fit(arguments: Arguments) -> NodeResourcesFit:
    strategy = arguments.get("scoringStrategy") or {}
    weights = {item["name"]: item.get("weight") or 1 for item in strategy.get("resources") or []}
    return NodeResourcesFit(strategy.get("type") or "LeastAllocated", weights or {"cpu": 1, "memory": 1})


PLUGINS: tuple[Entry, ...] = (
    Entry("NodeUnschedulable", 0, lambda _: NodeUnschedulable()),
    Entry("NodeName", 0, lambda _: NodeName()),
    Entry("TaintToleration", 3, lambda _: TaintToleration()),
    Entry("NodeAffinity", 2, lambda _: NodeAffinity()),
    Entry("NodePorts", 0, lambda _: NodePorts()),
    Entry("NodeResourcesFit", 1, _fit),
    Entry("PodTopologySpread", 2, lambda _: PodTopologySpread()),
    Entry("InterPodAffinity", 2, lambda _: InterPodAffinity()),
    Entry("NodeResourcesBalancedAllocation", 1, lambda _: NodeResourcesBalancedAllocation()),
    Entry("ImageLocality", 1, lambda _: ImageLocality()),
)

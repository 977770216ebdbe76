"""The scheduling cycle (S2, S3): filter, score, choose. Pure: the same pod, snapshot and randomness, the same decision.

Serial by design: each decision sees all that were made before it. Nothing here waits or writes.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from scheduler.decision import Decision
from scheduler.framework import Filter, FilterPlugin, Rejected, ScorePlugin
from scheduler.nodeinfo import NodeInfo
from scheduler.podinfo import PodInfo
from scheduler.snapshot import Snapshot

# In a big cluster enough feasible nodes are as good as all: upstream's numbers.
_ALWAYS_ALL = 100
_PERCENTAGE_MIN = 5


@dataclass(frozen=True)
class Profile:
    """The plugins that serve one `schedulerName`, in the order in which they are asked."""

    scheduler_name: str
    filters: tuple[FilterPlugin, ...]
    scores: tuple[tuple[ScorePlugin, int], ...]  # with weights
    percentage_of_nodes: int = 0  # 0: adaptive


def schedule(pod: PodInfo, snapshot: Snapshot, profile: Profile, chance: random.Random, start: int = 0) -> Decision:
    """The best node for the pod. `start`: where in the round of nodes to begin, so that all get their turn."""
    filters = filters_for(pod, snapshot, profile)
    feasible, rejected, looked_at = _feasible(snapshot.nodes, filters, start, _enough(len(snapshot.nodes), profile))
    total = len(snapshot.nodes)
    next_start = (start + looked_at) % total if total else 0
    if not feasible:
        return Decision(pod.key, None, total, rejected, next_start=next_start)
    names = [node.name for node in feasible]
    if len(feasible) == 1:
        return Decision(pod.key, names[0], total, rejected, feasible=names, next_start=next_start)
    plugins, rows = _score(pod, snapshot, profile, feasible)
    decision = Decision(pod.key, None, total, rejected, plugins, names, rows, next_start)
    chosen = _best(names, decision.totals(), chance)
    return Decision(pod.key, chosen, total, rejected, plugins, names, rows, next_start)


def filters_for(pod: PodInfo, snapshot: Snapshot, profile: Profile) -> list[tuple[str, Filter]]:
    """The filters that have something to say about the pod."""
    made = ((plugin.name, plugin.filter_for(pod, snapshot)) for plugin in profile.filters)
    return [(name, fits) for name, fits in made if fits is not None]


def first_rejection(node: NodeInfo, filters: list[tuple[str, Filter]]) -> tuple[str, Rejected] | None:
    for name, fits in filters:
        verdict = fits(node)
        if verdict is not None:
            return name, verdict
    return None


def _feasible(
    nodes: tuple[NodeInfo, ...], filters: list[tuple[str, Filter]], start: int, enough: int
) -> tuple[list[NodeInfo], dict[str, tuple[str, Rejected]], int]:
    """The nodes that fit, why others do not, and how many were looked at before there were enough."""
    feasible: list[NodeInfo] = []
    rejected: dict[str, tuple[str, Rejected]] = {}
    looked_at = 0
    for node in _round(nodes, start):
        looked_at += 1
        rejection = first_rejection(node, filters)
        if rejection is not None:
            rejected[node.name] = rejection
            continue
        feasible.append(node)
        if len(feasible) >= enough:
            break
    return feasible, rejected, looked_at


def _round(nodes: tuple[NodeInfo, ...], start: int) -> Iterator[NodeInfo]:
    yield from nodes[start:]
    yield from nodes[:start]


def _enough(nodes: int, profile: Profile) -> int:
    """How many feasible nodes end the search."""
    percentage = profile.percentage_of_nodes
    if nodes < _ALWAYS_ALL or percentage >= 100:
        return nodes
    if percentage == 0:
        percentage = max(50 - nodes // 125, _PERCENTAGE_MIN)
    return max(nodes * percentage // 100, _ALWAYS_ALL)


def _score(
    pod: PodInfo, snapshot: Snapshot, profile: Profile, feasible: list[NodeInfo]
) -> tuple[tuple[str, ...], list[list[int]]]:
    names: list[str] = []
    rows: list[list[int]] = []
    for plugin, weight in profile.scores:
        score = plugin.score_for(pod, snapshot, feasible)
        if score is None:
            continue
        names.append(plugin.name)
        rows.append([weight * value for value in plugin.normalize([score(node) for node in feasible])])
    return tuple(names), rows


def _best(names: list[str], totals: list[int], chance: random.Random) -> str:
    top = max(totals)
    best = [name for name, total in zip(names, totals, strict=True) if total == top]
    return best[0] if len(best) == 1 else chance.choice(best)

"""The scheduling cycle (S2, S3): filter, score, choose. Pure: the same pod, snapshot and randomness, the same decision.

Serial by design: each decision sees all that were made before it. Nothing here waits or writes. What plugins that look
at one node alone said about a pod of the same shape and the very same node is not asked again (`memo`).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain, islice

from scheduler.decision import Decision
from scheduler.framework import Filter, FilterPlugin, Rejected, Score, ScorePlugin
from scheduler.nodeinfo import NodeInfo
from scheduler.podinfo import PodInfo
from scheduler.snapshot import Facts, Snapshot

# In a big cluster enough feasible nodes are as good as all: upstream's numbers.
_ALWAYS_ALL = 100
_PERCENTAGE_MIN = 5

Rejection = tuple[str, Rejected]  # with the plugin's name


@dataclass(frozen=True)
class Profile:
    """The plugins that serve one `schedulerName`, in the order in which they are asked."""

    scheduler_name: str
    filters: tuple[FilterPlugin, ...]
    scores: tuple[tuple[ScorePlugin, int], ...]  # with weights
    percentage_of_nodes: int = 0  # 0: adaptive


@dataclass(frozen=True, slots=True)
class Answer:
    """What the local plugins say about one node: why not, or their raw scores."""

    node: NodeInfo
    rejection: Rejection | None
    scores: tuple[int, ...]


@dataclass(frozen=True)
class Local:
    """The local plugins' functions for one shape of pod, and their answers so far, by node name."""

    facts: Facts  # what they were made with; held here so that its identity stays its own
    filters: Sequence[tuple[str, Filter]]
    scores: Sequence[tuple[ScorePlugin, int, Score]]
    answers: dict[str, Answer] = field(default_factory=dict)  # good for as long as the node is the same value

    def ask(self, node: NodeInfo) -> Answer:
        rejection = first_rejection(node, self.filters)
        scores = () if rejection else tuple(score([node])[0] for _, _, score in self.scores)
        answer = self.answers[node.name] = Answer(node, rejection, scores)
        return answer


def schedule(pod: PodInfo, snapshot: Snapshot, profile: Profile, chance: random.Random, start: int = 0) -> Decision:
    """The best node for the pod. `start`: where in the round of nodes to begin, so that all get their turn."""
    total = len(snapshot.by_name)
    local = _local(pod, snapshot, profile)
    shared = _filters(pod, snapshot, profile, is_local=False)
    feasible, rejected, looked_at = _feasible(snapshot, local, shared, start, _enough(total, profile))
    next_start = (start + looked_at) % total if total else 0
    names = [answer.node.name for answer in feasible]
    if len(names) < 2:
        chosen = names[0] if names else None
        return Decision(pod.key, chosen, total, rejected, feasible=names, next_start=next_start)
    plugins, rows = _score(pod, snapshot, profile, local, feasible)
    chosen = _best(names, [sum(column) for column in zip(*rows, strict=True)], chance) if rows else chance.choice(names)
    return Decision(pod.key, chosen, total, rejected, plugins, names, rows, next_start)


def filters_for(pod: PodInfo, snapshot: Snapshot, profile: Profile) -> list[tuple[str, Filter]]:
    """All filters that have something to say about the pod."""
    kinds = (True, False)
    return [one for is_local in kinds for one in _filters(pod, snapshot, profile, is_local=is_local)]


def first_rejection(node: NodeInfo, filters: Sequence[tuple[str, Filter]]) -> Rejection | None:
    for name, fits in filters:
        verdict = fits(node)
        if verdict is not None:
            return name, verdict
    return None


def _local(pod: PodInfo, snapshot: Snapshot, profile: Profile) -> Local:
    def make() -> Local:
        made = ((p, w, p.score_for(pod, snapshot, [])) for p, w in profile.scores if p.is_local)
        scores = [(plugin, weight, score) for plugin, weight, score in made if score is not None]
        return Local(snapshot.facts, _filters(pod, snapshot, profile, is_local=True), scores)

    # The facts are the same value for as long as they are the same: their identity stands for them
    return snapshot.memo.get((profile.scheduler_name, pod.local_shape, id(snapshot.facts)), make)


def _filters(pod: PodInfo, snapshot: Snapshot, profile: Profile, *, is_local: bool) -> list[tuple[str, Filter]]:
    made = ((p.name, p.filter_for(pod, snapshot)) for p in profile.filters if p.is_local is is_local)
    return [(name, fits) for name, fits in made if fits is not None]


def _feasible(
    snapshot: Snapshot, local: Local, shared: Sequence[tuple[str, Filter]], start: int, enough: int
) -> tuple[list[Answer], dict[str, Rejection], int]:
    """The nodes that fit, why others do not, and how many were looked at before there were enough."""
    feasible: list[Answer] = []
    rejected: dict[str, Rejection] = {}
    looked_at = 0
    nodes, answers = snapshot.by_name.values(), local.answers
    for node in chain(islice(nodes, start, None), islice(nodes, start)):
        looked_at += 1
        answer = answers.get(node.name)
        if answer is None or answer.node is not node:
            answer = local.ask(node)
        rejection = answer.rejection or (first_rejection(node, shared) if shared else None)
        if rejection is not None:
            rejected[node.name] = rejection
            continue
        feasible.append(answer)
        if len(feasible) >= enough:
            break
    return feasible, rejected, looked_at


def _enough(nodes: int, profile: Profile) -> int:
    """How many feasible nodes end the search."""
    percentage = profile.percentage_of_nodes
    if nodes < _ALWAYS_ALL or percentage >= 100:
        return nodes
    if percentage == 0:
        percentage = max(50 - nodes // 125, _PERCENTAGE_MIN)
    return max(nodes * percentage // 100, _ALWAYS_ALL)


def _score(
    pod: PodInfo, snapshot: Snapshot, profile: Profile, local: Local, feasible: list[Answer]
) -> tuple[tuple[str, ...], list[list[int]]]:
    """A row of weighted scores a plugin."""
    names: list[str] = []
    rows: list[list[int]] = []
    nodes = [answer.node for answer in feasible]

    def add(plugin: ScorePlugin, weight: int, raw: list[int]) -> None:
        names.append(plugin.name)
        rows.append([weight * score for score in plugin.normalize(raw)])

    for index, (plugin, weight, _) in enumerate(local.scores):
        add(plugin, weight, [answer.scores[index] for answer in feasible])
    for plugin, weight in profile.scores:
        score = None if plugin.is_local else plugin.score_for(pod, snapshot, nodes)
        if score is not None:
            add(plugin, weight, score(nodes))
    return tuple(names), rows


def _best(names: list[str], totals: list[int], chance: random.Random) -> str:
    top = max(totals)
    best = [name for name, total in zip(names, totals, strict=True) if total == top]
    return best[0] if len(best) == 1 else chance.choice(best)

"""What a plugin is (S2, S3, S5): a name, what could change its mind, and a filter or a score made for one pod.

A plugin is asked once a cycle for a function of nodes (or None: it has nothing to say about this pod), and that
function is called for the nodes. State of a cycle is what the function closes over. All synchronous, no I/O, nothing
changed: `cycle.schedule` is a pure function because of it.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from scheduler.nodeinfo import NodeInfo
from scheduler.podinfo import PodInfo
from scheduler.snapshot import Snapshot

MAX_SCORE = 100


class Event(enum.Enum):
    """What happens in a cluster that can make room for a pod. The queue wakes pods by these."""

    NODE_ADDED = "NodeAdd"
    NODE_ALLOCATABLE = "NodeAllocatableChange"
    NODE_LABELS = "NodeLabelChange"
    NODE_TAINTS = "NodeTaintChange"  # `spec.unschedulable` too
    POD_ADDED = "AssignedPodAdd"
    POD_LABELS = "AssignedPodUpdate"
    POD_DELETED = "AssignedPodDelete"
    NAMESPACE = "NamespaceUpdate"


@dataclass(frozen=True, slots=True)
class Rejected:
    """Why a node cannot take the pod, in upstream's words. `helps_to_evict`: with fewer pods on it, it might."""

    reasons: tuple[str, ...]
    helps_to_evict: bool = False


Verdict = Rejected | None  # None: it fits
Filter = Callable[[NodeInfo], Verdict]
Score = Callable[[Sequence[NodeInfo]], list[int]]  # many nodes at once: a call a node would be most of the work


class Plugin(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def wakes_on(self) -> frozenset[Event]:
        """The events after which a pod that this plugin rejected is worth another try."""
        ...

    @property
    def is_local(self) -> bool:
        """Whether its answer follows from the pod's `local_shape`, the node and `Snapshot.facts` alone."""
        ...


@runtime_checkable
class FilterPlugin(Plugin, Protocol):
    def filter_for(self, pod: PodInfo, snapshot: Snapshot) -> Filter | None: ...


@runtime_checkable
class ScorePlugin(Plugin, Protocol):
    def score_for(self, pod: PodInfo, snapshot: Snapshot, feasible: list[NodeInfo]) -> Score | None:
        """`feasible`: the nodes that will be scored; what is common to all of them need not be counted."""
        ...

    def normalize(self, scores: list[int]) -> list[int]:
        """Raw scores of all nodes into 0 … 100."""
        ...


def each(score: Callable[[NodeInfo], int]) -> Score:
    """The score of many nodes by the score of one."""
    return lambda nodes: [score(node) for node in nodes]


def as_is(scores: list[int]) -> list[int]:
    return scores


def highest_is_best(scores: list[int]) -> list[int]:
    """Scaled so that the highest is 100."""
    top = max(scores, default=0)
    return [MAX_SCORE * score // top for score in scores] if top else scores


def lowest_is_best(scores: list[int]) -> list[int]:
    """Scaled and turned round: the highest gets 0."""
    top = max(scores, default=0)
    return [MAX_SCORE - MAX_SCORE * score // top for score in scores] if top else [MAX_SCORE] * len(scores)

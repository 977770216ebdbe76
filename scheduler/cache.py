"""Nodes and the pods on them, as the scheduler believes them to be: what the API said, and what it has decided itself.

A decision is *assumed* at once, so that the next one sees it; it is confirmed when the API shows the pod with its node,
or *forgotten* when the binding failed. Pods may be known before their node is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from apimachinery import objects
from apimachinery.objects import Key, Object
from scheduler import nodeinfo
from scheduler.framework import Event
from scheduler.memo import Journal, Memo
from scheduler.nodeinfo import NodeInfo
from scheduler.podinfo import PodInfo
from scheduler.snapshot import Facts, Snapshot, facts_of


class Cache:
    """`update_*` tell what the change may be good for, as events for the queue."""

    def __init__(self, namespace_labels: Callable[[str], Mapping[str, str]]) -> None:
        self._namespace_labels = namespace_labels
        self._nodes: dict[str, NodeInfo] = {}
        self._placed: dict[Key, PodInfo] = {}  # pods with a node, by key; assumed ones too
        self._homes: dict[Key, str] = {}
        self._assumed: set[Key] = set()
        self._waiting: dict[str, dict[str, PodInfo]] = {}  # pods whose node is not known (yet, or any more)
        self._nominated: dict[Key, tuple[PodInfo, str]] = {}
        self._snapshot: Snapshot | None = None
        self._facts: Facts | None = None  # None: to be worked out again
        self._last_facts = Facts()
        self._memo, self._journal = Memo(), Journal()

    def snapshot(self) -> Snapshot:
        """All nodes now. The same value until something changes."""
        if self._snapshot is None:
            self._snapshot = Snapshot(
                dict(self._nodes),
                self._current_facts(),
                self._namespace_labels,
                self._memo,
                self._journal,
                self._journal.version,
            )
        return self._snapshot

    def snapshot_for(self, pod: PodInfo) -> Snapshot:
        """All nodes as this pod may see them: where room is made for one of at least its priority, that one counts."""
        snapshot = self.snapshot()
        for key, (other, node) in self._nominated.items():
            info = snapshot.by_name.get(node)
            if key != pod.key and other.priority >= pod.priority and info is not None:
                snapshot = snapshot.replacing(info.with_pod(other))
        return snapshot

    def nominate(self, pod: PodInfo, node: str) -> None:
        """Room is being made for the pod on the node; "": no longer."""
        if node:
            self._nominated[pod.key] = (pod, node)
        else:
            self._nominated.pop(pod.key, None)

    def forget_answers(self) -> None:
        """Something outside of nodes and pods changed that answers may depend on (the labels of a namespace)."""
        self._memo.clear()

    def _current_facts(self) -> Facts:
        """The very same value for as long as nothing of it differs: most changes of nodes are heartbeats."""
        if self._facts is None:
            facts = facts_of(self._nodes.values())
            self._last_facts = self._last_facts if facts == self._last_facts else facts
            self._facts = self._last_facts
        return self._facts

    # --- nodes

    def update_node(self, node: Object) -> list[Event]:
        name = objects.name_of(node)
        self._facts = None
        old = self._nodes.get(name)
        if old is None:
            info = nodeinfo.of(node)
            for pod in self._waiting.pop(name, {}).values():
                info = info.with_pod(pod)
            self._set(info)
            self._journal.restart()
            return [Event.NODE_ADDED]
        new = old.with_node(node)
        self._set(new)
        return _differences(old, new)

    def remove_node(self, name: str) -> None:
        node = self._nodes.pop(name, None)
        self._snapshot = self._facts = None
        self._journal.restart()
        if node is not None and node.pods:
            self._waiting[name] = dict(node.pods)

    # --- pods

    def is_assumed(self, key: Key) -> bool:
        return key in self._assumed

    def assume(self, pod: PodInfo, node: str) -> None:
        """Counts the pod as being on the node, before the API knows."""
        self._place(pod, node)
        self._assumed.add(pod.key)

    def forget(self, key: Key) -> None:
        """The binding failed: as if it had never been assumed."""
        if key in self._assumed:
            self._unplace(key)

    def update_pod(self, pod: PodInfo) -> list[Event]:
        """A pod that the API shows on a node."""
        old = self._placed.get(pod.key)
        self._place(pod, pod.node_name)
        confirmed = pod.key in self._assumed
        self._assumed.discard(pod.key)
        if old is None or confirmed:
            return [Event.POD_ADDED]
        events = [Event.POD_LABELS] if old.labels != pod.labels else []
        shrunk = any(pod.requests.get(name, 0) < amount for name, amount in old.requests.items())
        return [*events, Event.POD_DELETED] if shrunk else events

    def remove_pod(self, key: Key) -> list[Event]:
        """Gone, or finished: what it used is free."""
        return [Event.POD_DELETED] if self._unplace(key) else []

    def _place(self, pod: PodInfo, node: str) -> None:
        self._unplace_only(pod.key)
        self._placed[pod.key], self._homes[pod.key] = pod, node
        info = self._nodes.get(node)
        if info is None:
            self._waiting.setdefault(node, {})[pod.uid] = pod
        else:
            self._set(info.with_pod(pod))

    def _unplace(self, key: Key) -> bool:
        self._assumed.discard(key)
        return self._unplace_only(key)

    def _unplace_only(self, key: Key) -> bool:
        pod, node = self._placed.pop(key, None), self._homes.pop(key, "")
        if pod is None:
            return False
        info = self._nodes.get(node)
        if info is not None:
            self._set(info.without_pod(pod.uid))
        elif node in self._waiting:
            self._waiting[node].pop(pod.uid, None)
        return True

    def _set(self, info: NodeInfo) -> None:
        self._nodes[info.name] = info
        self._journal.note(info.name)
        self._snapshot = None


def _differences(old: NodeInfo, new: NodeInfo) -> list[Event]:
    found: list[Event] = []
    if old.allocatable != new.allocatable:
        found.append(Event.NODE_ALLOCATABLE)
    if old.labels != new.labels:
        found.append(Event.NODE_LABELS)
    if old.taints != new.taints or old.unschedulable != new.unschedulable:
        found.append(Event.NODE_TAINTS)
    return found

"""Who owns whom, by uid, as the caches tell it: pure state, changed by observations, that says what to look at.

A node is *virtual* while it is known only from others' owner references. Every method returns the work that follows
from a change; the graph itself decides nothing about the world, since caches may be behind it: the work reads the
objects again before it writes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from apimachinery import objects
from apimachinery.objects import Object

FOREGROUND_FINALIZER = "foregroundDeletion"
ORPHAN_FINALIZER = "orphan"


class Work(NamedTuple):
    """`action` is "attempt" (may it be deleted, or finished?) or "orphan" (release its dependents)."""

    action: str
    uid: str


class Identity(NamedTuple):
    """How to find the object again."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str

    def __str__(self) -> str:
        where = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.kind} {where}"


@dataclass(slots=True)
class Node:
    identity: Identity
    virtual: bool = False
    owners: dict[str, Object] = field(default_factory=dict)  # uid → the reference
    dependents: set[str] = field(default_factory=set)
    being_deleted: bool = False
    deleting_dependents: bool = False  # waits, with the foreground finalizer, for them to go

    def blocks(self, owner_uid: str) -> bool:
        """Whether this object holds up the foreground deletion of that owner."""
        return bool((self.owners.get(owner_uid) or {}).get("blockOwnerDeletion"))


class Graph:
    def __init__(self) -> None:
        self._nodes: dict[str, Node] = {}

    def get(self, uid: str) -> Node | None:
        return self._nodes.get(uid)

    def dependents(self, node: Node) -> list[Node]:
        return [self._nodes[uid] for uid in node.dependents if uid in self._nodes]

    def __len__(self) -> int:
        return len(self._nodes)

    def observe(self, obj: Object, api_version: str, kind: str) -> list[Work]:
        """The object exists, and looks so. Kind and version are given: items of partial lists do not carry them."""
        uid = objects.uid_of(obj)
        identity = Identity(api_version, kind, objects.namespace_of(obj), objects.name_of(obj), uid)
        node = self._nodes.setdefault(uid, Node(identity))
        node.identity, node.virtual = identity, False
        work = self._set_owners(node, {ref["uid"]: ref for ref in objects.owner_references_of(obj)})
        return work + self._note_deletion(node, obj)

    def forget(self, uid: str) -> list[Work]:
        """The object is gone: its dependents may follow, owners that waited for it may finish."""
        node = self._nodes.pop(uid, None)
        if node is None:
            return []
        work = [Work("attempt", dependent) for dependent in sorted(node.dependents)]
        for owner_uid in node.owners:
            work += self._disconnect(node, owner_uid)
        return work

    def _set_owners(self, node: Node, owners: dict[str, Object]) -> list[Work]:
        before, node.owners = node.owners, owners
        work: list[Work] = []
        for uid, reference in owners.items():
            if uid not in before:
                work += self._connect(node, reference)
            elif before[uid].get("blockOwnerDeletion") and not reference.get("blockOwnerDeletion"):
                work += self._wake_if_waiting(uid)
        for uid in before.keys() - owners.keys():
            work += self._disconnect(node, uid)
        return work

    def _connect(self, node: Node, reference: Object) -> list[Work]:
        owner = self._nodes.get(reference["uid"])
        if owner is not None:
            owner.dependents.add(node.identity.uid)
            return [Work("attempt", node.identity.uid)] if owner.deleting_dependents else []
        identity = Identity(
            reference["apiVersion"], reference["kind"], node.identity.namespace, reference["name"], reference["uid"]
        )
        self._nodes[identity.uid] = Node(identity, virtual=True, dependents={node.identity.uid})
        return [Work("attempt", identity.uid)]  # it may be gone already: nobody will tell us of its deletion

    def _disconnect(self, node: Node, owner_uid: str) -> list[Work]:
        owner = self._nodes.get(owner_uid)
        if owner is None:
            return []
        owner.dependents.discard(node.identity.uid)
        if owner.virtual and not owner.dependents:
            del self._nodes[owner_uid]
            return []
        return self._wake_if_waiting(owner_uid)

    def _wake_if_waiting(self, uid: str) -> list[Work]:
        owner = self._nodes.get(uid)
        return [Work("attempt", uid)] if owner is not None and owner.deleting_dependents else []

    def _note_deletion(self, node: Node, obj: Object) -> list[Work]:
        if not objects.is_deleting(obj):
            return []
        node.being_deleted = True
        uid, finalizers = node.identity.uid, finalizers_of(obj)
        if ORPHAN_FINALIZER in finalizers:
            return [Work("orphan", uid)]
        if FOREGROUND_FINALIZER in finalizers:
            first = not node.deleting_dependents
            node.deleting_dependents = True
            dependents = sorted(node.dependents) if first else []
            return [Work("attempt", other) for other in [*dependents, uid]]
        return []


def finalizers_of(obj: Object) -> list[str]:
    return obj["metadata"].get("finalizers") or []


def uids(nodes: Iterable[Node]) -> set[str]:
    return {node.identity.uid for node in nodes}

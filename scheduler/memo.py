"""What need not be worked out again: answers about a node stay right for as long as the node is the very same value.

Nodes are immutable (`nodeinfo`), so an answer kept with the value it was made from cannot be stale: it is used only if
the node in the snapshot *is* that value. A thousand replicas of one pod then cost a thousand times one changed node,
not a thousand times the whole cluster. Bounded: the shapes of pods that were not seen for longest are dropped.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

from scheduler.nodeinfo import NodeInfo

_T = TypeVar("_T")
_K = TypeVar("_K", bound=Hashable)

# Kinds of pods that are remembered at once; each holds an entry a node.
SHAPES_MAX = 128
# Beyond this many changes it is as quick to look at every node.
_JOURNAL_MAX = 10_000


class Memo:
    """Values by key, made when they are first asked for."""

    def __init__(self) -> None:
        self._values: OrderedDict[Hashable, Any] = OrderedDict()

    def get(self, key: Hashable, make: Callable[[], _T]) -> _T:
        value: _T | None = self._values.get(key)
        if value is None:
            value = self._values[key] = make()
            if len(self._values) > SHAPES_MAX:
                self._values.popitem(last=False)
        else:
            self._values.move_to_end(key)
        return value

    def clear(self) -> None:
        self._values.clear()


class Journal:
    """Which nodes changed, in order, so that a tally looks only at those. Versions grow, and never repeat."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._base = 0  # the version before the first name

    @property
    def version(self) -> int:
        return self._base + len(self._names)

    def note(self, name: str) -> None:
        self._names.append(name)
        if len(self._names) > _JOURNAL_MAX:
            self.restart()

    def restart(self) -> None:
        """Nodes came or went: everybody has to look at all of them."""
        self._base, self._names = self.version + 1, []

    def between(self, old: int, new: int) -> Sequence[str] | None:
        """The names noted after version `old` and up to `new`; None: that is not known."""
        if not self._base <= old <= new <= self.version:
            return None
        return self._names[old - self._base : new - self._base]


class Nodes(Protocol):
    """What a tally needs of a snapshot."""

    @property
    def nodes(self) -> Iterable[NodeInfo]: ...
    @property
    def by_name(self) -> Mapping[str, NodeInfo]: ...
    @property
    def version(self) -> int: ...
    def changed_since(self, version: int) -> Sequence[str] | None: ...


class Tally(Generic[_K]):
    """A sum over all nodes, kept up to date by the nodes that changed.

    `contribute` gives a node's part, as amounts by key; a key is in `counts` while any node gives it, also with 0.
    """

    def __init__(self, contribute: Callable[[NodeInfo], Mapping[_K, int]]) -> None:
        self.counts: dict[_K, int] = {}
        self._contribute = contribute
        self._givers: dict[_K, int] = {}
        self._parts: dict[str, Mapping[_K, int]] = {}
        self._version = -1

    def refresh(self, snapshot: Nodes) -> None:
        """Afterwards the counts are those of the snapshot."""
        changed = snapshot.changed_since(self._version)
        if changed is None:
            self.counts, self._givers, self._parts = {}, {}, {}
            for node in snapshot.nodes:
                self._add(node)
        else:
            for name in dict.fromkeys(changed):
                self._subtract(name)
                self._add(snapshot.by_name[name])
        self._version = snapshot.version

    def _add(self, node: NodeInfo) -> None:
        part = self._parts[node.name] = self._contribute(node)
        for key, amount in part.items():
            self.counts[key] = self.counts.get(key, 0) + amount
            self._givers[key] = self._givers.get(key, 0) + 1

    def _subtract(self, name: str) -> None:
        for key, amount in self._parts.pop(name, {}).items():
            self.counts[key] -= amount
            self._givers[key] -= 1
            if not self._givers[key]:
                del self._givers[key], self.counts[key]

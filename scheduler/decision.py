"""What one scheduling cycle found out: the node, or why there is none; the whole table, for people who ask why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from apimachinery.objects import Key
from scheduler.framework import Rejected


@dataclass(frozen=True, slots=True)
class Decision:
    """`node` None: no node can take the pod now; `message` says why in upstream's words.

    `scores` holds, for every scored node, one weighted number a plugin, in the order of `plugins`.
    """

    pod: Key
    node: str | None
    nodes_total: int
    rejected: Mapping[str, tuple[str, Rejected]] = field(default_factory=dict)  # node → plugin, verdict
    plugins: tuple[str, ...] = ()
    feasible: Sequence[str] = ()
    scores: Sequence[Sequence[int]] = ()  # a row a plugin, a column a feasible node
    next_start: int = 0  # where the next cycle begins its round through the nodes

    @property
    def rejecting_plugins(self) -> frozenset[str]:
        """Who said no: their events are worth waiting for."""
        return frozenset(plugin for plugin, _ in self.rejected.values())

    @property
    def message(self) -> str:
        """`0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were unschedulable.`"""
        if self.nodes_total == 0:
            return "no nodes available to schedule pods"
        reasons = Counter(reason for _, verdict in self.rejected.values() for reason in verdict.reasons)
        return available(self.nodes_total, reasons)

    def totals(self) -> list[int]:
        return [sum(column) for column in zip(*self.scores, strict=True)] if self.scores else [0] * len(self.feasible)

    def __str__(self) -> str:
        """The verdicts and the score table, one node a line."""
        head = f"{self.pod}: {self.node or self.message}"
        lines = [head, *(f"  {node}: {plugin}: {', '.join(v.reasons)}" for node, (plugin, v) in self.rejected.items())]
        for index, (node, total) in enumerate(zip(self.feasible, self.totals(), strict=True)):
            parts = " + ".join(f"{row[index]} {name}" for name, row in zip(self.plugins, self.scores, strict=True))
            lines.append(f"  {node}: {total}{f' = {parts}' if parts else ''}")
        return "\n".join(lines)


def available(total: int, reasons: Mapping[str, int]) -> str:
    """The sentence of upstream's FitError: counted reasons, sorted as text."""
    counted = sorted(f"{count} {reason}" for reason, count in reasons.items())
    return f"0/{total} nodes are available: {', '.join(counted)}." if counted else f"0/{total} nodes are available."

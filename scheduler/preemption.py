"""S5: a pod that fits nowhere may push out pods of lower priority. Pure: says whom; `writer` does it.

On each node where fewer pods could help: imagine all pods of lower priority gone; if the pod fits then, give them their
places back, the most important first, as long as it still fits. Who has none is a victim. Of all nodes the one is taken
that breaks the fewest disruption budgets, then the one whose victims matter least.
Source: https://kubernetes.io/docs/concepts/scheduling-eviction/pod-priority-preemption/
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from apimachinery import selectors
from apimachinery.objects import Object
from apimachinery.selectors import Selector
from scheduler import cycle
from scheduler.cycle import Profile
from scheduler.decision import Decision, available
from scheduler.framework import Rejected
from scheduler.nodeinfo import NodeInfo
from scheduler.podinfo import PodInfo
from scheduler.snapshot import Snapshot

NOT_HELPFUL = "Preemption is not helpful for scheduling"
NO_VICTIMS = "No preemption victims found for incoming pod"
NEVER = "not eligible due to preemptionPolicy=Never."
TERMINATING = "not eligible due to a terminating pod on the nominated node."
# With so many nodes to choose from, one more would hardly be better. Upstream's minimum.
_CANDIDATES_MAX = 100


@dataclass(frozen=True, slots=True)
class Budget:
    """A PodDisruptionBudget: how many of the pods it protects may go now."""

    namespace: str
    selector: Selector
    allowed: int

    def protects(self, pod: PodInfo) -> bool:
        return pod.key.namespace == self.namespace and self.selector.matches(pod.labels)


@dataclass(frozen=True, slots=True)
class Plan:
    """The node that is to take the pod, and who has to leave it."""

    node: str
    victims: tuple[PodInfo, ...]
    broken_budgets: int = 0


@dataclass(frozen=True, slots=True)
class NoPlan:
    """Why nobody is pushed out, in upstream's words."""

    message: str


def budget_of(obj: Object) -> Budget:
    """From a PodDisruptionBudget. One without a status yet allows nothing."""
    selector = selectors.from_label_selector((obj.get("spec") or {}).get("selector"))
    allowed = (obj.get("status") or {}).get("disruptionsAllowed") or 0
    return Budget(obj["metadata"].get("namespace") or "", selector, allowed)


def plan(
    pod: PodInfo, snapshot: Snapshot, profile: Profile, decision: Decision, budgets: Sequence[Budget]
) -> Plan | NoPlan:
    """For a pod for which `decision` found no node."""
    ineligible = _ineligible(pod, snapshot)
    if ineligible:
        return NoPlan(ineligible)
    reasons: Counter[str] = Counter()
    candidates: list[Plan] = []
    for node in snapshot.nodes:
        if not _may_help(decision.rejected.get(node.name)):
            reasons[NOT_HELPFUL] += 1
            continue
        found = _on_node(pod, node, snapshot, profile, budgets)
        if isinstance(found, Plan):
            candidates.append(found)
            if len(candidates) >= _CANDIDATES_MAX:
                break
        else:
            reasons.update(found)
    if not candidates:
        return NoPlan(available(decision.nodes_total, reasons))
    return min(candidates, key=_cost)


def _ineligible(pod: PodInfo, snapshot: Snapshot) -> str:
    if pod.spec.get("preemptionPolicy") == "Never":
        return NEVER
    nominated = snapshot.by_name.get(pod.nominated_node)
    leaving = nominated.pods.values() if nominated is not None else ()
    if any(other.is_deleting and other.priority < pod.priority for other in leaving):
        return TERMINATING  # room is being made already
    return ""


def _may_help(rejection: tuple[str, Rejected] | None) -> bool:
    return rejection is not None and rejection[1].helps_to_evict


def _on_node(
    pod: PodInfo, node: NodeInfo, snapshot: Snapshot, profile: Profile, budgets: Sequence[Budget]
) -> Plan | Iterable[str]:
    """The least that has to leave this node; or the reasons why nothing there would help."""
    lesser = [other for other in node.pods.values() if other.priority < pod.priority]
    if not lesser:
        return [NO_VICTIMS]
    emptied = node
    for other in lesser:
        emptied = emptied.without_pod(other.uid)
    rejection = _rejection(pod, emptied, snapshot, profile)
    if rejection is not None:
        return rejection.reasons
    breaking = _breaking(lesser, budgets)
    victims: list[PodInfo] = []
    # Those whose leaving would break a budget get their places back first
    for other in sorted(lesser, key=lambda one: (one.uid not in breaking, *_importance(one))):
        with_it = emptied.with_pod(other)
        if _rejection(pod, with_it, snapshot, profile) is None:
            emptied = with_it
        else:
            victims.append(other)
    return Plan(node.name, tuple(victims), sum(victim.uid in breaking for victim in victims))


def _rejection(pod: PodInfo, node: NodeInfo, snapshot: Snapshot, profile: Profile) -> Rejected | None:
    filters = cycle.filters_for(pod, snapshot.replacing(node), profile)
    rejection = cycle.first_rejection(node, filters)
    return rejection[1] if rejection is not None else None


def _breaking(pods: Iterable[PodInfo], budgets: Sequence[Budget]) -> set[str]:
    """The pods whose leaving would exceed a budget, when the less important go first."""
    left = [budget.allowed for budget in budgets]
    breaking: set[str] = set()
    for pod in sorted(pods, key=_importance):
        for index, budget in enumerate(budgets):
            if budget.protects(pod):
                left[index] -= 1
                if left[index] < 0:
                    breaking.add(pod.uid)
    return breaking


def _importance(pod: PodInfo) -> tuple[int, str]:
    """Sorts the most important first: by priority, then by how long it has been there."""
    return (-pod.priority, pod.started_at)


def _cost(candidate: Plan) -> tuple[int, int, int, int, str]:
    """Lower is better. Equal in all else: the node whose highest victims have run for the shortest time."""
    priorities = [victim.priority for victim in candidate.victims]
    highest = max(priorities, default=0)
    oldest = min((v.started_at for v in candidate.victims if v.priority == highest), default="")
    youth = "".join(chr(0x10FFFF - ord(char)) for char in oldest)  # later stamps sort first
    return (candidate.broken_budgets, highest, sum(priorities), len(priorities), youth)

"""What a PodDisruptionBudget's status should say, from its pods and the scales of their controllers (step C5).

Pure. Rounding, bounds, reasons and texts are upstream's: percentages are rounded up, and a budget that matches no pod
allows nothing, so that its first pods are safe before it has been counted again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from apimachinery import clock, objects, pods
from apimachinery.objects import Object
from controllers import intorpercent

# How long a pod that was granted an eviction may stay before it counts as healthy again
DELETION_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Expectation:
    """How many pods there should be, and how many of them must be healthy."""

    pods: int
    healthy: int


@dataclass(frozen=True, slots=True)
class Disrupted:
    """Pods whose eviction was granted and is not seen yet, by name; those that stayed; when to look again."""

    pending: Mapping[str, str] = field(default_factory=dict)
    stayed: tuple[Object, ...] = ()
    recheck_seconds: float | None = None


def needs_scale(budget: Object) -> bool:
    """Whether the number of pods that there should be must be asked of their controllers."""
    spec = budget.get("spec") or {}
    return spec.get("maxUnavailable") is not None or isinstance(spec.get("minAvailable"), str)


def owners(members: Sequence[Object]) -> tuple[dict[str, Object], tuple[Object, ...]]:
    """The controllers of the pods, as uid → one pod of it, and the pods that have none."""
    owned: dict[str, Object] = {}
    unmanaged: list[Object] = []
    for pod in members:
        reference = objects.controller_of(pod)
        if reference is None:
            unmanaged.append(pod)
        else:
            owned.setdefault(str(reference["uid"]), pod)
    return owned, tuple(unmanaged)


def expectation(budget: Object, pod_count: int, scale: int) -> Expectation:
    """`scale` is the sum over the pods' controllers; it is looked at only if `needs_scale`."""
    spec = budget.get("spec") or {}
    if spec.get("maxUnavailable") is not None:
        unavailable = intorpercent.resolve(spec["maxUnavailable"], scale, round_up=True)
        return Expectation(scale, max(0, scale - unavailable))
    total = scale if needs_scale(budget) else pod_count
    return Expectation(total, intorpercent.resolve(spec.get("minAvailable"), total, round_up=True))


def disrupted(budget: Object, members: Sequence[Object], now: datetime) -> Disrupted:
    granted: Mapping[str, str] = (budget.get("status") or {}).get("disruptedPods") or {}
    pending: dict[str, str] = {}
    stayed: list[Object] = []
    waits: list[float] = []
    for pod in members:
        since = granted.get(objects.name_of(pod))
        if since is None or objects.is_deleting(pod):
            continue
        left = (clock.parse_rfc3339(since) + timedelta(seconds=DELETION_SECONDS) - now).total_seconds()
        if left < 0:
            stayed.append(pod)
            continue
        pending[objects.name_of(pod)] = since
        waits.append(left)
    return Disrupted(pending, tuple(stayed), min(waits, default=None))


def healthy(members: Sequence[Object], pending: Mapping[str, str]) -> int:
    return sum(
        pods.is_ready(pod) and not objects.is_deleting(pod) and objects.name_of(pod) not in pending for pod in members
    )


def status_of(
    budget: Object, members: Sequence[Object], expected: Expectation, pending: Mapping[str, str], now: datetime
) -> Object:
    current = healthy(members, pending)
    allowed = max(0, current - expected.healthy) if expected.pods > 0 else 0
    generation = budget["metadata"].get("generation") or 0
    status: Object = {
        "currentHealthy": current,
        "desiredHealthy": expected.healthy,
        "expectedPods": expected.pods,
        "disruptionsAllowed": allowed,
        "observedGeneration": generation,
    }
    if pending:
        status["disruptedPods"] = dict(pending)
    verdict = ("True", "SufficientPods") if allowed else ("False", "InsufficientPods")
    return status | {"conditions": _conditions(budget, *verdict, "", generation, now)}


def failed_status(budget: Object, reason: str, now: datetime) -> Object:
    """The status while nothing can be worked out: nothing may be disrupted, and the rest stays as it was."""
    status: Object = dict(budget.get("status") or {})
    for count in ("currentHealthy", "desiredHealthy", "expectedPods"):
        status.setdefault(count, 0)
    observed = status.get("observedGeneration") or 0
    conditions = _conditions(budget, "False", "SyncFailed", reason, observed, now)
    return status | {"disruptionsAllowed": 0, "conditions": conditions}


def _conditions(budget: Object, status: str, reason: str, message: str, observed: int, now: datetime) -> list[Object]:
    condition: Object = {
        "type": "DisruptionAllowed",
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": clock.rfc3339(now),
    }
    if observed:
        condition["observedGeneration"] = observed
    return objects.set_condition((budget.get("status") or {}).get("conditions") or [], condition)

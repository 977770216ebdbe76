"""The arithmetic of a rollout: how many pods may be too many, how many too few, and how a change of size is shared.

Percentages round as upstream's: surge up, unavailable down; when both come to 0, one may be unavailable, else nothing
could ever move.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from apimachinery import objects
from apimachinery.objects import Object
from controllers import intorpercent
from controllers.deployment import revisions


def replicas(obj: Object) -> int:
    """`spec.replicas` of a Deployment or ReplicaSet."""
    value = obj["spec"].get("replicas")
    return 1 if value is None else int(value)


def status_count(obj: Object, field: str) -> int:
    return int((obj.get("status") or {}).get(field) or 0)


def available(replicaset: Object) -> int:
    """Its available pods that will stay: a status older than the last change of size may still count others."""
    return min(status_count(replicaset, "availableReplicas"), replicas(replicaset))


def total_replicas(replicasets: Iterable[Object]) -> int:
    return sum(map(replicas, replicasets))


def total_status(replicasets: Iterable[Object], field: str) -> int:
    return sum(status_count(rs, field) for rs in replicasets)


def active(replicasets: Iterable[Object]) -> list[Object]:
    return [rs for rs in replicasets if replicas(rs) > 0]


def is_rolling(deployment: Object) -> bool:
    return bool((deployment["spec"].get("strategy") or {}).get("type", "RollingUpdate") == "RollingUpdate")


def max_surge(deployment: Object) -> int:
    return _limits(deployment)[0]


def max_unavailable(deployment: Object) -> int:
    return min(_limits(deployment)[1], replicas(deployment))


def new_size(deployment: Object, replicasets: Iterable[Object], new: int) -> int:
    """How large the new ReplicaSet, now of `new` replicas, may be: all wanted, as far as the surge leaves room."""
    wanted = replicas(deployment)
    if not is_rolling(deployment):
        return wanted
    room = wanted + max_surge(deployment) - total_replicas(replicasets)
    return new + min(room, wanted - new) if room > 0 else new


def is_scaling(deployment: Object, replicasets: Iterable[Object]) -> bool:
    """Whether the Deployment was given another size since the active ReplicaSets were last written."""
    wanted = str(replicas(deployment))
    noted = (objects.annotations_of(rs).get(revisions.DESIRED_REPLICAS) for rs in active(replicasets))
    return any(value is not None and value != wanted for value in noted)


def is_saturated(deployment: Object, new: Object | None) -> bool:
    """Whether the new ReplicaSet alone is all that is wanted, and has it available."""
    if new is None:
        return False
    wanted = replicas(deployment)
    noted = objects.annotations_of(new).get(revisions.DESIRED_REPLICAS)
    return replicas(new) == wanted and noted == str(wanted) and status_count(new, "availableReplicas") == wanted


def proportional(deployment: Object, replicasets: Sequence[Object]) -> list[tuple[Object, int]]:
    """The active ReplicaSets with the sizes they get, in proportion, when a Deployment is resized amid a rollout.

    The largest come first and take what rounding leaves over; of equal ones the newer first when growing, the older
    first when shrinking.
    """
    wanted = replicas(deployment)
    allowed = wanted + max_surge(deployment) if wanted > 0 else 0
    to_add = allowed - total_replicas(replicasets)
    aged = revisions.by_age(replicasets)
    ordered = sorted(reversed(aged) if to_add > 0 else aged, key=replicas, reverse=True)
    added = 0
    result: list[tuple[Object, int]] = []
    for replicaset in ordered:
        share = _share(deployment, replicaset, to_add, added) if to_add else 0
        added += share
        result.append((replicaset, replicas(replicaset) + share))
    if result and to_add:
        first, size = result[0]
        result[0] = (first, max(0, size + to_add - added))
    return result


def _share(deployment: Object, replicaset: Object, to_add: int, added: int) -> int:
    if replicas(replicaset) == 0 or to_add == added:
        return 0
    fraction, rest = _fraction(deployment, replicaset), to_add - added
    return min(fraction, rest) if to_add > 0 else max(fraction, rest)


def _fraction(deployment: Object, replicaset: Object) -> int:
    """What the ReplicaSet gains when it keeps its share of the Deployment's largest allowed size."""
    size = replicas(replicaset)
    if replicas(deployment) == 0:
        return -size
    noted = objects.annotations_of(replicaset).get(revisions.MAX_REPLICAS, "")
    before = int(noted) if noted.isdecimal() else 0
    before = before or status_count(deployment, "replicas")
    if before == 0:
        return 0
    after = replicas(deployment) + max_surge(deployment)
    return math.floor(size * after / before + 0.5) - size


def _limits(deployment: Object) -> tuple[int, int]:
    """(maxSurge, maxUnavailable) as numbers."""
    if not is_rolling(deployment):
        return 0, 0
    wanted = replicas(deployment)
    rolling = (deployment["spec"].get("strategy") or {}).get("rollingUpdate") or {}
    surge = intorpercent.resolve(rolling.get("maxSurge", "25%"), wanted, round_up=True)
    unavailable = intorpercent.resolve(rolling.get("maxUnavailable", "25%"), wanted, round_up=False)
    return (surge, unavailable) if surge or unavailable else (0, 1)

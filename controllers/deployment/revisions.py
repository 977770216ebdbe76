"""The ReplicaSets of a Deployment as its history: which is new, which old, and the annotations that number them.

Annotations are upstream's, so that `kubectl rollout history` and `undo` read them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from apimachinery import objects
from apimachinery.objects import Object
from controllers import podtemplate

REVISION = "deployment.kubernetes.io/revision"
REVISION_HISTORY = "deployment.kubernetes.io/revision-history"
DESIRED_REPLICAS = "deployment.kubernetes.io/desired-replicas"
MAX_REPLICAS = "deployment.kubernetes.io/max-replicas"
_HISTORY_LENGTH_MAX = 2000  # characters, as upstream: an annotation must not grow without end
_NOT_COPIED = frozenset(
    {
        "kubectl.kubernetes.io/last-applied-configuration",
        REVISION,
        REVISION_HISTORY,
        DESIRED_REPLICAS,
        MAX_REPLICAS,
        "deprecated.deployment.rollback.to",
    }
)


def by_age(replicasets: Iterable[Object]) -> list[Object]:
    """Oldest first; the name decides between those of one second."""
    return sorted(replicasets, key=lambda rs: (rs["metadata"].get("creationTimestamp") or "", objects.name_of(rs)))


def find_new(deployment: Object, replicasets: Iterable[Object]) -> Object | None:
    """The ReplicaSet with the Deployment's template. The oldest of several, so that everyone picks the same one."""
    template = deployment["spec"]["template"]
    return next((rs for rs in by_age(replicasets) if podtemplate.same_template(rs["spec"]["template"], template)), None)


def number(obj: Object) -> int:
    """The revision an object says it is; 0 when it says none."""
    text = objects.annotations_of(obj).get(REVISION, "0")
    return int(text) if text.isdecimal() else 0


def newest(replicasets: Iterable[Object]) -> int:
    return max(map(number, replicasets), default=0)


def annotations_for(deployment: Object, replicaset: Object | None, revision: int) -> dict[str, str]:
    """The annotations of the new ReplicaSet: the Deployment's own, and the revision when it grew.

    A ReplicaSet that is rolled back to gets a new revision; the old one joins its history.
    """
    present = {} if replicaset is None else objects.annotations_of(replicaset)
    copied = {k: v for k, v in objects.annotations_of(deployment).items() if k not in _NOT_COPIED}
    result = {**present, **copied}
    former = int(present[REVISION]) if present.get(REVISION, "").isdecimal() else None
    if former is not None and former >= revision:
        return result
    result[REVISION] = str(revision)
    if former is not None:
        result[REVISION_HISTORY] = _extended(present.get(REVISION_HISTORY, ""), str(former))
    return result


def superfluous(old: Sequence[Object], limit: int) -> list[Object]:
    """The oldest revisions beyond `limit` that hold no pods and hide no unobserved change."""
    alive = [rs for rs in old if not objects.is_deleting(rs)]
    excess = len(alive) - limit
    if excess <= 0:
        return []
    return [rs for rs in sorted(alive, key=number)[:excess] if _is_idle(rs)]


def _is_idle(replicaset: Object) -> bool:
    status = replicaset.get("status") or {}
    observed = (status.get("observedGeneration") or 0) >= (replicaset["metadata"].get("generation") or 0)
    return observed and not status.get("replicas") and not replicaset["spec"].get("replicas")


def _extended(history: str, former: str) -> str:
    entries = [*filter(None, history.split(",")), former]
    while len(",".join(entries)) > _HISTORY_LENGTH_MAX:
        entries.pop(0)
    return ",".join(entries)

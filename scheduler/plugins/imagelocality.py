"""S3: nodes that have the pod's images already start it sooner; an image that is everywhere says nothing."""

from __future__ import annotations

from apimachinery import imagenames
from scheduler.framework import MAX_SCORE, Event, Score, as_is, each
from scheduler.nodeinfo import NodeInfo
from scheduler.podinfo import PodInfo
from scheduler.snapshot import Snapshot

_MEGABYTE = 1024 * 1024
# Below, pulling costs nothing worth counting; above (a container), more bytes make no difference.
_MIN_BYTES = 23 * _MEGABYTE
_MAX_BYTES_A_CONTAINER = 1000 * _MEGABYTE


class ImageLocality:
    name = "ImageLocality"
    is_local = True
    wakes_on: frozenset[Event] = frozenset()

    def score_for(self, pod: PodInfo, snapshot: Snapshot, feasible: list[NodeInfo]) -> Score | None:
        containers = [*(pod.spec.get("initContainers") or []), *(pod.spec.get("containers") or [])]
        wanted = [imagenames.normalized(c["image"]) for c in containers if c.get("image")]
        if not snapshot.facts.image_nodes:
            return None
        shares = [(name, snapshot.facts.image_nodes.get(name, 0) / snapshot.facts.total) for name in wanted]
        shares = [(name, share) for name, share in shares if share]
        if not shares:
            return None
        top = _MAX_BYTES_A_CONTAINER * len(containers)

        def score(node: NodeInfo) -> int:
            # An image on few nodes counts less, else all pods would gather there
            present = sum(int(node.images[name] * share) for name, share in shares if name in node.images)
            return MAX_SCORE * (min(max(present, _MIN_BYTES), top) - _MIN_BYTES) // (top - _MIN_BYTES)

        return each(score)

    normalize = staticmethod(as_is)

"""DefaultTolerationSeconds: a pod stays 300 s on a node that is not ready or unreachable, unless it says otherwise.

Without it, every pod of a node would be evicted the moment its kubelet is missed.
Source: https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#defaulttolerationseconds
"""

from __future__ import annotations

from apimachinery.objects import Object
from apiserver.admission.chain import Review
from apiserver.admission.plugins import Parts

SECONDS = 300
KEYS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


class DefaultTolerationSeconds:
    name = "DefaultTolerationSeconds"

    def handles(self, operation: str) -> bool:
        return operation in ("CREATE", "UPDATE")

    async def mutate(self, review: Review) -> Object | None:
        row = review.call.resource
        if row.resource != "pods" or row.group or review.call.subresource or review.obj is None:
            return review.obj
        spec = review.obj["spec"]
        tolerations = spec.get("tolerations") or []
        missing = [key for key in KEYS if not any(_covers(toleration, key) for toleration in tolerations)]
        if missing:
            spec["tolerations"] = [*tolerations, *map(_toleration, missing)]
        return review.obj


def make(parts: Parts) -> DefaultTolerationSeconds:
    return DefaultTolerationSeconds()


def _covers(toleration: Object, key: str) -> bool:
    """Whether the pod has an opinion on that taint already."""
    return (toleration.get("key") or key) == key and (toleration.get("effect") or "NoExecute") == "NoExecute"


def _toleration(key: str) -> Object:
    return {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": SECONDS}

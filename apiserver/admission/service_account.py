"""ServiceAccount: a pod that names no service account runs as its namespace's `default`.

Does not yet check that the account exists or mount its token: tokens come with TokenRequest.
"""

from __future__ import annotations

from apimachinery.objects import Object
from apiserver.admission.chain import Review
from apiserver.admission.plugins import Parts

_MIRROR = "kubernetes.io/config.mirror"


class ServiceAccount:
    name = "ServiceAccount"

    def handles(self, operation: str) -> bool:
        return operation == "CREATE"

    async def mutate(self, review: Review) -> Object | None:
        row = review.call.resource
        if row.resource != "pods" or row.group or review.call.subresource or review.obj is None:
            return review.obj
        # The picture of a static pod says only what the node's file says
        if _MIRROR not in (review.obj["metadata"].get("annotations") or {}):
            account = review.obj["spec"].get("serviceAccountName") or "default"
            review.obj["spec"]["serviceAccountName"] = review.obj["spec"]["serviceAccount"] = account
        return review.obj


def make(parts: Parts) -> ServiceAccount:
    return ServiceAccount()

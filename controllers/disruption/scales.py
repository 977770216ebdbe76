"""How many pods the controller of a pod wants: from caches where there are some, else from its `scale` (step C5).

A ReplicaSet of a Deployment stands for its Deployment, whose number is the same before, during and after a rollout.
Raises Unscalable for a pod whose controller is gone or has no scale: its budget cannot be worked out.
"""

from __future__ import annotations

from collections.abc import Iterable

from apimachinery import errors, gvr, objects
from apimachinery.objects import Key, Object
from client.informer import Informer
from client.rest import Client
from controllers import discovery, indexes
from controllers.context import Context
from controllers.discovery import ApiResource


class Unscalable(Exception):
    """The message is what users read in the budget's condition."""


class Scales:
    def __init__(self, context: Context) -> None:
        self._client: Client = context.client
        self._kinds: dict[tuple[str, str], ApiResource] = {}
        self._deployments = context.informers.informer(gvr.DEPLOYMENTS)
        self._replicasets = context.informers.informer(gvr.REPLICA_SETS, indexers=indexes.BY_CONTROLLER)

    async def total(self, pods: Iterable[Object]) -> int:
        """The sum over the controllers of `pods`; each controller counts once."""
        wanted: dict[str, int] = {}
        for pod in pods:
            uid, replicas = await self._of(pod)
            wanted[uid] = replicas
        return sum(wanted.values())

    async def _of(self, pod: Object) -> tuple[str, int]:
        """The uid of what scales the pod, and its number."""
        reference, namespace = objects.controller_of(pod), objects.namespace_of(pod)
        assert reference is not None
        found = self._replicaset(reference, namespace)
        if found is None:
            found = await self._scale(reference, namespace)
        if found is None:
            raise Unscalable(f'found no controllers for pod "{objects.name_of(pod)}"')
        return objects.uid_of(found), _replicas(found)

    def _replicaset(self, reference: Object, namespace: str) -> Object | None:
        if (reference.get("apiVersion"), reference.get("kind")) != (gvr.REPLICA_SETS.api_version, "ReplicaSet"):
            return None
        replicaset = _known(self._replicasets, reference, namespace)
        if replicaset is None:
            return None
        owner = objects.controller_of(replicaset)
        if owner is None or owner.get("kind") != "Deployment":
            return replicaset
        return _known(self._deployments, owner, namespace)

    async def _scale(self, reference: Object, namespace: str) -> Object | None:
        row = await self._row(str(reference.get("apiVersion")), str(reference.get("kind")))
        if row is None:
            return None
        try:
            scale = await self._client.get(row.gvr, str(reference["name"]), namespace, subresource="scale")
        except errors.NotFound:
            await self._check_scalable(row, str(reference["name"]), namespace)
            return None
        return scale if objects.uid_of(scale) == reference.get("uid") else None

    async def _check_scalable(self, row: ApiResource, name: str, namespace: str) -> None:
        """Raises if it is the kind that has no scale, not the object that is gone; both are 404."""
        try:
            await self._client.get(row.gvr, name, namespace, metadata_only=True)
        except errors.NotFound:
            return
        kind = f"{row.gvr.resource}.{row.gvr.group}" if row.gvr.group else row.gvr.resource
        raise Unscalable(f"{kind} does not implement the scale subresource")

    async def _row(self, api_version: str, kind: str) -> ApiResource | None:
        if (api_version, kind) not in self._kinds:
            self._kinds = (await discovery.discover(self._client)).kinds
        return self._kinds.get((api_version, kind))


def _known(informer: Informer, reference: Object, namespace: str) -> Object | None:
    """The object that is referred to, not another of its name."""
    found = informer.store.get(Key(namespace, str(reference["name"])))
    return found if found is not None and objects.uid_of(found) == reference.get("uid") else None


def _replicas(scaled: Object) -> int:
    replicas = (scaled.get("spec") or {}).get("replicas")
    return 0 if replicas is None else int(replicas)

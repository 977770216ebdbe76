"""Publishes the cluster's CA in every namespace, as ConfigMap `kube-root-ca.crt` (step C5).

Pods mount it beside their token, to know the apiserver. Restored when somebody changes or deletes it. Without
`--root-ca-file` there is nothing to publish, and nothing is.
"""

from __future__ import annotations

from pathlib import Path

from apimachinery import gvr, objects
from apimachinery.objects import Key, Object
from client import controller
from client.controller import Done
from controllers import writes
from controllers.context import Context

NAME = "root-ca-certificate-publisher-controller"
CONFIG_MAP = "kube-root-ca.crt"
_DESCRIPTION = {
    "kubernetes.io/description": "Contains a CA bundle that can be used to verify the kube-apiserver when using "
    "internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed "
    "across distributions of Kubernetes clusters."
}


class RootCAPublisher:
    """Reads the file once: a new CA is a new start, as upstream."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._client = context.client
        self._queue = context.queue(NAME)
        path = context.options.root_ca_file
        self._certificate = Path(path).read_text() if path else ""
        self._namespaces = context.informers.informer(gvr.NAMESPACES)
        self._config_maps = context.informers.informer(gvr.CONFIGMAPS, field_selector=f"metadata.name={CONFIG_MAP}")
        self._namespaces.add_handler(on_add=self._enqueue, on_update=lambda old, new: self._enqueue(new))
        self._config_maps.add_handler(
            on_update=lambda old, new: self._config_map_changed(new), on_delete=self._config_map_changed
        )

    async def run(self) -> None:
        await self._context.loop(NAME, self._queue, self.reconcile, step="C5").run()

    async def reconcile(self, key: Key) -> controller.Outcome:
        """`key` names the namespace."""
        namespace = self._namespaces.store.get(key)
        if not self._certificate or namespace is None or objects.is_deleting(namespace):
            return Done()
        present = self._config_maps.store.get(Key(key.name, CONFIG_MAP))
        wanted = {"ca.crt": self._certificate}
        if present is None:
            await self._create(key.name, wanted)
        elif present.get("data") != wanted or _DESCRIPTION.items() - objects.annotations_of(present).items():
            metadata = {**present["metadata"], "annotations": objects.annotations_of(present) | _DESCRIPTION}
            await self._client.update(gvr.CONFIGMAPS, {**present, "metadata": metadata, "data": wanted})
        return Done()

    async def _create(self, namespace: str, data: dict[str, str]) -> None:
        metadata = {"name": CONFIG_MAP, "namespace": namespace, "annotations": _DESCRIPTION}
        config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
        await writes.create_once(self._client, gvr.CONFIGMAPS, config_map)

    def _enqueue(self, namespace: Object) -> None:
        self._queue.add(objects.key_of(namespace))

    def _config_map_changed(self, config_map: Object) -> None:
        self._queue.add(Key("", objects.namespace_of(config_map)))

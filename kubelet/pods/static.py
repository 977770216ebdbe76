"""L1: static pods: manifests in a folder of the node, run without the API server, shown in it by a mirror pod.

A manifest's pod is named `NAME-NODE` and its uid is the hash of its content: a changed file is another pod. The
folder is looked at once a second. A mirror that was deleted is made again; a mirror without a manifest is deleted.
Guarantees: a file that cannot be read or is no pod is said once and otherwise ignored; the pods run while the API is
away. Source: https://kubernetes.io/docs/tasks/configure-pod-container/static-pod/
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path

from apimachinery import codec, objects
from apimachinery import errors as api_errors
from apimachinery.clock import Clock
from apimachinery.gvr import PODS
from apimachinery.objects import Object
from client.rest import Client, ConnectionFailed
from kubelet.pods import identity

log = logging.getLogger(__name__)
PERIOD_SECONDS = 1.0
_SUFFIXES = (".yaml", ".yml", ".json")


class StaticPods:
    """`on_pod` and `on_gone` are told of manifests; `mirror_of(uid)` is what the API shows for one."""

    def __init__(
        self,
        folder: Path,
        node_name: str,
        client: Client,
        clock: Clock,
        mirror_of: Callable[[str], Object | None],
        on_pod: Callable[[Object], None],
        on_gone: Callable[[Object], None],
    ) -> None:
        self._folder = folder
        self._node_name = node_name
        self._client = client
        self._clock = clock
        self._mirror_of = mirror_of
        self._on_pod = on_pod
        self._on_gone = on_gone
        self._pods: dict[str, Object] = {}  # by uid
        self._said: dict[str, str] = {}

    async def look(self) -> None:
        """Tell what is new in the folder and what is gone."""
        found = await asyncio.to_thread(self._read)
        for uid in self._pods.keys() - found.keys():
            self._on_gone(self._pods.pop(uid))
        for uid in found.keys() - self._pods.keys():
            log.info("%s: a static pod", objects.key_of(found[uid]), extra={"step": "L1"})
            self._pods[uid] = found[uid]
            self._on_pod(found[uid])

    async def run(self, mirrors: Callable[[], list[Object]]) -> None:
        """Until cancelled. `mirrors` lists the mirror pods that the API has for this node."""
        while True:
            await self.look()
            try:
                await self._keep_mirrors(mirrors())
            except (api_errors.APIError, ConnectionFailed) as error:
                log.debug("mirror pods: %s", error, extra={"step": "L1"})
            await self._clock.sleep(PERIOD_SECONDS)

    async def _keep_mirrors(self, mirrors: list[Object]) -> None:
        for mirror in mirrors:
            if identity.runtime_uid(mirror) not in self._pods:
                name, namespace = objects.name_of(mirror), objects.namespace_of(mirror)
                await self._client.delete(PODS, name, namespace, grace_period_seconds=0, uid=objects.uid_of(mirror))
        for uid, pod in self._pods.items():
            if self._mirror_of(uid) is None:
                try:
                    await self._client.create(PODS, mirror_for(pod))
                except api_errors.AlreadyExists:
                    continue  # the last one is on its way out, or the watch is behind

    def _read(self) -> dict[str, Object]:
        found: dict[str, Object] = {}
        paths = sorted(self._folder.iterdir()) if self._folder.is_dir() else []
        for path in paths:
            if path.suffix not in _SUFFIXES or path.name.startswith("."):
                continue
            try:
                pod = static_pod(codec.decode_yaml(path.read_bytes()), self._node_name)
            except (OSError, ValueError, KeyError, TypeError, AttributeError, api_errors.APIError) as error:
                self._say(path.name, str(error) or type(error).__name__)
                continue
            self._said.pop(path.name, None)
            found[objects.uid_of(pod)] = pod
        return found

    def _say(self, name: str, problem: str) -> None:
        if self._said.get(name) != problem:
            self._said[name] = problem
            log.warning("manifest %s: %s", name, problem, extra={"step": "L1"})


def static_pod(manifest: Object, node_name: str) -> Object:
    """The pod that a manifest stands for on this node. Raises ValueError or KeyError when it is none."""
    if manifest.get("kind") != "Pod" or not manifest["spec"]["containers"]:
        raise ValueError("not a Pod with containers")
    uid = identity.digest([node_name, manifest])
    metadata = manifest["metadata"]
    annotations = (metadata.get("annotations") or {}) | {identity.CONFIG_SOURCE: "file", identity.CONFIG_HASH: uid}
    own = {
        "name": f"{metadata['name']}-{node_name}",
        "namespace": metadata.get("namespace") or "default",
        "uid": uid,
        "annotations": annotations,
    }
    tolerations = [*(manifest["spec"].get("tolerations") or []), {"operator": "Exists", "effect": "NoExecute"}]
    spec = manifest["spec"] | {"nodeName": node_name, "tolerations": tolerations}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata | own, "spec": spec}


def mirror_for(pod: Object) -> Object:
    """What the API shows of a static pod. It runs nothing by itself."""
    metadata = {key: value for key, value in pod["metadata"].items() if key != "uid"}
    metadata["annotations"] = metadata["annotations"] | {identity.CONFIG_MIRROR: objects.uid_of(pod)}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": pod["spec"]}

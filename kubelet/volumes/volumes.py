"""L7: a pod's volumes, made ready before its containers and kept up to date while they run.

`prepare` is idempotent: it makes what is missing, rewrites what has changed and answers where each volume is on the
host. Guarantees: raises VolumeNotReady with upstream's wording and leaves what is ready as it is; after a restart of
the kubelet the same folders are found again.
Where the node may not mount (rootless, hollow), memory-backed volumes are plain folders.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from cri_api.v1 import api_pb2 as pb

from apimachinery import objects, quantity
from apimachinery.clock import Clock
from apimachinery.objects import Object
from kubelet import errors
from kubelet.containers import env
from kubelet.references import References
from kubelet.volumes import atomic, contents, hostpath, mounts, subpath
from kubelet.volumes.directories import Directories
from kubelet.volumes.tokens import Tokens

_KINDS = {"configMap": "configmap", "secret": "secret", "downwardAPI": "downward-api", "projected": "projected"}
_PROPAGATION = {
    "HostToContainer": pb.PROPAGATION_HOST_TO_CONTAINER,
    "Bidirectional": pb.PROPAGATION_BIDIRECTIONAL,
}


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """What the downward API may tell of the node and the pod's addresses."""

    pod_ips: tuple[str, ...] = ()
    host_ips: tuple[str, ...] = ()
    allocatable: Mapping[str, Decimal] | None = None


class Volumes:
    def __init__(
        self, directories: Directories, references: References, tokens: Tokens, clock: Clock, *, may_mount: bool
    ) -> None:
        self._directories = directories
        self._references = references
        self._tokens = tokens
        self._clock = clock
        self._may_mount = may_mount

    async def prepare(self, pod: Object, facts: NodeFacts) -> dict[str, Path]:
        """Volume name → host path. Raises VolumeNotReady, and API or connection errors."""
        return {
            volume["name"]: await self._prepare_one(pod, volume, facts) for volume in pod["spec"].get("volumes") or []
        }

    async def _prepare_one(self, pod: Object, volume: Object, facts: NodeFacts) -> Path:
        uid, name = objects.uid_of(pod), volume["name"]
        try:
            if volume.get("hostPath"):
                path = Path(volume["hostPath"]["path"])
                hostpath.prepare(name, path, volume["hostPath"].get("type") or "")
                return path
            if contents.is_written(volume):
                return await self._write(pod, volume, facts)
            if volume.get("emptyDir") is not None:
                path = self._directories.volume(uid, "empty-dir", name)
                self._empty_dir(path, volume["emptyDir"], _fs_group(pod))
                return path
        except OSError as error:
            raise errors.VolumeNotReady(name, str(error)) from error
        kinds = sorted(key for key in volume if key != "name")
        raise errors.VolumeNotReady(name, f"no volume plugin matched: {', '.join(kinds) or 'empty source'}")

    async def _write(self, pod: Object, volume: Object, facts: NodeFacts) -> Path:
        kind = next(name for key, name in _KINDS.items() if volume.get(key))
        uid = objects.uid_of(pod)
        path = self._directories.volume(uid, kind, volume["name"])
        found = await self._references.get(uid, objects.namespace_of(pod), contents.references(volume))
        tokens = {s["path"]: await self._tokens.get(pod, volume["name"], s) for s in contents.token_sources(volume)}
        inputs = contents.Inputs(found, tokens, facts.pod_ips, facts.host_ips, facts.allocatable or {})
        files = contents.files_of(pod, volume, inputs)
        if (kind == "secret" or tokens) and self._may_mount:
            _mount_once(path, None)  # secrets never reach the disk
        await asyncio.to_thread(atomic.write, path, files, self._clock.now(), group=_fs_group(pod))
        return path

    def _empty_dir(self, path: Path, source: Object, group: int | None) -> None:
        if not path.is_dir():
            path.mkdir(parents=True)
        if source.get("medium") == "Memory" and self._may_mount:
            limit = source.get("sizeLimit")
            _mount_once(path, quantity.integer(limit) if limit else None)
        path.chmod(0o777 if group is None else 0o2777)
        if group is not None:
            with contextlib.suppress(PermissionError):  # rootless: the folder is open to all anyway
                os.chown(path, -1, group)

    def mounts_of(
        self, pod: Object, container: Object, paths: Mapping[str, Path], variables: Mapping[str, str]
    ) -> list[pb.Mount]:
        """CRI mounts for `volumeMounts`, in the spec's order. Raises VolumeNotReady, StartRefused."""
        return [
            self._mount(pod, container, index, mount, paths, variables)
            for index, mount in enumerate(container.get("volumeMounts") or [])
        ]

    def _mount(
        self,
        pod: Object,
        container: Object,
        index: int,
        mount: Object,
        paths: Mapping[str, Path],
        variables: Mapping[str, str],
    ) -> pb.Mount:
        name = mount["name"]
        if name not in paths:
            raise errors.StartRefused(
                "CreateContainerConfigError",
                f'cannot find volume "{name}" to mount into container "{container["name"]}"',
            )
        source = paths[name]
        sub_path = mount.get("subPath") or env.expand(mount.get("subPathExpr") or "", variables)
        if sub_path:
            pin = self._directories.subpath(objects.uid_of(pod), name, container["name"], index)
            try:
                source = subpath.resolve(name, source, sub_path, pin if self._may_mount else None)
            except (OSError, errors.VolumeNotReady) as error:
                message = f'failed to prepare subPath for volumeMount "{name}" of container "{container["name"]}"'
                raise errors.StartRefused("CreateContainerConfigError", message) from error
        return pb.Mount(
            container_path=mount["mountPath"],
            host_path=str(source),
            readonly=bool(mount.get("readOnly")),
            propagation=_PROPAGATION.get(mount.get("mountPropagation") or "", pb.PROPAGATION_PRIVATE),
        )


def _mount_once(path: Path, size_bytes: int | None) -> None:
    path.mkdir(parents=True, exist_ok=True)
    if not mounts.is_mounted(path):
        mounts.mount_tmpfs(path, size_bytes=size_bytes)


def _fs_group(pod: Object) -> int | None:
    group = (pod["spec"].get("securityContext") or {}).get("fsGroup")
    return int(group) if group is not None else None

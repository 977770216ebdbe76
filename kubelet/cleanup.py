"""L6, L15: what has to go when a pod has ended, and what is found of pods that nobody knows any more.

Guarantees: everything here may be repeated; nothing is removed while something of it runs or is mounted.
"""

from __future__ import annotations

import asyncio
import logging
import shutil
from collections.abc import Set
from pathlib import Path

from apimachinery import objects
from apimachinery.objects import Object
from kubelet.cgroups import Cgroups
from kubelet.containers import config
from kubelet.cri import Runtime
from kubelet.images import Images
from kubelet.observed import Observed
from kubelet.pods import spec
from kubelet.references import References
from kubelet.volumes.directories import Directories
from kubelet.volumes.tokens import Tokens

log = logging.getLogger(__name__)


class Cleanup:
    def __init__(
        self,
        runtime: Runtime,
        directories: Directories,
        cgroups: Cgroups,
        references: References,
        tokens: Tokens,
        images: Images,
        logs_dir: Path,
    ) -> None:
        self._runtime = runtime
        self._directories = directories
        self._cgroups = cgroups
        self._references = references
        self._tokens = tokens
        self._images = images
        self._logs_dir = logs_dir

    async def volumes(self, pod: Object) -> None:
        """An ended pod needs no volumes and no cgroup; its logs and messages stay as long as it is in the API."""
        uid = objects.uid_of(pod)
        self._references.release(uid)
        self._tokens.release(uid)
        self._images.release(pod, spec.all_containers(pod))
        await asyncio.to_thread(self._directories.remove_volumes, uid)
        await asyncio.to_thread(self._cgroups.remove, uid)

    async def everything(self, pod: Object, observed: Observed) -> None:
        """The pod is being deleted: containers, sandboxes, folders, logs."""
        for container in observed.containers:
            await self._runtime.remove_container(container.id)
        for sandbox in observed.sandboxes:
            await self._runtime.remove_sandbox(sandbox.id)
        await asyncio.to_thread(self._remove_files, objects.uid_of(pod), config.log_directory(self._logs_dir, pod))

    def _remove_files(self, uid: str, logs: Path) -> None:
        self._cgroups.remove(uid)
        self._directories.remove(uid)
        shutil.rmtree(logs, ignore_errors=True)

    async def orphans(self, known: Set[str]) -> None:
        """Folders and cgroups of pods that are neither in the API nor in the runtime."""
        await asyncio.to_thread(self._remove_orphans, known)

    def _remove_orphans(self, known: Set[str]) -> None:
        for uid in (self._directories.uids() | self._cgroups.pod_uids()) - known:
            log.info("removing what is left of pod %s", uid, extra={"step": "L6"})
            try:
                self._directories.remove(uid)
                self._cgroups.remove(uid)
            except OSError as error:  # one that cannot go must not keep the others
                log.warning("pod %s: %s; tried again at the next sweep", uid, error, extra={"step": "L6"})
        if self._logs_dir.is_dir():
            for folder in self._logs_dir.iterdir():
                if folder.name.rpartition("_")[2] not in known:
                    shutil.rmtree(folder, ignore_errors=True)

"""L6: the kubelet's folders. Everything of a pod lives under one folder named by its uid, and goes with it.

ROOT/pods/UID/volumes/kubernetes.io~KIND/NAME        its volumes
ROOT/pods/UID/volume-subpaths/NAME/CONTAINER/INDEX   pinned subPaths
ROOT/pods/UID/containers/CONTAINER/ATTEMPT           termination messages
ROOT/pods/UID/etc-hosts
"""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path

from kubelet.volumes import mounts


class Directories:
    def __init__(self, root: Path) -> None:
        self.pods = root / "pods"

    def pod(self, uid: str) -> Path:
        return self.pods / uid

    def volume(self, uid: str, kind: str, name: str) -> Path:
        return self.pod(uid) / "volumes" / f"kubernetes.io~{kind}" / name

    def subpath(self, uid: str, volume: str, container: str, index: int) -> Path:
        return self.pod(uid) / "volume-subpaths" / volume / container / str(index)

    def termination_message(self, uid: str, container: str, attempt: int) -> Path:
        return self.pod(uid) / "containers" / container / str(attempt)

    def etc_hosts(self, uid: str) -> Path:
        return self.pod(uid) / "etc-hosts"

    def uids(self) -> set[str]:
        """Pods that have a folder here, for finding orphans."""
        with contextlib.suppress(OSError):
            return {entry.name for entry in self.pods.iterdir()}
        return set()

    def create(self, uid: str) -> None:
        for name in ("volumes", "containers"):
            (self.pod(uid) / name).mkdir(mode=0o750, parents=True, exist_ok=True)

    def remove_volumes(self, uid: str) -> None:
        """Unmounts and deletes the volumes; logs and termination messages stay."""
        unmount_below(self.pod(uid))
        for name in ("volumes", "volume-subpaths"):
            if not mounts.mounted_below(self.pod(uid) / name):
                shutil.rmtree(self.pod(uid) / name, ignore_errors=True)

    def remove(self, uid: str) -> None:
        """Deletes the pod's folder. Nothing is deleted beneath what is still mounted: it may be somebody's data."""
        folder = self.pod(uid)
        unmount_below(folder)
        if not mounts.mounted_below(folder):
            shutil.rmtree(folder, ignore_errors=True)


def unmount_below(folder: Path) -> None:
    for point in mounts.mounted_below(folder):
        with contextlib.suppress(OSError):
            mounts.unmount(point)

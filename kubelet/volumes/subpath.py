"""L7: subPath. What is mounted must lie inside the volume, whatever symlinks a container has put there.

The path is walked component by component from an open folder, following no symlink; missing folders are made. Where
the node may mount, the result is pinned by a bind mount of the open file descriptor, so that a container that swaps a
component for a symlink afterwards gains nothing; without that right (rootless, hollow) the checked path is used as it
is.
"""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

from kubelet import errors
from kubelet.volumes import mounts


def resolve(volume: str, base: Path, sub_path: str, pin: Path | None) -> Path:
    """The host path to mount for `sub_path` under `base`; bound to `pin` where one is given."""
    if base.is_file():
        raise errors.VolumeNotReady(volume, f"subPath of {base}: the volume is a file")
    parts = [part for part in Path(sub_path).parts if part not in ("/", ".")]
    if ".." in parts:
        raise errors.VolumeNotReady(volume, f"subPath must not contain '..': {sub_path}")
    descriptor = os.open(_inside(volume, base, parts), os.O_PATH)
    try:
        opened = Path(os.readlink(f"/proc/self/fd/{descriptor}"))
        root = Path(os.path.realpath(base))
        if opened != root and root not in opened.parents:  # swapped between the look and the open
            raise errors.VolumeNotReady(volume, f"subPath {sub_path} leads outside the volume")
        if pin is None:
            return opened
        return _pinned(descriptor, pin)
    finally:
        os.close(descriptor)


def _inside(volume: str, base: Path, parts: list[str]) -> Path:
    """Create what is missing as folders; refuse what leads outside. Atomic volumes are symlinks inside themselves."""
    root = Path(os.path.realpath(base))
    path = root.joinpath(*parts)
    if not os.path.lexists(path):
        _make_folders(root, parts)
    real = Path(os.path.realpath(path))
    if real != root and root not in real.parents:
        raise errors.VolumeNotReady(volume, f"subPath {'/'.join(parts)} leads outside the volume")
    if not real.exists():
        raise errors.VolumeNotReady(volume, f"subPath {'/'.join(parts)} does not exist")
    return real


def _make_folders(root: Path, parts: list[str]) -> None:
    here = os.open(root, os.O_DIRECTORY | os.O_RDONLY)
    try:
        for part in parts:
            with contextlib.suppress(FileExistsError):
                os.mkdir(part, 0o750, dir_fd=here)
            following = os.open(part, os.O_DIRECTORY | os.O_RDONLY | os.O_NOFOLLOW, dir_fd=here)
            os.close(here)
            here = following
    finally:
        os.close(here)


def _pinned(descriptor: int, pin: Path) -> Path:
    if mounts.is_mounted(pin):
        return pin
    pin.parent.mkdir(parents=True, exist_ok=True)
    if stat.S_ISDIR(os.fstat(descriptor).st_mode):
        pin.mkdir(exist_ok=True)
    else:
        pin.touch()
    mounts.bind(Path(f"/proc/self/fd/{descriptor}"), pin)
    return pin

"""mount(2) and umount2(2), called directly: no mount program need be installed. Linux only; needs CAP_SYS_ADMIN."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

_MNT_DETACH = 2
_MS_NOSUID, _MS_NODEV, _MS_BIND = 2, 4, 4096
_MOUNTS = Path("/proc/self/mounts")


def mount_tmpfs(target: Path, *, size_bytes: int | None) -> None:
    """A memory-backed file system on `target`, open to every user of the pod."""
    options = "mode=0777" + (f",size={size_bytes}" if size_bytes else "")
    _call("mount", b"tmpfs", os.fsencode(target), b"tmpfs", ctypes.c_ulong(_MS_NOSUID | _MS_NODEV), options.encode())


def bind(source: Path, target: Path) -> None:
    _call("mount", os.fsencode(source), os.fsencode(target), None, ctypes.c_ulong(_MS_BIND), None)


def unmount(target: Path) -> None:
    _call("umount2", os.fsencode(target), ctypes.c_int(_MNT_DETACH))


def mounted_below(folder: Path) -> list[Path]:
    """Mount points under `folder`, deepest first."""
    prefix = f"{folder}/"
    try:
        rows = _MOUNTS.read_text().splitlines()
    except OSError:  # not Linux: nothing is mounted
        return []
    points = [row.split()[1].encode().decode("unicode_escape") for row in rows]
    return sorted((Path(point) for point in points if point.startswith(prefix)), key=lambda p: -len(p.parts))


def is_mounted(target: Path) -> bool:
    return target in mounted_below(target.parent)


def _call(name: str, *arguments: object) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")

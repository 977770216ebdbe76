"""L7: hostPath. The runtime would create a missing source in silence, so the type is checked, or made, here.

Source: https://kubernetes.io/docs/concepts/storage/volumes/#hostpath-volume-types
"""

from __future__ import annotations

import stat
from pathlib import Path

from kubelet import errors

_CHECKS = {
    "Directory": (stat.S_ISDIR, "a directory"),
    "File": (stat.S_ISREG, "a file"),
    "Socket": (stat.S_ISSOCK, "a socket file"),
    "CharDevice": (stat.S_ISCHR, "a character device"),
    "BlockDevice": (stat.S_ISBLK, "a block device"),
}


def prepare(volume: str, path: Path, kind: str) -> None:
    """Raises VolumeNotReady where `path` is not what `kind` says; the …OrCreate kinds make it."""
    if kind == "DirectoryOrCreate":
        path.mkdir(mode=0o755, parents=True, exist_ok=True)
        kind = "Directory"
    elif kind == "FileOrCreate":
        if path.parent.is_dir():  # upstream makes the file, not its folder
            path.touch(mode=0o644, exist_ok=True)
        kind = "File"
    if kind not in _CHECKS:
        return
    fits, said = _CHECKS[kind]
    try:
        mode = path.stat().st_mode
    except OSError:
        mode = 0
    if not fits(mode):
        raise errors.VolumeNotReady(volume, f"hostPath type check failed: {path} is not {said}")

"""L7: replace a volume's files all at once, as containers that read them see it.

The layout is the well-known one: files live in a folder named by time, `..data` is a symlink to it, each name at the
top is a symlink through `..data`. A new generation is written beside the old one and `..data` is renamed over: a
reader sees either all old files or all new ones, and inotify on `..data` tells of the change.

Guarantees: writing what is already there changes nothing; a writer killed at any point leaves the old generation in
place, and its leavings are removed by the next write.
Does not guarantee anything to containers that mount by subPath: they hold the old file.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

DATA = "..data"
_NEW_DATA = "..data_tmp"


@dataclass(frozen=True, slots=True)
class File:
    content: bytes
    mode: int = 0o644


def write(target: Path, files: Mapping[str, File], now: datetime, *, group: int | None = None) -> bool:
    """Make `target` hold exactly `files` (relative path → file). Returns whether anything changed."""
    for name in files:
        _check_path(name)
    target.mkdir(parents=True, exist_ok=True)
    current = _current(target)
    if current is not None and _holds(current, files):
        _link_names(target, files)
        return False
    fresh = Path(tempfile.mkdtemp(prefix=now.strftime("..%Y_%m_%d_%H_%M_%S."), dir=target))
    fresh.chmod(0o755)
    for name, file in files.items():
        _write_file(fresh, name, file, group)
    (target / _NEW_DATA).unlink(missing_ok=True)
    (target / _NEW_DATA).symlink_to(fresh.name)
    (target / _NEW_DATA).rename(target / DATA)
    _link_names(target, files)
    _sweep(target, fresh.name)
    return True


def _check_path(name: str) -> None:
    parts = Path(name).parts
    if not parts or Path(name).is_absolute() or ".." in parts or parts[0].startswith(".."):
        raise ValueError(f"invalid path: {name!r} must be relative and must not contain '..'")


def _current(target: Path) -> Path | None:
    link = target / DATA
    return target / os.readlink(link) if link.is_symlink() and link.exists() else None


def _holds(folder: Path, files: Mapping[str, File]) -> bool:
    present = {str(Path(parent, name).relative_to(folder)) for parent, _, names in os.walk(folder) for name in names}
    if present != {str(Path(name)) for name in files}:
        return False
    for name, file in files.items():
        path = folder / name
        if path.read_bytes() != file.content or path.stat().st_mode & 0o777 != file.mode & 0o777:
            return False
    return True


def _write_file(folder: Path, name: str, file: File, group: int | None) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(file.content)
    path.chmod(file.mode if group is None else file.mode | 0o040)
    if group is not None:
        os.chown(path, -1, group)


def _link_names(target: Path, files: Mapping[str, File]) -> None:
    for name in {Path(name).parts[0] for name in files}:
        link = target / name
        if not link.is_symlink():
            link.symlink_to(Path(DATA) / name)


def _sweep(target: Path, keep: str) -> None:
    """Old generations, half-written ones, and names that are no more."""
    for entry in os.scandir(target):
        if entry.name in (DATA, keep):
            continue
        if entry.is_symlink():
            if not os.path.exists(entry.path):
                os.unlink(entry.path)
        elif entry.name.startswith(".."):
            shutil.rmtree(entry.path)

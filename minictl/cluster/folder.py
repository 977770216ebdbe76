"""The folder of a cluster: whose it is, who works in it now, and what of it is ours to remove.

cluster.json     what was chosen (`settings`): without it nothing here is ours
plan.json        what is to run (`plan`)          state.json, supervisor.lock   what runs (`state`, `supervisor`)
kubeconfig       the administrator's              pki/                          keys and certificates
etcd/ nodes/ registry/ run/                       data and sockets of the processes
logs/            a file a process
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from minictl.cluster import errors, settings

OURS = (
    "plan.json",
    "state.json",
    "network.json",
    "kubeconfig",
    "etcd",
    "nodes",
    "registry",
    "registry.yml",
    "run",
    "pki",
    "logs",
    "supervisor.lock",
)
LOCK = "lock"


@contextlib.contextmanager
def taken(folder: Path) -> Iterator[None]:
    """The folder for one `up`; where no cluster comes of it, it is left as it was found. Raises ClusterError."""
    is_new = prepare(folder)
    with only_one(folder):
        try:
            yield
        finally:
            if not settings.file_of(folder).exists():
                (folder / LOCK).unlink(missing_ok=True)
                if is_new:
                    with contextlib.suppress(OSError):  # somebody has put something there
                        folder.rmdir()


def prepare(folder: Path) -> bool:
    """Make the folder (True), or see that it is ours or empty. Raises ClusterError."""
    if " " in str(folder) or ":" in str(folder) or "," in str(folder):
        raise errors.ClusterError(f"--dir {folder}: a path with blanks, colons or commas does not work for containers")
    try:
        is_new = not folder.exists()
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        entries = {entry for entry in os.listdir(folder) if not entry.startswith(".")} - {LOCK}
    except OSError as error:
        raise errors.ClusterError(f"--dir {folder}: {error.strerror}") from error
    if entries and not settings.file_of(folder).exists():
        raise errors.ClusterError(f"--dir {folder}: holds other files and no cluster; name an empty or new folder")
    return is_new


def hand_over(paths: Iterable[Path], environ: Mapping[str, str]) -> None:
    """After `sudo minictl up`: give what the person needs, the folder and the kubeconfig, to who typed it."""
    owner, group = environ.get("SUDO_UID", ""), environ.get("SUDO_GID", "")
    if os.geteuid() == 0 and owner.isdigit() and group.isdigit():
        for path in paths:
            os.chown(path, int(owner), int(group))


@contextlib.contextmanager
def only_one(folder: Path) -> Iterator[None]:
    """One `up` or `down` at a time. The kernel frees the lock of one that dies. Raises ClusterError."""
    with (folder / LOCK).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise _busy(folder) from error
        if not _is_there(folder / LOCK, lock.fileno()):
            raise _busy(folder)  # it has just removed the file that we opened
        yield


def _busy(folder: Path) -> errors.ClusterError:
    return errors.ClusterError(f"another `minictl up` or `down` works in {folder}: wait until it is done")


def _is_there(path: Path, descriptor: int) -> bool:
    """Whether an open file is still the one at its path."""
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def remove(folder: Path, sockets: Path) -> list[str]:
    """Remove what is ours, the marking file last, and the folder if nothing else is in it. Returns what stays."""
    for path in [*(folder / name for name in OURS), sockets]:
        _remove(path)
    left = [f"file {folder / name}" for name in OURS if os.path.lexists(folder / name)]
    left += [f"mount {place}" for place in mounts_below(folder, Path("/proc/self/mounts").read_text())]
    if not left:
        for name in (settings.file_of(folder).name, LOCK):
            (folder / name).unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            folder.rmdir()
    return left


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            path.unlink()


def mounts_below(folder: Path, mounts: str) -> list[str]:
    """The mount points inside the folder, deepest first, from the text of /proc/mounts. Pure."""
    places = (line.split()[1].encode().decode("unicode_escape") for line in mounts.splitlines())
    return sorted((place for place in places if place.startswith(f"{folder}/")), key=len, reverse=True)

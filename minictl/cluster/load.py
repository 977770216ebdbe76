"""`minictl image load`: an archive into the runtime of every node."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from minictl.cluster import errors, images, oci, planning, state, tools
from minictl.cluster import settings as settings_module
from minictl.cluster.containerd import SOCKET
from minictl.cluster.settings import CONTAINERD, Settings

TIMEOUT_SECONDS = 60.0


def load(folder: Path, archive: Path) -> list[str]:
    """The names of the nodes that have it now. Raises ClusterError."""
    settings = settings_module.load(folder)
    if not archive.is_file():
        raise errors.ClusterError(f"{archive}: no such file")
    try:
        names = oci.names_in_archive(archive)
        if not names:
            raise errors.ClusterError(f"{archive} names no image: save it with a tag")
        if settings.runtime == CONTAINERD:
            found = tools.find(["ctr"])
            images.import_archive(archive, sockets(settings), found["ctr"], found.environment())
        else:
            _load_hollow(settings, names)
    except (images.ImageError, oci.ArchiveError, tools.ToolsMissing) as error:
        raise errors.ClusterError(str(error)) from error
    return [node.name for node in settings.nodes]


def sockets(settings: Settings) -> list[Path]:
    """The runtimes' sockets as this machine sees them. Raises ClusterError when a node does not run."""
    known = state.load(settings.folder).processes
    found = []
    for node in settings.nodes:
        running = known.get(node.name)
        if running is None or running.identity is None or not running.is_alive:
            raise errors.ClusterError(f"{node.name} does not run: `minictl up` starts it")
        found.append(Path(f"/proc/{running.identity.pid}/root{SOCKET}"))
    return found


def _load_hollow(settings: Settings, names: list[str]) -> None:
    """Hollow nodes have no content: the names are what a pod asks for."""
    for node in settings.nodes:
        command = [sys.executable, "-m", "kubelet.hollow", "load", planning.hollow_endpoint(settings, node), *names]
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False)
        if done.returncode:
            raise errors.ClusterError(f"{node.name} did not take the image: {done.stderr.strip()}")

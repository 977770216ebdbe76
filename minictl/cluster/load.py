"""`minictl image load`: an archive into the containerd of every node."""

from __future__ import annotations

from pathlib import Path

from minictl.cluster import errors, images, state, tools
from minictl.cluster import settings as settings_module
from minictl.cluster.containerd import SOCKET
from minictl.cluster.settings import CONTAINERD, Settings


def load(folder: Path, archive: Path) -> list[str]:
    """The names of the nodes that have it now. Raises ClusterError."""
    settings = settings_module.load(folder)
    if settings.runtime != CONTAINERD:
        raise errors.ClusterError("hollow nodes hold no images: every image reference runs on them")
    if not archive.is_file():
        raise errors.ClusterError(f"{archive}: no such file")
    found = tools.find(["ctr"])
    try:
        images.import_archive(archive, sockets(settings), found["ctr"], found.environment())
    except images.ImageError as error:
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

"""What a containerd cluster changes on this machine outside its folder, and takes back: the fabric, firewall rules,
forwarding.

What was found before is written to DIR/network.json before it is changed, so that `down` can restore it after any
crash.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator
from pathlib import Path

from certs import files
from minictl.cluster import cgroups, errors, firewall
from minictl.cluster.settings import Settings

RUN = "/run"


@contextlib.contextmanager
def choosing() -> Iterator[None]:
    """One at a time, over all clusters of this machine, looks for a free network and takes it.

    The lock is on the folder /run itself: a lock file would be one more thing to leave behind.
    """
    descriptor = os.open(RUN, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def ensure_fabric(settings: Settings) -> None:
    """Raises ClusterError when the kernel refuses."""
    from pyroute2.netlink.exceptions import NetlinkError

    from minictl.cluster import network

    try:
        network.ensure(network.plan_fabric(settings))
    except (OSError, NetlinkError) as error:
        raise errors.ClusterError(f"the nodes' network cannot be made: {error}") from error


def open_way_out(settings: Settings, iptables: Path | None) -> str:
    """Let the nodes reach the world; "" or why they cannot."""
    if iptables is None:
        return "iptables is not to be had"
    try:
        _remember(settings.folder, firewall.forwards())
        firewall.set_forwarding(True)
        firewall.ensure(iptables, firewall.rules(settings.name, settings.short, settings.fabric))
    except (OSError, firewall.Unusable) as error:
        return str(error)
    return ""


def remove(settings: Settings, iptables: Path | None) -> list[str]:
    """Take all of it back; what stays is named in the result."""
    from minictl.cluster import network

    left = network.remove(network.plan_fabric(settings))
    left += cgroups.remove([settings.scoped(node) for node in settings.nodes])
    if iptables is not None:
        with contextlib.suppress(firewall.Unusable):
            left += firewall.remove(iptables, settings.name)
            if not forwarded_before(settings.folder) and not firewall.any_cluster(iptables):
                firewall.set_forwarding(False)
    return left


def forwarded_before(folder: Path) -> bool:
    """Whether this machine forwarded packets before the cluster; True, and so nothing to restore, when not known."""
    try:
        return bool(json.loads(_file(folder).read_bytes())["forwarded"])
    except (OSError, ValueError, KeyError):
        return True


def _remember(folder: Path, forwards: bool) -> None:
    if not _file(folder).exists():
        files.write(_file(folder), json.dumps({"forwarded": forwards}).encode())


def _file(folder: Path) -> Path:
    return folder / "network.json"

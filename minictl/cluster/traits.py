"""What this machine allows: read from /proc and /sys, never assumed."""

from __future__ import annotations

import os
import platform
from pathlib import Path

from minictl.cluster.containerd import Traits

CAP_SYS_RESOURCE = 24
CAP_SYS_ADMIN = 21
CAP_NET_ADMIN = 12
# overlayfs cannot have its upper layer on these
NO_OVERLAY_UPON = ("overlay", "aufs", "nfs", "nfs4", "fuse", "9p", "ecryptfs")


def read(folder: Path) -> Traits:
    """The traits that containerd's configuration depends on, for a node whose data is below `folder`."""
    return Traits(
        may_lower_oom_score=has_capability(CAP_SYS_RESOURCE),
        overlay=overlay_works_upon(filesystem_of(folder, Path("/proc/self/mounts").read_text())),
        apparmor=_apparmor(),
    )


def why_no_containerd() -> str:
    """Why real containers cannot run here; "" when they can."""
    if platform.system() != "Linux":
        return f"this is {platform.system()}, not Linux"
    if os.geteuid() != 0:
        return "not root"
    if not (has_capability(CAP_SYS_ADMIN) and has_capability(CAP_NET_ADMIN)):
        return "root without CAP_SYS_ADMIN and CAP_NET_ADMIN (an unprivileged container?)"
    if not any(" cgroup" in line for line in Path("/proc/mounts").read_text().splitlines()):
        return "no cgroup hierarchy is mounted"
    return ""


def has_capability(number: int) -> bool:
    return effective_capabilities(Path("/proc/self/status").read_text()) >> number & 1 == 1


def effective_capabilities(status: str) -> int:
    """The mask of CapEff in the text of /proc/PID/status. Pure."""
    line = next((line for line in status.splitlines() if line.startswith("CapEff:")), "CapEff: 0")
    return int(line.split()[1], 16)


def filesystem_of(folder: Path, mounts: str) -> str:
    """The type of the file system that holds `folder`, from the text of /proc/mounts. Pure but for following links."""
    place = str(folder.resolve())
    best, kind = "", ""
    for line in mounts.splitlines():
        _, mounted, found, *_ = line.split()
        holds = place == mounted or place.startswith(mounted.rstrip("/") + "/")
        if holds and len(mounted) >= len(best):  # the longest; of equals the last, which lies on top
            best, kind = mounted, found
    return kind


def overlay_works_upon(kind: str) -> bool:
    return kind.partition(".")[0] not in NO_OVERLAY_UPON


def _apparmor() -> bool:
    """Whether containerd can load profiles: the kernel has it on, and its parser is there."""
    enabled = Path("/sys/module/apparmor/parameters/enabled")
    try:
        return enabled.read_text().strip() == "Y" and Path("/sbin/apparmor_parser").exists()
    except OSError:
        return False


def reachable_resolv_conf(candidates: tuple[Path, ...] = ()) -> str:
    """DNS settings that hold in a network namespace, where this machine's loopback is not: "" lines mean none.

    systemd-resolved and its like listen on loopback and keep the real servers in another file.
    """
    for path in candidates or (Path("/etc/resolv.conf"), Path("/run/systemd/resolve/resolv.conf")):
        try:
            text = without_loopback(path.read_text())
        except OSError:
            continue
        if "nameserver" in text:
            return text
    return ""


def without_loopback(text: str) -> str:
    """The lines of a resolv.conf without name servers on loopback. Pure."""
    lines = [line for line in text.splitlines() if line.split("#")[0].strip()]
    kept = [line for line in lines if not (line.startswith("nameserver") and _is_loopback(line.split()[-1]))]
    return "".join(f"{line}\n" for line in kept)


def _is_loopback(server: str) -> bool:
    return server.startswith("127.") or server == "::1"

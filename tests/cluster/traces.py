"""What a cluster leaves on this machine, looked for independently of the code that removes it."""

from __future__ import annotations

import subprocess
from pathlib import Path

from minictl.cluster import tools


def of_cluster(name: str, link: str, token: str, folder: Path) -> list[str]:
    """Every trace: processes, namespaces, mounts, links, cgroups, firewall rules, files."""
    return [
        *_processes(token),
        *(f"namespace {path}" for path in Path("/run/netns").glob(f"{name}-*")),
        *(f"mount {line}" for line in _lines("/proc/mounts") if name in line or f" {folder}/" in line),
        *(f"link {path.name}" for path in Path("/sys/class/net").glob(link)),
        *(f"cgroup {path}" for path in Path("/sys/fs/cgroup").glob(f"**/{name}-*")),
        *(f"rule {line}" for line in _rules() if f"armillary:{name}" in line or link in line),
        *(f"file {path}" for path in ([folder] if folder.exists() else [])),
    ]


def _processes(token: str) -> list[str]:
    """Those started with the cluster's token, and everything that shares a namespace made for one of them."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            environment, command = (folder / "environ").read_bytes(), (folder / "cmdline").read_bytes()
        except OSError:
            continue  # it has gone, or is not ours to look at
        if token.encode() in environment:
            found.append(f"process {folder.name}: {command.replace(bytes(1), b' ').decode()[:100]}")
    return found


def _rules() -> list[str]:
    try:
        iptables = tools.find(["iptables"])["iptables"]
    except tools.ToolsMissing:
        return []
    listings = (
        subprocess.run([iptables, "-t", table, "-S"], capture_output=True, text=True, check=False).stdout
        for table in ("nat", "filter")
    )
    return [line for listing in listings for line in listing.splitlines()]


def _lines(path: str) -> list[str]:
    return Path(path).read_text().splitlines()

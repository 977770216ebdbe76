"""L13: the two files that the kubelet itself mounts into a container, and what comes back through one of them.

/etc/hosts names the pod by its address, so that its own hostname resolves, and carries `hostAliases`. The termination
message is what a container writes before it ends; without it, and if the policy says so, the end of its log stands in.
"""

from __future__ import annotations

from pathlib import Path

from apimachinery.objects import Object
from kubelet.observed import Container
from kubelet.pods import identity
from kubelet.server import logs

MESSAGE_MAX_BYTES = 4096
LOG_LINES, LOG_MAX_BYTES = 80, 2048  # upstream's limits where the log stands in


def write_hosts(path: Path, pod: Object, ips: tuple[str, ...], hostname: str) -> None:
    lines = [
        "# Kubernetes-managed hosts file.",
        "127.0.0.1\tlocalhost",
        "::1\tlocalhost ip6-localhost ip6-loopback",
        "fe00::0\tip6-localnet",
        "fe00::0\tip6-mcastprefix",
        "fe00::1\tip6-allnodes",
        "fe00::2\tip6-allrouters",
    ]
    subdomain = pod["spec"].get("subdomain")
    namespace = pod["metadata"].get("namespace") or "default"
    full = f"{hostname}.{subdomain}.{namespace}.svc.cluster.local\t{hostname}" if subdomain else hostname
    lines += [f"{ip}\t{full}" for ip in ips]
    aliases = pod["spec"].get("hostAliases") or []
    if aliases:
        lines += ["", "# Entries added by HostAliases."]
        lines += ["\t".join([alias["ip"], *(alias.get("hostnames") or [])]) for alias in aliases]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")
    path.chmod(0o644)


def make_message_file(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    path.chmod(0o666)  # whatever user the container runs as


def termination_message(run: Container) -> str:
    """The message of a container that has ended; "" when there is none."""
    text = ""
    where = run.annotations.get(identity.MESSAGE_FILE)
    if where:
        text = _read(Path(where))
    wants_log = run.annotations.get(identity.MESSAGE_POLICY) == "FallbackToLogsOnError"
    if not text and wants_log and run.exit_code != 0 and run.log_path:
        text = logs.tail_text(Path(run.log_path), LOG_LINES, LOG_MAX_BYTES)
    return text


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(MESSAGE_MAX_BYTES).decode(errors="replace")
    except OSError:
        return ""

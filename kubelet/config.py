"""The kubelet's flags, under upstream's names where upstream has them, as one frozen value."""

from __future__ import annotations

import argparse
import os
import socket
from dataclasses import dataclass
from pathlib import Path

from client import process
from client.kubeconfig import ConfigError
from kubelet.node import machine

CAP_SYS_ADMIN = 21


@dataclass(frozen=True, slots=True)
class Config:
    """What one kubelet runs with."""

    kubeconfig: str | None
    node_name: str
    node_ip: str
    runtime_endpoint: str
    root_dir: Path
    logs_dir: Path
    bind_address: str
    port: int
    tls_cert: Path | None
    tls_key: Path | None
    client_ca: Path | None
    cgroup_root: str | None  # None: cgroups are left alone
    cni_conf_dir: Path | None  # None: the network is left alone
    cni_data_dir: Path
    cluster_cidr: str
    cluster_dns: tuple[str, ...]
    cluster_domain: str
    resolv_conf: Path
    manifests: Path | None
    labels: dict[str, str]
    taints: tuple[dict[str, str], ...]
    max_pods: int
    may_mount: bool
    healthz_host: str
    healthz_port: int


def parser() -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(
        prog="mini-kubelet", description="The node agent: runs the pods bound to its node."
    )
    process.add_arguments(result, healthz_port=0)
    add = result.add_argument
    add("--hostname-override", metavar="NAME", default="", help="the node's name (default: the machine's)")
    add("--node-ip", metavar="IP", default="", help="the node's address (default: the one towards other machines)")
    add("--container-runtime-endpoint", metavar="URL", default="unix:///run/containerd/containerd.sock", help="CRI v1")
    add("--root-dir", metavar="DIR", type=Path, default=Path("/var/lib/kubelet"), help="volumes and pods' files")
    add("--pod-logs-dir", metavar="DIR", type=Path, help="containers' logs (default: ROOT-DIR/pod-logs)")
    add("--address", metavar="IP", default="0.0.0.0", help="where the HTTPS port listens (default %(default)s)")
    add("--port", type=int, default=10250, help="of logs, exec, metrics; 0: any free one (default %(default)s)")
    add("--tls-cert-file", metavar="FILE", type=Path, help="serving certificate (default: a self-signed one)")
    add("--tls-private-key-file", metavar="FILE", type=Path)
    add("--client-ca-file", metavar="FILE", type=Path, help="who signs the API server's client certificate")
    add("--cgroup-root", metavar="PATH", default="/", help="cgroup under which kubepods is made")
    add("--cgroups", choices=("auto", "off"), default="auto", help="off: no cgroup parents (auto: off without root)")
    add(
        "--cni-conf-dir",
        metavar="DIR",
        type=Path,
        help="write the CNI configuration there and set routes to other nodes",
    )
    add("--cni-bin-dir", metavar="DIR", type=Path, help="where the plugins are; the runtime is told, this is checked")
    add("--cni-data-dir", metavar="DIR", type=Path, help="where addresses given out are kept (default: ROOT-DIR/cni)")
    add("--cluster-cidr", metavar="CIDR", default="", help="addresses of all pods: what leaves it is masqueraded")
    add("--cluster-dns", metavar="IP[,IP]", default="", help="the cluster's DNS servers")
    add("--cluster-domain", metavar="NAME", default="cluster.local")
    add(
        "--resolv-conf", metavar="FILE", type=Path, default=Path("/etc/resolv.conf"), help="what pods' DNS is made from"
    )
    add("--pod-manifest-path", metavar="DIR", type=Path, help="static pods: manifests in this folder")
    add("--node-labels", metavar="K=V[,K=V]", default="", help="labels of the Node")
    add("--register-with-taints", metavar="K=V:EFFECT[,…]", default="", help="taints the Node is registered with")
    add("--max-pods", type=int, default=110)
    return result


def from_options(options: argparse.Namespace) -> Config:
    """Raises ConfigError with what is wrong."""
    name = options.hostname_override or socket.gethostname().lower()
    root = options.root_dir.absolute()
    cgroups_on = options.cgroups == "auto" and os.geteuid() == 0
    if (options.tls_cert_file is None) != (options.tls_private_key_file is None):
        raise ConfigError("--tls-cert-file and --tls-private-key-file go together")
    if options.cni_bin_dir is not None and not (options.cni_bin_dir / "bridge").exists():
        raise ConfigError(
            f"--cni-bin-dir {options.cni_bin_dir} holds no bridge plugin: install containernetworking-plugins"
        )
    return Config(
        kubeconfig=options.kubeconfig,
        node_name=name,
        node_ip=options.node_ip or machine.default_address(),
        runtime_endpoint=options.container_runtime_endpoint,
        root_dir=root,
        logs_dir=(options.pod_logs_dir or root / "pod-logs").absolute(),
        bind_address=options.address,
        port=options.port,
        tls_cert=options.tls_cert_file,
        tls_key=options.tls_private_key_file,
        client_ca=options.client_ca_file,
        cgroup_root=options.cgroup_root if cgroups_on else None,
        cni_conf_dir=options.cni_conf_dir,
        cni_data_dir=options.cni_data_dir or root / "cni",
        cluster_cidr=options.cluster_cidr,
        cluster_dns=tuple(filter(None, options.cluster_dns.split(","))),
        cluster_domain=options.cluster_domain,
        resolv_conf=options.resolv_conf,
        manifests=options.pod_manifest_path,
        labels=_labels(options.node_labels),
        taints=_taints(options.register_with_taints),
        max_pods=options.max_pods,
        may_mount=cgroups_on and _has_capability(CAP_SYS_ADMIN),
        healthz_host=options.bind_address,
        healthz_port=options.healthz_port,
    )


def _labels(text: str) -> dict[str, str]:
    result = {}
    for item in filter(None, text.split(",")):
        key, equals, value = item.partition("=")
        if not equals:
            raise ConfigError(f"--node-labels: {item!r} is not KEY=VALUE")
        result[key] = value
    return result


def _taints(text: str) -> tuple[dict[str, str], ...]:
    result = []
    for item in filter(None, text.split(",")):
        rest, colon, effect = item.rpartition(":")
        key, _, value = rest.partition("=")
        if not colon or not key or effect not in ("NoSchedule", "PreferNoSchedule", "NoExecute"):
            raise ConfigError(f"--register-with-taints: {item!r} is not KEY=VALUE:EFFECT")
        result.append({"key": key, "effect": effect} | ({"value": value} if value else {}))
    return tuple(result)


def _has_capability(number: int) -> bool:
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return False
    line = next((line for line in status.splitlines() if line.startswith("CapEff:")), "CapEff: 0")
    return bool(int(line.split()[1], 16) >> number & 1)

"""The flags of `mini-controllers`, with upstream's names and defaults, and which controllers they enable."""

from __future__ import annotations

import argparse
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass, field

from client import process

HEALTHZ_PORT = 10257  # upstream's


@dataclass(frozen=True, slots=True)
class Options:
    """What the flags said. Fields carry the flags' names; all durations are seconds."""

    kubeconfig: str | None = None
    bind_address: str = "127.0.0.1"
    healthz_port: int = 0
    v: int = 0
    controllers: tuple[str, ...] = ("*",)
    leader_elect: bool = True
    leader_elect_lease_duration: float = 15.0
    leader_elect_renew_deadline: float = 10.0
    leader_elect_retry_period: float = 2.0
    allocate_node_cidrs: bool = False
    cluster_cidr: tuple[str, ...] = ()
    node_cidr_mask_size: int = 24
    node_monitor_period: float = 5.0
    node_monitor_grace_period: float = 50.0
    node_startup_grace_period: float = 60.0
    node_eviction_rate: float = 0.1
    unhealthy_zone_threshold: float = 0.55
    large_cluster_size_threshold: int = 50
    secondary_node_eviction_rate: float = 0.01
    terminated_pod_gc_threshold: int = 12500
    root_ca_file: str = ""
    kube_api_qps: float = 0.0
    concurrency: dict[str, int] = field(default_factory=dict)

    def enables(self, *names: str) -> bool:
        """Whether `--controllers` has the controller of these names on: by name first, then by `*`."""
        if any(name in self.controllers for name in names):
            return True
        return "*" in self.controllers and not any(f"-{name}" in self.controllers for name in names)

    def workers(self, name: str) -> int:
        return self.concurrency.get(name, 5)


CONCURRENCY = {  # flag → (controller, upstream's default)
    "concurrent-deployment-syncs": ("deployment-controller", 5),
    "concurrent-replicaset-syncs": ("replicaset-controller", 5),
    "concurrent-gc-syncs": ("garbage-collector-controller", 20),
    "concurrent-namespace-syncs": ("namespace-controller", 10),
    "concurrent-job-syncs": ("job-controller", 5),
    "concurrent-serviceaccount-token-syncs": ("serviceaccount-controller", 5),
    "concurrent-endpoint-syncs": ("endpoints-controller", 5),
    "concurrent-service-endpoint-syncs": ("endpointslice-controller", 5),
}


def parser() -> argparse.ArgumentParser:
    """The command line. Durations take upstream's form (`40s`, `1m30s`) or plain seconds."""
    result = argparse.ArgumentParser(
        prog="mini-controllers",
        description="The controller manager: the loops that move a cluster from what is to what was asked for.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = result.add_argument
    process.add_arguments(result, healthz_port=HEALTHZ_PORT)
    add("--controllers", default="*", help="controllers to run: '*' is all, 'foo' that one, '-foo' not that one")
    add("--leader-elect", type=_boolean, nargs="?", const=True, default=True, help="run only while holding the lease")
    add("--leader-elect-lease-duration", type=_seconds, default=15.0, help="how long others wait for a silent leader")
    add("--leader-elect-renew-deadline", type=_seconds, default=10.0, help="when a leader that cannot renew gives up")
    add("--leader-elect-retry-period", type=_seconds, default=2.0, help="between two attempts")
    add("--kube-api-qps", type=float, default=0.0, help="requests a second to the apiserver; 0 is no limit")
    add("--root-ca-file", default="", help="CA certificate published in every namespace as kube-root-ca.crt")
    add("--terminated-pod-gc-threshold", type=int, default=12500, help="finished pods kept; 0 or less keeps all")
    _add_node_flags(result)
    for flag, (name, default) in CONCURRENCY.items():
        add(f"--{flag}", type=int, default=default, help=f"objects that {name} works on at a time")
    return result


def parse(arguments: Sequence[str] | None = None) -> Options:
    """The options of a command line. Exits with a message, as argparse does, when a value makes no sense."""
    command = parser()
    values = vars(command.parse_args(arguments))
    concurrency = {name: values.pop(flag.replace("-", "_")) for flag, (name, _) in CONCURRENCY.items()}
    values["controllers"] = tuple(part.strip() for part in values["controllers"].split(",") if part.strip())
    values["cluster_cidr"] = tuple(part.strip() for part in values["cluster_cidr"].split(",") if part.strip())
    options = Options(**values, concurrency=concurrency)
    problem = _problem(options)
    if problem:
        command.error(problem)
    return options


def _add_node_flags(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("--allocate-node-cidrs", type=_boolean, nargs="?", const=True, default=False, help="give each node a podCIDR")
    add("--cluster-cidr", default="", help="the pods' address range; node ranges are cut from it")
    add("--node-cidr-mask-size", type=int, default=24, help="prefix length of a node's range")
    add("--node-monitor-period", type=_seconds, default=5.0, help="between two looks at the nodes")
    add("--node-monitor-grace-period", type=_seconds, default=50.0, help="silence after which a node is Unknown")
    add("--node-startup-grace-period", type=_seconds, default=60.0, help="the same for a node that never reported")
    add("--node-eviction-rate", type=float, default=0.1, help="nodes a second whose pods may begin to be evicted")
    add("--secondary-node-eviction-rate", type=float, default=0.01, help="that rate while many nodes are unhealthy")
    add("--unhealthy-zone-threshold", type=float, default=0.55, help="share of nodes not ready that counts as many")
    add("--large-cluster-size-threshold", type=int, default=50, help="up to this size the secondary rate is 0")


def _problem(options: Options) -> str:
    for cidr in options.cluster_cidr:
        try:
            network = ipaddress.ip_network(cidr)
        except ValueError as error:
            return f"--cluster-cidr: {error}"
        if network.version == 4 and options.node_cidr_mask_size < network.prefixlen:
            return f"--node-cidr-mask-size {options.node_cidr_mask_size} is larger than --cluster-cidr {cidr}"
    if options.allocate_node_cidrs and not options.cluster_cidr:
        return "--allocate-node-cidrs needs --cluster-cidr"
    if options.leader_elect_renew_deadline >= options.leader_elect_lease_duration:
        return "--leader-elect-renew-deadline must be shorter than --leader-elect-lease-duration"
    return ""


def _boolean(text: str) -> bool:
    if text.lower() in ("true", "t", "1"):
        return True
    if text.lower() in ("false", "f", "0"):
        return False
    raise argparse.ArgumentTypeError(f"{text!r} is neither true nor false")


_UNIT_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}


def _seconds(text: str) -> float:
    """`90`, `1m30s`, `500ms`."""
    total, number, unit = 0.0, "", ""
    try:
        if text.replace(".", "", 1).isdigit():
            return float(text)
        for character in text + "0":
            if unit and (character.isdigit() or character == "."):
                total += float(number) * _UNIT_SECONDS[unit]
                number, unit = character, ""
            elif character.isdigit() or character == ".":
                number += character
            else:
                unit += character
    except (KeyError, ValueError) as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no duration") from error
    if number != "0" or unit:
        raise argparse.ArgumentTypeError(f"{text!r} is no duration")
    return total

"""L11: the resolv.conf of a pod, by `dnsPolicy` and `dnsConfig`. Pure but for reading the node's own file.

Source: https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cri_api.v1 import api_pb2 as pb

from apimachinery import objects
from apimachinery.objects import Object
from kubelet.pods import spec

MAX_SERVERS = 3  # glibc reads no more; upstream cuts there too
MAX_SEARCHES = 32


@dataclass(frozen=True, slots=True)
class Resolver:
    """What the node itself uses, and the cluster's DNS where it has one."""

    servers: tuple[str, ...] = ()
    searches: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    cluster_dns: tuple[str, ...] = ()
    cluster_domain: str = "cluster.local"


def parse_resolv_conf(path: Path) -> Resolver:
    """The node's resolv.conf; a missing one is empty."""
    lists: dict[str, list[str]] = {"nameserver": [], "search": [], "options": []}
    try:
        lines = path.read_text().splitlines()
    except OSError:
        lines = []
    for line in lines:
        words = line.split()
        if len(words) > 1 and words[0] == "nameserver":
            lists["nameserver"].append(words[1])
        elif words and words[0] in ("search", "options"):
            lists[words[0]] = words[1:]
    return Resolver(tuple(lists["nameserver"]), tuple(lists["search"]), tuple(lists["options"]))


def config_for(pod: Object, resolver: Resolver) -> pb.DNSConfig:
    """`ClusterFirst` without a cluster DNS is `Default`, as upstream falls back."""
    policy = pod["spec"].get("dnsPolicy") or "ClusterFirst"
    if policy == "ClusterFirst" and spec.is_host_network(pod):
        policy = "Default"
    if policy == "None":
        result = pb.DNSConfig()
    elif policy.startswith("ClusterFirst") and resolver.cluster_dns:
        domain = resolver.cluster_domain
        own = [f"{objects.namespace_of(pod)}.svc.{domain}", f"svc.{domain}", domain]
        result = pb.DNSConfig(servers=resolver.cluster_dns, searches=[*own, *resolver.searches], options=["ndots:5"])
    else:
        result = pb.DNSConfig(servers=resolver.servers, searches=resolver.searches, options=resolver.options)
    return _with_config(result, pod["spec"].get("dnsConfig") or {})


def _with_config(base: pb.DNSConfig, extra: Object) -> pb.DNSConfig:
    servers = list(dict.fromkeys([*base.servers, *(extra.get("nameservers") or [])]))
    searches = list(dict.fromkeys([*base.searches, *(extra.get("searches") or [])]))
    options = {option.partition(":")[0]: option for option in base.options}
    for entry in extra.get("options") or []:
        name, value = entry["name"], entry.get("value")
        options[name] = f"{name}:{value}" if value not in (None, "") else name
    return pb.DNSConfig(servers=servers[:MAX_SERVERS], searches=searches[:MAX_SEARCHES], options=list(options.values()))

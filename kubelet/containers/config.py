"""L9, L13: the two messages that make a pod: `PodSandboxConfig` and `ContainerConfig`. Pure.

The sandbox's config must be the same whenever it is sent again (for each container, and after a restart of the
kubelet), so it depends on nothing but the pod, the node's settings and the attempt.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cri_api.v1 import api_pb2 as pb

from apimachinery import objects
from apimachinery.objects import Object
from kubelet.cgroups import Cgroups
from kubelet.containers import dns, env, security
from kubelet.pods import identity, spec

HOSTNAME_MAX = 63
_PROTOCOLS = {"TCP": pb.TCP, "UDP": pb.UDP, "SCTP": pb.SCTP}


@dataclass(frozen=True, slots=True)
class Settings:
    """What the configs take from the node rather than from the pod."""

    node_name: str
    logs_dir: Path
    resolver: dns.Resolver
    cgroups: Cgroups


def log_directory(logs_dir: Path, pod: Object) -> Path:
    """`NAMESPACE_NAME_UID`, as upstream names it under /var/log/pods."""
    return logs_dir / f"{objects.namespace_of(pod)}_{objects.name_of(pod)}_{objects.uid_of(pod)}"


def hostname_of(pod: Object, node_name: str) -> str:
    if spec.is_host_network(pod):
        return node_name
    return (pod["spec"].get("hostname") or objects.name_of(pod))[:HOSTNAME_MAX].rstrip("-.")


def sandbox_config(pod: Object, attempt: int, settings: Settings) -> pb.PodSandboxConfig:
    host_network = spec.is_host_network(pod)
    outer = pod["spec"].get("securityContext") or {}
    return pb.PodSandboxConfig(
        metadata=pb.PodSandboxMetadata(
            name=objects.name_of(pod),
            namespace=objects.namespace_of(pod),
            uid=objects.uid_of(pod),
            attempt=attempt,
        ),
        hostname="" if host_network else hostname_of(pod, settings.node_name),
        log_directory=str(log_directory(settings.logs_dir, pod)),
        dns_config=dns.config_for(pod, settings.resolver),
        port_mappings=[] if host_network else list(_port_mappings(pod)),
        labels=identity.sandbox_labels(pod),
        annotations={identity.GRACE_SECONDS: str(spec.grace_seconds(pod))},
        linux=pb.LinuxPodSandboxConfig(
            cgroup_parent=settings.cgroups.parent_of(pod),
            security_context=security.sandbox_context(pod),
            sysctls={entry["name"]: str(entry["value"]) for entry in outer.get("sysctls") or []},
        ),
    )


def _port_mappings(pod: Object) -> list[pb.PortMapping]:
    return [
        pb.PortMapping(
            protocol=_PROTOCOLS[port.get("protocol") or "TCP"],
            container_port=port["containerPort"],
            host_port=port["hostPort"],
            host_ip=port.get("hostIP") or "",
        )
        for container in [*spec.app_containers(pod), *spec.sidecars(pod)]
        for port in container.get("ports") or []
        if port.get("hostPort")
    ]


def container_config(
    pod: Object,
    container: Object,
    attempt: int,
    *,
    image: pb.Image,
    variables: Mapping[str, str],
    mounts: Sequence[pb.Mount],
    annotations: Mapping[str, str],
    cgroups: Cgroups,
    target_id: str = "",
) -> pb.ContainerConfig:
    """Raises StartRefused where the security context cannot be met. `target_id`: whose processes it shares."""
    return pb.ContainerConfig(
        metadata=pb.ContainerMetadata(name=container["name"], attempt=attempt),
        image=pb.ImageSpec(image=image.id, user_specified_image=container["image"]),
        command=[env.expand(word, variables) for word in container.get("command") or []],
        args=[env.expand(word, variables) for word in container.get("args") or []],
        working_dir=container.get("workingDir") or "",
        envs=[pb.KeyValue(key=name, value=_utf8(value)) for name, value in variables.items()],
        mounts=mounts,
        labels=identity.container_labels(pod, container),
        annotations=identity.container_annotations(pod, container, attempt) | dict(annotations),
        log_path=f"{container['name']}/{attempt}.log",
        stdin=bool(container.get("stdin")),
        stdin_once=bool(container.get("stdinOnce")),
        tty=bool(container.get("tty")),
        linux=pb.LinuxContainerConfig(
            resources=cgroups.resources(pod, container),
            security_context=security.container_context(pod, container, image, target_id),
        ),
    )


def _utf8(value: str) -> str:
    # protobuf refuses lone surrogates: bytes of a Secret that are no UTF-8 cannot be an environment variable
    return value.encode("utf-8", "replace").decode("utf-8")

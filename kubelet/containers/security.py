"""L13: security contexts and namespaces, of the sandbox and of a container. Pure.

The container's own context wins over the pod's, field by field.
Source: https://kubernetes.io/docs/tasks/configure-pod-container/security-context/
"""

from __future__ import annotations

from cri_api.v1 import api_pb2 as pb

from apimachinery.objects import Object
from kubelet import errors
from kubelet.pods import identity, spec

# What /proc hides from containers that are not privileged: upstream's default proc mount
_MASKED = (
    "/proc/asound", "/proc/acpi", "/proc/interrupts", "/proc/kcore", "/proc/keys", "/proc/latency_stats",
    "/proc/timer_list", "/proc/timer_stats", "/proc/sched_debug", "/proc/scsi", "/sys/firmware",
    "/sys/devices/virtual/powercap",
)  # fmt: skip
_READ_ONLY = ("/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger")


def namespaces(pod: Object) -> pb.NamespaceOption:
    """CRI's default for pid is the pod's; Kubernetes' is the container's own."""
    pod_spec = pod["spec"]
    if pod_spec.get("hostPID"):
        pid = pb.NODE
    else:
        pid = pb.POD if pod_spec.get("shareProcessNamespace") else pb.CONTAINER
    return pb.NamespaceOption(
        network=pb.NODE if pod_spec.get("hostNetwork") else pb.POD,
        ipc=pb.NODE if pod_spec.get("hostIPC") else pb.POD,
        pid=pid,
    )


def sandbox_context(pod: Object) -> pb.LinuxSandboxSecurityContext:
    own = pod["spec"].get("securityContext") or {}
    result = pb.LinuxSandboxSecurityContext(
        namespace_options=namespaces(pod),
        privileged=any(_is_privileged(c) for c in spec.all_containers(pod)),
        supplemental_groups=_groups(own),
        seccomp=pb.SecurityProfile(profile_type=pb.SecurityProfile.RuntimeDefault),
    )
    if own.get("runAsUser") is not None:
        result.run_as_user.value = own["runAsUser"]
        if own.get("runAsGroup") is not None:  # CRI refuses a group without a user
            result.run_as_group.value = own["runAsGroup"]
    return result


def container_context(
    pod: Object, container: Object, image: pb.Image, target_id: str = ""
) -> pb.LinuxContainerSecurityContext:
    """Raises StartRefused where `runAsNonRoot` does not hold."""
    outer = pod["spec"].get("securityContext") or {}
    own = container.get("securityContext") or {}
    merged = outer | {key: value for key, value in own.items() if value is not None}
    user = merged.get("runAsUser")
    if merged.get("runAsNonRoot"):
        _check_non_root(pod, container, user, image)
    privileged = _is_privileged(container)
    result = pb.LinuxContainerSecurityContext(
        privileged=privileged,
        namespace_options=_shared_with(namespaces(pod), target_id),
        readonly_rootfs=bool(own.get("readOnlyRootFilesystem")),
        no_new_privs=own.get("allowPrivilegeEscalation") is False,
        supplemental_groups=_groups(outer),
        seccomp=_seccomp(merged.get("seccompProfile")),
        masked_paths=() if privileged or own.get("procMount") == "Unmasked" else _MASKED,
        readonly_paths=() if privileged or own.get("procMount") == "Unmasked" else _READ_ONLY,
    )
    capabilities = own.get("capabilities") or {}
    result.capabilities.add_capabilities.extend(capabilities.get("add") or [])
    result.capabilities.drop_capabilities.extend(capabilities.get("drop") or [])
    _set_user(result, user, merged.get("runAsGroup"), image)
    return result


def _shared_with(options: pb.NamespaceOption, target_id: str) -> pb.NamespaceOption:
    """An ephemeral container sees the processes of its target, unless all of the pod's are shared anyway."""
    if target_id and options.pid == pb.CONTAINER:
        options.pid, options.target_id = pb.TARGET, target_id
    return options


def _set_user(result: pb.LinuxContainerSecurityContext, user: int | None, group: int | None, image: pb.Image) -> None:
    if user is not None:
        result.run_as_user.value = user
    elif image.HasField("uid"):
        result.run_as_user.value = image.uid.value
    elif image.username:
        result.run_as_username = image.username
    if group is not None and (result.HasField("run_as_user") or result.run_as_username):
        result.run_as_group.value = group


def _check_non_root(pod: Object, container: Object, user: int | None, image: pb.Image) -> None:
    who = f'(pod: "{identity.describe(pod)}", container: {container["name"]})'
    if user is not None:
        if user == 0:
            raise errors.StartRefused(
                "CreateContainerConfigError", f"container's runAsUser breaks non-root policy {who}"
            )
        return
    if image.username:
        said = f"container has runAsNonRoot and image has non-numeric user ({image.username})"
        message = f"{said}, cannot verify user is non-root {who}"
        raise errors.StartRefused("CreateContainerConfigError", message)
    if not image.HasField("uid") or image.uid.value == 0:
        raise errors.StartRefused(
            "CreateContainerConfigError", f"container has runAsNonRoot and image will run as root {who}"
        )


def _is_privileged(container: Object) -> bool:
    return bool((container.get("securityContext") or {}).get("privileged"))


def _groups(pod_context: Object) -> list[int]:
    groups = list(pod_context.get("supplementalGroups") or [])
    if pod_context.get("fsGroup") is not None:
        groups.append(pod_context["fsGroup"])
    return groups


def _seccomp(profile: Object | None) -> pb.SecurityProfile:
    kind = (profile or {}).get("type") or "Unconfined"  # upstream's default without --seccomp-default
    if kind == "Localhost":
        return pb.SecurityProfile(
            profile_type=pb.SecurityProfile.Localhost, localhost_ref=(profile or {}).get("localhostProfile") or ""
        )
    named = pb.SecurityProfile.RuntimeDefault if kind == "RuntimeDefault" else pb.SecurityProfile.Unconfined
    return pb.SecurityProfile(profile_type=named)

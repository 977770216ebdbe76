"""Questions about a pod's spec that planning, status and start all ask. Pure."""

from __future__ import annotations

from apimachinery.objects import Object
from kubelet.observed import Container


def app_containers(pod: Object) -> list[Object]:
    return pod["spec"].get("containers") or []


def init_containers(pod: Object) -> list[Object]:
    return pod["spec"].get("initContainers") or []


def ephemeral_containers(pod: Object) -> list[Object]:
    return pod["spec"].get("ephemeralContainers") or []


def all_containers(pod: Object) -> list[Object]:
    return [*init_containers(pod), *app_containers(pod), *ephemeral_containers(pod)]


def container(pod: Object, name: str) -> Object | None:
    return next((c for c in all_containers(pod) if c["name"] == name), None)


def is_sidecar(init_container: Object) -> bool:
    """An init container that keeps running beside the app containers (KEP-753)."""
    return init_container.get("restartPolicy") == "Always"


def sidecars(pod: Object) -> list[Object]:
    return [c for c in init_containers(pod) if is_sidecar(c)]


def is_host_network(pod: Object) -> bool:
    return bool(pod["spec"].get("hostNetwork"))


def grace_seconds(pod: Object) -> int:
    """How long its containers get between SIGTERM and SIGKILL: what the deletion says, else the spec; at least 1 s."""
    asked = pod["metadata"].get("deletionGracePeriodSeconds")
    if asked is None:
        asked = pod["spec"].get("terminationGracePeriodSeconds")
    return max(1, int(30 if asked is None else asked))


def restarts(pod: Object, spec: Object, run: Container) -> bool:
    """Whether the policy wants an exited container to run again.

    The container's own `restartPolicy` and rules win over the pod's (KEP-5307).
    """
    for rule in spec.get("restartPolicyRules") or []:
        codes = rule.get("exitCodes") or {}
        listed = run.exit_code in (codes.get("values") or [])
        if rule.get("action") == "Restart" and listed == (codes.get("operator") == "In"):
            return True
    policy = spec.get("restartPolicy") or pod["spec"].get("restartPolicy") or "Always"
    if run.state != "exited":
        return bool(policy != "Never")
    return bool(policy == "Always" or (policy == "OnFailure" and run.exit_code != 0))

"""L3: the pod's status from its spec, what the runtime holds and what the node knows. Pure.

Guarantees: fields that others own (`PodScheduled`, readiness gates) are left alone; a condition's
`lastTransitionTime` moves only with its status; a terminal phase is final; a status computed twice from the same
facts is equal, so that it need not be sent twice; everything can be computed again after a restart of the kubelet.
Phase follows upstream's `getPhase`, conditions `kubelet/status/generate.go`.
Source: https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from apimachinery import clock, objects, pods
from apimachinery.objects import Object
from kubelet.observed import Container, Observed
from kubelet.plan import Wait
from kubelet.pods import spec


@dataclass(frozen=True, slots=True)
class Verdict:
    """The node's own word on the whole pod: why it was refused or ended."""

    reason: str
    message: str
    failed: bool = True  # the phase becomes Failed whatever the containers did


@dataclass(frozen=True, slots=True)
class Known:
    """What the node knows beside spec and runtime."""

    now: datetime
    host_ips: tuple[str, ...] = ()
    waiting: Mapping[str, Wait] = field(default_factory=dict)  # by container name
    starting: frozenset[str] = frozenset()  # ids of running containers whose startup probe has not succeeded
    unready: frozenset[str] = frozenset()  # ids of running containers whose readiness probe does not succeed
    messages: Mapping[str, str] = field(default_factory=dict)  # id → termination message
    verdict: Verdict | None = None
    runtime_name: str = "containerd"  # the scheme of container ids
    ended: bool = False  # nothing will be started again: the pod was stopped or has completed


def pod_status(pod: Object, observed: Observed, known: Known) -> dict[str, Any]:
    """The whole `status` the kubelet owns, as JSON."""
    old = pod.get("status") or {}
    if pods.is_terminal(pod) and not observed.running():
        return _settled(old)
    if known.verdict is not None and known.ended and not observed.sandboxes and not old.get("containerStatuses"):
        return _refused(pod, known)
    inits = [_container_status(pod, c, observed, known) for c in spec.init_containers(pod)]
    apps = [_container_status(pod, c, observed, known) for c in spec.app_containers(pod)]
    ephemeral = [_container_status(pod, c, observed, known) for c in spec.ephemeral_containers(pod)]
    phase = _phase(pod, inits, apps, known)
    status: dict[str, Any] = {
        "phase": phase,
        "qosClass": old.get("qosClass") or pods.qos_class(pod),
        "startTime": old.get("startTime") or clock.rfc3339(known.now),
        "conditions": _conditions(pod, phase, observed, inits, apps, known),
    }
    if known.verdict is not None:
        status |= {"reason": known.verdict.reason, "message": known.verdict.message}
    status |= _addresses(pod, observed, known)
    status |= {"containerStatuses": apps} if apps else {}
    status |= {"initContainerStatuses": inits} if inits else {}
    status |= {"ephemeralContainerStatuses": ephemeral} if ephemeral else {}
    generation = pod["metadata"].get("generation")
    return status | ({"observedGeneration": generation} if generation else {})


def _refused(pod: Object, known: Known) -> dict[str, Any]:
    """A pod that was never let in has no containers to tell of."""
    assert known.verdict is not None
    old = pod.get("status") or {}
    return {
        "phase": "Failed",
        "qosClass": old.get("qosClass") or pods.qos_class(pod),
        "reason": known.verdict.reason,
        "message": known.verdict.message,
        "startTime": old.get("startTime") or clock.rfc3339(known.now),
    }


def _settled(old: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in old.items() if key not in ("nominatedNodeName", "resourceClaimStatuses")}


def _addresses(pod: Object, observed: Observed, known: Known) -> dict[str, Any]:
    old = pod.get("status") or {}
    ips: tuple[str, ...] = ()
    if spec.is_host_network(pod):
        ips = known.host_ips
    elif observed.ready_sandbox is not None:
        ips = observed.ready_sandbox.ips
    result: dict[str, Any] = {}
    if known.host_ips:
        result |= {"hostIP": known.host_ips[0], "hostIPs": [{"ip": ip} for ip in known.host_ips]}
    if ips:
        result |= {"podIP": ips[0], "podIPs": [{"ip": ip} for ip in ips]}
    elif old.get("podIP"):  # a stopped pod keeps showing the address it had
        result |= {"podIP": old["podIP"], "podIPs": old.get("podIPs") or [{"ip": old["podIP"]}]}
    return result


# --- containers


def _container_status(pod: Object, container: Object, observed: Observed, known: Known) -> dict[str, Any]:
    name = container["name"]
    run = observed.latest(name)
    old = _old_status(pod, name)
    is_init = any(c is container for c in spec.init_containers(pod))
    status: dict[str, Any] = {
        "name": name,
        "image": (run.image if run else None) or container["image"],
        "imageID": (run.image_id if run else None) or old.get("imageID") or "",
        "restartCount": run.attempt if run else old.get("restartCount") or 0,
        "ready": False,
        "started": False,
        "state": _state(pod, container, run, old, known),
        "lastState": _last_state(name, run, observed, old, known),
    }
    if run is not None:
        status["containerID"] = f"{known.runtime_name}://{run.id}"
    elif old.get("containerID"):
        status["containerID"] = old["containerID"]
    if run is not None and run.state == "running" and "running" in status["state"]:
        status["started"] = run.id not in known.starting
        status["ready"] = status["started"] and run.id not in known.unready and known.verdict is None
    if is_init and not spec.is_sidecar(container):
        status["ready"] = run is not None and run.state == "exited" and run.exit_code == 0
    wait = known.waiting.get(name)
    if wait is not None and run is not None and run.state == "exited":
        # The dead run moves to lastState: the state is that it waits to be started again
        status["lastState"] = {"terminated": _terminated(run, known)}
        status["ready"] = False
    return status


def _state(pod: Object, container: Object, run: Container | None, old: Object, known: Known) -> dict[str, Any]:
    wait = known.waiting.get(container["name"])
    if run is None or run.state == "created":
        if known.ended and (old.get("state") or {}).get("terminated"):
            return dict(old["state"])
        return {"waiting": _waiting(pod, wait)}
    if run.state == "running":
        return {"running": {"startedAt": _stamp(run.started_at)}}
    if run.state == "unknown":
        return {"terminated": _terminated(run, known) | {"reason": "ContainerStatusUnknown", "exitCode": 137}}
    if wait is not None and not known.ended:
        return {"waiting": _waiting(pod, wait)}
    return {"terminated": _terminated(run, known)}


def _waiting(pod: Object, wait: Wait | None) -> dict[str, Any]:
    if wait is not None:
        return {"reason": wait.reason} | ({"message": wait.message} if wait.message else {})
    # Of the init containers as well: kubectl makes Init:0/1 of it
    return {"reason": "PodInitializing" if spec.init_containers(pod) else "ContainerCreating"}


def _last_state(name: str, run: Container | None, observed: Observed, old: Object, known: Known) -> dict[str, Any]:
    previous = next(
        (c for c in observed.runs(name) if run is not None and c.id != run.id and c.state == "exited"), None
    )
    if previous is not None:
        return {"terminated": _terminated(previous, known)}
    if run is None and (old.get("state") or {}).get("terminated"):
        return {"terminated": old["state"]["terminated"]}
    same_run = run is not None and old.get("restartCount") == run.attempt
    kept: dict[str, Any] = old.get("lastState") or {}
    return kept if same_run or run is None else {}


def _terminated(run: Container, known: Known) -> dict[str, Any]:
    result: dict[str, Any] = {
        "exitCode": run.exit_code,
        "reason": run.reason or ("Completed" if run.exit_code == 0 else "Error"),
        "startedAt": _stamp(run.started_at),
        "finishedAt": _stamp(run.finished_at),
        "containerID": f"{known.runtime_name}://{run.id}",
    }
    message = known.messages.get(run.id) or run.message
    return result | ({"message": message} if message else {})


def _old_status(pod: Object, name: str) -> Object:
    status = pod.get("status") or {}
    for listed in ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"):
        for entry in status.get(listed) or []:
            if entry.get("name") == name:
                found: Object = entry
                return found
    return {}


def _stamp(moment: datetime | None) -> str:
    """What never happened, as the start of a container that could not be started, is told as the epoch."""
    return clock.rfc3339(moment or _EPOCH)


_EPOCH = datetime.fromtimestamp(0, UTC)


# --- phase


def _phase(pod: Object, inits: list[dict[str, Any]], apps: list[dict[str, Any]], known: Known) -> str:
    if known.verdict is not None and known.verdict.failed:
        return "Failed"
    policy = pod["spec"].get("restartPolicy") or "Always"
    begun = any(_has_run(entry) for entry in apps)
    for container, entry in zip(spec.init_containers(pod), inits, strict=True):
        ended = entry["state"].get("terminated")
        if ended and ended["exitCode"] != 0 and not spec.is_sidecar(container) and (policy == "Never" or known.ended):
            return "Failed"
        if not begun and not known.ended and not _init_is_through(container, entry):
            return "Pending"
    return _phase_of_apps(policy, apps, known, sidecar_runs=_sidecar_runs(pod, inits))


def _phase_of_apps(policy: str, apps: list[dict[str, Any]], known: Known, *, sidecar_runs: bool) -> str:
    running = sum(1 for entry in apps if "running" in entry["state"])
    stopped = [entry["state"]["terminated"] for entry in apps if "terminated" in entry["state"]]
    backing_off = [entry for entry in apps if "waiting" in entry["state"] and entry["lastState"].get("terminated")]
    fresh = len(apps) - running - len(stopped) - len(backing_off)
    if known.ended:
        if running:
            return "Running"
        return (
            "Succeeded" if len(stopped) == len(apps) and not any(t["exitCode"] for t in stopped) and apps else "Failed"
        )
    if fresh:
        return "Pending"
    if running or backing_off or policy == "Always" or sidecar_runs:
        return "Running"
    if not any(t["exitCode"] for t in stopped):
        return "Succeeded"
    return "Failed" if policy == "Never" else "Running"


def _has_run(entry: dict[str, Any]) -> bool:
    return "waiting" not in entry["state"] or bool(entry["lastState"].get("terminated"))


def _init_is_through(container: Object, entry: dict[str, Any]) -> bool:
    if spec.is_sidecar(container):
        return bool(entry["started"])
    ended = entry["state"].get("terminated")
    return bool(ended and ended["exitCode"] == 0)


def _sidecar_runs(pod: Object, inits: list[dict[str, Any]]) -> bool:
    """The pod is over only when its sidecars are."""
    pairs = zip(spec.init_containers(pod), inits, strict=True)
    return any(spec.is_sidecar(container) and "running" in entry["state"] for container, entry in pairs)


# --- conditions


def _conditions(
    pod: Object, phase: str, observed: Observed, inits: list[dict[str, Any]], apps: list[dict[str, Any]], known: Known
) -> list[Object]:
    """The kubelet's five, in upstream's order, behind those that others set."""
    sidecar_names = {c["name"] for c in spec.sidecars(pod)}
    guarded = [entry for entry in inits if entry["name"] in sidecar_names] + apps
    begun = any(_has_run(entry) for entry in apps)
    through = [
        begun or _init_is_through(container, entry)
        for container, entry in zip(spec.init_containers(pod), inits, strict=True)
    ]
    waiting_inits = [entry["name"] for entry, done in zip(inits, through, strict=True) if not done]
    own = [
        _condition("PodReadyToStartContainers", "True" if _has_network(pod, observed) and not known.ended else "False"),
        _initialized(phase, waiting_inits),
    ]
    ready = _containers_ready(phase, guarded)
    own += [_gated(pod, ready), ready]
    conditions: list[Object] = list((pod.get("status") or {}).get("conditions") or [])
    generation = pod["metadata"].get("generation")
    for entry in own:
        stamp: Object = {"lastTransitionTime": clock.rfc3339(known.now)}
        observed_generation: Object = {"observedGeneration": generation} if generation else {}
        conditions = objects.set_condition(conditions, entry | stamp | observed_generation)
    return conditions


def _condition(kind: str, status: str, reason: str = "", message: str = "") -> Object:
    result: Object = {"type": kind, "status": status}
    return result | ({"reason": reason} if reason else {}) | ({"message": message} if message else {})


def _has_network(pod: Object, observed: Observed) -> bool:
    sandbox = observed.ready_sandbox
    return sandbox is not None and (spec.is_host_network(pod) or bool(sandbox.ips))


def _initialized(phase: str, waiting: list[str]) -> Object:
    if phase == "Succeeded":
        return _condition("Initialized", "True", "PodCompleted")
    if waiting:
        listed = f"containers with incomplete status: [{' '.join(waiting)}]"
        return _condition("Initialized", "False", "ContainersNotInitialized", listed)
    return _condition("Initialized", "True")


def _containers_ready(phase: str, entries: list[dict[str, Any]]) -> Object:
    if phase == "Succeeded":
        return _condition("ContainersReady", "False", "PodCompleted")
    if phase == "Failed":
        return _condition("ContainersReady", "False", "PodFailed")
    unready = [entry["name"] for entry in entries if not entry["ready"]]
    if unready:
        listed = f"containers with unready status: [{' '.join(unready)}]"
        return _condition("ContainersReady", "False", "ContainersNotReady", listed)
    return _condition("ContainersReady", "True")


def _gated(pod: Object, containers_ready: Object) -> Object:
    """`Ready`: the containers are, and every readiness gate's condition is True."""
    if containers_ready["status"] != "True":
        return containers_ready | {"type": "Ready"}
    problems: list[str] = []
    for gate in pod["spec"].get("readinessGates") or []:
        kind = gate["conditionType"]
        found = objects.condition(pod, kind)
        if found is None:
            problems.append(f'corresponding condition of pod readiness gate "{kind}" does not exist.')
        elif found["status"] != "True":
            problems.append(f'the status of pod readiness gate "{kind}" is not "True", but {found["status"]}')
    if problems:
        return _condition("Ready", "False", "ReadinessGatesNotReady", ", ".join(problems))
    return _condition("Ready", "True")

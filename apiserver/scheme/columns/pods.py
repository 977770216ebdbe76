"""Pods: one word that says how a pod fares, found by the same steps as upstream's `printPod`."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from apimachinery import ages, clock, objects, pods
from apimachinery.objects import Object
from apiserver.scheme.columns.shared import AGE, NAME, NONE, WIDE, text
from apiserver.scheme.resources import Column

NODE_LOST = "NodeLost"


class Summary(NamedTuple):
    """What the columns of a pod are made from."""

    ready: int
    total: int
    reason: str
    restarts: int
    last_restart: str  # the time of the last one, or ""


def summarise(pod: Object) -> Summary:
    """How the pod fares."""
    status = pod.get("status") or {}
    reason = status.get("reason") or status.get("phase") or "Unknown"
    if (objects.condition(pod, "PodScheduled") or {}).get("reason") == "SchedulingGated":
        reason = "SchedulingGated"
    total = len(pod["spec"].get("containers") or ()) + len(_sidecars(pod))
    init = _initialization(pod, reason)
    if init.reason and not objects.is_condition_true(pod, "Initialized"):
        summary = Summary(init.ready, total, init.reason, init.all_restarts, init.last_restart)
    else:
        running = _running(pod, init.reason or reason, init)
        summary = running._replace(total=total)
    if not objects.is_deleting(pod):
        return summary
    if status.get("reason") == NODE_LOST:
        return summary._replace(reason="Unknown")
    return summary if pods.is_terminal(pod) else summary._replace(reason="Terminating")


class _Initialization(NamedTuple):
    """The state of the init containers: `reason` is "" when they hold nothing up."""

    reason: str
    ready: int  # sidecars that are ready
    all_restarts: int
    sidecar_restarts: int
    last_restart: str
    last_sidecar_restart: str


def _initialization(pod: Object, reason: str) -> _Initialization:
    sidecars = _sidecars(pod)
    total = len(pod["spec"].get("initContainers") or ())
    ready = restarts = sidecar_restarts = 0
    last = last_sidecar = ""
    for index, status in enumerate((pod.get("status") or {}).get("initContainerStatuses") or ()):
        restarts += status.get("restartCount") or 0
        last = max(last, _ended(status))
        is_sidecar = status.get("name") in sidecars
        if is_sidecar:
            sidecar_restarts += status.get("restartCount") or 0
            last_sidecar = max(last_sidecar, _ended(status))
        terminated = (status.get("state") or {}).get("terminated")
        if terminated is not None and not terminated.get("exitCode"):
            continue
        if is_sidecar and status.get("started"):
            ready += bool(status.get("ready"))
            continue
        held_up = _init_reason(status, index, total)
        return _Initialization(held_up, ready, restarts, sidecar_restarts, last, last_sidecar)
    return _Initialization("", ready, restarts, sidecar_restarts, last, last_sidecar)


def _init_reason(status: Object, index: int, total: int) -> str:
    state = status.get("state") or {}
    terminated, waiting = state.get("terminated"), state.get("waiting") or {}
    if terminated is not None:
        return "Init:" + (terminated.get("reason") or _exit_reason(terminated))
    if waiting.get("reason") and waiting["reason"] != "PodInitializing":
        return "Init:" + str(waiting["reason"])
    return f"Init:{index}/{total}"


def _running(pod: Object, reason: str, init: _Initialization) -> Summary:
    """The state of the app containers; the first one's reason is the one that is told."""
    ready, restarts, last = init.ready, init.sidecar_restarts, init.last_sidecar_restart
    has_running = False
    for status in reversed((pod.get("status") or {}).get("containerStatuses") or []):
        restarts += status.get("restartCount") or 0
        last = max(last, _ended(status))
        state = status.get("state") or {}
        waiting, terminated = state.get("waiting") or {}, state.get("terminated")
        if waiting.get("reason"):
            reason = waiting["reason"]
        elif terminated is not None:
            reason = terminated.get("reason") or _exit_reason(terminated)
        elif status.get("ready") and state.get("running") is not None:
            has_running = True
            ready += 1
    if reason == "Completed" and has_running:
        reason = "Running" if pods.is_ready(pod) else "NotReady"
    return Summary(ready, 0, reason, restarts, last)


def _exit_reason(terminated: Object) -> str:
    if terminated.get("signal"):
        return f"Signal:{terminated['signal']}"
    return f"ExitCode:{terminated.get('exitCode') or 0}"


def _sidecars(pod: Object) -> set[str]:
    return {c["name"] for c in pod["spec"].get("initContainers") or () if c.get("restartPolicy") == "Always"}


def _ended(status: Object) -> str:
    """When the container's last run ended. Times of one form compare as text."""
    return ((status.get("lastState") or {}).get("terminated") or {}).get("finishedAt") or ""


def _ready(pod: Object, now: datetime) -> str:
    summary = summarise(pod)
    return f"{summary.ready}/{summary.total}"


def _status(pod: Object, now: datetime) -> str:
    return summarise(pod).reason


def _restarts(pod: Object, now: datetime) -> str:
    summary = summarise(pod)
    if not summary.restarts or not summary.last_restart:
        return str(summary.restarts)
    ago = ages.human((now - clock.parse_rfc3339(summary.last_restart)).total_seconds())
    return f"{summary.restarts} ({ago} ago)"


def _ip(pod: Object, now: datetime) -> str:
    status = pod.get("status") or {}
    ips = status.get("podIPs") or ()
    return (ips[0].get("ip") if ips else status.get("podIP")) or NONE


def _gates(pod: Object, now: datetime) -> str:
    gates = pod["spec"].get("readinessGates") or ()
    if not gates:
        return NONE
    met = sum(objects.is_condition_true(pod, gate.get("conditionType", "")) for gate in gates)
    return f"{met}/{len(gates)}"


POD = (
    NAME,
    Column("Ready", _ready, description="Ready containers out of all."),
    Column("Status", _status, description="The phase, or what keeps the pod from it."),
    Column("Restarts", _restarts, description="How often containers were restarted, and when last."),
    AGE,
    Column("IP", _ip, priority=WIDE),
    text("Node", "spec.nodeName", NONE, WIDE),
    text("Nominated Node", "status.nominatedNodeName", NONE, WIDE),
    Column("Readiness Gates", _gates, priority=WIDE),
)

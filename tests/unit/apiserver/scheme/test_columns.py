"""What `kubectl get` shows: the words and numbers of each column."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from apimachinery import ages
from apimachinery.objects import Object
from apiserver.scheme import table, table_view

NOW = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)
MADE = "2026-01-01T11:55:00Z"


def shown(resource: str, obj: Object, *, group: str = "") -> dict[str, Any]:
    [row] = [row for row in table.BUILTIN if (row.group, row.resource) == (group, resource)]
    columns = table_view.columns(row)
    full = {"metadata": {"name": "x", "creationTimestamp": MADE} | obj.pop("metadata", {})} | obj
    cells = table_view.cells(columns, full, NOW)
    return dict(zip([column.name for column in columns], cells, strict=True))


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "<invalid>"),
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (190, "3m10s"),
        (600, "10m"),
        (10_799, "179m"),
        (10_800, "3h"),
        (5 * 3600 + 120, "5h2m"),
        (8 * 3600 + 120, "8h"),
        (47 * 3600, "47h"),
        (50 * 3600, "2d2h"),
        (8 * 86400, "8d"),
        (365 * 86400, "365d"),
        (3 * 365 * 86400 + 86400, "3y1d"),
        (10 * 365 * 86400, "10y"),
    ],
)
def test_ages_are_as_kubectl_says_them(seconds: int, text: str) -> None:
    assert ages.human(seconds) == text


def state(**now: Any) -> Object:
    return {"name": "c", "restartCount": 0, "state": now}


RUNNING = state(running={}) | {"ready": True}
STARTING = state(waiting={"reason": "ContainerCreating"})
CRASHING = state(waiting={"reason": "CrashLoopBackOff"}) | {
    "restartCount": 3,
    "lastState": {"terminated": {"finishedAt": "2026-01-01T11:59:30Z"}},
}
DONE = state(terminated={"reason": "Completed", "exitCode": 0})
KILLED = state(terminated={"signal": 9, "exitCode": 137})
FAILED_INIT = state(terminated={"exitCode": 2})
SIDECAR = {"name": "s", "restartPolicy": "Always"}
INIT = {"name": "i"}


def pod_of(
    *statuses: Object,
    phase: str = "Running",
    inits: tuple[Object, ...] = (),
    init: tuple[Object, ...] = (),
    **more: Any,
) -> Object:
    status = {"phase": phase, "containerStatuses": list(statuses), "initContainerStatuses": list(init)}
    spec = {"containers": [{"name": "c"}] * max(len(statuses), 1), "initContainers": list(inits)}
    return {"spec": spec, "status": status | more.pop("status", {})} | more


GATED = {"conditions": [{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}]}
READY = {"conditions": [{"type": "Ready", "status": "True"}]}
DELETING = {"metadata": {"deletionTimestamp": MADE}}


@pytest.mark.parametrize(
    ("pod", "ready", "status", "restarts"),
    [
        (pod_of(phase="Pending"), "0/1", "Pending", "0"),
        (pod_of(phase="Pending", status=GATED), "0/1", "SchedulingGated", "0"),
        (pod_of(STARTING, phase="Pending"), "0/1", "ContainerCreating", "0"),
        (pod_of(RUNNING), "1/1", "Running", "0"),
        (pod_of(RUNNING, CRASHING), "1/2", "CrashLoopBackOff", "3 (30s ago)"),
        (pod_of(DONE, phase="Succeeded"), "0/1", "Completed", "0"),
        (pod_of(KILLED, phase="Failed"), "0/1", "Signal:9", "0"),
        (pod_of(DONE, RUNNING, status=READY), "1/2", "Running", "0"),
        (pod_of(DONE, RUNNING), "1/2", "NotReady", "0"),
        (pod_of(phase="Failed", status={"reason": "Evicted"}), "0/1", "Evicted", "0"),
        (pod_of(RUNNING, **DELETING), "1/1", "Terminating", "0"),
        (pod_of(DONE, phase="Succeeded", **DELETING), "0/1", "Completed", "0"),
        (pod_of(RUNNING, status={"reason": "NodeLost"}, **DELETING), "1/1", "Unknown", "0"),
        (pod_of(phase="Pending", inits=(INIT, INIT), init=(state(running={}),)), "0/1", "Init:0/2", "0"),
        (pod_of(phase="Pending", inits=(INIT, INIT), init=(DONE, STARTING)), "0/1", "Init:ContainerCreating", "0"),
        (pod_of(phase="Pending", inits=(INIT,), init=(FAILED_INIT,)), "0/1", "Init:ExitCode:2", "0"),
        (pod_of(phase="Pending", inits=(INIT,), init=(CRASHING,)), "0/1", "Init:CrashLoopBackOff", "3 (30s ago)"),
        (pod_of(RUNNING, inits=(INIT,), init=(DONE | {"restartCount": 4},)), "1/1", "Running", "0"),
        (
            pod_of(RUNNING, inits=(SIDECAR,), init=(RUNNING | {"name": "s", "started": True, "restartCount": 2},)),
            "2/2",
            "Running",
            "2",
        ),
    ],
)
def test_a_pods_one_word(pod: Object, ready: str, status: str, restarts: str) -> None:
    row = shown("pods", pod)
    assert (row["Ready"], row["Status"], row["Restarts"], row["Age"]) == (ready, status, restarts, "5m")


def test_wide_columns_of_a_pod() -> None:
    pod = pod_of(RUNNING, status={"podIP": "10.0.0.1"} | {"conditions": [{"type": "g", "status": "True"}]})
    pod["spec"] |= {"nodeName": "n1", "readinessGates": [{"conditionType": "g"}, {"conditionType": "h"}]}
    row = shown("pods", pod)
    assert (row["IP"], row["Node"], row["Nominated Node"], row["Readiness Gates"]) == (
        "10.0.0.1",
        "n1",
        "<none>",
        "1/2",
    )


def test_deployments() -> None:
    template = {"spec": {"containers": [{"name": "a", "image": "x"}, {"name": "b", "image": "y:1"}]}}
    spec = {"replicas": 3, "selector": {"matchLabels": {"app": "x"}}, "template": template}
    status = {"readyReplicas": 2, "updatedReplicas": 3, "availableReplicas": 1}
    row = shown("deployments", {"spec": spec, "status": status}, group="apps")
    assert list(row.values()) == ["x", "2/3", 3, 1, "5m", "a,b", "x,y:1", "app=x"]


@pytest.mark.parametrize(
    ("node", "status", "roles"),
    [
        ({"status": READY}, "Ready", "<none>"),
        ({"status": READY, "spec": {"unschedulable": True}}, "Ready,SchedulingDisabled", "<none>"),
        ({"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}}, "NotReady", "<none>"),
        ({}, "Unknown", "<none>"),
        (
            {
                "metadata": {
                    "labels": {"node-role.kubernetes.io/worker": "", "node-role.kubernetes.io/control-plane": ""}
                }
            },
            "Unknown",
            "control-plane,worker",
        ),
    ],
)
def test_nodes(node: Object, status: str, roles: str) -> None:
    row = shown("nodes", dict(node))
    assert (row["Status"], row["Roles"]) == (status, roles)


@pytest.mark.parametrize(
    ("spec", "status", "columns"),
    [
        (
            {"type": "ClusterIP", "clusterIP": "10.0.0.1", "ports": [{"port": 80, "protocol": "TCP"}]},
            {},
            ["ClusterIP", "10.0.0.1", "<none>", "80/TCP"],
        ),
        (
            {"type": "NodePort", "clusterIPs": ["10.0.0.1"], "ports": [{"port": 80, "nodePort": 30080}]},
            {},
            ["NodePort", "10.0.0.1", "<none>", "80:30080/TCP"],
        ),
        ({"type": "LoadBalancer", "clusterIP": "10.0.0.1"}, {}, ["LoadBalancer", "10.0.0.1", "<pending>", "<none>"]),
        (
            {"type": "LoadBalancer", "clusterIP": "10.0.0.1"},
            {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}},
            ["LoadBalancer", "10.0.0.1", "1.2.3.4", "<none>"],
        ),
        ({"type": "ExternalName", "externalName": "e.com"}, {}, ["ExternalName", "<none>", "e.com", "<none>"]),
    ],
)
def test_services(spec: Object, status: Object, columns: list[str]) -> None:
    row = shown("services", {"spec": spec, "status": status})
    assert [row[name] for name in ("Type", "Cluster-IP", "External-IP", "Port(s)")] == columns


def test_events_of_both_groups_look_the_same() -> None:
    core = {
        "involvedObject": {"kind": "Pod", "name": "p"},
        "source": {"component": "kubelet", "host": "n1"},
        "message": "m\n",
        "type": "Normal",
        "reason": "Pulled",
        "firstTimestamp": MADE,
        "lastTimestamp": "2026-01-01T11:59:50Z",
        "count": 3,
    }
    newer = {
        "regarding": {"kind": "Pod", "name": "p"},
        "deprecatedSource": {"component": "kubelet", "host": "n1"},
        "note": "m\n",
        "type": "Normal",
        "reason": "Pulled",
        "deprecatedFirstTimestamp": MADE,
        "deprecatedLastTimestamp": "2026-01-01T11:59:50Z",
        "deprecatedCount": 3,
    }
    row = shown("events", core)
    assert list(row.values()) == ["10s", "Normal", "Pulled", "pod/p", "", "kubelet, n1", "m", "5m", 3, "x"]
    assert shown("events", newer, group="events.k8s.io") == row


def test_jobs_and_cron_jobs() -> None:
    status = {"succeeded": 1, "startTime": MADE, "conditions": [{"type": "Complete", "status": "True"}]}
    job = {"spec": {"completions": 2}, "status": status | {"completionTime": "2026-01-01T11:55:30Z"}}
    row = shown("jobs", job, group="batch")
    assert (row["Status"], row["Completions"], row["Duration"]) == ("Complete", "1/2", "30s")
    cron = {"spec": {"schedule": "* * * * *", "suspend": False}, "status": {"active": [{}], "lastScheduleTime": MADE}}
    row = shown("cronjobs", cron, group="batch")
    assert list(row.values())[1:6] == ["* * * * *", "<none>", "False", 1, "5m"]


@pytest.mark.parametrize("row", table.BUILTIN, ids=lambda row: f"{row.group}/{row.resource}")
def test_no_row_fails_on_an_object_with_nothing_in_it(row: Any) -> None:
    columns = table_view.columns(row)
    cells = table_view.cells(columns, {"metadata": {"name": "x", "namespace": "n"}}, NOW)
    assert len(cells) == len(table_view.definitions(columns))
    kinds = {"string": str, "integer": int, "boolean": (bool, str), "date": str}
    for column, cell in zip(columns, cells, strict=True):
        assert isinstance(cell, kinds[column.type]), column.name

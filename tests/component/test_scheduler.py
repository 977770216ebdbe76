"""`mini-scheduler` as a process, with the certificate of a scheduler, on a real apiserver (S1 to S4)."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests import etcd, harness

WAIT_SECONDS = 20.0
Json = dict[str, Any]


@pytest.fixture(scope="module")
def cluster() -> Iterator[harness.Server]:
    """An apiserver of its own: nodes belong to no namespace."""
    with harness.Server() as server:
        yield server


@pytest.fixture
def api(cluster: harness.Server) -> Iterator[Api]:
    with cluster.admin() as client:
        api = Api(client)
        yield api
        api.clear()


class Api:
    def __init__(self, client: httpx.Client) -> None:
        self.client = client

    def node(self, name: str, *, cpu: str = "4", **spec: Any) -> None:
        node = {"metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}}, "spec": spec}
        self.send("POST", "/api/v1/nodes", node)
        status = {"allocatable": {"cpu": cpu, "memory": "8Gi", "pods": "110"}}
        self.send("PATCH", f"/api/v1/nodes/{name}/status", {"status": status})

    def pod(self, name: str, *, cpu: str = "100m", **spec: Any) -> None:
        container = {"name": "c", "image": "nginx", "resources": {"requests": {"cpu": cpu}}}
        body = {"metadata": {"name": name}, "spec": {"containers": [container], **spec}}
        self.send("POST", "/api/v1/namespaces/default/pods", body)

    def get(self, name: str) -> Json:
        return self.send("GET", f"/api/v1/namespaces/default/pods/{name}")

    def node_of(self, name: str) -> str | None:
        return self.get(name)["spec"].get("nodeName")

    def condition(self, name: str) -> Json:
        conditions = self.get(name).get("status", {}).get("conditions") or []
        return next((c for c in conditions if c["type"] == "PodScheduled"), {})

    def events(self, name: str, reason: str) -> list[Json]:
        listed = self.send("GET", "/api/v1/namespaces/default/events")["items"]
        return [e for e in listed if e["involvedObject"]["name"] == name and e["reason"] == reason]

    def send(self, method: str, path: str, body: Json | None = None) -> Json:
        headers = {"content-type": "application/merge-patch+json"} if method == "PATCH" else {}
        answer = self.client.request(method, path, json=body, headers=headers)
        assert answer.is_success, answer.text
        found: Json = answer.json()
        return found

    def clear(self) -> None:
        self.client.delete("/api/v1/namespaces/default/pods", params={"gracePeriodSeconds": 0})
        self.client.delete("/api/v1/nodes")


@contextlib.contextmanager
def scheduler(cluster: harness.Server, *flags: str) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "scheduler", "--kubeconfig", str(cluster.pki.kubeconfig("scheduler"))]
    command += ["--healthz-port", "0", *flags]
    log = cluster.folder / "scheduler.log"
    with log.open("ab") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output)
    try:
        yield process
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            assert process.wait(10) == 0, log.read_text()[-4000:]
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def until(condition: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < deadline:
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError(f"not in {WAIT_SECONDS:.0f} s: {what}")


def test_a_pod_is_bound_to_the_emptier_node_and_told_so(cluster: harness.Server, api: Api) -> None:
    api.node("a")
    api.node("b")
    api.pod("big", cpu="3", nodeName="a")
    api.pod("p", cpu="500m")
    with scheduler(cluster):
        until(lambda: api.node_of("p"), "the pod has a node")
        assert api.node_of("p") == "b"
        assert api.condition("p")["status"] == "True"
        until(lambda: api.events("p", "Scheduled"), "the event")
        (event,) = api.events("p", "Scheduled")
        assert event["message"] == "Successfully assigned default/p to b"
        assert event["source"]["component"] == "default-scheduler"


def test_a_pod_that_fits_nowhere_says_why_and_is_bound_when_room_appears(cluster: harness.Server, api: Api) -> None:
    api.node("small", cpu="1")
    api.node("closed", taints=[{"key": "team", "value": "red", "effect": "NoSchedule"}])
    api.pod("p", cpu="2")
    message = "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint {team: red}."
    with scheduler(cluster):
        until(lambda: api.condition("p").get("reason") == "Unschedulable", "the condition")
        assert api.condition("p")["status"] == "False"
        assert api.condition("p")["message"].startswith(message)
        until(lambda: api.events("p", "FailedScheduling"), "the event")
        assert api.events("p", "FailedScheduling")[0]["type"] == "Warning"
        api.send("PATCH", "/api/v1/nodes/closed", {"spec": {"taints": None}})
        until(lambda: api.node_of("p") == "closed", "the pod is bound after the taint went")


def test_room_that_a_deleted_pod_leaves_is_used(cluster: harness.Server, api: Api) -> None:
    api.node("a", cpu="1")
    api.pod("first", cpu="1", nodeName="a")
    api.pod("second", cpu="1")
    with scheduler(cluster):
        until(lambda: api.condition("second").get("reason") == "Unschedulable", "the condition")
        api.client.delete("/api/v1/namespaces/default/pods/first", params={"gracePeriodSeconds": 0})
        until(lambda: api.node_of("second") == "a", "the second pod is bound")


def test_gated_pods_and_those_of_other_schedulers_are_left_alone(cluster: harness.Server, api: Api) -> None:
    api.node("a")
    api.pod("gated", schedulingGates=[{"name": "example.com/wait"}])
    api.pod("other", schedulerName="somebody-else")
    api.pod("ours")
    with scheduler(cluster):
        until(lambda: api.node_of("ours"), "our pod is bound")
        assert api.node_of("gated") is None
        assert api.node_of("other") is None
        api.send("PATCH", "/api/v1/namespaces/default/pods/gated", {"spec": {"schedulingGates": None}})
        until(lambda: api.node_of("gated"), "the pod is bound once its gate is open")
        assert api.node_of("other") is None


def test_many_pods_are_spread_and_each_is_bound_once(cluster: harness.Server, api: Api) -> None:
    for name in "abcd":
        api.node(name, cpu="32")
    with scheduler(cluster):
        for number in range(80):
            api.pod(f"p{number}")
        pods = "/api/v1/namespaces/default/pods"
        until(lambda: all(p["spec"].get("nodeName") for p in api.send("GET", pods)["items"]), "all pods are bound")
        counts = Counter(pod["spec"]["nodeName"] for pod in api.send("GET", pods)["items"])
        assert set(counts.values()) == {20}
    assert "binding failed" not in (cluster.folder / "scheduler.log").read_text()


def test_a_killed_scheduler_loses_nothing(cluster: harness.Server, api: Api) -> None:
    api.node("a")
    with scheduler(cluster, "--leader-elect=false") as process:
        api.pod("before")
        until(lambda: api.node_of("before"), "bound by the first")
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    api.pod("between")
    with scheduler(cluster, "--leader-elect=false"):
        until(lambda: api.node_of("between"), "bound by the second")


def test_a_standby_takes_over_when_the_leader_goes(cluster: harness.Server, api: Api) -> None:
    api.node("a")
    with scheduler(cluster) as first:
        api.pod("one")
        until(lambda: api.node_of("one"), "bound by the leader")
        with scheduler(cluster):
            first.send_signal(signal.SIGTERM)
            assert first.wait(10) == 0
            api.pod("two")
            until(lambda: api.node_of("two"), "bound by the other")


def test_a_profile_of_its_own_name_and_plugins_is_used(cluster: harness.Server, api: Api, tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(
        """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
profiles:
- schedulerName: packer
  pluginConfig:
  - name: NodeResourcesFit
    args: {scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}]}}
  plugins:
    score: {disabled: [{name: "*"}], enabled: [{name: NodeResourcesFit}]}
"""
    )
    api.node("a")
    api.node("b")
    api.pod("big", cpu="2", nodeName="a")
    for number in range(5):
        api.pod(f"p{number}", schedulerName="packer")
    with scheduler(cluster, "--config", str(config)):
        until(lambda: all(api.node_of(f"p{n}") for n in range(5)), "all are bound")
        assert {api.node_of(f"p{n}") for n in range(5)} == {"a"}


def test_a_configuration_that_cannot_be_read_ends_the_process_with_a_sentence(
    cluster: harness.Server, tmp_path: Path
) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("kind: Nonsense\n")
    command = [sys.executable, "-m", "scheduler", "--config", str(config)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith(f"mini-scheduler: --config {config}: apiVersion and kind must be")


def test_health_and_metrics_are_served(cluster: harness.Server, api: Api) -> None:
    api.node("a")
    (port,) = etcd.free_ports(1)
    with scheduler(cluster, "--healthz-port", str(port)), httpx.Client(trust_env=False) as client:
        api.pod("p")
        until(lambda: api.node_of("p"), "bound")
        assert client.get(f"http://127.0.0.1:{port}/healthz").text == "ok"
        metrics = client.get(f"http://127.0.0.1:{port}/metrics").text
        assert 'scheduler_schedule_attempts_total{profile="default-scheduler",result="scheduled"} 1.0' in metrics


def test_a_pod_of_higher_priority_pushes_out_a_lesser_one(cluster: harness.Server, api: Api) -> None:
    api.node("a", cpu="1")
    api.pod("lesser", cpu="1", nodeName="a", terminationGracePeriodSeconds=0)
    api.send("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": "urgent"}, "value": 1000})
    api.pod("urgent", cpu="1", priorityClassName="urgent")
    with scheduler(cluster):
        until(lambda: api.node_of("urgent") == "a", "the urgent pod has the lesser one's place")
        gone = api.client.get("/api/v1/namespaces/default/pods/lesser")
        assert gone.status_code == 404 or gone.json()["metadata"].get("deletionTimestamp")
        until(lambda: api.events("lesser", "Preempted"), "the victim's event")


def test_a_pod_that_can_push_out_nobody_says_so(cluster: harness.Server, api: Api) -> None:
    api.node("a", cpu="1")
    api.pod("p", cpu="2")
    with scheduler(cluster):
        until(lambda: api.condition("p").get("message"), "the condition")
        assert api.condition("p")["message"] == (
            "0/1 nodes are available: 1 Insufficient cpu. preemption: "
            "0/1 nodes are available: 1 Preemption is not helpful for scheduling."
        )

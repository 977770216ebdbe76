"""Pods on real nodes: spread, reached across nodes, and left alone by the death of whatever started them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from minictl.cluster import tools
from tests.cluster.local import LocalCluster, eventually

READY_SECONDS = 60.0  # the 10 s are measured below, with images present


def ready_pods(cluster: LocalCluster) -> list[Any]:
    pods = cluster.get("pods", "-l", "run=web")["items"]
    statuses = [pod for pod in pods if not pod["metadata"].get("deletionTimestamp")]
    return [
        pod
        for pod in statuses
        if all(item["ready"] for item in pod["status"].get("containerStatuses", [{"ready": False}]))
    ]


def wait_for(cluster: LocalCluster, count: int) -> list[Any]:
    eventually(
        lambda: len(ready_pods(cluster)) == count, READY_SECONDS, lambda: cluster.kubectl("get", "pods,events").out
    )
    return ready_pods(cluster)


@pytest.fixture(scope="module")
def web(real_containers: LocalCluster) -> Iterator[LocalCluster]:
    """A Deployment of three nginx, Ready."""
    real_containers.client("run", "web", "--image=nginx", "--replicas=3")
    wait_for(real_containers, 3)
    yield real_containers
    real_containers.kubectl("delete", "deployment", "web")
    eventually(lambda: not real_containers.get("pods")["items"], READY_SECONDS)


def identities(pods: list[Any]) -> dict[str, tuple[str, str]]:
    """What tells a container that went on from one that was started again."""
    return {
        pod["metadata"]["name"]: (pod["status"]["podIP"], pod["status"]["containerStatuses"][0]["containerID"])
        for pod in pods
    }


def fetch(cluster: LocalCluster, pod: Any, address: str) -> str:
    """The page of one pod as another sees it. `timeout`: busybox 1.35's own -T crashes."""
    name = pod["metadata"]["name"]
    return cluster.kubectl("exec", name, "--", "timeout", "5", "wget", "-q", "-O", "-", f"http://{address}/").out


def test_pods_are_spread_over_the_nodes_with_addresses_of_their_own(web: LocalCluster) -> None:
    pods = wait_for(web, 3)
    assert {pod["spec"]["nodeName"] for pod in pods} == {"node-1", "node-2"}
    assert len({pod["status"]["podIP"] for pod in pods}) == 3


def test_with_the_image_present_three_more_are_ready_within_ten_seconds(web: LocalCluster) -> None:
    started = time.monotonic()
    web.client("scale", "deployment", "web", "--replicas=6")
    wait_for(web, 6)
    assert time.monotonic() - started < 10
    web.client("scale", "deployment", "web", "--replicas=3")
    wait_for(web, 3)


def test_a_pod_fetches_a_page_from_a_pod_on_another_node(web: LocalCluster) -> None:
    pods = wait_for(web, 3)
    here = next(pod for pod in pods if pod["spec"]["nodeName"] == "node-1")
    there = next(pod for pod in pods if pod["spec"]["nodeName"] == "node-2")
    assert "Welcome to nginx" in fetch(web, here, there["status"]["podIP"])
    assert "Welcome to nginx" in fetch(web, there, here["status"]["podIP"])


def test_the_runtime_knows_every_container_as_a_process(web: LocalCluster) -> None:
    found = tools.find(["ctr"])
    told = []
    for name in ("node-1", "node-2"):
        socket = f"/proc/{web.processes()[name]['pid']}/root/run/containerd/containerd.sock"
        command = [str(found["ctr"]), "--address", socket, "-n", "k8s.io", "tasks", "list", "--quiet"]
        told += subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    for pod in wait_for(web, 3):
        assert pod["status"]["containerStatuses"][0]["containerID"].removeprefix("containerd://") in told


@pytest.mark.parametrize("name", ["node-1-containerd", "node-1-kubelet", "etcd"])
def test_running_pods_keep_running_when_something_is_killed(web: LocalCluster, name: str) -> None:
    before = wait_for(web, 3)
    old = web.processes()[name]["pid"]
    os.kill(old, signal.SIGKILL)
    eventually(lambda: web.processes()[name]["pid"] not in (0, old), 20)
    web.wait_until_healthy()
    after = wait_for(web, 3)
    assert identities(after) == identities(before)
    there = next(pod for pod in after if pod["spec"]["nodeName"] == "node-1")
    here = next(pod for pod in after if pod["spec"]["nodeName"] == "node-2")
    assert "Welcome to nginx" in fetch(web, here, there["status"]["podIP"])
    assert web.kubectl("exec", there["metadata"]["name"], "--", "echo", "still here").out == "still here\n"


def test_a_node_that_crashes_is_rebooted_and_runs_its_pods_again(web: LocalCluster) -> None:
    before = wait_for(web, 3)
    elsewhere = {pod["metadata"]["name"] for pod in before if pod["spec"]["nodeName"] == "node-2"}
    os.kill(web.processes()["node-1"]["pid"], signal.SIGKILL)

    def back() -> bool:
        pods = ready_pods(web)
        return len(pods) == 3 and not set(identities(pods).values()) >= set(identities(before).values())

    eventually(back, READY_SECONDS, lambda: web.kubectl("get", "pods", "-o", "wide").out)
    web.wait_until_healthy()
    after = identities(ready_pods(web))
    assert {name: after[name] for name in elsewhere} == {name: identities(before)[name] for name in elsewhere}


def test_a_deleted_pod_is_replaced(web: LocalCluster) -> None:
    victim = wait_for(web, 3)[0]["metadata"]["name"]
    web.kubectl("delete", "pod", victim)
    assert victim not in {pod["metadata"]["name"] for pod in wait_for(web, 3)}


def test_a_loaded_image_runs_on_every_node_without_a_registry(real_containers: LocalCluster, tmp_path: Path) -> None:
    from minictl.cluster import images, oci

    built = images.busybox_image(tools.Places.of_this_machine(), lambda _: None)
    archive = tmp_path / "mine.tar"
    oci.write_layout(built.read(), ["localhost/mine:1"], archive)
    assert "node-1, node-2" in real_containers.minictl("image", "load", str(archive)).out
    for node in ("node-1", "node-2"):
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"mine-{node}"},
            "spec": {
                "nodeName": node,
                "restartPolicy": "Never",
                "containers": [
                    {"name": "c", "image": "localhost/mine:1", "imagePullPolicy": "Never", "command": ["true"]}
                ],
            },
        }
        (tmp_path / "pod.json").write_text(json.dumps(pod))
        real_containers.kubectl("create", "-f", str(tmp_path / "pod.json"))
    for node in ("node-1", "node-2"):
        eventually(
            lambda: real_containers.get("pod", f"mine-{node}")["status"].get("phase") == "Succeeded",  # noqa: B023
            READY_SECONDS,
            lambda: real_containers.kubectl("get", "pods,events").out,
        )
        real_containers.kubectl("delete", "pod", f"mine-{node}")

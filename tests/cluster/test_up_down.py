"""`minictl up`, `status` and `down`, for real: what they make, survive, repair and remove."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import time
from pathlib import Path

import pytest

from minictl.cluster import choose, processes
from tests.cluster.local import LocalCluster, eventually


def pids(cluster: LocalCluster) -> dict[str, int]:
    return {name: row["pid"] for name, row in cluster.processes().items()}


def test_every_node_is_ready(cluster: LocalCluster) -> None:
    nodes = cluster.get("nodes")["items"]
    conditions = {
        node["metadata"]["name"]: {item["type"]: item["status"] for item in node["status"]["conditions"]}
        for node in nodes
    }
    assert sorted(conditions) == ["node-1", "node-2"]
    assert all(found["Ready"] == "True" for found in conditions.values())


def test_status_shows_every_process_its_address_and_its_log(cluster: LocalCluster) -> None:
    told = json.loads(cluster.minictl("status", "-o", "json").out)
    assert told["kubeconfig"] == str(cluster.kubeconfig)
    names = [row["name"] for row in told["processes"]]
    assert {"supervisor", "etcd", "apiserver", "controllers", "scheduler", "node-1-kubelet", "node-2-kubelet"} <= set(
        names
    )
    for row in told["processes"]:
        assert row["healthy"] is True
        assert Path(row["log"]).exists()
        assert Path(f"/proc/{row['pid']}").exists()
    table = cluster.minictl("status").out
    assert all(name in table for name in names)


def test_a_second_up_takes_seconds_and_starts_nothing_anew(cluster: LocalCluster) -> None:
    before, started = pids(cluster), time.monotonic()
    said = cluster.up().out
    assert time.monotonic() - started < 10
    assert pids(cluster) == before
    assert "kubectl --kubeconfig" in said


def test_keys_and_the_kubeconfig_are_the_owners_alone(cluster: LocalCluster) -> None:
    secret = [cluster.kubeconfig, *(cluster.folder / "pki").iterdir()]
    assert {path.stat().st_mode & 0o777 for path in secret} == {0o600}
    assert cluster.folder.stat().st_mode & 0o077 == 0


def test_nothing_listens_on_this_machines_real_addresses(cluster: LocalCluster) -> None:
    """/proc/net/tcp: a listener on all addresses is 00000000:PORT in state 0A."""
    assert cluster.settings is not None
    ports = cluster.settings.ports
    mine = {
        f"{port:04X}" for port in (ports.apiserver, ports.etcd, ports.etcd_peer, ports.controllers, ports.scheduler)
    }
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    listening = {row[1] for row in rows if row[3] == "0A" and row[1].split(":")[1] in mine}
    assert listening
    assert not {address for address in listening if address.startswith("00000000")}


@pytest.mark.parametrize("name", ["controllers", "scheduler", "node-1-kubelet", "etcd", "apiserver"])
def test_a_killed_process_is_back_without_being_asked(cluster: LocalCluster, name: str) -> None:
    before = cluster.processes()
    os.kill(before[name]["pid"], signal.SIGKILL)
    eventually(lambda: cluster.processes()[name]["pid"] not in (0, before[name]["pid"]), 20)
    cluster.wait_until_healthy()
    after = cluster.processes()
    assert after[name]["restarts"] == before[name]["restarts"] + 1
    others = [other for other in before if other != name]
    assert [after[other]["pid"] for other in others] == [before[other]["pid"] for other in others]


def test_a_killed_worker_of_the_apiserver_is_replaced_by_its_parent(cluster: LocalCluster) -> None:
    parent = cluster.processes()["apiserver"]["pid"]

    def workers() -> set[int]:
        found = ((pid, processes.stat(pid)) for pid in processes.all_pids())
        return {pid for pid, seen in found if seen is not None and seen.parent == parent and seen.state != "Z"}

    before = workers()
    victim = min(before)
    os.kill(victim, signal.SIGKILL)
    eventually(lambda: victim not in workers() and len(workers()) == len(before), 20)
    cluster.wait_until_healthy()
    assert cluster.processes()["apiserver"]["pid"] == parent


def test_objects_outlive_etcd_and_the_apiserver(cluster: LocalCluster) -> None:
    cluster.kubectl("create", "configmap", "kept", "--from-literal=a=b")
    rows = cluster.processes()
    for name in ("etcd", "apiserver"):
        os.kill(rows[name]["pid"], signal.SIGKILL)
    eventually(lambda: cluster.processes()["apiserver"]["pid"] not in (0, rows["apiserver"]["pid"]), 30)
    cluster.wait_until_healthy()
    assert cluster.get("configmap", "kept")["data"] == {"a": "b"}
    cluster.kubectl("delete", "configmap", "kept")


def test_up_starts_a_killed_supervisor_which_adopts_what_runs(cluster: LocalCluster) -> None:
    before = pids(cluster)
    os.kill(before["supervisor"], signal.SIGKILL)
    os.kill(before["scheduler"], signal.SIGKILL)
    status = cluster.minictl("status", check=False)
    assert status.code == 1
    assert "minictl up" in status.out
    cluster.up()
    after = pids(cluster)
    assert after["supervisor"] != before["supervisor"]
    assert after["scheduler"] not in (0, before["scheduler"])
    others = set(before) - {"supervisor", "scheduler"}
    assert {name: after[name] for name in others} == {name: before[name] for name in others}


def test_up_brings_everything_back_after_everything_was_killed(cluster: LocalCluster) -> None:
    cluster.kubectl("create", "configmap", "kept", "--from-literal=a=b")
    before = pids(cluster)
    for pid in before.values():
        with contextlib.suppress(ProcessLookupError):  # what is inside a node dies with its PID 1
            os.kill(pid, signal.SIGKILL)
    cluster.up()
    cluster.wait_until_healthy()
    after = pids(cluster)
    assert not set(before.values()) & set(after.values())
    assert cluster.get("configmap", "kept")["data"] == {"a": "b"}
    cluster.kubectl("delete", "configmap", "kept")


def test_a_second_cluster_runs_beside_grows_and_goes_without_a_trace(
    cluster: LocalCluster, hollow: LocalCluster
) -> None:
    hollow.up("--runtime", "hollow", "--nodes", "1")
    assert [node["metadata"]["name"] for node in hollow.get("nodes")["items"]] == ["node-1"]
    assert len(cluster.get("nodes")["items"]) == 2
    before = pids(hollow)
    hollow.up("--nodes", "2", "--port", str(choose.free_ports(1, [])[0]))  # it grows, and moves to another port
    assert len(hollow.get("nodes")["items"]) == 2
    assert {name for name in before if pids(hollow)[name] == before[name]} == {"etcd", "node-1-hollow"}
    assert hollow.minictl("down").code == 0
    assert hollow.traces() == []
    assert cluster.minictl("status").code == 0
    assert "no cluster" in hollow.minictl("down").out


def test_a_half_started_cluster_with_everything_killed_is_removed(hollow: LocalCluster) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        refused = hollow.up("--runtime", "hollow", "--port", port, check=False)
        assert refused.code == 1
        assert f"port {port}" in refused.err
        assert "--port" in refused.err
    hollow.up("--port", port)
    rows = pids(hollow)
    for name in ("supervisor", "etcd", "node-1-kubelet"):
        os.kill(rows[name], signal.SIGKILL)
    (hollow.folder / "state.json").unlink()  # nothing is known of what runs
    assert hollow.minictl("down").code == 0
    assert hollow.traces() == []


def test_without_a_cluster_status_says_so_and_down_is_harmless(hollow: LocalCluster) -> None:
    status = hollow.minictl("status", check=False)
    assert (status.code, status.out) == (1, "")
    assert "no cluster" in status.err
    assert "minictl up" in status.err
    assert hollow.minictl("down").code == 0
    assert not hollow.folder.exists()


def test_a_folder_of_somebody_else_is_left_alone(hollow: LocalCluster) -> None:
    hollow.folder.mkdir()
    (hollow.folder / "letter.txt").write_text("dear")
    for command in ("up", "down"):
        hollow.minictl(command, check=False)
    refused = hollow.up(check=False)
    assert refused.code == 1
    assert "holds other files" in refused.err
    assert [path.name for path in hollow.folder.iterdir()] == ["letter.txt"]

"""What only real containers can show: volumes as a process sees them, limits, probes, hooks, exec, its own files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cluster.local import LocalCluster, eventually

NAMESPACE = "real"
SECONDS = 30.0

OBJECTS: list[dict[str, Any]] = [
    {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "cm"}, "data": {"color": "blue", "f.txt": "text"}},
    {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "sec"}, "stringData": {"pw": "secret"}},
]

VOLUMES = [
    {"name": "cm", "configMap": {"name": "cm"}},
    {"name": "sec", "secret": {"secretName": "sec", "defaultMode": 0o400}},
    {"name": "dir", "emptyDir": {}},
    {"name": "mem", "emptyDir": {"medium": "Memory", "sizeLimit": "16Mi"}},
    {"name": "down", "downwardAPI": {"items": [{"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}]}},
]
MOUNTS = [
    *({"name": name, "mountPath": f"/{name}"} for name in ("cm", "sec", "dir", "mem", "down")),
    {"name": "cm", "mountPath": "/one/file", "subPath": "f.txt"},
    {"name": "dir", "mountPath": "/deep", "subPath": "a/b"},
]


def pod(name: str, script: str, *, container: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    made = {"name": "c", "image": "busybox", "command": ["sh", "-c", script]} | (container or {})
    body = {"terminationGracePeriodSeconds": 1, "containers": [made]} | spec
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": name}}, "spec": body}


PODS = [
    pod(
        "full",
        "sleep 1000",
        container={
            "volumeMounts": MOUNTS,
            "resources": {"limits": {"cpu": "200m", "memory": "64Mi"}},
            "env": [
                {"name": "B", "valueFrom": {"configMapKeyRef": {"name": "cm", "key": "color"}}},
                {"name": "C", "value": "<$(B)>"},
                {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
            ],
            "readinessProbe": {"exec": {"command": ["cat", "/dir/made-by-init"]}, "periodSeconds": 1},
            "lifecycle": {"postStart": {"exec": {"command": ["sh", "-c", "echo started > /dir/hook"]}}},
        },
        volumes=VOLUMES,
        hostAliases=[{"ip": "192.0.2.7", "hostnames": ["alias.example"]}],
        initContainers=[
            {
                "name": "i",
                "image": "busybox",
                "command": ["sh", "-c", "echo x > /dir/made-by-init"],
                "volumeMounts": [{"name": "dir", "mountPath": "/dir"}],
            },
            {
                "name": "side",
                "image": "busybox",
                "restartPolicy": "Always",
                "command": ["sh", "-c", "trap 'exit 0' TERM; while true; do sleep 0.2; done"],
            },
        ],
    ),
    pod("oom", "tail /dev/zero", container={"resources": {"limits": {"memory": "16Mi"}}}, restartPolicy="Never"),
    pod("told", "echo because > /dev/termination-log; exit 4", restartPolicy="Never"),
    pod(
        "unwell",
        "touch /tmp/ok; sleep 2; rm /tmp/ok; sleep 1000",
        container={
            "livenessProbe": {"exec": {"command": ["cat", "/tmp/ok"]}, "periodSeconds": 1, "failureThreshold": 1}
        },
    ),
]  # fmt: skip


@pytest.fixture(scope="module")
def real(real_containers: LocalCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    """The pods of this file, created together so that they start while the tests wait for one another."""
    real_containers.kubectl("create", "namespace", NAMESPACE)
    manifest = tmp_path_factory.mktemp("real") / "pods.yaml"
    manifest.write_text("\n---\n".join(json.dumps(item) for item in [*OBJECTS, *PODS]))
    real_containers.kubectl("-n", NAMESPACE, "create", "-f", str(manifest))
    real_containers.kubectl("-n", NAMESPACE, "wait", "--for=condition=Ready", "pod/full", f"--timeout={SECONDS:.0f}s")
    yield real_containers
    real_containers.kubectl("delete", "namespace", NAMESPACE, "--wait=false")


def inside(real: LocalCluster, script: str) -> str:
    return real.kubectl("-n", NAMESPACE, "exec", "full", "-c", "c", "--", "sh", "-c", script).out.strip()


def state(real: LocalCluster, name: str) -> dict[str, Any]:
    """Of the pod's one container, once it has ended."""
    found: dict[str, Any] = {}

    def ended() -> bool:
        statuses = real.get("-n", NAMESPACE, "pod", name)["status"].get("containerStatuses") or [{"state": {}}]
        found.update(statuses[0]["state"].get("terminated") or {})
        return bool(found)

    eventually(ended, SECONDS)
    return found


@pytest.mark.parametrize(
    ("script", "seen"),
    [
        ("cat /cm/color", "blue"),
        ("cat /sec/pw; stat -Lc %a /sec/pw", "secret400"),
        ("cat /dir/made-by-init", "x"),
        ("cat /down/labels", 'app="full"'),
        ("cat /one/file", "text"),
        ("touch /deep/f; ls /dir/a/b", "f"),
        ("df -k /mem | tail -1 | awk '{print $2}'", "16384"),
        ("echo $C", "<blue>"),
        ("grep -c \"^$IP\" /etc/hosts", "1"),
        ("grep alias.example /etc/hosts | cut -f1", "192.0.2.7"),
        ("hostname", "full"),
        ("cat /dir/hook", "started"),
        ("cat /proc/1/comm", "sleep"),
    ],
)  # fmt: skip
def test_a_container_sees(real: LocalCluster, script: str, seen: str) -> None:
    assert inside(real, script) == seen


def test_exec_passes_output_input_and_the_exit_code(real: LocalCluster) -> None:
    ran = real.kubectl(
        "-n", NAMESPACE, "exec", "full", "-c", "c", "--", "sh", "-c", "echo a; echo b >&2; exit 3", check=False
    )
    assert (ran.code, ran.out) == (3, "a\n")
    assert "b\n" in ran.err


def test_a_changed_config_map_reaches_the_running_container(real: LocalCluster) -> None:
    real.kubectl("-n", NAMESPACE, "patch", "configmap", "cm", "-p", '{"data":{"color":"red"}}')
    eventually(lambda: inside(real, "cat /cm/color") == "red", SECONDS)
    assert inside(real, "cat /one/file") == "text", "a subPath keeps its old file"


def test_who_uses_more_memory_than_its_limit_is_killed_for_it(real: LocalCluster) -> None:
    ended = state(real, "oom")
    assert (ended["reason"], ended["exitCode"]) == ("OOMKilled", 137)


def test_a_container_leaves_a_last_word(real: LocalCluster) -> None:
    ended = state(real, "told")
    assert (ended["exitCode"], ended["message"]) == (4, "because\n")


def test_a_container_that_fails_its_liveness_probe_is_restarted(real: LocalCluster) -> None:
    def restarts() -> int:
        return int(real.get("-n", NAMESPACE, "pod", "unwell")["status"]["containerStatuses"][0]["restartCount"])

    eventually(lambda: restarts() > 0, SECONDS)
    events = real.kubectl("-n", NAMESPACE, "get", "events", "-o", "jsonpath={.items[*].message}").out
    assert "Container c failed liveness probe, will be restarted" in events


def test_a_deleted_pod_leaves_no_file_behind(real: LocalCluster) -> None:
    made = real.get("-n", NAMESPACE, "pod", "told")
    folder = real.folder / "nodes" / made["spec"]["nodeName"] / "kubelet" / "pods" / made["metadata"]["uid"]
    assert folder.is_dir()
    real.kubectl("-n", NAMESPACE, "delete", "pod", "told")
    eventually(lambda: not folder.exists(), SECONDS)

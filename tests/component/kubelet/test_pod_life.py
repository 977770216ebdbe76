"""Pods from creation to their end on a real kubelet: what users see in status, events and logs."""

from __future__ import annotations

import base64
from typing import Any

from tests.component.kubelet.conftest import Node, Pods, eventually, give_range, is_ready


def container(status: dict[str, Any], index: int = 0) -> dict[str, Any]:
    return dict((status.get("containerStatuses") or [{"state": {}}])[index])


def terminated(status: dict[str, Any]) -> bool:
    return "terminated" in container(status)["state"]


def test_a_pod_becomes_ready_with_an_address_and_goes_when_deleted(pods: Pods) -> None:
    pods.create("a")
    status = pods.until_ready("a")
    assert status["phase"] == "Running"
    assert status["podIP"].startswith("10.9.0.")
    assert container(status)["containerID"].startswith("hollow://")
    wanted = {"Pulling", "Pulled", "Created", "Started"}
    eventually(lambda: wanted <= {reason for reason, _ in pods.events("a")}, lambda: pods.events("a"))
    pods.delete("a")
    pods.until_gone("a")


def test_a_pod_that_ran_to_its_end_has_succeeded_and_keeps_its_logs(node: Node, pods: Pods) -> None:
    pods.create("a", {"name": "c", "command": ["sh", "-c", "echo hello; exit 0"]}, restartPolicy="Never")
    pods.until("a", lambda status: status.get("phase") == "Succeeded")
    assert node.server.kubectl("-n", pods.namespace, "logs", "a", "--tail=1") == "hello\n"


def test_a_failing_container_backs_off_and_shows_how_it_ended(pods: Pods) -> None:
    pods.create("a", {"name": "c", "command": ["sh", "-c", "exit 3"]})
    status = pods.until("a", lambda s: container(s)["state"].get("waiting", {}).get("reason") == "CrashLoopBackOff")
    assert status["phase"] == "Running"
    assert container(status)["lastState"]["terminated"]["exitCode"] == 3
    assert container(status)["restartCount"] >= 1
    eventually(lambda: "BackOff" in {reason for reason, _ in pods.events("a")}, lambda: pods.events("a"))


def test_init_containers_run_in_order_before_the_apps(pods: Pods) -> None:
    first, second = ({"name": name, "image": "app:1", "command": ["true"]} for name in ("i", "j"))
    pods.create("a", {"name": "c"}, initContainers=[first, second])
    status = pods.until_ready("a")
    ends = [entry["state"]["terminated"]["finishedAt"] for entry in status["initContainerStatuses"]]
    assert ends == sorted(ends)
    assert container(status)["state"]["running"]["startedAt"] >= ends[-1]


def test_an_image_that_is_not_there_is_said_and_tried_again(pods: Pods) -> None:
    pods.create("a", {"name": "c", "image": "registry.example/missing:1"})
    reasons = ("ErrImagePull", "ImagePullBackOff")
    status = pods.until("a", lambda s: container(s)["state"].get("waiting", {}).get("reason") in reasons)
    assert status["phase"] == "Pending"
    assert 'image "registry.example/missing:1"' in container(status)["state"]["waiting"]["message"]
    eventually(lambda: any("Failed to pull image" in text for _, text in pods.events("a")), lambda: pods.events("a"))
    pods.delete("a")
    pods.until_gone("a")


def test_a_missing_config_map_holds_the_container_until_it_is_there(pods: Pods) -> None:
    source = {"name": "X", "valueFrom": {"configMapKeyRef": {"name": "cm", "key": "k"}}}
    pods.create("a", {"name": "c", "env": [source]})
    status = pods.until(
        "a", lambda s: container(s)["state"].get("waiting", {}).get("reason") == "CreateContainerConfigError"
    )
    assert container(status)["state"]["waiting"]["message"] == 'configmap "cm" not found'
    pods.post("configmaps", {"metadata": {"name": "cm"}, "data": {"k": "v"}})
    pods.until_ready("a")


def test_a_changed_secret_reaches_the_volume(node: Node, pods: Pods) -> None:
    pods.post("secrets", {"metadata": {"name": "s"}, "data": {"pw": base64.b64encode(b"old").decode()}})
    mount = {"name": "v", "mountPath": "/v"}
    pods.create("a", {"name": "c", "volumeMounts": [mount]}, volumes=[{"name": "v", "secret": {"secretName": "s"}}])
    pods.until_ready("a")
    uid = (pods.get("a") or {})["metadata"]["uid"]
    file = node.folder / "root/pods" / uid / "volumes/kubernetes.io~secret/v/pw"
    assert file.read_text() == "old"
    fresh = base64.b64encode(b"new").decode()
    node.server.kubectl("-n", pods.namespace, "patch", "secret", "s", "-p", f'{{"data":{{"pw":"{fresh}"}}}}')
    eventually(lambda: file.read_text() == "new", node.log)


def test_a_pod_too_large_for_the_node_fails_with_the_reason(pods: Pods) -> None:
    pods.create("a", {"name": "c", "resources": {"requests": {"cpu": "5000"}}})
    status = pods.until("a", lambda s: s.get("phase") == "Failed")
    assert status["reason"] == "OutOfcpu"
    assert status["message"].startswith("Pod was rejected: Node didn't have enough resource: cpu, requested: 5000000")


def test_a_pod_past_its_deadline_fails(pods: Pods) -> None:
    pods.create("a", activeDeadlineSeconds=1)
    status = pods.until("a", lambda s: s.get("phase") == "Failed")
    assert status["reason"] == "DeadlineExceeded"


def test_a_killed_kubelet_takes_its_pods_over_without_restarting_them(node: Node, pods: Pods) -> None:
    pods.create("a")
    before = pods.until_ready("a")
    node.kill("kubelet")
    node.start("kubelet")
    pods.create("b")
    pods.until_ready("b")
    after = pods.status("a")
    assert after["containerStatuses"] == before["containerStatuses"]
    assert after["conditions"] == before["conditions"], "nothing flapped"


def test_a_pod_deleted_while_the_kubelet_is_away_is_ended_when_it_is_back(node: Node, pods: Pods) -> None:
    pods.create("a")
    pods.until_ready("a")
    uid = (pods.get("a") or {})["metadata"]["uid"]
    node.kill("kubelet")
    pods.delete("a", gracePeriodSeconds=0)
    pods.until_gone("a")
    assert (node.folder / "root/pods" / uid).exists()
    node.start("kubelet")
    eventually(lambda: not (node.folder / "root/pods" / uid).exists(), node.log)


def test_a_runtime_that_comes_back_without_its_pods_gets_them_again(node: Node, pods: Pods) -> None:
    pods.create("a")
    before = container(pods.until_ready("a"))["containerID"]
    node.kill("hollow")
    node.start("hollow")
    pods.until("a", lambda s: container(s).get("containerID") not in (before, None) and container(s).get("ready"))


def test_a_node_says_that_it_started_and_when_it_is_ready_and_not(node: Node) -> None:
    with node.server.admin() as admin:

        def said() -> set[str]:
            found = admin.get("/api/v1/namespaces/default/events?fieldSelector=involvedObject.kind=Node").json()
            return {event["reason"] for event in found["items"] if event["source"]["component"] == "kubelet"}

        eventually(lambda: {"Starting", "NodeHasSufficientPID", "NodeReady"} <= said(), said)
        node.kill("hollow")
        eventually(lambda: "NodeNotReady" in said(), said)
        # The event comes before the status: only then is a ready node news
        eventually(lambda: not is_ready(admin.get("/api/v1/nodes/node-1").json()["status"]), node.log)
        node.start("hollow")
        eventually(lambda: is_ready(admin.get("/api/v1/nodes/node-1").json()["status"]), node.log)


def test_a_deleted_node_registers_again(node: Node, pods: Pods) -> None:
    with node.server.admin() as admin:
        uid = admin.get("/api/v1/nodes/node-1").json()["metadata"]["uid"]
        admin.delete("/api/v1/nodes/node-1")
        eventually(lambda: admin.get("/api/v1/nodes/node-1").json()["metadata"].get("uid", uid) != uid, node.log)
        give_range(admin)
        lease = admin.get("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/node-1").json()
    assert lease["spec"]["holderIdentity"] == "node-1"


def test_who_has_no_certificate_gets_nothing_from_the_nodes_port(node: Node) -> None:
    import ssl

    import httpx

    context = ssl.create_default_context(cafile=str(node.server.pki.ca))
    with httpx.Client(base_url=f"https://127.0.0.1:{node.port}", verify=context, trust_env=False) as stranger:
        assert stranger.get("/pods").status_code == 401
    context.load_cert_chain(node.server.pki.cert("scheduler"), node.server.pki.key("scheduler"))
    with httpx.Client(base_url=f"https://127.0.0.1:{node.port}", verify=context, trust_env=False) as scheduler:
        reply = scheduler.get("/pods")
    assert (reply.status_code, reply.text) == (
        403,
        "Forbidden (user=system:kube-scheduler, verb=get, resource=nodes, subresource=proxy)",
    )


def test_a_manifest_in_the_folder_is_a_pod_with_a_mirror_in_the_api(node: Node) -> None:
    pods = Pods(node.server, "default")
    manifest = node.manifests / "web.yaml"
    text = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  terminationGracePeriodSeconds: 1\n"
    manifest.write_text(text + "  containers: [{name: c, image: 'app:1', command: [sh, -c, echo static; sleep 999]}]\n")
    try:
        pods.until_ready("web-node-1")
        assert node.server.kubectl("logs", "web-node-1", "--tail=1") == "static\n"
        first = (pods.get("web-node-1") or {})["metadata"]["uid"]
        pods.delete("web-node-1", gracePeriodSeconds=0)
        eventually(
            lambda: (pods.get("web-node-1") or {"metadata": {"uid": first}})["metadata"]["uid"] != first, node.log
        )
        pods.until_ready("web-node-1")
    finally:
        manifest.unlink()
    pods.until_gone("web-node-1")
    pods.close()

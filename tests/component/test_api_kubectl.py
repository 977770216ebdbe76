"""The real kubectl against the API: what it needs no node for, in one apiserver."""

from __future__ import annotations

import json

import yaml

from tests import harness

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: 2
  selector:
    matchLabels: {app: web}
  template:
    metadata:
      labels: {app: web}
    spec:
      containers:
      - name: nginx
        image: nginx
"""


def test_a_manifest_is_created_read_applied_and_deleted(server: harness.Server, namespace: str) -> None:
    at = ("-n", namespace)
    assert server.kubectl(*at, "create", "-f", "-", stdin=DEPLOYMENT) == "deployment.apps/web created\n"
    read = json.loads(server.kubectl(*at, "get", "deployment", "web", "-o", "json"))
    assert read["spec"]["replicas"] == 2
    assert read["spec"]["strategy"]["type"] == "RollingUpdate"
    changed = DEPLOYMENT.replace("replicas: 2", "replicas: 3")
    assert "deployment.apps/web configured" in server.kubectl(*at, "apply", "-f", "-", stdin=changed)
    assert server.kubectl(*at, "apply", "-f", "-", stdin=changed) == "deployment.apps/web unchanged\n"
    assert server.kubectl(*at, "get", "deployment", "web", "-o", "jsonpath={.spec.replicas}") == "3"
    assert "deleted" in server.kubectl(*at, "delete", "deployment", "web")
    gone = server.try_kubectl(*at, "get", "deployment", "web")
    assert gone.stderr == 'Error from server (NotFound): deployments.apps "web" not found\n'


def test_commands_that_send_protobuf_make_what_they_say(server: harness.Server, namespace: str) -> None:
    at = ("-n", namespace)
    server.kubectl(*at, "create", "deployment", "d", "--image=nginx:1", "--replicas=3", "--port=80")
    server.kubectl(*at, "create", "configmap", "c", "--from-literal=a=1", "--from-literal=b=two")
    server.kubectl(*at, "create", "secret", "generic", "s", "--from-literal=password=x")
    server.kubectl(*at, "create", "role", "reader", "--verb=get,list", "--resource=pods")
    server.kubectl(*at, "create", "cronjob", "cj", "--image=busybox", "--schedule=*/5 * * * *", "--", "date")
    server.kubectl(*at, "create", "quota", "q", "--hard=cpu=1500m,pods=3")
    server.kubectl(*at, "create", "poddisruptionbudget", "p", "--selector=app=d", "--min-available=50%")

    def read(resource: str) -> dict[str, object]:
        return json.loads(server.kubectl(*at, "get", *resource.split("/"), "-o", "json"))  # type: ignore[no-any-return]

    deployment = read("deployment/d")
    assert deployment["spec"]["replicas"] == 3  # type: ignore[index]
    container = deployment["spec"]["template"]["spec"]["containers"][0]  # type: ignore[index]
    assert (container["image"], container["ports"][0]["containerPort"]) == ("nginx:1", 80)
    assert read("configmap/c")["data"] == {"a": "1", "b": "two"}
    assert read("secret/s")["data"] == {"password": "eA=="}
    assert read("role/reader")["rules"] == [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}]
    job = read("cronjob/cj")["spec"]["jobTemplate"]["spec"]["template"]["spec"]  # type: ignore[index]
    assert job["containers"][0]["command"] == ["date"]
    assert read("resourcequota/q")["spec"] == {"hard": {"cpu": "1500m", "pods": "3"}}
    assert read("poddisruptionbudget/p")["spec"]["minAvailable"] == "50%"  # type: ignore[index]


def test_a_typing_error_in_a_manifest_is_refused_by_name(server: harness.Server, namespace: str) -> None:
    failed = server.try_kubectl("-n", namespace, "create", "-f", "-", stdin=DEPLOYMENT.replace("replicas", "replicaz"))
    assert failed.returncode == 1
    assert 'unknown field "spec.replicaz"' in failed.stderr


def test_explain_and_api_resources_work_from_discovery_and_openapi(server: harness.Server) -> None:
    listed = server.kubectl("api-resources", "--no-headers")
    assert any(line.split()[:4] == ["deployments", "deploy", "apps/v1", "true"] for line in listed.splitlines())
    explained = server.kubectl("explain", "deployment.spec.replicas")
    assert "FIELD: replicas <integer>" in explained
    recursive = server.kubectl("explain", "pod.spec.containers", "--recursive")
    assert "livenessProbe" in recursive


def test_can_i_and_whoami_answer(server: harness.Server) -> None:
    assert server.kubectl("auth", "can-i", "delete", "nodes") == "yes\n"
    denied = server.try_kubectl("auth", "can-i", "delete", "nodes", "--as", "bob")
    assert (denied.returncode, denied.stdout) == (1, "no\n")
    who = yaml.safe_load(server.kubectl("auth", "whoami", "-o", "yaml"))
    assert who["status"]["userInfo"]["username"] == "kubernetes-admin"
    assert who["status"]["userInfo"]["groups"] == ["system:masters", "system:authenticated"]


def test_labels_annotations_and_patches_change_objects(server: harness.Server, namespace: str) -> None:
    at = ("-n", namespace)
    server.kubectl(*at, "create", "-f", "-", stdin=DEPLOYMENT)
    server.kubectl(*at, "label", "deployment", "web", "tier=front")
    server.kubectl(*at, "annotate", "deployment", "web", "note=yes")
    server.kubectl(*at, "set", "image", "deployment/web", "nginx=nginx:2")
    server.kubectl(*at, "patch", "deployment", "web", "-p", '{"spec":{"replicas":5}}')
    server.kubectl(
        *at, "patch", "deployment", "web", "--type=json", "-p", '[{"op":"remove","path":"/metadata/labels"}]'
    )
    read = json.loads(server.kubectl(*at, "get", "deployment", "web", "-o", "json"))
    assert "labels" not in read["metadata"]
    assert read["metadata"]["annotations"]["note"] == "yes"
    assert read["spec"]["replicas"] == 5
    assert read["spec"]["template"]["spec"]["containers"][0]["image"] == "nginx:2"

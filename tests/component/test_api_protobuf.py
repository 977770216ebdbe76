"""Answers in protobuf: to those who ask for it, and of what has such a form."""

from __future__ import annotations

import struct
from typing import Any

import httpx

from apimachinery import protobuf
from tests import harness

PROTOBUF = "application/vnd.kubernetes.protobuf"
ASKED = {"accept": PROTOBUF}


def make(admin: httpx.Client, namespace: str, name: str) -> dict[str, Any]:
    body = {"metadata": {"name": name}, "data": {"k": name}}
    made = admin.post(f"/api/v1/namespaces/{namespace}/configmaps", json=body)
    assert made.status_code == 201, made.text
    return made.json()  # type: ignore[no-any-return]


def test_an_object_and_a_list_say_what_their_json_says(admin: httpx.Client, namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    made = make(admin, namespace, "a")
    read = admin.get(f"{path}/a", headers=ASKED)
    assert read.headers["content-type"] == PROTOBUF
    assert protobuf.decode(read.content) == made
    listed = admin.get(path, headers=ASKED)
    assert listed.headers["content-type"] == PROTOBUF
    expected = admin.get(path).json()
    for item in expected["items"]:  # a list's items have no envelope, and so no kind
        item.pop("apiVersion", None)
        item.pop("kind", None)
    assert protobuf.decode(listed.content) == expected


def test_a_write_and_its_failure_are_answered_in_it(admin: httpx.Client, namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    body = protobuf.encode({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "p"}})
    headers = {**ASKED, "content-type": PROTOBUF}
    created = admin.post(path, content=body, headers=headers)
    assert created.status_code == 201
    assert protobuf.decode(created.content)["metadata"]["name"] == "p"
    again = admin.post(path, content=body, headers=headers)
    assert again.status_code == 409
    assert again.headers["content-type"] == PROTOBUF
    assert protobuf.decode(again.content)["reason"] == "AlreadyExists"
    deleted = admin.delete(f"{path}/p", headers=ASKED)
    assert protobuf.decode(deleted.content)["status"] == "Success"


def test_a_watch_is_a_stream_of_messages_behind_their_lengths(admin: httpx.Client, namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    made = make(admin, namespace, "a")
    query = {"watch": "true", "resourceVersion": "0", "timeoutSeconds": "1", "fieldSelector": "metadata.name=a"}
    watched = admin.get(path, params=query, headers={"accept": f"{PROTOBUF};stream=watch"})
    assert watched.headers["content-type"] == f"{PROTOBUF};stream=watch"
    (length,) = struct.unpack(">I", watched.content[:4])
    event = watched.content[4 : 4 + length]
    assert event.startswith(b"\x0a\x05ADDED")
    assert protobuf.decode(event[event.index(b"k8s\x00") :]) == made


def test_a_table_has_no_such_form_but_partial_metadata_has(admin: httpx.Client, namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    make(admin, namespace, "a")
    table = f"{PROTOBUF};as=Table;g=meta.k8s.io;v=v1"
    assert admin.get(path, headers={"accept": table}).status_code == 406
    second = admin.get(path, headers={"accept": f"{table},application/json;as=Table;g=meta.k8s.io;v=v1"})
    assert second.headers["content-type"] == "application/json"
    assert second.json()["kind"] == "Table"
    partial = admin.get(path, headers={"accept": f"{PROTOBUF};as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"})
    decoded = protobuf.decode(partial.content)
    assert decoded["kind"] == "PartialObjectMetadataList"
    assert "a" in [item["metadata"]["name"] for item in decoded["items"]]


def test_reviews_and_scales_have_it_too(admin: httpx.Client) -> None:
    review = {"spec": {"nonResourceAttributes": {"path": "/version", "verb": "get"}}}
    answered = admin.post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", json=review, headers=ASKED)
    assert protobuf.decode(answered.content)["status"]["allowed"] is True


def test_kubectls_typed_commands_read_their_answers(server: harness.Server, namespace: str) -> None:
    printed = server.kubectl(
        "-n", namespace, "create", "deployment", "d", "--image=i", "-o", "jsonpath={.spec.replicas}"
    )
    assert printed == "1"
    assert server.kubectl("auth", "can-i", "create", "pods") == "yes\n"


MANIFESTS = """\
apiVersion: v1
kind: Pod
metadata: {name: rich, labels: {app: x}, annotations: {note: yes-it-is}}
spec:
  serviceAccountName: other
  tolerations: [{key: gone, operator: Exists, effect: NoExecute, tolerationSeconds: 30}]
  volumes: [{name: scratch, emptyDir: {sizeLimit: 1Gi}}, {name: conf, configMap: {name: c, optional: true}}]
  containers:
  - name: main
    image: nginx:1
    command: [sh, -c]
    ports: [{name: web, containerPort: 8080}]
    env: [{name: A, value: one}, {name: MY_IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}]
    resources: {requests: {cpu: 100m, memory: 64Mi}, limits: {cpu: "1"}}
    livenessProbe: {httpGet: {path: /live, port: web}, initialDelaySeconds: 7}
    volumeMounts: [{name: scratch, mountPath: /scratch, readOnly: true}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: d}
spec:
  replicas: 0
  strategy: {rollingUpdate: {maxSurge: 40%, maxUnavailable: 2}}
  selector: {matchLabels: {app: d}}
  template: {metadata: {labels: {app: d}}, spec: {containers: [{name: c, image: i}]}}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: p}
spec:
  podSelector: {matchExpressions: [{key: tier, operator: In, values: [a, b]}]}
  ingress: [{ports: [{port: 80, endPort: 90}], from: [{ipBlock: {cidr: 10.0.0.0/8, except: [10.1.0.0/16]}}]}]
---
apiVersion: v1
kind: Secret
metadata: {name: s}
data: {password: MTIzNDU=}
"""


def test_a_go_client_reads_of_every_sort_of_field_what_was_written(server: harness.Server, namespace: str) -> None:
    """kubectl's describe takes its objects in protobuf: it is the reader that is not ours."""
    at = ("-n", namespace)
    shown = server.try_kubectl(*at, "describe", "namespace", namespace, "-v=8").stderr
    assert f"{PROTOBUF},application/json" in shown
    server.kubectl(*at, "create", "-f", "-", stdin=MANIFESTS)

    def described(kind: str, name: str) -> str:
        """With single spaces: how wide the columns are is kubectl's affair."""
        return " ".join(server.kubectl(*at, "describe", kind, name).split())

    pod = described("pod", "rich")
    for line in (
        "Service Account: other",
        "Annotations: note: yes-it-is",
        "gone:NoExecute op=Exists for 30s",
        "SizeLimit: 1Gi",
        "Optional: true",
        "Port: 8080/TCP (web)",
        "A: one",
        "MY_IP: (v1:status.podIP)",
        "cpu: 100m",
        "memory: 64Mi",
        "Liveness: http-get http://:web/live delay=7s timeout=1s period=10s successThreshold=1 failureThreshold=3",
        "/scratch from scratch (ro)",
    ):
        assert line in pod, pod
    deployment = described("deployment", "d")
    assert "RollingUpdateStrategy: 2 max unavailable, 40% max surge" in deployment
    assert "Replicas: 0 desired" in deployment
    policy = described("networkpolicy", "p")
    for line in ("tier in (a,b)", "CIDR: 10.0.0.0/8", "Except: 10.1.0.0/16"):
        assert line in policy, policy
    assert "password: 5 bytes" in described("secret", "s")

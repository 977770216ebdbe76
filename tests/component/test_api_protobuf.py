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

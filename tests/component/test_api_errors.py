"""Bad input, and who may not: every refusal is a Status with upstream's code, reason and wording."""

from __future__ import annotations

import socket
import ssl

import httpx
import pytest

from tests import harness


def status_of(response: httpx.Response) -> tuple[int, str, str]:
    """(code, reason, message) of a Status, after checking that it is one."""
    body = response.json()
    assert body["kind"] == "Status"
    assert body["apiVersion"] == "v1"
    assert body["status"] == "Failure"
    assert body["code"] == response.status_code
    assert "Traceback" not in response.text
    return body["code"], body["reason"], body["message"]


def test_an_unknown_kind_is_not_found(admin: httpx.Client) -> None:
    code, reason, message = status_of(admin.get("/api/v1/namespaces/default/gadgets"))
    assert (code, reason) == (404, "NotFound")
    assert message == "the server could not find the requested resource"


@pytest.mark.parametrize("path", ["/apis/nowhere.example.com", "/apis/apps/v9", "/api/v7/pods", "/nowhere"])
def test_an_unknown_group_version_or_path_is_not_found(admin: httpx.Client, path: str) -> None:
    assert status_of(admin.get(path))[:2] == (404, "NotFound")


@pytest.mark.parametrize("path", ["/version/x", "/metrics/x", "/api/v1/namespaces/default/pods/p/status/x"])
def test_what_is_below_a_path_that_ends_is_not_found(admin: httpx.Client, path: str) -> None:
    assert status_of(admin.get(path))[:2] == (404, "NotFound")


@pytest.mark.parametrize(("name", "why"), [("%2e%2e", "may not be '..'"), ("a%2fb", "may not contain '/'")])
def test_a_name_that_no_path_can_hold_is_refused(admin: httpx.Client, name: str, why: str) -> None:
    status = status_of(admin.get(f"/api/v1/namespaces/default/configmaps/{name}"))
    assert status[:2] == (400, "BadRequest")
    assert status[2].startswith("Name parameter invalid: ")
    assert status[2].endswith(f": {why}")


def test_an_unknown_object_is_named_in_the_answer(admin: httpx.Client) -> None:
    response = admin.get("/apis/apps/v1/namespaces/default/deployments/ghost")
    assert status_of(response) == (404, "NotFound", 'deployments.apps "ghost" not found')
    assert response.json()["details"] == {"name": "ghost", "group": "apps", "kind": "deployments"}


def test_a_create_in_an_unknown_namespace_is_not_found(admin: httpx.Client) -> None:
    response = admin.post("/api/v1/namespaces/nowhere/configmaps", json={"metadata": {"name": "a"}})
    assert status_of(response) == (404, "NotFound", 'namespaces "nowhere" not found')


def test_a_namespace_that_differs_from_the_path_is_refused(admin: httpx.Client, namespace: str) -> None:
    body = {"metadata": {"name": "a", "namespace": "other"}}
    code, reason, message = status_of(admin.post(f"/api/v1/namespaces/{namespace}/configmaps", json=body))
    assert (code, reason) == (400, "BadRequest")
    assert message == "the namespace of the provided object does not match the namespace sent on the request"


@pytest.mark.parametrize("body", [b"{", b"[1,2]", b"\x00\x01", b'{"metadata": 7}', b'"text"'])
def test_a_body_that_is_no_object_is_a_bad_request(admin: httpx.Client, namespace: str, body: bytes) -> None:
    response = admin.post(
        f"/api/v1/namespaces/{namespace}/configmaps", content=body, headers={"content-type": "application/json"}
    )
    assert status_of(response)[:2] == (400, "BadRequest")


@pytest.mark.parametrize("length_is_announced", [True, False])
def test_a_body_over_3_mib_is_too_large(admin: httpx.Client, namespace: str, length_is_announced: bool) -> None:
    body = b'{"metadata":{"name":"big"},"data":{"a":"' + b"x" * (3 * 1024 * 1024) + b'"}}'
    content = body if length_is_announced else iter([body[:100_000], body[100_000:]])
    response = admin.post(
        f"/api/v1/namespaces/{namespace}/configmaps", content=content, headers={"content-type": "application/json"}
    )
    assert status_of(response) == (413, "RequestEntityTooLarge", "Request entity too large: limit is 3145728")


def test_an_update_of_an_old_version_conflicts(admin: httpx.Client, namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    old = admin.post(path, json={"metadata": {"name": "a"}}).json()
    newer = admin.put(f"{path}/a", json={**old, "data": {"x": "1"}})
    assert newer.status_code == 200
    code, reason, message = status_of(admin.put(f"{path}/a", json={**old, "data": {"x": "2"}}))
    assert (code, reason) == (409, "Conflict")
    assert message == (
        'Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your changes to '
        "the latest version and try again"
    )
    assert admin.get(f"{path}/a").json()["data"] == {"x": "1"}


def test_a_second_create_of_a_name_conflicts(admin: httpx.Client, namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    admin.post(path, json={"metadata": {"name": "a"}})
    response = admin.post(path, json={"metadata": {"name": "a"}})
    assert status_of(response) == (409, "AlreadyExists", 'configmaps "a" already exists')


def test_a_create_of_what_is_going_says_so(admin: httpx.Client, namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    admin.post(path, json={"metadata": {"name": "a", "finalizers": ["example.com/wait"]}})
    admin.delete(f"{path}/a")
    message = 'object is being deleted: configmaps "a" already exists'
    response = admin.post(path, json={"metadata": {"name": "a"}})
    assert status_of(response) == (409, "AlreadyExists", message)


@pytest.mark.parametrize("content_type", ["text/plain", "application/xml", "application/cbor"])
def test_an_unknown_content_type_is_unsupported(admin: httpx.Client, namespace: str, content_type: str) -> None:
    response = admin.post(
        f"/api/v1/namespaces/{namespace}/configmaps", content=b"{}", headers={"content-type": content_type}
    )
    code, reason, message = status_of(response)
    assert (code, reason) == (415, "UnsupportedMediaType")
    assert message.startswith("the body of the request was in an unknown format - accepted media types include: ")


def test_a_form_that_is_not_served_is_not_acceptable(admin: httpx.Client) -> None:
    response = admin.get("/api/v1/nodes", headers={"accept": "application/xml"})
    assert status_of(response)[:2] == (406, "NotAcceptable")


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/api/v1/namespaces/default/configmaps/a"),
        ("PATCH", "/api/v1/namespaces/default/configmaps"),
        ("DELETE", "/api/v1/namespaces"),
        ("GET", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"),
        ("POST", "/version"),
    ],
)
def test_a_method_that_a_path_does_not_have_is_not_allowed(admin: httpx.Client, method: str, path: str) -> None:
    response = admin.request(method, path)
    assert status_of(response) == (
        405,
        "MethodNotAllowed",
        "the server does not allow this method on the requested resource",
    )


@pytest.mark.parametrize(
    "query", ["labelSelector=a=b=c", "fieldSelector=spec.nope=x", "resourceVersion=x", "limit=many", "timeout=soon"]
)
def test_a_query_that_means_nothing_is_a_bad_request(admin: httpx.Client, query: str) -> None:
    assert status_of(admin.get(f"/api/v1/pods?{query}"))[:2] == (400, "BadRequest")


def test_an_unknown_token_is_unauthorized(server: harness.Server) -> None:
    with server.client("nobodys-token") as client:
        assert status_of(client.get("/api/v1/pods")) == (401, "Unauthorized", "Unauthorized")


def test_a_user_without_rights_is_told_what_it_may_not(server: harness.Server) -> None:
    with server.client("bob-token") as client:
        response = client.get("/api/v1/namespaces/default/pods")
        assert status_of(response) == (
            403,
            "Forbidden",
            'pods is forbidden: User "bob" cannot list resource "pods" in API group "" in the namespace "default"',
        )
        assert response.json()["details"] == {"kind": "pods"}
        named = client.delete("/apis/apps/v1/namespaces/default/deployments/web")
        assert status_of(named)[2] == (
            'deployments.apps "web" is forbidden: User "bob" cannot delete resource "deployments" in API group "apps" '
            'in the namespace "default"'
        )
        cluster = client.get("/api/v1/nodes")
        assert status_of(cluster)[2] == (
            'nodes is forbidden: User "bob" cannot list resource "nodes" in API group "" at the cluster scope'
        )
        assert status_of(client.get("/metrics"))[2] == 'forbidden: User "bob" cannot get path "/metrics"'


def test_an_anonymous_user_sees_health_and_nothing_else(server: harness.Server) -> None:
    with server.client() as client:
        assert client.get("/healthz").text == "ok"
        assert client.get("/version").json()["major"] == "1"
        code, reason, message = status_of(client.get("/api"))
        assert (code, reason) == (403, "Forbidden")
        assert message == 'forbidden: User "system:anonymous" cannot get path "/api"'


def test_a_certificate_of_a_foreign_ca_gets_nothing(server: harness.Server) -> None:
    from certs.authority import Authority

    pair = Authority.create("elsewhere").issue_client("kubernetes-admin", ["system:masters"])
    cert, key = server.folder / "foreign.crt", server.folder / "foreign.key"
    cert.write_bytes(pair.cert_pem)
    key.write_bytes(pair.key_pem)
    context = ssl.create_default_context(cafile=str(server.pki.ca))
    context.load_cert_chain(cert, key)
    with httpx.Client(verify=context, trust_env=False) as client, pytest.raises(httpx.TransportError):
        client.get(f"{server.url}/api")


def test_bytes_that_are_no_http_end_the_connection_with_400(server: harness.Server) -> None:
    context = ssl.create_default_context(cafile=str(server.pki.ca))
    with (
        socket.create_connection(("127.0.0.1", server.port), timeout=5) as raw,
        context.wrap_socket(raw, server_hostname="127.0.0.1") as tls,
    ):
        tls.sendall(b"HELLO\r\n\r\n")
        answer = tls.recv(4096)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"Traceback" not in answer


def test_names_that_are_no_names_are_refused_with_the_field(admin: httpx.Client, namespace: str) -> None:
    response = admin.post(f"/api/v1/namespaces/{namespace}/configmaps", json={"metadata": {"name": "Not_A_Name"}})
    code, reason, message = status_of(response)
    assert (code, reason) == (422, "Invalid")
    assert message.startswith('ConfigMap "Not_A_Name" is invalid: metadata.name: Invalid value: "Not_A_Name": ')
    assert response.json()["details"]["causes"][0]["field"] == "metadata.name"


def test_unknown_fields_are_refused_warned_of_or_dropped_as_asked(admin: httpx.Client, namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    body = {"metadata": {"name": "a"}, "datum": {}}
    strict = admin.post(path, params={"fieldValidation": "Strict", "dryRun": "All"}, json=body)
    assert status_of(strict)[2].endswith('strict decoding error: unknown field "datum"')
    warned = admin.post(path, params={"dryRun": "All"}, json=body)
    assert warned.status_code == 201
    assert warned.headers["warning"] == '299 - "unknown field \\"datum\\""'
    ignored = admin.post(path, params={"fieldValidation": "Ignore", "dryRun": "All"}, json=body)
    assert "warning" not in ignored.headers


def test_an_immortal_namespace_stays(admin: httpx.Client) -> None:
    assert status_of(admin.delete("/api/v1/namespaces/default"))[2] == (
        'namespaces "default" is forbidden: this namespace may not be deleted'
    )


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"preconditions": "x"}, 400),
        ({"preconditions": {"uid": 5}}, 400),
        ({"orphanDependents": "x"}, 400),
        ({"gracePeriodSeconds": 1.5}, 400),
        ({"dryRun": ["x"]}, 422),
        ({"propagationPolicy": "Sometimes"}, 422),
        ({"kind": "Pod"}, 400),
    ],
)
def test_delete_options_that_mean_nothing_delete_nothing(
    admin: httpx.Client, namespace: str, options: dict[str, object], code: int
) -> None:
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    admin.post(path, json={"metadata": {"name": "kept"}})
    assert status_of(admin.request("DELETE", f"{path}/kept", json=options))[0] == code
    assert admin.get(f"{path}/kept").status_code == 200


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("fieldManager=" + "x" * 129, "fieldManager"),
        ("fieldManager=a%01", "fieldManager"),
        ("dryRun=Some", "dryRun"),
        ("fieldValidation=Some", "fieldValidation"),
        ("force=true", "force"),
    ],
)
def test_write_options_that_mean_nothing_are_invalid(
    admin: httpx.Client, namespace: str, query: str, field: str
) -> None:
    path = f"/api/v1/namespaces/{namespace}/configmaps/any?{query}"
    response = admin.patch(path, json={}, headers={"content-type": "application/merge-patch+json"})
    code, reason, message = status_of(response)
    assert (code, reason) == (422, "Invalid")
    assert message.startswith(f'PatchOptions.meta.k8s.io "" is invalid: {field}: ')


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        ({"name": "other"}, "the name of the object (other) does not match the name on the URL (here)"),
        (None, "the name of the object (here based on URL) was undeterminable: name must be provided"),
        (
            {"namespace": "other"},
            "the namespace of the provided object does not match the namespace sent on the request",
        ),
    ],
)
def test_a_patch_moves_no_object(admin: httpx.Client, namespace: str, patch: object, message: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    admin.post(path, json={"metadata": {"name": "here"}})
    headers = {"content-type": "application/merge-patch+json"}
    response = admin.patch(f"{path}/here", json={"metadata": patch}, headers=headers)
    assert status_of(response)[:2] == (400, "BadRequest")
    assert response.json()["message"] == message

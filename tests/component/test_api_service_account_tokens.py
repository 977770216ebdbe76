"""Tokens of service accounts through a live server: asked for, used, reviewed, bound, revoked."""

from __future__ import annotations

from typing import Any

import httpx
import jwt
import pytest

from tests import harness

ACCOUNT = "robot"


@pytest.fixture
def account(admin: httpx.Client, namespace: str) -> str:
    """The path of a service account that may read ConfigMaps."""
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts"
    assert admin.post(path, json={"metadata": {"name": ACCOUNT}}).status_code == 201
    rbac = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}"
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]}]
    assert admin.post(f"{rbac}/roles", json={"metadata": {"name": "r"}, "rules": rules}).status_code == 201
    subject = {"kind": "ServiceAccount", "name": ACCOUNT, "namespace": namespace}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"}
    body = {"metadata": {"name": "b"}, "subjects": [subject], "roleRef": role}
    assert admin.post(f"{rbac}/rolebindings", json=body).status_code == 201
    return f"{path}/{ACCOUNT}"


def ask(admin: httpx.Client, account: str, **spec: Any) -> httpx.Response:
    return admin.post(f"{account}/token", json={"spec": spec})


def issued(admin: httpx.Client, account: str, **spec: Any) -> str:
    answer = ask(admin, account, **spec)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["status"]["token"])


def listing(server: harness.Server, token: str, namespace: str) -> httpx.Response:
    with server.client(token) as client:
        return client.get(f"/api/v1/namespaces/{namespace}/configmaps")


def test_a_token_gives_its_account_the_rights_it_has(
    server: harness.Server, admin: httpx.Client, account: str, namespace: str
) -> None:
    answer = ask(admin, account).json()
    assert (answer["kind"], answer["spec"]["audiences"]) == ("TokenRequest", [harness.ISSUER])
    assert answer["spec"]["expirationSeconds"] == 3600
    token = answer["status"]["token"]
    assert listing(server, token, namespace).status_code == 200
    with server.client(token) as client:
        refused = client.get(f"/api/v1/namespaces/{namespace}/secrets")
        whoami = client.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", json={}).json()
    user = f"system:serviceaccount:{namespace}:{ACCOUNT}"
    assert refused.status_code == 403
    assert f'User "{user}" cannot list resource "secrets"' in refused.json()["message"]
    assert whoami["status"]["userInfo"]["username"] == user
    groups = ["system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated"]
    assert whoami["status"]["userInfo"]["groups"] == groups


def test_kubectl_creates_a_token_and_uses_it(server: harness.Server, account: str, namespace: str) -> None:
    token = server.kubectl("create", "token", ACCOUNT, "-n", namespace, "--duration", "20m").strip()
    stated = jwt.decode(token, options={"verify_signature": False})
    assert stated["exp"] - stated["iat"] == 1200
    assert listing(server, token, namespace).status_code == 200


@pytest.mark.parametrize(
    ("seconds", "why"),
    [
        (599, "spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes"),
        (
            2**32 + 1,
            "spec.expirationSeconds: Invalid value: 4294967297: may not specify a duration larger than 2^32 se",
        ),
    ],
)
def test_a_time_out_of_bounds_is_refused(admin: httpx.Client, account: str, seconds: int, why: str) -> None:
    answer = ask(admin, account, expirationSeconds=seconds)
    assert answer.status_code == 422
    assert why in answer.json()["message"]


def test_an_account_that_does_not_exist_has_no_tokens(admin: httpx.Client, account: str) -> None:
    answer = ask(admin, account.replace(ACCOUNT, "absent"))
    assert (answer.status_code, answer.json()["message"]) == (404, 'serviceaccounts "absent" not found')


def test_a_token_for_others_is_none_for_us_and_reviews_as_theirs(
    server: harness.Server, admin: httpx.Client, account: str, namespace: str
) -> None:
    token = issued(admin, account, audiences=["vault"])
    assert listing(server, token, namespace).status_code == 401

    def review(*audiences: str) -> dict[str, Any]:
        spec = {"token": token, "audiences": list(audiences)}
        answer = admin.post("/apis/authentication.k8s.io/v1/tokenreviews", json={"spec": spec})
        return dict(answer.json()["status"])

    theirs = review("vault", "another")
    assert (theirs["authenticated"], theirs["audiences"]) == (True, ["vault"])
    assert theirs["user"]["username"] == f"system:serviceaccount:{namespace}:{ACCOUNT}"
    assert "authenticated" not in review()
    assert "invalid for the target audiences" in review("db")["error"]


def test_a_bound_token_dies_with_its_object(
    server: harness.Server, admin: httpx.Client, account: str, namespace: str
) -> None:
    secrets = f"/api/v1/namespaces/{namespace}/secrets"
    made = admin.post(secrets, json={"metadata": {"name": "s"}}).json()
    reference = {"apiVersion": "v1", "kind": "Secret", "name": "s"}
    wrong = ask(admin, account, boundObjectRef=reference | {"uid": "another"})
    assert wrong.status_code == 409
    assert "the UID in the bound object reference (another) does not match the UID in record" in wrong.json()["message"]
    token = issued(admin, account, boundObjectRef=reference | {"uid": made["metadata"]["uid"]})
    assert listing(server, token, namespace).status_code == 200
    admin.delete(f"{secrets}/s")
    assert listing(server, token, namespace).status_code == 401


def test_a_pods_token_is_for_the_pods_own_account(admin: httpx.Client, account: str, namespace: str) -> None:
    spec = {"containers": [{"name": "c", "image": "nginx"}], "serviceAccountName": "default"}
    pods = f"/api/v1/namespaces/{namespace}/pods"
    assert admin.post(pods, json={"metadata": {"name": "p"}, "spec": spec}).status_code == 201
    reference = {"apiVersion": "v1", "kind": "Pod", "name": "p"}
    answer = ask(admin, account, boundObjectRef=reference)
    assert answer.status_code == 400
    assert "to pod running with different serviceaccount name." in answer.json()["message"]
    unknown = ask(admin, account, boundObjectRef=reference | {"kind": "ConfigMap"})
    assert unknown.status_code == 400
    assert "cannot bind token to object of type /v1, Kind=ConfigMap" in unknown.json()["message"]


def test_a_deleted_accounts_token_is_refused(
    server: harness.Server, admin: httpx.Client, account: str, namespace: str
) -> None:
    token = issued(admin, account)
    admin.delete(account)
    assert listing(server, token, namespace).status_code == 401


def test_tokens_may_be_made_by_who_has_the_right(server: harness.Server, account: str) -> None:
    with server.client("bob-token") as bob:
        assert bob.post(f"{account}/token", json={}).status_code == 403


def test_others_find_the_keys(server: harness.Server, admin: httpx.Client, account: str) -> None:
    configuration = admin.get("/.well-known/openid-configuration").json()
    assert configuration["issuer"] == harness.ISSUER
    answer = admin.get("/openid/v1/jwks")
    assert answer.headers["content-type"] == "application/jwk-set+json"
    [key] = answer.json()["keys"]
    stated = jwt.decode(issued(admin, account), jwt.PyJWK(key), algorithms=[key["alg"]], audience=harness.ISSUER)
    assert stated["sub"].endswith(f":{ACCOUNT}")
    with server.client() as anonymous:
        assert anonymous.get("/openid/v1/jwks").status_code == 403

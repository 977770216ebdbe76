"""Who asks and what they may: tokens, certificates, impersonation, RBAC as it changes, the review APIs."""

from __future__ import annotations

import time
from collections.abc import Callable

import httpx
import orjson
import pytest

from tests import harness

_RBAC = "/apis/rbac.authorization.k8s.io/v1"


def until(condition: Callable[[], bool], timeout_seconds: float = 5.0) -> None:
    """Waits until the authorizer or authenticator has heard of a change."""
    started = time.monotonic()
    while not condition():
        assert time.monotonic() - started < timeout_seconds, "it did not happen in time"
        time.sleep(0.02)


def who(client: httpx.Client, **headers: str) -> dict[str, object]:
    response = client.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", json={}, headers=headers)
    assert response.status_code == 201, response.text
    info: dict[str, object] = response.json()["status"]["userInfo"]
    return info


def test_a_token_gives_user_uid_and_groups(server: harness.Server) -> None:
    with server.client("alice-token") as client:
        assert who(client) == {
            "username": "alice",
            "uid": "1001",
            "groups": ["team-a", "team-b", "system:authenticated"],
        }


def test_a_certificate_gives_user_and_groups_from_its_subject(server: harness.Server) -> None:
    with server.client(identity="scheduler") as client:
        info = who(client)
    assert info["username"] == "system:kube-scheduler"
    assert info["groups"] == ["system:authenticated"]
    assert str(info["extra"]).startswith("{'authentication.kubernetes.io/credential-id': ['X509SHA256=")


def test_a_wrong_token_is_no_anonymous_user(server: harness.Server) -> None:
    with server.client("wrong") as client:
        assert client.get("/healthz").status_code == 401


def test_a_changed_token_file_is_read_again(server: harness.Server) -> None:
    before = server.tokens.read_text()
    with server.client("late-token") as client:
        assert client.get("/healthz").status_code == 401
        server.tokens.write_text(before + "late-token,late,77\n")
        until(lambda: client.get("/healthz").status_code == 200)
        server.tokens.write_text("broken\n")
        time.sleep(1.1)  # the file is looked at once a second
        assert client.get("/healthz").status_code == 200
        server.tokens.write_text(before)
        until(lambda: client.get("/healthz").status_code == 401)


def test_a_role_gives_rights_in_its_namespace_as_soon_as_it_is_bound(
    server: harness.Server, admin: httpx.Client, namespace: str
) -> None:
    with server.client("bob-token") as bob:
        pods = f"/api/v1/namespaces/{namespace}/pods"
        assert bob.get(pods).status_code == 403
        rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}]
        base = f"{_RBAC}/namespaces/{namespace}"
        admin.post(f"{base}/roles", json={"metadata": {"name": "lister"}, "rules": rules})
        binding = {
            "metadata": {"name": "lister"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "lister"},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "bob"}],
        }
        assert admin.post(f"{base}/rolebindings", json=binding).status_code == 201
        until(lambda: bob.get(pods).status_code == 200)
        assert bob.get(f"{pods}/x").status_code == 403
        assert bob.get("/api/v1/namespaces/default/pods").status_code == 403
        admin.delete(f"{base}/rolebindings/lister")
        until(lambda: bob.get(pods).status_code == 403)


def test_nobody_gives_away_rights_that_he_does_not_hold(
    server: harness.Server, admin: httpx.Client, namespace: str
) -> None:
    base = f"{_RBAC}/namespaces/{namespace}"
    manage = {"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles", "rolebindings"]}
    manage["verbs"] = ["create", "update", "get"]
    read = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
    admin.post(f"{base}/roles", json={"metadata": {"name": "manager"}, "rules": [manage, read]})
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "bob"}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "manager"}
    admin.post(f"{base}/rolebindings", json={"metadata": {"name": "m"}, "roleRef": reference, "subjects": [subject]})
    with server.client("bob-token") as bob:
        until(lambda: bob.get(f"{base}/roles/manager").status_code == 200)
        own = bob.post(f"{base}/roles", json={"metadata": {"name": "own"}, "rules": [read]})
        assert own.status_code == 201
        more = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "delete", "list"]}
        refused = bob.post(f"{base}/roles", json={"metadata": {"name": "more"}, "rules": [more]})
        assert refused.status_code == 403
        assert refused.json()["message"] == (
            'roles.rbac.authorization.k8s.io "more" is forbidden: user "bob" (groups=["system:authenticated"]) is '
            "attempting to grant RBAC permissions not currently held:\n"
            '{APIGroups:[""], Resources:["pods"], Verbs:["delete" "list"]}'
        )
        everything = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
        body = {"metadata": {"name": "up"}, "roleRef": everything, "subjects": [subject]}
        assert bob.post(f"{base}/rolebindings", json=body).status_code == 403


def test_an_aggregated_role_gathers_what_is_labelled_for_it(
    server: harness.Server, admin: httpx.Client, namespace: str
) -> None:
    role = {
        "metadata": {"name": f"extra-{namespace}", "labels": {"rbac.authorization.k8s.io/aggregate-to-view": "true"}},
        "rules": [{"apiGroups": ["extra.example.com"], "resources": ["gadgets"], "verbs": ["get"]}],
    }
    binding = {
        "metadata": {"name": "viewer"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "team-a"}],
    }
    admin.post(f"{_RBAC}/clusterroles", json=role)
    admin.post(f"{_RBAC}/namespaces/{namespace}/rolebindings", json=binding)
    with server.client("alice-token") as alice:
        until(lambda: alice.get(f"/api/v1/namespaces/{namespace}/pods").status_code == 200)
        assert alice.get(f"/api/v1/namespaces/{namespace}/secrets").status_code == 403
        gadgets = f"/apis/extra.example.com/v1/namespaces/{namespace}/gadgets/x"
        assert alice.get(gadgets).status_code == 404, "allowed, though nobody serves it"
    admin.delete(f"{_RBAC}/clusterroles/extra-{namespace}")


def test_only_who_may_impersonate_acts_as_another(server: harness.Server, admin: httpx.Client) -> None:
    acting = {"impersonate-user": "carol", "impersonate-group": "team-c", "impersonate-extra-scopes": "read"}
    info = who(admin, **acting)
    assert info == {
        "username": "carol",
        "groups": ["team-c", "system:authenticated"],
        "extra": {"scopes": ["read"]},
    }
    account = who(admin, **{"impersonate-user": "system:serviceaccount:kube-system:x"})
    assert account["groups"] == ["system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"]
    with server.client("bob-token") as bob:
        refused = bob.get("/api", headers={"impersonate-user": "root"})
        assert refused.status_code == 403
        assert refused.json()["message"] == (
            'users "root" is forbidden: User "bob" cannot impersonate resource "users" in API group "" '
            "at the cluster scope"
        )
    nobody = admin.get("/api", headers={"impersonate-group": "system:masters"})
    assert nobody.status_code == 400
    assert nobody.json()["message"] == "requested [system:masters] without impersonating a user"


@pytest.mark.parametrize(
    ("user", "groups", "attributes", "allowed"),
    [
        ("bob", [], {"verb": "get", "resource": "pods", "namespace": "default"}, False),
        ("x", ["system:masters"], {"verb": "delete", "resource": "nodes"}, True),
        ("system:kube-scheduler", [], {"verb": "create", "resource": "pods", "subresource": "binding"}, True),
        ("system:kube-scheduler", [], {"verb": "delete", "resource": "nodes"}, False),
        ("n", ["system:nodes"], {"verb": "patch", "resource": "pods", "subresource": "status"}, True),
        ("n", ["system:nodes"], {"verb": "delete", "resource": "nodes"}, False),
    ],
)
def test_an_access_review_says_what_the_authorizer_would(
    admin: httpx.Client, user: str, groups: list[str], attributes: dict[str, str], allowed: bool
) -> None:
    spec = {"user": user, "groups": groups, "resourceAttributes": attributes}
    review = admin.post("/apis/authorization.k8s.io/v1/subjectaccessreviews", json={"spec": spec})
    assert review.status_code == 201
    assert review.json()["status"]["allowed"] is allowed


def test_a_rules_review_lists_what_one_may(server: harness.Server) -> None:
    with server.client("bob-token") as bob:
        body = {"spec": {"namespace": "default"}}
        status = bob.post("/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", json=body).json()["status"]
    assert status["incomplete"] is False
    assert {"apiGroups": ["authentication.k8s.io"], "resources": ["selfsubjectreviews"], "verbs": ["create"]} in (
        status["resourceRules"]
    )
    assert any("/openapi/*" in rule["nonResourceURLs"] for rule in status["nonResourceRules"])


def test_a_token_review_tells_whose_a_token_is(admin: httpx.Client) -> None:
    path = "/apis/authentication.k8s.io/v1/tokenreviews"
    known = admin.post(path, json={"spec": {"token": "alice-token"}}).json()["status"]
    assert known["authenticated"] is True
    assert known["user"]["username"] == "alice"
    unknown = admin.post(path, json={"spec": {"token": "nobodys"}}).json()["status"]
    assert unknown.get("authenticated", False) is False


def test_bootstrap_roles_regain_what_was_taken_from_them(admin: httpx.Client) -> None:
    role = admin.get(f"{_RBAC}/clusterroles/system:discovery").json()
    assert role["metadata"]["labels"] == {"kubernetes.io/bootstrapping": "rbac-defaults"}
    assert role["metadata"]["annotations"] == {"rbac.authorization.kubernetes.io/autoupdate": "true"}
    names = {item["metadata"]["name"] for item in admin.get(f"{_RBAC}/clusterroles").json()["items"]}
    assert {"cluster-admin", "admin", "edit", "view", "system:node", "system:controller:deployment-controller"} <= names


def test_rights_in_a_namespace_reach_that_namespace_and_no_other(server: harness.Server, namespace: str) -> None:
    with server.admin() as admin, server.client("bob-token") as bob:
        admin.post("/api/v1/namespaces", json={"metadata": {"name": f"{namespace}-other"}})
        admin.post(f"{_RBAC}/namespaces/{namespace}/rolebindings", json=_binding("all", "cluster-admin", "bob"))
        own = f"/api/v1/namespaces/{namespace}"
        until(lambda: bob.get(own).status_code == 200)
        for method, path in [
            ("GET", "namespaces"),
            ("POST", "namespaces"),
            ("DELETE", "namespaces"),
            ("GET", f"namespaces/{namespace}-other"),
            ("DELETE", f"namespaces/{namespace}-other"),
            ("GET", f"namespaces/{namespace}-other/status"),
        ]:
            assert bob.request(method, f"{own}/{path}").status_code == 404, (method, path)
        watched = bob.get(f"/api/v1/watch/namespaces/{namespace}?timeoutSeconds=1").text.splitlines()
        assert [orjson.loads(line)["object"]["metadata"]["name"] for line in watched] == [namespace]


def test_a_right_to_one_name_is_not_stretched_by_a_selector(server: harness.Server, namespace: str) -> None:
    with server.admin() as admin, server.client("bob-token") as bob:
        rules = [{"apiGroups": [""], "resources": ["pods"], "resourceNames": ["mine"], "verbs": ["list"]}]
        roles = f"{_RBAC}/namespaces/{namespace}"
        admin.post(f"{roles}/roles", json={"metadata": {"name": "one"}, "rules": rules})
        admin.post(f"{roles}/rolebindings", json=_binding("one", "one", "bob", kind="Role"))
        pods = f"/api/v1/namespaces/{namespace}/pods"
        until(lambda: bob.get(pods, params={"fieldSelector": "metadata.name=mine"}).status_code == 200)
        stretched = {"fieldSelector": "status.phase!=x\\,metadata.name=mine"}
        assert bob.get(pods, params=stretched).status_code == 403


def test_a_role_whose_aggregation_cannot_be_read_is_refused(server: harness.Server) -> None:
    with server.admin() as admin:
        selector = {"matchExpressions": [{"key": "a", "operator": "Like"}]}
        for chosen in ([selector], []):
            body = {"metadata": {"name": "odd"}, "aggregationRule": {"clusterRoleSelectors": chosen}}
            refused = admin.post(f"{_RBAC}/clusterroles", json=body)
            assert refused.status_code == 422
            assert refused.json()["details"]["causes"][0]["field"].startswith("aggregationRule.clusterRoleSelectors")


def _binding(name: str, role: str, user: str, kind: str = "ClusterRole") -> dict[str, object]:
    group = "rbac.authorization.k8s.io"
    return {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": group, "kind": kind, "name": role},
        "subjects": [{"kind": "User", "name": user, "apiGroup": group}],
    }

"""Front proxies: who has a certificate of their authority may name users by headers; nobody else may."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from certs import files
from certs.authority import Authority
from tests import harness

WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
HEADERS = [
    ("x-remote-user", "jo"),
    ("x-remote-group", "a"),
    ("x-remote-group", "b"),
    ("x-remote-extra-scopes%2fx", "1"),
    ("x-remote-extra-scopes%2fx", "2"),
]


def who(client: httpx.Client, headers: Any = ()) -> dict[str, Any]:
    answer = client.post(WHO, json={}, headers=list(headers))
    assert answer.status_code == 201, answer.text
    return answer.json()["status"]["userInfo"]  # type: ignore[no-any-return]


def test_a_front_proxy_names_the_user_its_groups_and_more(server: harness.Server) -> None:
    with server.client(identity="front-proxy-client") as proxy:
        assert who(proxy, HEADERS) == {
            "username": "jo",
            "groups": ["a", "b", "system:authenticated"],
            "extra": {"scopes/x": ["1", "2"]},
        }
        # each request names its own, on one connection
        assert who(proxy, [("x-remote-user", "di")])["username"] == "di"


def test_without_headers_its_certificate_is_nobodys(server: harness.Server) -> None:
    with server.client(identity="front-proxy-client") as proxy:
        assert (
            proxy.post(WHO, json={})
            .json()["message"]
            .startswith('selfsubjectreviews.authentication.k8s.io is forbidden: User "system:anonymous"')
        )


@pytest.mark.parametrize(
    ("credential", "name"), [({"identity": "scheduler"}, "system:kube-scheduler"), ({"token": "bob-token"}, "bob")]
)
def test_others_cannot_name_anybody(server: harness.Server, credential: Any, name: str) -> None:
    with server.client(**credential) as client:
        assert who(client, [("x-remote-user", "root"), ("x-remote-group", "system:masters")])["username"] == name


def test_a_common_name_that_is_not_allowed_is_refused(server: harness.Server, tmp_path: Path) -> None:
    pki = server.pki
    authority = Authority.load(pki.cert("front-proxy-ca"), pki.key("front-proxy-ca"))
    files.write_pair(pki.cert("other-proxy"), pki.key("other-proxy"), authority.issue_client("other"))
    with server.client(identity="other-proxy") as proxy:
        refused = proxy.post(WHO, json={}, headers=HEADERS)
        assert (refused.status_code, refused.json()["reason"]) == (401, "Unauthorized")


def test_extension_servers_find_how_to_authenticate_clients(server: harness.Server, admin: httpx.Client) -> None:
    found = admin.get("/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication").json()["data"]
    assert found["client-ca-file"] == server.pki.ca.read_text()
    assert found["requestheader-client-ca-file"] == server.pki.cert("front-proxy-ca").read_text()
    assert json.loads(found["requestheader-allowed-names"]) == ["front-proxy-client"]
    assert json.loads(found["requestheader-username-headers"]) == ["X-Remote-User"]
    assert json.loads(found["requestheader-extra-headers-prefix"]) == ["X-Remote-Extra-"]

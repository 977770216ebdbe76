"""Admission webhooks: changing, refusing, failing, being left out."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.component import peers

_GROUP = "/apis/admissionregistration.k8s.io/v1"


class Registered:
    """Webhooks for one namespace, registered for one test."""

    def __init__(self, admin: httpx.Client, namespace: str, folder: Path, stack: ExitStack) -> None:
        self._admin = admin
        self._namespace = namespace
        self._folder = folder
        self._stack = stack

    def add(self, kind: str, name: str, answer: Callable[[peers.Review], peers.Review], **fields: Any) -> None:
        """`kind` is mutating or validating."""
        folder = self._folder / name
        folder.mkdir()
        url, ca = self._stack.enter_context(peers.webhook(folder, answer))
        webhook = {
            "name": f"{name}.example.com",
            "clientConfig": {"url": url, "caBundle": base64.b64encode(ca).decode()},
            "rules": [{"operations": ["*"], "apiGroups": [""], "apiVersions": ["*"], "resources": ["configmaps"]}],
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": self._namespace}},
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            **fields,
        }
        path = f"{_GROUP}/{kind}webhookconfigurations"
        body = {"metadata": {"name": f"{self._namespace}-{name}"}, "webhooks": [webhook]}
        created = self._admin.post(path, json=body)
        assert created.status_code == 201, created.text
        self._stack.callback(self._admin.delete, f"{path}/{self._namespace}-{name}")

    def create(self, name: str = "a", **query: str) -> httpx.Response:
        """A ConfigMap, once the server has heard of all webhooks."""
        self._admin.get("/api/v1/namespaces")  # a consistent read: the cache has all that was written before
        path = f"/api/v1/namespaces/{self._namespace}/configmaps"
        return self._admin.post(path, params=query, json={"metadata": {"name": name}, "data": {"x": "1"}})


@pytest.fixture
def registered(admin: httpx.Client, namespace: str, tmp_path: Path) -> Any:
    with ExitStack() as stack:
        yield Registered(admin, namespace, tmp_path, stack)


def patched(*operations: dict[str, Any]) -> peers.Review:
    encoded = base64.b64encode(json.dumps(operations).encode()).decode()
    return {"allowed": True, "patchType": "JSONPatch", "patch": encoded}


def test_a_mutating_webhook_changes_what_is_stored(registered: Registered, admin: httpx.Client, namespace: str) -> None:
    seen: list[peers.Review] = []

    def answer(request: peers.Review) -> peers.Review:
        seen.append(request)
        return patched({"op": "add", "path": "/data/added", "value": "yes"}) | {"warnings": ["mind the gap"]}

    registered.add("mutating", "adds", answer)
    created = registered.create()
    assert created.status_code == 201
    assert created.json()["data"] == {"x": "1", "added": "yes"}
    assert created.headers["warning"] == '299 - "mind the gap"'
    stored = admin.get(f"/api/v1/namespaces/{namespace}/configmaps/a").json()
    assert stored["data"] == {"x": "1", "added": "yes"}
    request = seen[0]
    assert request["kind"] == {"group": "", "version": "v1", "kind": "ConfigMap"}
    assert request["resource"] == {"group": "", "version": "v1", "resource": "configmaps"}
    assert (request["operation"], request["namespace"], request["name"]) == ("CREATE", namespace, "a")
    assert request["userInfo"]["username"] == "root"
    assert request["object"]["data"] == {"x": "1"}
    assert request["dryRun"] is False


def test_a_later_webhook_sees_what_an_earlier_one_changed(registered: Registered) -> None:
    registered.add("mutating", "a-first", lambda _: patched({"op": "add", "path": "/data/n", "value": "1"}))
    registered.add(
        "mutating",
        "b-second",
        lambda request: patched({"op": "replace", "path": "/data/n", "value": request["object"]["data"]["n"] + "2"}),
    )
    assert registered.create().json()["data"]["n"] == "12"


def test_a_refusal_fails_the_request_in_the_webhooks_words(registered: Registered) -> None:
    registered.add("validating", "no", lambda _: {"allowed": False, "status": {"message": "not here", "code": 403}})
    refused = registered.create()
    assert refused.status_code == 403
    assert refused.json()["message"] == 'admission webhook "no.example.com" denied the request: not here'


def test_a_refusal_without_reason_says_so(registered: Registered) -> None:
    registered.add("validating", "no", lambda _: {"allowed": False})
    refused = registered.create()
    assert refused.status_code == 400
    assert refused.json()["message"] == 'admission webhook "no.example.com" denied the request without explanation'


def test_a_webhook_that_is_too_slow_fails_the_request_or_is_ignored(registered: Registered) -> None:
    def slow(_: peers.Review) -> peers.Review:
        time.sleep(1.5)
        return {"allowed": False}

    registered.add("validating", "slow", slow, timeoutSeconds=1, failurePolicy="Ignore")
    assert registered.create("ignored").status_code == 201
    registered.add("validating", "strict", slow, timeoutSeconds=1)
    failed = registered.create("failed")
    assert failed.status_code == 500
    message = failed.json()["message"]
    assert message.startswith('Internal error occurred: failed calling webhook "strict.example.com": failed to call')
    assert message.endswith("context deadline exceeded")


def test_an_unreachable_webhook_fails_the_request(registered: Registered) -> None:
    registered.add("mutating", "gone", lambda _: {"allowed": True}, clientConfig={"url": "https://127.0.0.1:1/"})
    failed = registered.create()
    assert failed.status_code == 500
    assert 'failed calling webhook "gone.example.com"' in failed.json()["message"]
    assert "Traceback" not in failed.text


def test_a_dry_run_is_told_to_the_webhook_and_writes_nothing(
    registered: Registered, admin: httpx.Client, namespace: str
) -> None:
    registered.add("validating", "quiet", lambda request: {"allowed": request["dryRun"]})
    assert registered.create(dryRun="All").status_code == 201
    assert admin.get(f"/api/v1/namespaces/{namespace}/configmaps/a").status_code == 404
    assert registered.create().status_code == 400


def test_selectors_leave_objects_out(registered: Registered) -> None:
    selector = {"matchLabels": {"checked": "yes"}}
    registered.add("validating", "some", lambda _: {"allowed": False}, objectSelector=selector)
    assert registered.create().status_code == 201


def test_match_conditions_leave_a_webhook_out(registered: Registered, namespace: str) -> None:
    asked: list[str] = []

    def refuse(request: peers.Review) -> peers.Review:
        asked.append(request["name"])
        return {"allowed": False}

    conditions = [
        {"name": "not-exempt", "expression": "!object.metadata.name.startsWith('exempt')"},
        {"name": "may-see-secrets", "expression": "authorizer.group('').resource('secrets').check('get').allowed()"},
        {
            "name": "in-namespace",
            "expression": f"namespaceObject.metadata.name == '{namespace}' && request.dryRun == false",
        },
    ]
    registered.add("validating", "conditional", refuse, matchConditions=conditions)
    assert registered.create("exempt-a").status_code == 201
    assert registered.create("other").status_code == 400
    assert asked == ["other"]


@pytest.mark.parametrize(("policy", "code"), [("Fail", 403), ("Ignore", 201)])
def test_a_condition_that_fails_counts_as_the_failure_policy_says(
    registered: Registered, policy: str, code: int
) -> None:
    conditions = [{"name": "fails", "expression": "object.data.missing == 'x'"}]
    registered.add(
        "mutating", "failing", lambda request: {"allowed": False}, failurePolicy=policy, matchConditions=conditions
    )
    answer = registered.create("a")
    assert answer.status_code == code
    if code == 403:
        error = "expression 'object.data.missing == 'x'' resulted in error: no such key: missing"
        assert answer.json()["message"] == f'configmaps "a" is forbidden: {error}'


def test_a_condition_that_does_not_compile_is_refused(admin: httpx.Client) -> None:
    webhook = {
        "name": "a.example.com",
        "clientConfig": {"url": "https://127.0.0.1/"},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "matchConditions": [
            {"name": "a", "expression": "object.metadata.name"},
            {"name": "b", "expression": "request.nam == 'x'"},
            {"name": "b", "expression": " "},
            {"name": "c", "expression": "params.x == 1"},
        ],
    }
    answer = admin.post(
        f"{_GROUP}/validatingwebhookconfigurations", json={"metadata": {"name": "a"}, "webhooks": [webhook]}
    )
    assert answer.status_code == 422
    causes = {cause["field"]: cause["message"] for cause in answer.json()["details"]["causes"]}
    at = "webhooks[0].matchConditions"
    assert causes == {
        f"{at}[0].expression": 'Invalid value: "object.metadata.name": must evaluate to bool but got dyn',
        f"{at}[1].expression": "Invalid value: \"request.nam == 'x'\": compilation failed: ERROR: <input>:1:8: "
        "undefined field 'nam'\n | request.nam == 'x'\n | .......^",
        f"{at}[2].expression": "Required value",
        f"{at}[2].name": 'Duplicate value: "b"',
        f"{at}[3].expression": 'Invalid value: "params.x == 1": compilation failed: ERROR: <input>:1:1: '
        "undeclared reference to 'params' (in container '')\n | params.x == 1\n | ^",
    }

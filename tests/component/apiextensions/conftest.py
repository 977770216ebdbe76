"""Definitions for tests: each test has a group of its own, so that none sees another's."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
DEADLINE_SECONDS = 10.0

Json = dict[str, Any]


def until(check: Callable[[], Any], what: str) -> Any:
    """What `check` gives as soon as it is something."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not (found := check()):
        assert time.monotonic() < deadline, f"not in time: {what}"
        time.sleep(0.01)
    return found


def condition(definition: Json, kind: str) -> Json:
    listed = (definition.get("status") or {}).get("conditions") or []
    return next((item for item in listed if item["type"] == kind), {})


class Group:
    """One API group of a test."""

    def __init__(self, admin: httpx.Client, name: str, namespace: str) -> None:
        self.admin = admin
        self.name = name
        self.namespace = namespace
        self._made: list[str] = []

    def body(self, plural: str, *versions: Json, scope: str = "Namespaced", **names: Any) -> Json:
        kind = plural.removesuffix("s").capitalize()
        spec = {"group": self.name, "scope": scope, "names": {"plural": plural, "kind": kind, **names}}
        return {"metadata": {"name": f"{plural}.{self.name}"}, "spec": spec | {"versions": list(versions)}}

    def refused(self, body: Json) -> Json:
        answer = self.admin.post(DEFINITIONS, json=body)
        assert answer.status_code == 422, answer.text
        return dict(answer.json())

    def post(self, body: Json) -> Json:
        answer = self.admin.post(DEFINITIONS, json=body)
        assert answer.status_code == 201, answer.text
        self._made.append(body["metadata"]["name"])
        return dict(answer.json())

    def define(self, plural: str, *versions: Json, **options: Any) -> str:
        """A definition that is served; the path of its objects."""
        body = self.body(plural, *versions, **options)
        self.post(body)
        self.established(plural)
        return self.path(plural, versions[0]["name"], scope=body["spec"]["scope"])

    def path(self, plural: str, version: str = "v1", scope: str = "Namespaced") -> str:
        place = f"namespaces/{self.namespace}/" if scope == "Namespaced" else ""
        return f"/apis/{self.name}/{version}/{place}{plural}"

    def definition(self, plural: str) -> Json:
        return dict(self.admin.get(f"{DEFINITIONS}/{plural}.{self.name}").json())

    def established(self, plural: str) -> None:
        until(
            lambda: condition(self.definition(plural), "Established").get("status") == "True",
            f"{plural} is established",
        )

    def change(self, plural: str, patch: Json) -> httpx.Response:
        merge = {"content-type": "application/merge-patch+json"}
        return self.admin.patch(f"{DEFINITIONS}/{plural}.{self.name}", json=patch, headers=merge)

    def kind(self, plural: str) -> str:
        return plural.removesuffix("s").capitalize()

    def object(self, plural: str, name: str, version: str = "v1", **fields: Any) -> Json:
        head = {"apiVersion": f"{self.name}/{version}", "kind": self.kind(plural), "metadata": {"name": name}}
        return head | fields

    def clear(self) -> None:
        for name in self._made:
            self.admin.delete(f"{DEFINITIONS}/{name}")


def version(name: str = "v1", *, storage: bool = True, schema: Json | None = None, **fields: Any) -> Json:
    """One version; `schema` is that of `spec`."""
    properties = {"spec": schema or {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    properties["status"] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    root = {"type": "object", "properties": properties}
    return {"name": name, "served": True, "storage": storage, "schema": {"openAPIV3Schema": root}, **fields}


def spec(**properties: Json) -> Json:
    return {"type": "object", "properties": properties}


@pytest.fixture
def group(admin: httpx.Client, namespace: str) -> Iterator[Group]:
    made = Group(admin, f"g{uuid.uuid4().hex[:8]}.example.com", namespace)
    yield made
    made.clear()

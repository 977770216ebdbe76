"""kopf's documented examples as real operators: processes of their own, with the kubeconfig that users have."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests import harness

DEADLINE_SECONDS = 25.0
GROUP = "kopf.dev"
OPERATORS = Path(__file__).parent / "operators"


@pytest.fixture(scope="module")
def kinds(server: harness.Server) -> None:
    """The two kinds of kopf's documentation."""
    preserving = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": preserving, "status": preserving}}
    with server.admin() as admin:
        for kind, plural in (("EphemeralVolumeClaim", "ephemeralvolumeclaims"), ("KopfExample", "kopfexamples")):
            version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
            spec = {"group": GROUP, "scope": "Namespaced", "versions": [version]}
            spec["names"] = {"kind": kind, "plural": plural, "singular": kind.lower(), "shortNames": [kind[:4].lower()]}
            body = {"metadata": {"name": f"{plural}.{GROUP}"}, "spec": spec}
            made = admin.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", json=body)
            assert made.status_code == 201, made.text
            until(lambda path=f"/apis/{GROUP}/v1/{plural}": admin.get(path).status_code == 200, f"{plural} are served")


def until(check: Callable[[], Any], what: str) -> Any:
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not (found := check()):
        assert time.monotonic() < deadline, f"not in time: {what}"
        time.sleep(0.05)
    return found


@contextlib.contextmanager
def operator(server: harness.Server, name: str, namespace: str) -> Iterator[Path]:
    """Runs `kopf run`; ends it by SIGTERM, which must do. Yields its log."""
    log = server.folder / f"kopf-{name}-{namespace}.log"
    command = [sys.executable, "-m", "kopf", "run", "--standalone", "--namespace", namespace]
    environment = os.environ | {"KUBECONFIG": str(server.pki.kubeconfig("admin"))}
    with log.open("wb") as out:
        process = subprocess.Popen([*command, str(OPERATORS / f"{name}.py")], stdout=out, stderr=out, env=environment)
    try:
        yield log
        assert process.poll() is None, log.read_text()
    finally:
        process.terminate()
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    assert process.returncode == 0, log.read_text()


class Objects:
    """One collection of custom resources."""

    def __init__(self, admin: httpx.Client, namespace: str, kind: str, plural: str) -> None:
        self._admin, self._kind = admin, kind
        self._path = f"/apis/{GROUP}/v1/namespaces/{namespace}/{plural}"

    def create(self, name: str, **spec: Any) -> None:
        body = {"apiVersion": f"{GROUP}/v1", "kind": self._kind, "metadata": {"name": name}, "spec": spec}
        assert self._admin.post(self._path, json=body).status_code == 201

    def status(self, name: str) -> dict[str, Any]:
        return dict(self._admin.get(f"{self._path}/{name}").json().get("status") or {})

    def label(self, name: str, **labels: str) -> None:
        merge = {"content-type": "application/merge-patch+json"}
        body = {"metadata": {"labels": labels}}
        assert self._admin.patch(f"{self._path}/{name}", json=body, headers=merge).status_code == 200

    def delete(self, name: str) -> None:
        self._admin.delete(f"{self._path}/{name}")
        until(lambda: self._admin.get(f"{self._path}/{name}").status_code == 404, f"{name} is gone")


def reasons(admin: httpx.Client, namespace: str) -> set[str]:
    return {item["reason"] for item in admin.get(f"/api/v1/namespaces/{namespace}/events").json()["items"]}


@pytest.mark.usefixtures("kinds")
def test_an_operator_makes_a_child_that_follows_its_parent(
    server: harness.Server, admin: httpx.Client, namespace: str
) -> None:
    claims = Objects(admin, namespace, "EphemeralVolumeClaim", "ephemeralvolumeclaims")
    child = f"/api/v1/namespaces/{namespace}/persistentvolumeclaims/mine"
    with operator(server, "claims", namespace):
        claims.create("mine", size="1Gi")
        until(
            lambda: claims.status("mine").get("create") == {"pvc-name": "mine"}, "the handler's result is in the status"
        )
        claim = admin.get(child).json()
        assert claim["metadata"]["ownerReferences"][0]["kind"] == "EphemeralVolumeClaim"
        claims.label("mine", tier="gold")
        until(
            lambda: (admin.get(child).json()["metadata"].get("labels") or {}).get("tier") == "gold",
            "the child is labelled",
        )
        claims.create("sizeless")
        until(lambda: "SizeMissing" in reasons(admin, namespace), "the refusal is told by an event")


@pytest.mark.usefixtures("kinds")
def test_an_operator_tries_again_and_gives_up(server: harness.Server, admin: httpx.Client, namespace: str) -> None:
    examples = Objects(admin, namespace, "KopfExample", "kopfexamples")
    with operator(server, "retries", namespace):
        examples.create("one", field="value")
        until(lambda: examples.status("one").get("eventually") == "at try 3", "the third try is the last")
        examples.delete("one")  # its finalizer is kopf's to remove
        assert "Goodbye" in reasons(admin, namespace)


@pytest.mark.usefixtures("kinds")
def test_an_operator_has_timers_and_daemons_that_end_with_their_object(
    server: harness.Server, admin: httpx.Client, namespace: str
) -> None:
    examples = Objects(admin, namespace, "KopfExample", "kopfexamples")
    with operator(server, "timers", namespace):
        examples.create("one", field="f")
        examples.create("two", field="f")
        until(lambda: examples.status("one").get("ticks", 0) >= 3, "three ticks")
        until(lambda: "Living" in reasons(admin, namespace), "the daemon runs")
        until(lambda: examples.status("one").get("peers") == ["one", "two"], "the index knows both")
        examples.delete("one")
        until(lambda: "Ended" in reasons(admin, namespace), "the daemon ended")
        examples.delete("two")

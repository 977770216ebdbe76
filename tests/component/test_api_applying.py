"""kubectl's server-side apply against the API: conflicts, force, going over from client-side apply, prune of fields."""

from __future__ import annotations

import json
from typing import Any

import yaml

from tests import harness

DEPLOYMENT: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "labels": {"tier": "front"}},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "nginx", "image": "nginx:1", "ports": [{"containerPort": 80}]}]},
        },
    },
}


def manifest(**spec: Any) -> str:
    return yaml.safe_dump(DEPLOYMENT | {"spec": DEPLOYMENT["spec"] | spec})


class Kubectl:
    def __init__(self, server: harness.Server, namespace: str) -> None:
        self._server = server
        self._at = ("-n", namespace)

    def __call__(self, *arguments: str, stdin: str | None = None) -> str:
        return self._server.kubectl(*self._at, *arguments, stdin=stdin)

    def fails(self, *arguments: str, stdin: str | None = None) -> str:
        done = self._server.try_kubectl(*self._at, *arguments, stdin=stdin)
        assert done.returncode == 1, done.stdout
        return done.stderr

    def owners(self) -> dict[tuple[str, str], Any]:
        """Of the Deployment: (manager, operation) → fields."""
        read = json.loads(self("get", "deployment", "web", "-o", "json", "--show-managed-fields"))
        entries = read["metadata"]["managedFields"]
        return {(entry["manager"], entry["operation"]): entry["fieldsV1"] for entry in entries}


def test_an_apply_says_what_it_did_and_whose_fields_it_would_take(server: harness.Server, namespace: str) -> None:
    kubectl = Kubectl(server, namespace)
    apply = ("apply", "--server-side", "-f", "-")
    assert kubectl(*apply, stdin=manifest()) == "deployment.apps/web serverside-applied\n"
    assert set(kubectl.owners()) == {("kubectl", "Apply")}
    assert kubectl("scale", "deployment", "web", "--replicas=5") == "deployment.apps/web scaled\n"
    refused = kubectl.fails(*apply, stdin=manifest())
    assert refused.startswith(
        'error: Apply failed with 1 conflict: conflict with "kubectl" with subresource "scale" using apps/v1: '
        ".spec.replicas\n"
    )
    assert kubectl(*apply, "--force-conflicts", stdin=manifest()) == "deployment.apps/web serverside-applied\n"
    assert kubectl("get", "deployment", "web", "-o", "jsonpath={.spec.replicas}") == "2"
    assert set(kubectl.owners()) == {("kubectl", "Apply")}
    other = kubectl.fails(*apply, "--field-manager=other", stdin=manifest(replicas=3, paused=True))
    assert 'conflict with "kubectl": .spec.replicas' in other


def test_a_client_side_apply_goes_over_to_the_server(server: harness.Server, namespace: str) -> None:
    kubectl = Kubectl(server, namespace)
    kubectl("apply", "-f", "-", stdin=manifest())
    assert set(kubectl.owners()) == {("kubectl-client-side-apply", "Update")}
    kubectl("apply", "--server-side", "-f", "-", stdin=manifest(replicas=4))
    # it takes over what its other self has written, and keeps the note of it under a name of its own
    assert set(kubectl.owners()) == {("kubectl", "Apply"), ("kubectl-last-applied", "Apply")}
    read = json.loads(kubectl("get", "deployment", "web", "-o", "json"))
    assert read["spec"]["replicas"] == 4
    noted = json.loads(read["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"])
    assert noted["spec"]["replicas"] == 4
    gone = DEPLOYMENT | {"metadata": {"name": "web"}}
    kubectl("apply", "--server-side", "-f", "-", stdin=yaml.safe_dump(gone))
    assert "labels" not in json.loads(kubectl("get", "deployment", "web", "-o", "json"))["metadata"]


def test_an_apply_of_what_no_type_has_is_told(server: harness.Server, namespace: str) -> None:
    kubectl = Kubectl(server, namespace)
    refused = kubectl.fails("apply", "--server-side", "--validate=ignore", "-f", "-", stdin=manifest(replica=3))
    assert refused == (
        "Error from server (BadRequest): failed to create typed patch object "
        f"({namespace}/web; apps/v1, Kind=Deployment): .spec.replica: field not declared in schema\n"
    )


def test_edits_and_labels_have_managers_of_their_own(server: harness.Server, namespace: str) -> None:
    kubectl = Kubectl(server, namespace)
    kubectl("create", "-f", "-", stdin=manifest())
    kubectl("label", "deployment", "web", "a=b")
    kubectl("set", "image", "deployment/web", "nginx=nginx:2")
    owners = kubectl.owners()
    assert owners[("kubectl-label", "Update")] == {"f:metadata": {"f:labels": {"f:a": {}}}}
    image = {"f:containers": {'k:{"name":"nginx"}': {"f:image": {}}}}
    assert owners[("kubectl-set", "Update")] == {"f:spec": {"f:template": {"f:spec": image}}}
    created = owners[("kubectl-create", "Update")]["f:spec"]
    assert created["f:strategy"] == {
        "f:rollingUpdate": {".": {}, "f:maxSurge": {}, "f:maxUnavailable": {}},
        "f:type": {},
    }
    [container] = created["f:template"]["f:spec"]["f:containers"].values()
    assert container["f:ports"] == {
        ".": {},
        'k:{"containerPort":80,"protocol":"TCP"}': {".": {}, "f:containerPort": {}, "f:protocol": {}},
    }
    assert container["f:resources"] == {}
    assert "f:image" not in container

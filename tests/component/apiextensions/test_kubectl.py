"""kubectl with custom resources: found by every name, explained, applied, printed, waited for."""

from __future__ import annotations

import json

from tests import harness
from tests.component.apiextensions.conftest import Group, spec, version


def test_kubectl_works_with_a_custom_resource(server: harness.Server, group: Group, namespace: str) -> None:
    size = {"type": "integer", "description": "How large it is."}
    definition = version(
        schema=spec(size=size, hue={"type": "string"}) | {"required": ["size"]},
        additionalPrinterColumns=[{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}],
        subresources={"status": {}, "scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}},
    )
    body = group.body("lamps", definition, shortNames=["lp"], categories=["shining"])
    head = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}

    def kubectl(*arguments: str, stdin: str | None = None) -> str:
        return server.kubectl("-n", namespace, *arguments, stdin=stdin)

    name = f"lamps.{group.name}"
    created = kubectl("apply", "-f", "-", stdin=json.dumps(head | body))
    assert created == f"customresourcedefinition.apiextensions.k8s.io/{name} created\n"
    try:
        waited = kubectl("wait", "--for=condition=Established", f"crd/{name}", "--timeout=10s")
        assert waited == f"customresourcedefinition.apiextensions.k8s.io/{name} condition met\n"
        lamp = group.object("lamps", "a", spec={"size": 3, "hue": "red"})
        assert kubectl("apply", "-f", "-", stdin=json.dumps(lamp)) == f"lamp.{group.name}/a created\n"
        lamp["spec"] = {"size": 4}
        assert kubectl("apply", "-f", "-", stdin=json.dumps(lamp)) == f"lamp.{group.name}/a configured\n"
        assert json.loads(kubectl("get", "lp", "a", "-o", "json"))["spec"] == {"size": 4}
        assert kubectl("get", "lamps").split() == ["NAME", "SIZE", "a", "4"]
        assert kubectl("get", "shining", "-o", "name") == f"lamp.{group.name}/a\n"
        assert "How large it is." in kubectl("explain", "lamp.spec.size")
        assert kubectl("scale", "lp/a", "--replicas=6") == f"lamp.{group.name}/a scaled\n"
        wrong = server.try_kubectl("-n", namespace, "apply", "-f", "-", stdin=json.dumps(lamp | {"spec": {"odd": 1}}))
        assert 'strict decoding error: unknown field "spec.odd"' in wrong.stderr
        applied = kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=json.dumps(lamp))
        assert applied == f"lamp.{group.name}/a serverside-applied\n"
        assert kubectl("patch", "lp", "a", "--type=merge", "-p", '{"spec":{"size":9}}').endswith("patched\n")
    finally:
        gone = kubectl("delete", "crd", name)
    assert gone == f'customresourcedefinition.apiextensions.k8s.io "{name}" deleted\n'
    refused = server.try_kubectl("-n", namespace, "get", "lamps")
    assert "the server could not find the requested resource" in refused.stderr  # kubectl's discovery is a cached one

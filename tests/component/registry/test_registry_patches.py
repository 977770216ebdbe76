"""The patch types on a real etcd: what they make, what they refuse and in which words, what they write."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
import pytest

from apimachinery import errors, patch
from apimachinery.objects import Object
from tests.component.registry.conftest import Api, config_map, deployment, pod

REJECTED = "the server rejected our request due to an error in our request"
STALE = "the object has been modified; please apply your changes to the latest version and try again"


async def refused(api: Api, resource: str, name: str, body: Any, kind: str, **more: Any) -> errors.APIError:
    with pytest.raises(errors.APIError) as caught:
        await api.patch(resource, name, body, kind, **more)
    return caught.value


def operation(op: str, path: str, **more: Any) -> Object:
    return {"op": op, "path": path, **more}


@pytest.mark.parametrize(
    ("kind", "body", "code", "message"),
    [
        (patch.JSON, [operation("test", "/data/a", value="2")], 422, REJECTED),
        (patch.JSON, [operation("remove", "/data/b")], 422, REJECTED),
        (patch.JSON, [operation("jump", "/data/b")], 422, REJECTED),
        (
            patch.JSON,
            [operation("test", "/data/a", value="1")] * 10_001,
            413,
            "The allowed maximum operations in a JSON patch is 10000, got 10001",
        ),
        (
            patch.JSON,
            operation("remove", "/data/b"),
            400,
            "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp",
        ),
        (
            patch.MERGE,
            [],
            400,
            "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}",
        ),
        (patch.STRATEGIC, 5, 400, "json: cannot unmarshal number into Go value of type map[string]interface {}"),
        (patch.STRATEGIC, {"data": {"$retainKeys": ["b"], "c": "1"}}, 400, "invalid patch format of retainKeys"),
        (
            patch.STRATEGIC,
            {"data": []},
            422,
            ' "" is invalid: patch: Invalid value: "map[data:[]]": cannot restore map from slice',
        ),
        (
            patch.STRATEGIC,
            {"immutable": "yes"},
            422,
            ' "" is invalid: patch: Invalid value: "map[immutable:yes]": cannot convert string to bool',
        ),
        (
            patch.MERGE,
            {"metadata": {"name": "other"}},
            400,
            "the name of the object (other) does not match the name on the URL (m)",
        ),
        (
            patch.MERGE,
            {"metadata": {"namespace": "other"}},
            400,
            "the namespace of the provided object does not match the namespace sent on the request",
        ),
        (patch.MERGE, {"metadata": {"resourceVersion": "1"}}, 409, STALE),
        (patch.MERGE, {"metadata": {"uid": "x"}}, 422, 'metadata.uid: Invalid value: "x": field is immutable'),
        (
            patch.MERGE,
            {"metadata": {"creationTimestamp": "2020-01-01T00:00:00Z"}},
            422,
            'metadata.creationTimestamp: Invalid value: "2020-01-01T00:00:00Z": field is immutable',
        ),
    ],
)
async def test_what_is_refused_and_how(api: Api, kind: str, body: Any, code: int, message: str) -> None:
    await api.create("configmaps", config_map("m", a="1"))
    error = await refused(api, "configmaps", "m", body, kind)
    assert error.status_code == code
    assert error.message.endswith(message)
    assert (await api.get("configmaps", "m"))["data"] == {"a": "1"}


async def test_a_patched_object_that_does_not_fit_is_shown(api: Api) -> None:
    await api.create("deployments", deployment("d"))
    error = await refused(api, "deployments", "d", {"spec": {"replicas": "x"}}, patch.MERGE)
    assert error.status_code == 422
    assert error.message.startswith(' "" is invalid: patch: Invalid value: "{\\"apiVersion\\":\\"apps/v1\\"')
    why = "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32"
    assert error.message.endswith(f'": {why}')
    [cause] = error.to_status()["details"]["causes"]
    assert (cause["field"], cause["reason"]) == ("patch", "FieldValueInvalid")


@pytest.mark.parametrize(
    ("kind", "body", "note"),
    [
        (patch.MERGE, {"spec": {"foo": 1}}, 'unknown field "spec.foo"'),
        (patch.STRATEGIC, {"spec": {"foo": 1}}, 'unknown field "spec.foo"'),
        (patch.JSON, [operation("add", "/spec/foo", value=1)], 'unknown field "spec.foo"'),
        (patch.JSON, [operation("add", "/spec/paused", value=False, x=1)], 'json patch unknown field "[0].x"'),
    ],
)
async def test_unknown_fields_are_nothing_a_warning_or_an_error(api: Api, kind: str, body: Any, note: str) -> None:
    await api.create("deployments", deployment("d"))
    error = await refused(api, "deployments", "d", body, kind, field_validation="Strict")
    assert error.status_code == 422
    assert error.message.endswith(f"strict decoding error: {note}")
    for validation, expected in (("Warn", [note]), ("Ignore", [])):
        call = api.call("patch", "deployments", "d", field_validation=validation)
        await api.registry.patch(call, kind, orjson.dumps(body))
        assert call.warnings == expected
    assert "foo" not in (await api.get("deployments", "d"))["spec"]


async def test_duplicate_fields_of_a_patch_are_told(api: Api) -> None:
    await api.create("configmaps", config_map("m"))
    call = api.call("patch", "configmaps", "m")
    await api.registry.patch(call, patch.MERGE, b'{"data":{"a":"1","a":"2"}}')
    assert call.warnings == ['duplicate field "data.a"']
    call = api.call("patch", "configmaps", "m")
    await api.registry.patch(call, patch.JSON, b'[{"op":"add","op":"add","path":"/data/b","value":"1"}]')
    assert call.warnings == ['json patch duplicate field "[0].op"']


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        (patch.MERGE, {}),
        (patch.MERGE, {"data": {"a": "1", "absent": None}}),
        (patch.STRATEGIC, {"data": {"a": "1"}}),
        (patch.JSON, []),
        (patch.JSON, [operation("replace", "/data/a", value="1")]),
        (patch.JSON, [operation("add", "/data/b", value="1"), operation("remove", "/data/b")]),
    ],
)
async def test_a_patch_that_changes_nothing_writes_nothing(api: Api, kind: str, body: Any) -> None:
    made = await api.create("configmaps", config_map("m", a="1"))
    assert await api.patch("configmaps", "m", body, kind, field_manager="other") == made


async def test_the_resource_version_is_a_precondition(api: Api) -> None:
    made = await api.create("configmaps", config_map("m", a="1"))
    version = made["metadata"]["resourceVersion"]
    good = {"metadata": {"resourceVersion": version}, "data": {"a": "2"}}
    assert (await api.patch("configmaps", "m", good))["data"] == {"a": "2"}
    error = await refused(api, "configmaps", "m", good, patch.MERGE)
    assert (error.status_code, error.status_reason) == (409, "Conflict")
    replace = [operation("replace", "/metadata/resourceVersion", value=version)]
    assert (await refused(api, "configmaps", "m", replace, patch.JSON)).status_code == 409
    test = [operation("test", "/metadata/resourceVersion", value=version)]
    assert (await refused(api, "configmaps", "m", test, patch.JSON)).status_code == 422


async def test_patches_that_meet_are_tried_again(api: Api, elsewhere: Api) -> None:
    await api.create("configmaps", config_map("m"))
    bodies = [{"data": {f"k{index}": "1"}} for index in range(12)]
    await asyncio.gather(
        *((api if index % 2 else elsewhere).patch("configmaps", "m", body) for index, body in enumerate(bodies))
    )
    assert len((await api.get("configmaps", "m"))["data"]) == 12


async def test_a_patch_of_what_is_not_there(api: Api) -> None:
    for kind, body in ((patch.JSON, []), (patch.MERGE, {}), (patch.STRATEGIC, {})):
        assert (await refused(api, "configmaps", "none", body, kind)).status_code == 404


async def test_subresources_are_patched_within_their_part(api: Api) -> None:
    await api.create("deployments", deployment("d", replicas=1))
    metadata = {"annotations": {"a": "b"}, "labels": {"not": "here"}}
    body = {"status": {"replicas": 1}, "spec": {"replicas": 9}, "metadata": metadata}
    after = await api.patch("deployments/status", "d", body, field_manager="ctl")
    assert (after["spec"]["replicas"], after["status"], after["metadata"]["generation"]) == (1, {"replicas": 1}, 1)
    entry = next(item for item in after["metadata"]["managedFields"] if item["manager"] == "ctl")
    assert entry["subresource"] == "status"
    assert "f:spec" not in entry["fieldsV1"]
    assert entry["fieldsV1"]["f:metadata"] == {"f:annotations": {".": {}, "f:a": {}}}, "what is not taken is not owned"
    scaled = await api.patch("deployments/scale", "d", [operation("replace", "/spec/replicas", value=4)], patch.JSON)
    assert scaled["spec"]["replicas"] == 4
    assert (await api.get("deployments", "d"))["metadata"]["generation"] == 2
    await api.create("pods", pod("p"))
    added = {"spec": {"ephemeralContainers": [{"name": "debug", "image": "busybox"}]}}
    debugged = await api.patch("pods/ephemeralcontainers", "p", added, patch.STRATEGIC)
    assert [item["name"] for item in debugged["spec"]["ephemeralContainers"]] == ["debug"]


async def test_another_kind_is_no_patch(api: Api) -> None:
    await api.create("configmaps", config_map("m"))
    error = await refused(api, "configmaps", "m", {"kind": "Secret"}, patch.MERGE)
    assert error.status_code == 422
    assert error.message.endswith("converting (v1.Secret) to (v1.ConfigMap): unknown conversion")
    removed = [operation("remove", "/kind"), operation("add", "/data", value={"a": "1"})]
    assert (await api.patch("configmaps", "m", removed, patch.JSON))["kind"] == "ConfigMap"


async def test_a_dry_run_of_a_patch_writes_nothing(api: Api) -> None:
    made = await api.create("configmaps", config_map("m", a="1"))
    for kind, body in ((patch.MERGE, {"data": {"a": "2"}}), (patch.JSON, [operation("remove", "/data/a")])):
        assert (await api.patch("configmaps", "m", body, kind, dry_run=True)).get("data", {}).get("a") != "1"
    assert await api.get("configmaps", "m") == made

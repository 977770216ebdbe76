"""What writes make of what is sent: strict decoding, canonical values, fields of the server, generations."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from apimachinery import errors
from apimachinery.objects import Object
from tests.component.registry.conftest import Api, config_map, deployment, pod


async def sent(
    api: Api, body: bytes, validation: str, resource: str = "deployments", *, yaml: bool = False
) -> list[str]:
    """Creates; the warnings."""
    call = api.call("create", resource, field_validation=validation, dry_run=True)
    await api.registry.create(call, api.registry.decode(call, body, yaml=yaml))
    return call.warnings


UNKNOWN = deployment("d", replicas=1, foo=1)
UNKNOWN_DEEP = deployment("d", template={"metadata": {"labels": {"app": "d"}}, "spec": pod("p", bar=[])["spec"]})
DUPLICATE = b'{"replicas":1,' + orjson.dumps(deployment("d", replicas=1)["spec"])[1:]
DUPLICATE = b'{"metadata":{"name":"d"},"spec":' + DUPLICATE + b"}"
YAML = b"metadata: {name: m}\ndata:\n  a: '1'\n  a: '2'\nextra: 5\n"


@pytest.mark.parametrize(
    ("body", "notes"),
    [
        (orjson.dumps(UNKNOWN), ['unknown field "spec.foo"']),
        (orjson.dumps(UNKNOWN_DEEP), ['unknown field "spec.template.spec.bar"']),
        (DUPLICATE, ['duplicate field "spec.replicas"']),
    ],
)
async def test_strict_decoding_is_an_error_a_warning_or_nothing(api: Api, body: bytes, notes: list[str]) -> None:
    assert await sent(api, body, "Ignore") == []
    assert await sent(api, body, "Warn") == notes
    with pytest.raises(errors.BadRequest) as caught:
        await sent(api, body, "Strict")
    assert caught.value.message == (
        'Deployment in version "v1" cannot be handled as a Deployment: strict decoding error: ' + ", ".join(notes)
    )


async def test_yaml_tells_the_lines_of_duplicates(api: Api) -> None:
    notes = ['yaml: unmarshal errors:\n  line 4: key "a" already set in map', 'unknown field "extra"']
    assert await sent(api, YAML, "Warn", "configmaps", yaml=True) == notes
    with pytest.raises(errors.BadRequest) as caught:
        await sent(api, YAML, "Strict", "configmaps", yaml=True)
    assert caught.value.message.endswith("strict decoding error: " + ", ".join(notes))


@pytest.mark.parametrize(
    ("written", "stored"),
    [
        ("0.5", "500m"),
        ("1024Mi", "1Gi"),
        (2, "2"),
        ("1e3", "1e3"),
        ("1000k", "1M"),
        ("0.25Gi", "256Mi"),
        ("1500m", "1500m"),
        ("2000m", "2"),
    ],
)
async def test_quantities_are_stored_in_their_canonical_form(api: Api, written: Any, stored: str) -> None:
    resources = {"limits": {"example.com/thing": 1, "memory": written}, "requests": {"memory": written}}
    body = pod("p")
    body["spec"]["containers"][0]["resources"] = resources
    made = await api.create("pods", body)
    assert made["spec"]["containers"][0]["resources"]["limits"]["memory"] == stored
    assert (await api.update("pods", body)) == made, "the same in other words is no change"


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({"uid": "other"}, "Precondition failed: UID in precondition: other, UID in object meta: "),
        ({"creationTimestamp": "2020-01-01T00:00:00Z"}, "metadata.creationTimestamp: Invalid value: "),
        ({"deletionTimestamp": "2020-01-01T00:00:00Z"}, ""),
        ({"deletionGracePeriodSeconds": 5}, ""),
        ({"generation": 7}, ""),
        ({"selfLink": "/x"}, ""),
        ({"generateName": "x-"}, ""),
    ],
)
async def test_fields_of_the_server_are_kept_or_immutable(api: Api, metadata: Object, message: str) -> None:
    made = await api.create("deployments", deployment("d"))
    body = made | {"metadata": made["metadata"] | metadata}
    if message:
        with pytest.raises(errors.APIError) as caught:
            await api.update("deployments", body)
        assert message in caught.value.message
        return
    after = await api.update("deployments", body)
    assert "deletionTimestamp" not in after["metadata"]
    assert "deletionGracePeriodSeconds" not in after["metadata"]
    assert "selfLink" not in after["metadata"]
    assert after["metadata"]["generation"] == 1


async def test_a_generation_is_a_change_of_what_is_wanted(api: Api) -> None:
    made = await api.create("deployments", deployment("d", replicas=1))

    async def generation(resource: str = "deployments", **change: Any) -> int:
        return int((await api.patch(resource, "d", change))["metadata"]["generation"])

    assert made["metadata"]["generation"] == 1
    assert await generation(metadata={"labels": {"a": "b"}}) == 1
    assert await generation("deployments/status", status={"replicas": 1}) == 1
    assert await generation(spec={"replicas": 2}) == 2
    assert await generation(spec={"replicas": 2}) == 2
    await api.patch("deployments/scale", "d", {"spec": {"replicas": 3}})
    assert await generation() == 3
    await api.patch("deployments", "d", {"metadata": {"finalizers": ["example.com/wait"]}})
    await api.delete("deployments", "d")
    assert await generation() == 4, "the wish to go is one, too"


async def test_owners_given_twice_are_kept_once_with_a_warning(api: Api) -> None:
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u-1"}
    body = config_map("m")
    body["metadata"]["ownerReferences"] = [owner, owner | {"uid": "u-2"}, dict(owner)]
    call = api.call("create", "configmaps")
    await api.registry.create(call, api.registry.decode(call, orjson.dumps(body)))
    kept = (await api.get("configmaps", "m"))["metadata"]["ownerReferences"]
    assert [reference["uid"] for reference in kept] == ["u-1", "u-2"]
    [warning] = call.warnings
    assert warning.startswith(
        ".metadata.ownerReferences contains duplicate entries; API server dedups owner references"
    )
    assert warning.endswith("duplicate UID(s) observed: u-1")


async def test_managed_fields_give_way_when_the_object_is_too_large_with_them(api: Api) -> None:
    keys = {f"key-{index:06}-{'x' * 230}": "y" for index in range(3_500)}
    made = await api.create("configmaps", config_map("m", **keys))
    assert "managedFields" not in made["metadata"]
    assert len(made["data"]) == 3_500
    with pytest.raises(errors.RequestEntityTooLarge, match="etcdserver: request is too large"):
        await api.create("pods", pod("p", containers=[{"name": "c", "image": "i", "args": ["x" * 1_700_000]}]))


async def test_the_user_agent_names_the_manager_in_print(api: Api) -> None:
    body = config_map("m", a="1")
    call = api.call("create", "configmaps", user_agent="my\x01tool" + "é" * 100 + "/v1")
    made = orjson.loads((await api.registry.create(call, api.registry.decode(call, orjson.dumps(body)))).encoded)
    [entry] = made["metadata"]["managedFields"]
    assert entry["manager"] == "mytool" + "é" * 61, "128 bytes of it"
    after = await api.patch("configmaps", "m", {"data": {"b": "2"}})
    assert [item["manager"] for item in after["metadata"]["managedFields"]] == [entry["manager"], "unknown"]

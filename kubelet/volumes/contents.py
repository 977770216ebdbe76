"""L7: the files of configMap, secret, downwardAPI and projected volumes. Pure: objects in, files out.

`references` says what has to be fetched first. Messages are upstream's: they end up in the pod's FailedMount events.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from apimachinery import objects
from apimachinery.objects import Object
from kubelet import errors
from kubelet.containers import fields
from kubelet.containers.env import Reference
from kubelet.volumes.atomic import File

DEFAULT_MODE = 0o644


@dataclass(frozen=True, slots=True)
class Inputs:
    """What contents are made of, beside the pod."""

    found: Mapping[Reference, Object | None] = field(default_factory=dict)
    tokens: Mapping[str, str] = field(default_factory=dict)  # by path of the serviceAccountToken source
    pod_ips: tuple[str, ...] = ()
    host_ips: tuple[str, ...] = ()
    allocatable: Mapping[str, Decimal] = field(default_factory=dict)


def is_written(volume: Object) -> bool:
    """Whether the volume's files are made from API objects, and follow their changes."""
    return any(volume.get(kind) for kind in ("configMap", "secret", "downwardAPI", "projected"))


def sources_of(volume: Object) -> list[Object]:
    """Every volume of this family as a list of projections."""
    if volume.get("projected"):
        return volume["projected"].get("sources") or []
    for kind in ("configMap", "secret", "downwardAPI"):
        if volume.get(kind):
            return [{kind: volume[kind]}]
    return []


def references(volume: Object) -> Iterator[Reference]:
    for source in sources_of(volume):
        if source.get("configMap"):
            yield Reference("configmap", source["configMap"]["name"])
        if source.get("secret"):
            yield Reference("secret", _secret_name(source["secret"]))


def token_sources(volume: Object) -> list[Object]:
    return [source["serviceAccountToken"] for source in sources_of(volume) if source.get("serviceAccountToken")]


def files_of(pod: Object, volume: Object, inputs: Inputs) -> dict[str, File]:
    """All files of the volume. Raises VolumeNotReady."""
    outer = (
        volume.get("projected") or volume.get("configMap") or volume.get("secret") or volume.get("downwardAPI") or {}
    )
    mode = DEFAULT_MODE if outer.get("defaultMode") is None else int(outer["defaultMode"])
    result: dict[str, File] = {}
    for source in sources_of(volume):
        result |= _files_of_source(pod, volume["name"], source, mode, inputs)
    return result


def _files_of_source(pod: Object, name: str, source: Object, mode: int, inputs: Inputs) -> dict[str, File]:
    if source.get("configMap"):
        return _keys(name, Reference("configmap", source["configMap"]["name"]), source["configMap"], mode, inputs)
    if source.get("secret"):
        return _keys(name, Reference("secret", _secret_name(source["secret"])), source["secret"], mode, inputs)
    if source.get("downwardAPI"):
        return _downward(pod, name, source["downwardAPI"], mode, inputs)
    if source.get("serviceAccountToken"):
        path = source["serviceAccountToken"]["path"]
        return {path: File(inputs.tokens[path].encode(), mode)}
    raise errors.VolumeNotReady(name, f"projected source {sorted(source)} is not supported by this node")


def _secret_name(source: Object) -> str:
    return str(source.get("secretName") or source.get("name"))


def _keys(volume: str, reference: Reference, source: Object, mode: int, inputs: Inputs) -> dict[str, File]:
    optional = bool(source.get("optional"))
    obj = inputs.found.get(reference)
    if obj is None:
        if optional:
            return {}
        raise errors.VolumeNotReady(volume, f'{reference.kind} "{reference.name}" not found')
    data = payload(obj, reference.kind)
    if not source.get("items"):
        return {key: File(value, mode) for key, value in data.items()}
    result: dict[str, File] = {}
    for item in source["items"]:
        if item["key"] in data:
            result[item["path"]] = File(data[item["key"]], _mode(item, mode))
        elif not optional:
            kind = "config" if reference.kind == "configmap" else "secret"
            raise errors.VolumeNotReady(volume, f"references non-existent {kind} key: {item['key']}")
    return result


def payload(obj: Object, kind: str) -> dict[str, bytes]:
    """All keys of a ConfigMap (text and binary) or Secret, as bytes."""
    data = obj.get("data") or {}
    if kind == "secret":
        return {key: base64.b64decode(value) for key, value in data.items()}
    binary = {key: base64.b64decode(value) for key, value in (obj.get("binaryData") or {}).items()}
    return {key: value.encode() for key, value in data.items()} | binary


def _downward(pod: Object, volume: str, source: Object, mode: int, inputs: Inputs) -> dict[str, File]:
    result: dict[str, File] = {}
    for item in source.get("items") or []:
        try:
            if item.get("fieldRef"):
                path = item["fieldRef"]["fieldPath"]
                text = fields.value_of(pod, path, pod_ips=inputs.pod_ips, host_ips=inputs.host_ips)
            else:
                text = fields.resource_of(pod, "", item["resourceFieldRef"], inputs.allocatable)
        except fields.FieldError as error:
            raise errors.VolumeNotReady(volume, f"{objects.name_of(pod)}: {error}") from error
        result[item["path"]] = File(text.encode(), _mode(item, mode))
    return result


def _mode(item: Object, default: int) -> int:
    return int(item["mode"]) if item.get("mode") is not None else default

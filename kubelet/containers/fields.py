"""The downward API: what `fieldRef` and `resourceFieldRef` stand for, in environment variables and in volumes. Pure.

Source: https://kubernetes.io/docs/concepts/workloads/pods/downward-api/
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import ROUND_CEILING, Decimal

import orjson

from apimachinery import objects, quantity
from apimachinery.objects import Object
from kubelet.pods import spec

_SUBSCRIPT = re.compile(r"metadata\.(labels|annotations)\['(.*)'\]")


class FieldError(ValueError):
    """The path names nothing that may be used here; the message is upstream's."""


def value_of(pod: Object, path: str, *, pod_ips: tuple[str, ...], host_ips: tuple[str, ...]) -> str:
    """The text at `path`. The addresses are given, for they are not in the pod's status yet when containers start."""
    subscript = _SUBSCRIPT.fullmatch(path)
    if subscript:
        return str((pod["metadata"].get(subscript[1]) or {}).get(subscript[2], ""))
    values = {
        "metadata.name": objects.name_of(pod),
        "metadata.namespace": objects.namespace_of(pod),
        "metadata.uid": objects.uid_of(pod),
        "metadata.labels": _format_map(objects.labels_of(pod)),
        "metadata.annotations": _format_map(objects.annotations_of(pod)),
        "spec.nodeName": pod["spec"].get("nodeName") or "",
        "spec.serviceAccountName": pod["spec"].get("serviceAccountName") or "",
        "status.podIP": pod_ips[0] if pod_ips else "",
        "status.podIPs": ",".join(pod_ips),
        "status.hostIP": host_ips[0] if host_ips else "",
        "status.hostIPs": ",".join(host_ips),
    }
    if path not in values:
        raise FieldError(f"unsupported fieldPath: {path}")
    return str(values[path])


def resource_of(pod: Object, container_name: str, ref: Object, allocatable: Mapping[str, Decimal]) -> str:
    """The request or limit that `ref` names, in units of its divisor, rounded up. No limit: what the node has."""
    container = spec.container(pod, ref.get("containerName") or container_name)
    if container is None:
        raise FieldError(f"container {ref.get('containerName')} not found")
    kind, _, name = ref["resource"].partition(".")
    if kind not in ("requests", "limits") or not name:
        raise FieldError(f"unsupported container resource : {ref['resource']}")
    resources = container.get("resources") or {}
    text = (resources.get(kind) or {}).get(name)
    value = quantity.parse(text) if text is not None else None
    if value is None and kind == "limits":
        value = allocatable.get(name, Decimal(0))
    divisor = quantity.parse(ref.get("divisor") or "1") or Decimal(1)
    return str(int(((value or Decimal(0)) / divisor).to_integral_value(ROUND_CEILING)))


def _format_map(values: Mapping[str, str]) -> str:
    """One `key="value"` a line, sorted; the value as a quoted Go string, for which JSON's quoting stands."""
    return "\n".join(f"{key}={orjson.dumps(value).decode()}" for key, value in sorted(values.items()))

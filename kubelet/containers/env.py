"""L13: a container's environment: `envFrom`, `env` with all its sources, and `$(VAR)` in values, command and
arguments. Pure.

Which ConfigMaps and Secrets are needed is asked first (`references`); they are fetched elsewhere and given as
`Sources`. Source:
https://kubernetes.io/docs/tasks/inject-data-application/define-interdependent-environment-variables/
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import NamedTuple

from apimachinery import objects
from apimachinery.objects import Object
from kubelet import errors
from kubelet.containers import fields

_VARIABLE = re.compile(r"\$(\$|\(([^)]*)\))?")


class Reference(NamedTuple):
    """An object in the pod's namespace. `kind` is "configmap" or "secret", as upstream's messages name them."""

    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class Sources:
    """What the environment may be taken from."""

    found: Mapping[Reference, Object | None] = field(default_factory=dict)  # None: does not exist
    pod_ips: tuple[str, ...] = ()
    host_ips: tuple[str, ...] = ()
    allocatable: Mapping[str, Decimal] = field(default_factory=dict)
    services: Mapping[str, str] = field(default_factory=dict)  # the variables of the namespace's Services


def references(container: Object) -> Iterator[Reference]:
    for entry in container.get("envFrom") or []:
        for key, kind in (("configMapRef", "configmap"), ("secretRef", "secret")):
            if entry.get(key):
                yield Reference(kind, entry[key]["name"])
    for entry in container.get("env") or []:
        for key, kind in (("configMapKeyRef", "configmap"), ("secretKeyRef", "secret")):
            if (entry.get("valueFrom") or {}).get(key):
                yield Reference(kind, entry["valueFrom"][key]["name"])


def environment(pod: Object, container: Object, sources: Sources) -> dict[str, str]:
    """Every variable, in the order of definition. Raises StartRefused (CreateContainerConfigError)."""
    result: dict[str, str] = {}
    for entry in container.get("envFrom") or []:
        result |= _from_object(pod, entry, sources)
    for entry in container.get("env") or []:
        if entry.get("valueFrom"):
            value = _from_source(pod, container, entry["valueFrom"], sources)
            if value is not None:
                result[entry["name"]] = value
        else:
            result[entry["name"]] = expand(entry.get("value") or "", dict(sources.services) | result)
    return {name: value for name, value in sources.services.items() if name not in result} | result


def expand(text: str, variables: Mapping[str, str]) -> str:
    """`$(NAME)` becomes its value, `$$` a dollar; what is not defined stays as it is written."""

    def replaced(match: re.Match[str]) -> str:
        if match[1] == "$":
            return "$"
        if match[2] is not None:
            return variables.get(match[2], match[0])
        return "$"

    return _VARIABLE.sub(replaced, text)


def _from_object(pod: Object, entry: Object, sources: Sources) -> dict[str, str]:
    key, kind = ("configMapRef", "configmap") if entry.get("configMapRef") else ("secretRef", "secret")
    ref = entry[key]
    found = _object(Reference(kind, ref["name"]), sources, optional=bool(ref.get("optional")))
    prefix = entry.get("prefix") or ""
    return {prefix + name: value for name, value in data_of(found, kind).items()} if found else {}


def _from_source(pod: Object, container: Object, source: Object, sources: Sources) -> str | None:
    """None where the reference is optional and there is nothing."""
    try:
        if source.get("fieldRef"):
            path = source["fieldRef"]["fieldPath"]
            return fields.value_of(pod, path, pod_ips=sources.pod_ips, host_ips=sources.host_ips)
        if source.get("resourceFieldRef"):
            return fields.resource_of(pod, container["name"], source["resourceFieldRef"], sources.allocatable)
    except fields.FieldError as error:
        raise errors.StartRefused("CreateContainerConfigError", str(error)) from error
    kind, said = ("configmap", "ConfigMap") if source.get("configMapKeyRef") else ("secret", "Secret")
    ref = source["configMapKeyRef" if kind == "configmap" else "secretKeyRef"]
    found = _object(Reference(kind, ref["name"]), sources, optional=bool(ref.get("optional")))
    values = data_of(found, kind) if found else {}
    if ref["key"] in values:
        return values[ref["key"]]
    if ref.get("optional"):
        return None
    where = f"{objects.namespace_of(pod)}/{ref['name']}"
    raise errors.StartRefused("CreateContainerConfigError", f"couldn't find key {ref['key']} in {said} {where}")


def _object(reference: Reference, sources: Sources, *, optional: bool) -> Object | None:
    found = sources.found.get(reference)
    if found is None and not optional:
        raise errors.StartRefused("CreateContainerConfigError", f'{reference.kind} "{reference.name}" not found')
    return found


def data_of(obj: Object, kind: str) -> dict[str, str]:
    """The text values of a ConfigMap, or the decoded ones of a Secret."""
    data = obj.get("data") or {}
    if kind == "configmap":
        return dict(data)
    return {name: base64.b64decode(value).decode("utf-8", "surrogateescape") for name, value in data.items()}

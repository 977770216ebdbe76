"""Volumes of a pod and their mounts."""

from __future__ import annotations

from apimachinery.errors import Cause
from apimachinery.objects import Object
from apiserver.registry.validation import causes, scalars

_HOST_PATH_TYPES = (
    "",
    "BlockDevice",
    "CharDevice",
    "Directory",
    "DirectoryOrCreate",
    "File",
    "FileOrCreate",
    "Socket",
)
_REQUIRED = {  # the field without which a source says nothing
    "secret": "secretName",
    "configMap": "name",
    "hostPath": "path",
    "persistentVolumeClaim": "claimName",
    "csi": "driver",
    "nfs": "server",
}


def volumes(listed: list[Object], field: str) -> list[Cause]:
    found: list[Cause] = []
    seen: set[str] = set()
    for index, volume in enumerate(listed):
        here = f"{field}[{index}]"
        name = volume.get("name") or ""
        if not name:
            found.append(causes.required(f"{here}.name"))
        elif name in seen:
            found.append(causes.duplicate(f"{here}.name", name))
        else:
            found += scalars.dns_label(name, f"{here}.name")
        seen.add(name)
        found += _source(volume, here)
    return found


def _source(volume: Object, here: str) -> list[Cause]:
    sources = [kind for kind in volume if kind != "name"]
    if not sources:
        return [causes.required(here, "must specify a volume type")]
    found = [causes.forbidden(f"{here}.{kind}", "may not specify more than 1 volume type") for kind in sources[1:]]
    kind, source = sources[0], volume[sources[0]]
    required = _REQUIRED.get(kind)
    if required and not source.get(required):
        found.append(causes.required(f"{here}.{kind}.{required}"))
    if kind == "hostPath":
        path = source.get("path") or ""
        if ".." in path.split("/"):
            found.append(causes.invalid(f"{here}.hostPath.path", path, "must not contain '..'"))
        if source.get("type") not in _HOST_PATH_TYPES:
            found.append(causes.unsupported(f"{here}.hostPath.type", source.get("type"), _HOST_PATH_TYPES))
    for item_kind in ("secret", "configMap"):
        if kind == item_kind:
            found += _items(source.get("items") or [], f"{here}.{kind}.items")
    mode = source.get("defaultMode")
    if mode is not None and not 0 <= mode <= 0o777:
        why = "must be a number between 0 and 0777 (octal), both inclusive"
        found.append(causes.invalid(f"{here}.{kind}.defaultMode", mode, why))
    return found


def _items(items: list[Object], field: str) -> list[Cause]:
    found: list[Cause] = []
    for index, item in enumerate(items):
        here = f"{field}[{index}]"
        if not item.get("key"):
            found.append(causes.required(f"{here}.key"))
        found += _relative_path(item.get("path") or "", f"{here}.path", required=True)
    return found


def _relative_path(path: str, field: str, *, required: bool = False) -> list[Cause]:
    if not path:
        return [causes.required(field)] if required else []
    if path.startswith("/"):
        return [causes.invalid(field, path, "must be a relative path")]
    if ".." in path.split("/"):
        return [causes.invalid(field, path, "must not contain '..'")]
    return []


def mounts(listed: list[Object], known: set[str], field: str) -> list[Cause]:
    """A container's `volumeMounts`; `known` are the names of the pod's volumes."""
    found: list[Cause] = []
    paths: set[str] = set()
    for index, mount in enumerate(listed):
        here = f"{field}[{index}]"
        name, path = mount.get("name") or "", mount.get("mountPath") or ""
        if not name:
            found.append(causes.required(f"{here}.name"))
        elif name not in known:
            found.append(causes.not_found(f"{here}.name", name))
        if not path:
            found.append(causes.required(f"{here}.mountPath"))
        elif path in paths:
            found.append(causes.invalid(f"{here}.mountPath", path, "must be unique"))
        paths.add(path)
        if mount.get("subPath") and mount.get("subPathExpr"):
            why = "subPathExpr and subPath are mutually exclusive"
            found.append(causes.invalid(f"{here}.subPathExpr", mount["subPathExpr"], why))
        found += _relative_path(mount.get("subPath") or "", f"{here}.subPath")
        found += _relative_path(mount.get("subPathExpr") or "", f"{here}.subPathExpr")
    return found

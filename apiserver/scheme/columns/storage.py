"""Volumes, claims, storage classes and drivers."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from apimachinery import objects
from apimachinery.objects import Object
from apiserver.scheme.columns.shared import AGE, NAME, WIDE, Cell, count, join, text, value
from apiserver.scheme.resources import Column

_UNSET = "<unset>"
_SHORT_MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}
_DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"


def _spec(obj: Object) -> Object:
    return obj.get("spec") or {}


def _modes(modes: list[str] | None) -> str:
    given = set(modes or ())
    return join(short for mode, short in _SHORT_MODES.items() if mode in given)


def _phase(obj: Object, now: datetime) -> str:
    if objects.is_deleting(obj):
        return "Terminating"
    return (obj.get("status") or {}).get("phase") or ""


def _claim(obj: Object, now: datetime) -> str:
    reference = _spec(obj).get("claimRef")
    return f"{reference.get('namespace')}/{reference.get('name')}" if reference else ""


VOLUME = (
    NAME,
    text("Capacity", "spec.capacity.storage"),
    Column("Access Modes", lambda obj, now: _modes(_spec(obj).get("accessModes"))),
    text("Reclaim Policy", "spec.persistentVolumeReclaimPolicy"),
    Column("Status", _phase),
    Column("Claim", _claim),
    text("StorageClass", "spec.storageClassName"),
    text("VolumeAttributesClass", "spec.volumeAttributesClassName", _UNSET),
    text("Reason", "status.reason"),
    AGE,
    text("VolumeMode", "spec.volumeMode", _UNSET, WIDE),
)


def _bound(read: Cell) -> Cell:
    """What only a bound claim has."""
    return lambda obj, now: read(obj, now) if _spec(obj).get("volumeName") else ""


CLAIM = (
    NAME,
    Column("Status", _phase),
    text("Volume", "spec.volumeName"),
    Column("Capacity", _bound(value("status.capacity.storage"))),
    Column("Access Modes", _bound(lambda obj, now: _modes((obj.get("status") or {}).get("accessModes")))),
    text("StorageClass", "spec.storageClassName"),
    text("VolumeAttributesClass", "spec.volumeAttributesClassName", _UNSET),
    AGE,
    text("VolumeMode", "spec.volumeMode", _UNSET, WIDE),
)


def _class_name(obj: Object, now: datetime) -> str:
    is_default = objects.annotations_of(obj).get(_DEFAULT_CLASS) == "true"
    return objects.name_of(obj) + (" (default)" if is_default else "")


def _flag(path: str, default: Any = _UNSET) -> Column:
    name = path.rpartition(".")[2]
    return Column(name[:1].upper() + name[1:], value(path, default), "boolean")


STORAGE_CLASS = (
    Column("Name", _class_name, format="name", description=NAME.description),
    text("Provisioner", "provisioner"),
    text("ReclaimPolicy", "reclaimPolicy", "Delete"),
    text("VolumeBindingMode", "volumeBindingMode", "Immediate"),
    _flag("allowVolumeExpansion", default=False),
    AGE,
)


def _token_requests(obj: Object, now: datetime) -> str:
    return join((item.get("audience") or "" for item in _spec(obj).get("tokenRequests") or ()), _UNSET)


CSI_DRIVER = (
    NAME,
    _flag("spec.attachRequired"),
    _flag("spec.podInfoOnMount"),
    _flag("spec.storageCapacity"),
    Column("TokenRequests", _token_requests),
    _flag("spec.requiresRepublish"),
    Column("Modes", lambda obj, now: join(_spec(obj).get("volumeLifecycleModes") or (), "<none>")),
    AGE,
)
CSI_NODE = (NAME, Column("Drivers", count("spec.drivers"), "integer"), AGE)
CAPACITY = (NAME, text("StorageClassName", "storageClassName"), text("Capacity", "capacity", _UNSET))
ATTACHMENT = (
    NAME,
    text("Attacher", "spec.attacher"),
    text("PV", "spec.source.persistentVolumeName"),
    text("Node", "spec.nodeName"),
    Column("Attached", value("status.attached", False), "boolean"),
    AGE,
)

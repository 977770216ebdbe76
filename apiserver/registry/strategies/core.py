"""Namespaces, Nodes, ConfigMaps, Secrets, Events, Leases, EndpointSlices and other kinds that run nothing."""

from __future__ import annotations

from apimachinery import names
from apimachinery.errors import Cause
from apimachinery.objects import Object
from apiserver.registry.call import Call
from apiserver.registry.strategies.base import Strategy, WithStatus, immutable_field, keep
from apiserver.registry.validation import core as validation

EVENT_TTL_SECONDS = 3600
NAMESPACE_FINALIZER = "kubernetes"


class Namespaces(Strategy):
    """A namespace is held by `spec.finalizers` too, which only `/finalize` may change."""

    has_status = True

    def name_problems(self, name: str) -> list[str]:
        return names.dns_label(name)

    def prepare_create(self, obj: Object, call: Call) -> None:
        obj["status"] = {"phase": "Active"}
        finalizers = obj.setdefault("spec", {}).setdefault("finalizers", [])
        if NAMESPACE_FINALIZER not in finalizers:
            finalizers.append(NAMESPACE_FINALIZER)

    def prepare_update(self, new: Object, old: Object, call: Call) -> None:
        super().prepare_update(new, old, call)
        keep(new, old, "spec")

    def prepare_subresource(self, new: Object, old: Object, call: Call) -> None:
        if call.subresource != "finalize":
            super().prepare_subresource(new, old, call)
            return
        finalizers = (new.get("spec") or {}).get("finalizers")
        new.clear()
        new.update(old | {"metadata": dict(old["metadata"]), "spec": {"finalizers": finalizers} if finalizers else {}})

    def holds(self, obj: Object) -> bool:
        return bool((obj.get("spec") or {}).get("finalizers"))

    def mark_deleting(self, obj: Object) -> None:
        obj.setdefault("status", {})["phase"] = "Terminating"


class Nodes(Strategy):
    has_status = True
    keeps_status_on_create = True  # a kubelet registers with its status
    labels_with_status = True

    def prepare_create(self, obj: Object, call: Call) -> None:
        super().prepare_create(obj, call)
        _align_pod_cidrs(obj.get("spec") or {})

    def prepare_update(self, new: Object, old: Object, call: Call) -> None:
        super().prepare_update(new, old, call)
        _align_pod_cidrs(new.get("spec") or {})

    def validate(self, obj: Object, call: Call) -> list[Cause]:
        return validation.node(obj)

    def validate_update(self, new: Object, old: Object, call: Call) -> list[Cause]:
        return validation.node_update(new, old)


def _align_pod_cidrs(spec: Object) -> None:
    """`podCIDR` and `podCIDRs` say the same; clients may write either."""
    if spec.get("podCIDR") and not spec.get("podCIDRs"):
        spec["podCIDRs"] = [spec["podCIDR"]]
    elif spec.get("podCIDRs") and not spec.get("podCIDR"):
        spec["podCIDR"] = spec["podCIDRs"][0]


class ConfigMaps(Strategy):
    def validate(self, obj: Object, call: Call) -> list[Cause]:
        return validation.config_map(obj)

    def validate_update(self, new: Object, old: Object, call: Call) -> list[Cause]:
        return validation.frozen_update(new, old, ("data", "binaryData"))


class Secrets(Strategy):
    def validate(self, obj: Object, call: Call) -> list[Cause]:
        return validation.secret(obj)

    def validate_update(self, new: Object, old: Object, call: Call) -> list[Cause]:
        return validation.secret_update(new, old)


class ServiceAccounts(Strategy):
    returns_deleted = True


class Events(Strategy):
    create_on_update = True
    collects_garbage = False
    ttl_seconds = EVENT_TTL_SECONDS

    def name_problems(self, name: str) -> list[str]:
        return names.path_segment(name)

    def validate(self, obj: Object, call: Call) -> list[Cause]:
        return validation.event(obj, "regarding" if call.resource.group else "involvedObject")


class Leases(Strategy):
    create_on_update = True
    unconditional_update = False

    def validate(self, obj: Object, call: Call) -> list[Cause]:
        return validation.lease(obj)


class EndpointsObjects(Strategy):
    create_on_update = True


class EndpointSlices(Strategy):
    counts_generations = True

    def intent_differs(self, new: Object, old: Object) -> bool:
        return any(new.get(field) != old.get(field) for field in ("addressType", "endpoints", "ports"))

    def validate(self, obj: Object, call: Call) -> list[Cause]:
        return validation.endpoint_slice(obj)

    def validate_update(self, new: Object, old: Object, call: Call) -> list[Cause]:
        return immutable_field(new, old, "addressType")


class LimitRanges(Strategy):
    create_on_update = True

    def validate(self, obj: Object, call: Call) -> list[Cause]:
        return validation.limit_range(obj)


class ResourceQuotas(Strategy):
    has_status = True
    returns_deleted = True


class Volumes(Strategy):
    """PersistentVolumes and their claims."""

    has_status = True
    returns_deleted = True

    def prepare_create(self, obj: Object, call: Call) -> None:
        super().prepare_create(obj, call)
        obj["status"] = {"phase": "Pending"}


class StatusOnly(WithStatus):
    """A status, but no generations."""

    counts_generations = False

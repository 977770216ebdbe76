"""Pods: what a new one starts as, how long a deleted one may take, what each of its subresources may change."""

from __future__ import annotations

from typing import Any

from apimachinery import objects, pods
from apimachinery.errors import Cause
from apimachinery.objects import Object
from apiserver.registry.call import Call
from apiserver.registry.strategies.base import WithStatus, keep
from apiserver.registry.validation import causes
from apiserver.registry.validation import pods as validation

_GATED = "Scheduling is blocked due to non-empty scheduling gates"


class Pods(WithStatus):
    returns_deleted = True
    labels_with_status = True

    def prepare_create(self, obj: Object, call: Call) -> None:
        super().prepare_create(obj, call)
        obj["status"] = {"phase": "Pending", "qosClass": pods.qos_class(obj)}
        if obj["spec"].get("schedulingGates"):
            gated = {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated", "message": _GATED}
            obj["status"]["conditions"] = [gated]

    def validate(self, obj: Object, call: Call) -> list[Cause]:
        return validation.pod(obj)

    def prepare_update(self, new: Object, old: Object, call: Call) -> None:
        super().prepare_update(new, old, call)
        keep(new["spec"], old["spec"], "ephemeralContainers")

    def validate_update(self, new: Object, old: Object, call: Call) -> list[Cause]:
        return validation.pod_update(new, old)

    def prepare_status(self, new: Object, old: Object, call: Call) -> None:
        super().prepare_status(new, old, call)
        status, before = new.setdefault("status", {}), old.get("status") or {}
        keep(status, before, "qosClass")
        if status.get("podIP") and not status.get("podIPs"):
            status["podIPs"] = [{"ip": status["podIP"]}]
        elif status.get("podIPs") and not status.get("podIP"):
            status["podIP"] = status["podIPs"][0].get("ip", "")

    def prepare_subresource(self, new: Object, old: Object, call: Call) -> None:
        after = new.get("spec") or {}
        match call.subresource:
            case "binding":
                return  # `new` is `old` as `pods.bind` changed it: nothing in it comes from the client
            case "ephemeralcontainers":
                self._only(new, old, {"ephemeralContainers": after.get("ephemeralContainers")})
            case "resize":
                self._only(new, old, {"containers": _resized(old["spec"]["containers"], after.get("containers") or [])})
            case _:
                super().prepare_subresource(new, old, call)
                return
        if new["spec"] != old["spec"]:
            new["metadata"]["generation"] = (old["metadata"].get("generation") or 0) + 1

    def validate_subresource(self, new: Object, old: Object, call: Call) -> list[Cause]:
        if call.subresource == "ephemeralcontainers":
            return _ephemeral_update(new["spec"], old["spec"])
        return validation.pod(new) if call.subresource == "resize" else []

    def grace_seconds(self, obj: Object, asked: int | None) -> int | None:
        spec = obj.get("spec") or {}
        period = asked if asked is not None else spec.get("terminationGracePeriodSeconds") or 0
        if not spec.get("nodeName") or pods.is_terminal(obj):
            return 0  # nobody runs it: no kubelet would confirm its end
        return 1 if period < 0 else int(period)

    @staticmethod
    def _only(new: Object, old: Object, changed: dict[str, Any]) -> None:
        """`new` becomes `old` with only these fields of its spec changed."""
        spec = old["spec"] | {name: value for name, value in changed.items() if value is not None}
        new.clear()
        new.update(old | {"metadata": dict(old["metadata"]), "spec": spec})


def bind(pod: Object, node: str, annotations: dict[str, str], now: str) -> None:
    """What a binding does to a pod (S4), in place."""
    pod["spec"]["nodeName"] = node
    if annotations:
        pod["metadata"]["annotations"] = objects.annotations_of(pod) | annotations
    status = pod.setdefault("status", {})
    scheduled = {"type": "PodScheduled", "status": "True", "lastTransitionTime": now}
    status["conditions"] = objects.set_condition(status.get("conditions") or [], scheduled)


def _resized(before: list[Object], asked: list[Object]) -> list[Object]:
    """The containers with the asked resources and resize policies, and nothing else changed."""
    wanted = {container.get("name"): container for container in asked}
    resized = []
    for container in before:
        new = dict(container)
        for field in ("resources", "resizePolicy"):
            value = wanted.get(container["name"], {}).get(field)
            if value is not None:
                new[field] = value
        resized.append(new)
    return resized


def _ephemeral_update(after: Object, before: Object) -> list[Cause]:
    """Ephemeral containers can be added; those that are there stay as they are."""
    new = {item.get("name"): item for item in after.get("ephemeralContainers") or ()}
    field = "spec.ephemeralContainers"
    for item in before.get("ephemeralContainers") or ():
        if item.get("name") not in new:
            return [causes.forbidden(field, f'existing ephemeral containers "{item.get("name")}" may not be removed\n')]
        if new[item.get("name")] != item:
            return [causes.forbidden(field, f'existing ephemeral containers "{item.get("name")}" may not be changed\n')]
    found = []
    taken = {item["name"] for kind in ("containers", "initContainers") for item in after.get(kind) or ()}
    for index, item in enumerate(after.get("ephemeralContainers") or ()):
        name = item.get("name") or ""
        if not name:
            found.append(causes.required(f"{field}[{index}].name"))
        elif name in taken:
            found.append(causes.duplicate(f"{field}[{index}].name", name))
        if not item.get("image"):
            found.append(causes.required(f"{field}[{index}].image"))
        taken.add(name)
    return found

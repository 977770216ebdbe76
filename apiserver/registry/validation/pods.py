"""Pods and the pod templates of workloads."""

from __future__ import annotations

from typing import Any

from apimachinery import names
from apimachinery.errors import Cause
from apimachinery.objects import Object
from apiserver.registry.validation import affinity, causes, containers, metadata, scalars, volumes

_RESTART_POLICIES = ("Always", "Never", "OnFailure")
_DNS_POLICIES = ("ClusterFirst", "ClusterFirstWithHostNet", "Default", "None")
_EFFECTS = ("NoExecute", "NoSchedule", "PreferNoSchedule")
_INT32_MAX = 2**31 - 1

UPDATABLE = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


def pod(obj: Object) -> list[Cause]:
    return pod_spec(obj.get("spec") or {}, "spec")


def template(obj: Object, field: str) -> list[Cause]:
    """A PodTemplateSpec at `field`."""
    meta = obj.get("metadata") or {}
    found = metadata.label_map(meta.get("labels") or {}, f"{field}.labels")
    found += metadata.annotation_map(meta.get("annotations") or {}, f"{field}.annotations")
    return found + pod_spec(obj.get("spec") or {}, f"{field}.spec")


def pod_spec(spec: Object, field: str) -> list[Cause]:
    found = volumes.volumes(spec.get("volumes") or [], f"{field}.volumes")
    found += containers.app_containers(spec.get("containers") or [], spec, f"{field}.containers")
    if spec.get("initContainers"):
        found += containers.init_containers(spec["initContainers"], spec, f"{field}.initContainers")
    found += scalars.one_of(spec.get("restartPolicy"), _RESTART_POLICIES, f"{field}.restartPolicy")
    found += _dns(spec, field)
    found += scalars.not_negative(spec.get("terminationGracePeriodSeconds"), f"{field}.terminationGracePeriodSeconds")
    if spec.get("activeDeadlineSeconds") is not None:
        found += scalars.within(spec["activeDeadlineSeconds"], 1, _INT32_MAX, f"{field}.activeDeadlineSeconds")
    found += metadata.label_map(spec.get("nodeSelector") or {}, f"{field}.nodeSelector")
    found += _names(spec, field)
    found += tolerations(spec.get("tolerations") or [], f"{field}.tolerations")
    if spec.get("affinity"):
        found += affinity.affinity(spec["affinity"], f"{field}.affinity")
    if spec.get("topologySpreadConstraints"):
        found += affinity.spread(spec["topologySpreadConstraints"], f"{field}.topologySpreadConstraints")
    found += _security(spec, field)
    found += _gates(spec.get("schedulingGates") or [], f"{field}.schedulingGates")
    return found


def _dns(spec: Object, field: str) -> list[Cause]:
    policy = spec.get("dnsPolicy")
    found = scalars.one_of(policy, _DNS_POLICIES, f"{field}.dnsPolicy")
    servers = (spec.get("dnsConfig") or {}).get("nameservers") or []
    if policy == "None" and not servers:
        why = "must provide at least one DNS nameserver when `dnsPolicy` is None"
        found.append(causes.required(f"{field}.dnsConfig.nameservers", why))
    if len(servers) > 3:
        found.append(causes.invalid(f"{field}.dnsConfig.nameservers", servers, "must not have more than 3 nameservers"))
    for index, server in enumerate(servers):
        found += scalars.ip_address(server, f"{field}.dnsConfig.nameservers[{index}]")
    return found


def _names(spec: Object, field: str) -> list[Cause]:
    found: list[Cause] = []
    for name in ("serviceAccountName", "nodeName", "priorityClassName", "runtimeClassName"):
        if spec.get(name):
            found += scalars.dns_subdomain(spec[name], f"{field}.{name}")
    for name in ("hostname", "subdomain"):
        if spec.get(name):
            found += scalars.dns_label(spec[name], f"{field}.{name}")
    return found


def _security(spec: Object, field: str) -> list[Cause]:
    found: list[Cause] = []
    context = spec.get("securityContext") or {}
    for name in ("runAsUser", "runAsGroup", "fsGroup"):
        value = context.get(name)
        if value is not None and not 0 <= value <= _INT32_MAX:
            why = f"must be between 0 and {_INT32_MAX}, inclusive"
            found.append(causes.invalid(f"{field}.securityContext.{name}", value, why))
    if spec.get("hostPID") and spec.get("shareProcessNamespace"):
        why = "ShareProcessNamespace and HostPID cannot both be enabled"
        found.append(causes.invalid(f"{field}.shareProcessNamespace", True, why))
    return found


def _gates(gates: list[Object], field: str) -> list[Cause]:
    found: list[Cause] = []
    seen: set[str] = set()
    for index, gate in enumerate(gates):
        name = gate.get("name") or ""
        found += [causes.invalid(f"{field}[{index}]", name, why) for why in names.qualified_name(name)]
        if name in seen:
            found.append(causes.duplicate(f"{field}[{index}]", name))
        seen.add(name)
    return found


def tolerations(listed: list[Object], field: str) -> list[Cause]:
    found: list[Cause] = []
    for index, item in enumerate(listed):
        here = f"{field}[{index}]"
        key, operator = item.get("key") or "", item.get("operator") or "Equal"
        if key:
            found += [causes.invalid(f"{here}.key", key, why) for why in names.qualified_name(key)]
        elif operator != "Exists":
            why = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
            found.append(causes.invalid(f"{here}.operator", operator, why))
        if item.get("tolerationSeconds") is not None and item.get("effect") != "NoExecute":
            why = "effect must be 'NoExecute' when `tolerationSeconds` is set"
            found.append(causes.invalid(f"{here}.effect", item.get("effect") or "", why))
        if operator == "Exists" and item.get("value"):
            why = "value must be empty when `operator` is 'Exists'"
            found.append(causes.invalid(f"{here}.operator", item, why))
        elif operator == "Equal":
            found += [
                causes.invalid(f"{here}.operator", item.get("value"), w)
                for w in names.label_value(item.get("value") or "")
            ]
        elif operator not in ("Exists", "Gt", "Lt"):
            found.append(causes.unsupported(f"{here}.operator", operator, ("Equal", "Exists")))
        if item.get("effect"):
            found += scalars.one_of(item["effect"], _EFFECTS, f"{here}.effect")
    return found


def taints(listed: list[Object], field: str) -> list[Cause]:
    found: list[Cause] = []
    seen: set[tuple[Any, Any]] = set()
    for index, taint in enumerate(listed):
        here = f"{field}[{index}]"
        found += [
            causes.invalid(f"{here}.key", taint.get("key"), w) for w in names.qualified_name(taint.get("key") or "")
        ]
        found += [
            causes.invalid(f"{here}.value", taint.get("value"), w) for w in names.label_value(taint.get("value") or "")
        ]
        found += scalars.one_of(taint.get("effect"), _EFFECTS, f"{here}.effect")
        identity = (taint.get("key"), taint.get("effect"))
        if identity in seen:
            cause = causes.duplicate(here, taint)
            found.append(cause._replace(message=f"{cause.message}: taints must be unique by key and effect pair"))
        seen.add(identity)
    return found


def pod_update(new: Object, old: Object) -> list[Cause]:
    """What of a pod's spec may change once it exists."""
    after, before = new.get("spec") or {}, old.get("spec") or {}
    found = _deadline_update(after.get("activeDeadlineSeconds"), before.get("activeDeadlineSeconds"))
    found += _tolerations_update(after.get("tolerations") or [], before.get("tolerations") or [])
    gated = before.get("schedulingGates") or []
    names_before = {gate.get("name") for gate in gated}
    added = [gate for gate in after.get("schedulingGates") or () if gate.get("name") not in names_before]
    if added:
        why = f"only deletion is allowed, but found new scheduling gate '{added[0].get('name')}'"
        found.append(causes.forbidden("spec.schedulingGates", why))
    if _fixed(after, gated=bool(gated)) != _fixed(before, gated=bool(gated)):
        found.append(causes.forbidden("spec", UPDATABLE))
    return found


def _deadline_update(after: int | None, before: int | None) -> list[Cause]:
    if before is None or after == before:
        return []
    if after is None:
        why = "must not update from a positive integer to nil value"
        return [causes.invalid("spec.activeDeadlineSeconds", None, why)]
    if after > before:
        return [causes.invalid("spec.activeDeadlineSeconds", after, "must be less than or equal to previous value")]
    return []


def _tolerations_update(after: list[Object], before: list[Object]) -> list[Cause]:
    kept = [{key: value for key, value in item.items() if key != "tolerationSeconds"} for item in after]
    for item in before:
        if {key: value for key, value in item.items() if key != "tolerationSeconds"} not in kept:
            why = "existing toleration can not be modified except its tolerationSeconds"
            return [causes.forbidden("spec.tolerations", why)]
    return []


def _fixed(spec: Object, *, gated: bool) -> Object:
    """The part of a spec that may not change, without what means nothing."""
    free = {"activeDeadlineSeconds", "tolerations", "schedulingGates", "terminationGracePeriodSeconds"}
    if gated:
        free |= {"nodeSelector", "affinity"}
    fixed = {name: value for name, value in spec.items() if name not in free}
    for field in ("containers", "initContainers"):
        if field in fixed:
            fixed[field] = [{k: v for k, v in item.items() if k != "image"} for item in fixed[field]]
    return _meaningful(fixed)  # type: ignore[no-any-return]


def _meaningful(value: Any) -> Any:
    """`value` without empty members: typed clients leave them out, others write them."""
    if isinstance(value, dict):
        cleaned = {key: _meaningful(item) for key, item in value.items()}
        return {key: item for key, item in cleaned.items() if item not in (None, "", [], {}) and item is not False}
    if isinstance(value, list):
        return [_meaningful(item) for item in value]
    return value

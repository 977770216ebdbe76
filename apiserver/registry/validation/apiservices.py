"""What may stand in an APIService, with upstream's words."""

from __future__ import annotations

import base64

from apimachinery import names
from apimachinery.errors import Cause
from apimachinery.objects import Object
from apiserver.registry.validation import causes, scalars

_GROUP_PRIORITY_MAX, _VERSION_PRIORITY_MAX = 20000, 1000


def api_service(obj: Object) -> list[Cause]:
    spec, name = obj.get("spec") or {}, obj["metadata"].get("name", "")
    group, version = spec.get("group") or "", spec.get("version") or ""
    found: list[Cause] = []
    wanted = f"{version}.{group}"
    if name != wanted:
        detail = f'must be `spec.version+"."+spec.group`: "{wanted}"'
        found.append(causes.invalid("metadata.name", name, detail))
    if not group and version != "v1":
        detail = "only v1 may have an empty group and it better be legacy kube"
        found.append(causes.required("spec.group", detail))
    if group:
        found += [causes.invalid("spec.group", group, problem) for problem in names.dns_subdomain(group)]
    found += [causes.invalid("spec.version", version, problem) for problem in names.dns_1035_label(version)]
    for field, limit in (("groupPriorityMinimum", _GROUP_PRIORITY_MAX), ("versionPriority", _VERSION_PRIORITY_MAX)):
        value = spec.get(field) or 0
        if not 0 < value <= limit:
            found.append(causes.invalid(f"spec.{field}", value, f"must be positive and less than {limit}"))
    return found + (_service(spec) if spec.get("service") else _local(spec))


def _local(spec: Object) -> list[Cause]:
    found = []
    if spec.get("caBundle"):
        size = len(base64.b64decode(spec["caBundle"]))
        found.append(causes.invalid("spec.caBundle", f"{size} bytes", "local APIServices may not have a caBundle"))
    if spec.get("insecureSkipTLSVerify"):
        detail = "local APIServices may not have insecureSkipTLSVerify"
        found.append(causes.invalid("spec.insecureSkipTLSVerify", True, detail))
    return found


def _service(spec: Object) -> list[Cause]:
    service = spec["service"]
    found = [causes.required(f"spec.service.{field}") for field in ("namespace", "name") if not service.get(field)]
    for problem in scalars.port_number(service.get("port") or 0, "spec.service.port"):
        detail = problem.message.partition(": ")[2].partition(": ")[2]
        found.append(causes.invalid("spec.service.port", service.get("port") or 0, f"port is not valid: {detail}"))
    if spec.get("insecureSkipTLSVerify") and spec.get("caBundle"):
        found.append(causes.invalid("spec.insecureSkipTLSVerify", True, "may not be true if caBundle is present"))
    return found


def api_service_status(obj: Object) -> list[Cause]:
    found: list[Cause] = []
    for index, condition in enumerate((obj.get("status") or {}).get("conditions") or ()):
        if condition.get("status") not in ("True", "False", "Unknown"):
            field = f"status.conditions[{index}].status"
            found.append(causes.unsupported(field, condition.get("status"), ("True", "False", "Unknown")))
    return found

"""ConfigMaps, Secrets, Services, Nodes, Events, Leases, EndpointSlices and the rest of what is no workload."""

from __future__ import annotations

import base64
import ipaddress
from collections.abc import Collection
from typing import Any

import orjson

from apimachinery import names
from apimachinery.errors import Cause
from apimachinery.objects import Object
from apiserver.registry.validation import causes, metadata, pods, scalars

DATA_BYTES_MAX = 1024 * 1024
_FROZEN = "field is immutable when `immutable` is set"
_SERVICE_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_SECRET_KEYS = {
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
}
SERVICE_ACCOUNT_TOKEN = "kubernetes.io/service-account-token"
SERVICE_ACCOUNT_NAME = "kubernetes.io/service-account.name"


def config_map(obj: Object) -> list[Cause]:
    data, binary = obj.get("data") or {}, obj.get("binaryData") or {}
    found: list[Cause] = []
    for key in data:
        found += scalars.config_key(key, "data")
        if key in binary:
            found.append(causes.invalid(f"data[{key}]", key, "duplicate of key present in binaryData"))
    for key in binary:
        found += scalars.config_key(key, "binaryData")
    if _is_too_large(data.values(), binary.values()):
        found.append(causes.too_long("", DATA_BYTES_MAX))
    return found


def _is_too_large(texts: Collection[str], encoded: Collection[str]) -> bool:
    """Whether texts and base64 are together more than a ConfigMap may hold. Most are not even in characters."""
    binary = sum(len(value) * 3 // 4 for value in encoded)
    if 4 * sum(map(len, texts)) + binary <= DATA_BYTES_MAX:  # no character takes more than four bytes
        return False
    return sum(len(value.encode()) for value in texts) + binary > DATA_BYTES_MAX


def frozen_update(new: Object, old: Object, fields: tuple[str, ...]) -> list[Cause]:
    """What `immutable: true` forbids to a ConfigMap or Secret."""
    if not old.get("immutable"):
        return []
    found = [causes.forbidden("immutable", _FROZEN)] if not new.get("immutable") else []
    return found + [
        causes.forbidden(name, _FROZEN) for name in fields if (new.get(name) or {}) != (old.get(name) or {})
    ]


def secret(obj: Object) -> list[Cause]:
    data = obj.get("data") or {}
    found: list[Cause] = []
    for key in data:
        found += scalars.config_key(key, "data")
    if sum(len(value) * 3 // 4 for value in data.values()) > DATA_BYTES_MAX:
        found.append(causes.too_long("data", DATA_BYTES_MAX))
    kind = obj.get("type") or ""
    for key in _SECRET_KEYS.get(kind, ()):
        if key not in data:
            found.append(causes.required(f"data[{key}]"))
        elif "docker" in kind and not _is_json(data[key]):
            found.append(causes.invalid(f"data[{key}]", "<secret contents redacted>", "invalid character"))
    if kind == SERVICE_ACCOUNT_TOKEN and not (obj["metadata"].get("annotations") or {}).get(SERVICE_ACCOUNT_NAME):
        found.append(causes.required(f"metadata.annotations[{SERVICE_ACCOUNT_NAME}]"))
    if kind == "kubernetes.io/basic-auth" and not {"username", "password"} & data.keys():
        found += [causes.required("data[username]"), causes.required("data[password]")]
    return found


def _is_json(text: str) -> bool:
    try:
        orjson.loads(base64.b64decode(text))
    except ValueError:
        return False
    return True


def secret_update(new: Object, old: Object) -> list[Cause]:
    found = [causes.immutable("type", new.get("type"))] if new.get("type") != old.get("type") else []
    return found + frozen_update(new, old, ("data",))


# --- services


def service(obj: Object) -> list[Cause]:
    spec = obj["spec"]
    kind, headless = spec.get("type"), spec.get("clusterIP") == "None"
    found: list[Cause] = []
    if kind not in _SERVICE_TYPES:
        found.append(causes.unsupported("spec.type", kind, _SERVICE_TYPES))
    ports = spec.get("ports") or []
    if not ports and not headless and kind != "ExternalName":
        found.append(causes.required("spec.ports"))
    if kind == "ExternalName":
        name = (spec.get("externalName") or "").rstrip(".")
        found += scalars.dns_subdomain(name, "spec.externalName") if name else [causes.required("spec.externalName")]
        if spec.get("clusterIP"):
            why = "may not be set for ExternalName services"
            found.append(causes.forbidden("spec.clusterIPs[0]", why))
    if kind in ("NodePort", "LoadBalancer") and headless:
        found.append(causes.invalid("spec.clusterIPs[0]", "None", f"may not be set to 'None' for {kind} services"))
    found += _service_ports(ports, spec)
    found += metadata.label_map(spec.get("selector") or {}, "spec.selector")
    found += scalars.one_of(spec.get("sessionAffinity"), ("ClientIP", "None"), "spec.sessionAffinity")
    for index, address in enumerate(spec.get("clusterIPs") or ()):
        if address != "None":
            found += scalars.ip_address(address, f"spec.clusterIPs[{index}]")
    for index, address in enumerate(spec.get("externalIPs") or ()):
        found += scalars.ip_address(address, f"spec.externalIPs[{index}]")
    if spec.get("externalTrafficPolicy"):
        policies = ("Cluster", "Local")
        found += scalars.one_of(spec["externalTrafficPolicy"], policies, "spec.externalTrafficPolicy")
    return found


def _service_ports(ports: list[Object], spec: Object) -> list[Cause]:
    found: list[Cause] = []
    seen_names: set[str] = set()
    seen_ports: set[tuple[Any, Any]] = set()
    seen_node_ports: set[tuple[Any, Any]] = set()
    for index, port in enumerate(ports):
        here = f"spec.ports[{index}]"
        found += _service_port(
            port, here, named=len(ports) > 1, node_ports=spec.get("type") in ("NodePort", "LoadBalancer")
        )
        name = port.get("name")
        if name and name in seen_names:
            found.append(causes.duplicate(f"{here}.name", name))
        seen_names.add(name or "")
        identity = (port.get("protocol"), port.get("port"))
        if identity in seen_ports:
            found.append(causes.duplicate(here, {"port": port.get("port"), "protocol": port.get("protocol")}))
        seen_ports.add(identity)
        if port.get("nodePort"):
            node_identity = (port.get("protocol"), port["nodePort"])
            if node_identity in seen_node_ports:
                found.append(causes.duplicate(f"{here}.nodePort", port["nodePort"]))
            seen_node_ports.add(node_identity)
    return found


def _service_port(port: Object, here: str, *, named: bool, node_ports: bool) -> list[Cause]:
    found: list[Cause] = []
    name = port.get("name")
    if name:
        found += scalars.dns_label(name, f"{here}.name")
    elif named:
        found.append(causes.required(f"{here}.name"))
    found += scalars.port_number(port.get("port") or 0, f"{here}.port")
    found += scalars.one_of(port.get("protocol"), scalars.PROTOCOLS, f"{here}.protocol")
    found += scalars.port(port.get("targetPort"), f"{here}.targetPort")
    if port.get("nodePort") and not node_ports:
        found.append(causes.forbidden(f"{here}.nodePort", "may not be used when `type` is 'ClusterIP'"))
    return found


def service_update(new: Object, old: Object) -> list[Cause]:
    """The cluster IP stays while both sides have one."""
    after, before = new["spec"].get("clusterIPs") or [], old["spec"].get("clusterIPs") or []
    external = "ExternalName" in (new["spec"].get("type"), old["spec"].get("type"))
    if external or not before or not before[0] or (after and after[0] == before[0]):
        return []
    return [causes.invalid("spec.clusterIPs[0]", after, "may not change once set")]


# --- nodes, leases, events, endpoints


def node(obj: Object) -> list[Cause]:
    spec = obj.get("spec") or {}
    found = pods.taints(spec.get("taints") or [], "spec.taints")
    for index, cidr in enumerate(spec.get("podCIDRs") or ()):
        try:
            ipaddress.ip_network(cidr)
        except ValueError:
            why = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
            found.append(causes.invalid(f"spec.podCIDRs[{index}]", cidr, why))
    return found


def node_update(new: Object, old: Object) -> list[Cause]:
    after, before = new.get("spec") or {}, old.get("spec") or {}
    found: list[Cause] = []
    if before.get("podCIDRs") and after.get("podCIDRs") != before["podCIDRs"]:
        found.append(causes.forbidden("spec.podCIDRs", 'node updates may not change podCIDR except from "" to valid'))
    if before.get("providerID") and after.get("providerID") != before["providerID"]:
        why = 'node updates may not change providerID except from "" to valid'
        found.append(causes.forbidden("spec.providerID", why))
    return found


def lease(obj: Object) -> list[Cause]:
    spec = obj.get("spec") or {}
    found: list[Cause] = []
    duration = spec.get("leaseDurationSeconds")
    if duration is not None and duration <= 0:
        found.append(causes.invalid("spec.leaseDurationSeconds", duration, "must be greater than 0"))
    return found + scalars.not_negative(spec.get("leaseTransitions"), "spec.leaseTransitions")


def event(obj: Object, reference_field: str) -> list[Cause]:
    """An event lives in the namespace of what it is about; those about cluster-scoped things in `default`."""
    about = (obj.get(reference_field) or {}).get("namespace") or ""
    namespace = obj["metadata"].get("namespace") or ""
    if about == namespace or (not about and namespace in ("default", "kube-system")):
        return []
    return [causes.invalid(f"{reference_field}.namespace", about, "does not match event.namespace")]


def endpoint_slice(obj: Object) -> list[Cause]:
    kind = obj.get("addressType") or ""
    found = scalars.one_of(kind, ("FQDN", "IPv4", "IPv6"), "addressType")
    for index, endpoint in enumerate(obj.get("endpoints") or ()):
        here = f"endpoints[{index}].addresses"
        if not endpoint.get("addresses"):
            found.append(causes.required(here, "must contain at least 1 address"))
        for at, address in enumerate(endpoint.get("addresses") or ()):
            found += _endpoint_address(address, kind, f"{here}[{at}]")
    seen: set[str] = set()
    for index, port in enumerate(obj.get("ports") or ()):
        name = port.get("name") or ""
        if name:
            found += scalars.dns_label(name, f"ports[{index}].name")
        if name in seen:
            found.append(causes.duplicate(f"ports[{index}].name", name))
        seen.add(name)
        found += scalars.one_of(port.get("protocol"), scalars.PROTOCOLS, f"ports[{index}].protocol")
    return found


def _endpoint_address(address: str, kind: str, field: str) -> list[Cause]:
    if kind == "FQDN":
        return scalars.dns_subdomain(address, field)
    version = {"IPv4": 4, "IPv6": 6}.get(kind)
    try:
        fits = ipaddress.ip_address(address).version == version
    except ValueError:
        fits = False
    return [] if fits else [causes.invalid(field, address, f"must be a valid {kind} address")]


def limit_range(obj: Object) -> list[Cause]:
    found: list[Cause] = []
    for index, item in enumerate((obj.get("spec") or {}).get("limits") or ()):
        kind = item.get("type") or ""
        found += [causes.invalid(f"spec.limits[{index}].type", kind, why) for why in names.qualified_name(kind) if kind]
        if not kind:
            found.append(causes.required(f"spec.limits[{index}].type"))
    return found

"""Services, endpoints, ingresses, network policies, addresses."""

from __future__ import annotations

from datetime import datetime

from apimachinery.objects import Object
from apiserver.scheme.columns.shared import AGE, NAME, NONE, WIDE, join, label_map, selector_text, text
from apiserver.scheme.resources import Column

_SHOWN_MAX = 3  # endpoints and ports that a cell names; the rest is counted


def _spec(obj: Object) -> Object:
    return obj.get("spec") or {}


def _cluster_ip(service: Object, now: datetime) -> str:
    spec = _spec(service)
    ips = spec.get("clusterIPs") or ()
    return (ips[0] if ips else spec.get("clusterIP")) or NONE


def _external_ip(service: Object, now: datetime) -> str:
    spec = _spec(service)
    external = spec.get("externalIPs") or []
    match spec.get("type"):
        case "ExternalName":
            return spec.get("externalName") or NONE
        case "LoadBalancer":
            ingress = ((service.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()
            given = [item.get("ip") or item.get("hostname") or "" for item in ingress]
            return join([*filter(None, given), *external], "<pending>")
    return join(external, NONE)


def _port(port: Object) -> str:
    number = f"{port['port']}:{port['nodePort']}" if port.get("nodePort") else str(port["port"])
    return f"{number}/{port.get('protocol') or 'TCP'}"


SERVICE = (
    NAME,
    text("Type", "spec.type"),
    Column("Cluster-IP", _cluster_ip),
    Column("External-IP", _external_ip),
    Column("Port(s)", lambda obj, now: join((_port(port) for port in _spec(obj).get("ports") or ()), NONE)),
    AGE,
    Column("Selector", lambda obj, now: label_map(_spec(obj).get("selector")), priority=WIDE),
)


def _some(items: list[str]) -> str:
    """The first few, and how many more."""
    if not items:
        return NONE
    more = f" + {len(items) - _SHOWN_MAX} more..." if len(items) > _SHOWN_MAX else ""
    return join(items[:_SHOWN_MAX]) + more


def _endpoints(obj: Object, now: datetime) -> str:
    found = []
    for subset in obj.get("subsets") or ():
        ports = subset.get("ports") or ()
        for address in subset.get("addresses") or ():
            found += [f"{address['ip']}:{port['port']}" for port in ports] or [address["ip"]]
    return _some(found)


ENDPOINTS = (NAME, Column("Endpoints", _endpoints), AGE)


def _slice_ports(obj: Object, now: datetime) -> str:
    ports = obj.get("ports") or ()
    if not ports:
        return "<unset>"
    return _some([str(port["port"]) if port.get("port") is not None else "*" for port in ports])


def _slice_endpoints(obj: Object, now: datetime) -> str:
    listed = [address for endpoint in obj.get("endpoints") or () for address in endpoint.get("addresses") or ()]
    return _some(listed) if listed else "<unset>"


ENDPOINT_SLICE = (
    NAME,
    text("AddressType", "addressType"),
    Column("Ports", _slice_ports),
    Column("Endpoints", _slice_endpoints),
    AGE,
)


def _hosts(obj: Object, now: datetime) -> str:
    hosts = [rule.get("host") or "*" for rule in _spec(obj).get("rules") or ()]
    return _some(list(dict.fromkeys(hosts))).replace(NONE, "*")


def _ingress_address(obj: Object, now: datetime) -> str:
    ingress = ((obj.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()
    return join(item.get("ip") or item.get("hostname") or "" for item in ingress)


INGRESS = (
    NAME,
    text("Class", "spec.ingressClassName", NONE),
    Column("Hosts", _hosts),
    Column("Address", _ingress_address),
    Column("Ports", lambda obj, now: "80, 443" if _spec(obj).get("tls") else "80"),
    AGE,
)


def _parameters(obj: Object, now: datetime) -> str:
    parameters = _spec(obj).get("parameters")
    if parameters is None:
        return NONE
    kind = parameters.get("kind", "")
    group = parameters.get("apiGroup")
    return f"{kind}.{group}/{parameters.get('name')}" if group else f"{kind}/{parameters.get('name')}"


INGRESS_CLASS = (NAME, text("Controller", "spec.controller"), Column("Parameters", _parameters), AGE)
NETWORK_POLICY = (NAME, Column("Pod-Selector", lambda obj, now: selector_text(_spec(obj).get("podSelector"))), AGE)


def _parent(obj: Object, now: datetime) -> str:
    parent = _spec(obj).get("parentRef") or {}
    return "/".join(filter(None, (parent.get("resource"), parent.get("namespace"), parent.get("name"))))


IP_ADDRESS = (NAME, Column("ParentRef", _parent), AGE)
SERVICE_CIDR = (NAME, Column("CIDRs", lambda obj, now: join(_spec(obj).get("cidrs") or ())), AGE)

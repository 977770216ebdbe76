"""A Service in words, with the endpoints behind each port."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from apimachinery.objects import Object
from minictl.describe import layout

ENDPOINTS_SHOWN = 3  # as kubectl: the others are counted


def describe(obj: Object, slices: Sequence[Object], events: Sequence[Object] | None, now: datetime) -> list[str]:
    """The lines of a Service's description. `slices` are its EndpointSlices."""
    spec = obj["spec"]
    lines = [*layout.head(obj), f"Selector:\t{_selector(spec.get('selector'))}", f"Type:\t{spec.get('type') or ''}"]
    lines += _optional(spec, {"IP Family Policy": "ipFamilyPolicy"})
    lines.append(f"IP Families:\t{_joined(spec.get('ipFamilies')) or '<none>'}")
    lines.append(f"IP:\t{spec.get('clusterIP') or ''}")
    lines.append(f"IPs:\t{_joined(spec.get('clusterIPs')) or '<none>'}")
    lines += _optional(spec, {"External IPs": "externalIPs", "Desired LoadBalancer IP": "loadBalancerIP"})
    ingress = ((obj.get("status") or {}).get("loadBalancer") or {}).get("ingress")
    if ingress:
        lines.append(f"LoadBalancer Ingress:\t{', '.join(map(_ingress, ingress))}")
    lines += _optional(spec, {"External Name": "externalName"})
    for port in spec.get("ports") or []:
        lines += _port(port, slices)
    lines.append(f"Session Affinity:\t{spec.get('sessionAffinity') or ''}")
    lines += _optional(spec, _POLICIES)
    return [*lines, *layout.events(events, now)]


_POLICIES = {
    "External Traffic Policy": "externalTrafficPolicy",
    "Internal Traffic Policy": "internalTrafficPolicy",
    "HealthCheck NodePort": "healthCheckNodePort",
    "LoadBalancer Source Ranges": "loadBalancerSourceRanges",
    "Traffic Distribution": "trafficDistribution",
}


def _optional(spec: Object, titles: Mapping[str, str]) -> list[str]:
    """A line for each field that is set."""
    return [f"{title}:\t{_joined(spec[field])}" for title, field in titles.items() if spec.get(field)]


def _joined(value: Any) -> str:
    return ",".join(value) if isinstance(value, list) else str(value or "")


def _selector(selector: Mapping[str, str] | None) -> str:
    return ",".join(f"{key}={value}" for key, value in sorted((selector or {}).items())) or "<none>"


def _ingress(entry: Object) -> str:
    if not entry.get("ip"):
        return str(entry.get("hostname") or "")
    return f"{entry['ip']} ({entry['ipMode']})" if entry.get("ipMode") else str(entry["ip"])


def _port(port: Object, slices: Sequence[Object]) -> list[str]:
    name, protocol = port.get("name") or "<unset>", port.get("protocol") or "TCP"
    lines = [f"Port:\t{name}\t{port['port']}/{protocol}", f"TargetPort:\t{port.get('targetPort') or 0}/{protocol}"]
    if port.get("nodePort"):
        lines.append(f"NodePort:\t{name}\t{port['nodePort']}/{protocol}")
    return [*lines, f"Endpoints:\t{_endpoints(slices, port.get('name') or '')}"]


def _endpoints(slices: Sequence[Object], name: str) -> str:
    """The first ready addresses of a port, and how many there are beside them."""
    if not slices:
        return "<none>"
    found = [address for part in slices for address in _addresses(part, name)]
    more = len(found) - ENDPOINTS_SHOWN
    shown = ",".join(found[:ENDPOINTS_SHOWN])
    return f"{shown} + {more} more..." if more > 0 else shown


def _addresses(part: Object, name: str) -> Iterator[str]:
    ready = [
        endpoint["addresses"][0]
        for endpoint in part.get("endpoints") or []
        if (endpoint.get("conditions") or {}).get("ready") is not False
    ]
    if not part.get("ports"):  # a headless service may have none
        yield from ready
    for port in part.get("ports") or []:
        if (port.get("name") or "") == name:
            yield from (f"[{ip}]:{port['port']}" if ":" in ip else f"{ip}:{port['port']}" for ip in ready)

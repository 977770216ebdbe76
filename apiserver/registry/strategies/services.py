"""Services: what a change of type leaves behind, and which allocated values an update may leave out.

The addresses themselves are given out by `apiserver.registry.addresses`.
"""

from __future__ import annotations

from apimachinery import names
from apimachinery.errors import Cause
from apimachinery.objects import Object
from apiserver.registry.call import Call
from apiserver.registry.strategies.base import Strategy
from apiserver.registry.validation import core as validation

WITH_NODE_PORTS = ("NodePort", "LoadBalancer")


class Services(Strategy):
    has_status = True
    create_on_update = True
    returns_deleted = True

    def name_problems(self, name: str) -> list[str]:
        return names.dns_1035_label(name)

    def prepare_create(self, obj: Object, call: Call) -> None:
        super().prepare_create(obj, call)
        obj["status"] = {"loadBalancer": {}}
        _align(obj["spec"])

    def prepare_update(self, new: Object, old: Object, call: Call) -> None:
        super().prepare_update(new, old, call)
        after, before = new["spec"], old["spec"]
        _keep_allocated(after, before)
        _drop_left_behind(after, before)
        _align(after)

    def validate(self, obj: Object, call: Call) -> list[Cause]:
        return validation.service(obj)

    def validate_update(self, new: Object, old: Object, call: Call) -> list[Cause]:
        return validation.service_update(new, old)


def _keep_allocated(after: Object, before: Object) -> None:
    """What was allocated and is not mentioned stays, so that a manifest can be applied again."""
    if "ExternalName" not in (after.get("type"), before.get("type")):
        if not after.get("clusterIP") and not after.get("clusterIPs"):
            for field in ("clusterIP", "clusterIPs"):
                if before.get(field):
                    after[field] = before[field]
        for field in ("ipFamilies", "ipFamilyPolicy"):
            if not after.get(field) and before.get(field):
                after[field] = before[field]
    if after.get("type") in WITH_NODE_PORTS and before.get("type") in WITH_NODE_PORTS:
        known = {(port.get("protocol"), port.get("port")): port.get("nodePort") for port in before.get("ports") or ()}
        for port in after.get("ports") or ():
            node_port = known.get((port.get("protocol"), port.get("port")))
            if not port.get("nodePort") and node_port:
                port["nodePort"] = node_port


def _drop_left_behind(after: Object, before: Object) -> None:
    """Values of the old type that the new one does not have, if the user has not touched them."""
    kind, was = after.get("type"), before.get("type")
    if kind == was:
        return
    if kind == "ExternalName":
        for field in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy"):
            if after.get(field) == before.get(field):
                after.pop(field, None)
    if kind not in WITH_NODE_PORTS and was in WITH_NODE_PORTS:
        known = [port.get("nodePort") for port in before.get("ports") or ()]
        for port in after.get("ports") or ():
            if port.get("nodePort") in known:
                port.pop("nodePort", None)
        for field in ("externalTrafficPolicy", "healthCheckNodePort"):
            if after.get(field) == before.get(field):
                after.pop(field, None)
    if kind != "LoadBalancer" and was == "LoadBalancer":
        after.pop("allocateLoadBalancerNodePorts", None)


def _align(spec: Object) -> None:
    """`clusterIP` and `clusterIPs` say the same."""
    if spec.get("clusterIP") and (not spec.get("clusterIPs") or spec["clusterIPs"][0] != spec["clusterIP"]):
        spec["clusterIPs"] = [spec["clusterIP"]]
    elif spec.get("clusterIPs") and not spec.get("clusterIP"):
        spec["clusterIP"] = spec["clusterIPs"][0]
    if spec.get("clusterIP"):
        family = "IPv6" if ":" in spec["clusterIP"] else "IPv4"
        if not spec.get("ipFamilies"):
            spec["ipFamilies"] = [family]
        spec["ipFamilyPolicy"] = spec.get("ipFamilyPolicy") or "SingleStack"

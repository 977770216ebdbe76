"""Defaults of core/v1, networking, discovery, storage and scheduling kinds that are no workloads.

Source: upstream's `pkg/apis/{core,networking,discovery,storage,scheduling}/*/defaults.go`.
"""

from __future__ import annotations

import base64

from apimachinery.objects import Object

NAMESPACE_LABEL = "kubernetes.io/metadata.name"
EXTERNAL_TYPES = ("NodePort", "LoadBalancer")
CLIENT_IP_SECONDS = 10800


def namespace(obj: Object) -> None:
    name = obj["metadata"].get("name")
    if name:
        labels = obj["metadata"].setdefault("labels", {})
        labels[NAMESPACE_LABEL] = name
    obj.setdefault("spec", {})
    status = obj.setdefault("status", {})
    status["phase"] = status.get("phase") or "Active"


def secret(obj: Object) -> None:
    """`stringData` is only a way to write: its texts become data here, and win over it."""
    texts = obj.pop("stringData", None)
    if texts:
        data = obj.setdefault("data", {})
        data.update({key: base64.b64encode(text.encode()).decode() for key, text in texts.items()})
    obj["type"] = obj.get("type") or "Opaque"


def service(obj: Object) -> None:
    spec = obj.setdefault("spec", {})
    spec["sessionAffinity"] = spec.get("sessionAffinity") or "None"
    if spec["sessionAffinity"] == "None":
        spec.pop("sessionAffinityConfig", None)
    else:
        client = spec.setdefault("sessionAffinityConfig", {}).setdefault("clientIP", {})
        client.setdefault("timeoutSeconds", CLIENT_IP_SECONDS)
    spec["type"] = spec.get("type") or "ClusterIP"
    for port in spec.get("ports") or ():
        port["protocol"] = port.get("protocol") or "TCP"
        if not port.get("targetPort"):
            port["targetPort"] = port.get("port", 0)
    external = spec["type"] in EXTERNAL_TYPES or (spec["type"] == "ClusterIP" and spec.get("externalIPs"))
    if external and not spec.get("externalTrafficPolicy"):
        spec["externalTrafficPolicy"] = "Cluster"
    if spec["type"] in (*EXTERNAL_TYPES, "ClusterIP") and not spec.get("internalTrafficPolicy"):
        spec["internalTrafficPolicy"] = "Cluster"
    if spec["type"] == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)


def endpoints(obj: Object) -> None:
    for subset in obj.get("subsets") or ():
        for port in subset.get("ports") or ():
            port["protocol"] = port.get("protocol") or "TCP"


def endpoint_slice(obj: Object) -> None:
    for port in obj.get("ports") or ():
        port.setdefault("name", "")
        port.setdefault("protocol", "TCP")


def persistent_volume(obj: Object) -> None:
    spec = obj.setdefault("spec", {})
    spec["persistentVolumeReclaimPolicy"] = spec.get("persistentVolumeReclaimPolicy") or "Retain"
    spec.setdefault("volumeMode", "Filesystem")
    if spec.get("hostPath") is not None:
        spec["hostPath"].setdefault("type", "")


def persistent_volume_claim(obj: Object) -> None:
    obj.setdefault("spec", {}).setdefault("volumeMode", "Filesystem")


def limit_range(obj: Object) -> None:
    """Container limits: the default follows the maximum, the default request the default, then the minimum."""
    for item in (obj.get("spec") or {}).get("limits") or ():
        if item.get("type") != "Container":
            continue
        limits = item.setdefault("default", {})
        for name, value in (item.get("max") or {}).items():
            limits.setdefault(name, value)
        requests = item.setdefault("defaultRequest", {})
        for name, value in [*limits.items(), *(item.get("min") or {}).items()]:
            requests.setdefault(name, value)


def network_policy(obj: Object) -> None:
    spec = obj.setdefault("spec", {})
    for rule in [*(spec.get("ingress") or ()), *(spec.get("egress") or ())]:
        for port in rule.get("ports") or ():
            port.setdefault("protocol", "TCP")
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]


def ingress_class(obj: Object) -> None:
    parameters = (obj.get("spec") or {}).get("parameters")
    if parameters is not None:
        parameters.setdefault("scope", "Cluster")


def storage_class(obj: Object) -> None:
    obj.setdefault("reclaimPolicy", "Delete")
    obj.setdefault("volumeBindingMode", "Immediate")


def csi_driver(obj: Object) -> None:
    spec = obj.setdefault("spec", {})
    spec.setdefault("attachRequired", True)
    for field in ("podInfoOnMount", "requiresRepublish", "storageCapacity", "seLinuxMount"):
        spec.setdefault(field, False)
    spec.setdefault("fsGroupPolicy", "ReadWriteOnceWithFSType")
    if not spec.get("volumeLifecycleModes"):
        spec["volumeLifecycleModes"] = ["Persistent"]


def priority_class(obj: Object) -> None:
    obj.setdefault("value", 0)  # no default of upstream's, but what its type writes for a number that is absent
    obj.setdefault("preemptionPolicy", "PreemptLowerPriority")

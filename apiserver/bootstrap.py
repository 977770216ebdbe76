"""What a cluster has before anybody asks: namespaces, priority classes, roles and bindings, its own Service.

Made when the first worker starts.
Guarantees: objects are created when they are missing; roles and bindings regain what they should have, and keep what
was added to them, unless their annotation `rbac.authorization.kubernetes.io/autoupdate` is "false"; a second run
changes nothing.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import logging
from collections.abc import Iterable, Iterator
from pathlib import Path

from apimachinery import codec, errors
from apimachinery.clock import Clock
from apimachinery.gvr import GVK
from apimachinery.objects import Object
from apiserver.admission import priority
from apiserver.authorization import bootstrap_roles as table
from apiserver.authorization import rules
from apiserver.config import Config
from apiserver.registry.call import LOOPBACK, Call
from apiserver.registry.registry import Registry
from apiserver.storage.store import Store

_log = logging.getLogger("apiserver.bootstrap")

NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")
AUTO_UPDATE = "rbac.authorization.kubernetes.io/autoupdate"
_GROUP = "rbac.authorization.k8s.io"
_LABELS = {"kubernetes.io/bootstrapping": "rbac-defaults"}
# Writes at a time: enough to be ready in a fraction of a second, too few to be felt by others
_AT_A_TIME = 16
_RETRY_SECONDS = 1.0
_CLASSES = {
    "system-node-critical": "Used for system critical pods that must not be moved from their current node.",
    "system-cluster-critical": "Used for system critical pods that must run in the cluster, but can be moved to "
    "another node if necessary.",
}


class Bootstrap:
    def __init__(self, registry: Registry, store: Store, clock: Clock, own_service: list[Object]) -> None:
        self._registry = registry
        self._clock = clock
        self._store = store
        self._own_service = own_service
        self._turns = asyncio.Semaphore(_AT_A_TIME)

    async def run(self) -> None:
        """Makes everything, several at a time, namespaces first; what fails is tried again until it succeeds."""
        await self._all([_namespace(name) for name in NAMESPACES])
        await self._all([*priority_classes(), *rbac_objects(), *self._own_service])

    async def _all(self, wanted: list[Object]) -> None:
        while wanted:
            done = await asyncio.gather(*(self._try(obj) for obj in wanted))
            wanted = [obj for obj, succeeded in zip(wanted, done, strict=True) if not succeeded]
            if wanted:
                await self._clock.sleep(_RETRY_SECONDS)

    async def _try(self, obj: Object) -> bool:
        try:
            await self._ensure(obj)
        except errors.APIError as error:
            _log.warning("cannot make %s %s yet: %s", obj["kind"], obj["metadata"]["name"], error)
            return False
        return True

    async def _ensure(self, obj: Object) -> None:
        async with self._turns:
            row = self._registry.scheme.by_kind(GVK.of(obj["apiVersion"], obj["kind"]))
            assert row is not None, "the table has all kinds that are made here"
            namespace, name = obj["metadata"].get("namespace", ""), obj["metadata"]["name"]
            existing = self._store.cached(row.key(namespace, name))
            if existing is None:
                try:
                    call = Call(LOOPBACK, row, "create", namespace)
                    await self._registry.create(call, self._registry.decode(call, codec.encode(obj)))
                except errors.AlreadyExists:
                    _log.debug("%s %s was made by another apiserver", row.resource, name)
                return
            changed = reconciled(existing.decode(), obj)
            if changed is not None:
                _log.info("A5 giving %s %s back what it should have", row.resource, name)
                await self._registry.update(Call(LOOPBACK, row, "update", namespace, name), changed)


def reconciled(existing: Object, wanted: Object) -> Object | None:
    """`existing` with what it lacks, or None when nothing is missing or it must not be touched."""
    metadata = existing["metadata"]
    if wanted["kind"] == "ConfigMap":
        changed = existing | {"data": {**(existing.get("data") or {}), **wanted["data"]}}
        return None if changed == existing else changed
    if "endpoints" in wanted or "subsets" in wanted:
        changed = existing | {part: wanted[part] for part in ("endpoints", "ports", "subsets") if part in wanted}
        return None if changed == existing else changed
    if (
        AUTO_UPDATE not in wanted["metadata"].get("annotations", ())
        or (metadata.get("annotations") or {}).get(AUTO_UPDATE) == "false"
    ):
        return None
    changed = dict(existing)
    for part in ("labels", "annotations"):
        changed["metadata"] = {**changed["metadata"], part: {**wanted["metadata"][part], **(metadata.get(part) or {})}}
    if wanted.get("rules") and "aggregationRule" not in wanted:
        missing = rules.escalates(wanted["rules"], existing.get("rules") or ())
        changed["rules"] = [*(existing.get("rules") or ()), *missing]
    if "subjects" in wanted:
        present = existing.get("subjects") or []
        changed["subjects"] = [*present, *(subject for subject in wanted["subjects"] if subject not in present)]
    return None if changed == existing else changed


def own_service(service_cidr: str, advertised: str, port: int) -> list[Object]:
    """The Service `kubernetes` at the range's first address, and who answers there: this apiserver.

    Without an address that the cluster can reach there is a Service, but nobody behind it.
    """
    ip = str(ipaddress.ip_network(service_cidr)[1])
    labels = {"component": "apiserver", "provider": "kubernetes"}
    ports = [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": port}]
    spec = {"type": "ClusterIP", "clusterIP": ip, "clusterIPs": [ip], "sessionAffinity": "None", "ports": ports}
    head: Object = {"metadata": {"name": "kubernetes", "namespace": "default", "labels": labels}}
    service = {"apiVersion": "v1", "kind": "Service", **head, "spec": spec}
    if not advertised:
        return [service]
    endpoint_ports = [{"name": "https", "port": port, "protocol": "TCP"}]
    of_service = {"kubernetes.io/service-name": "kubernetes"}
    return [
        service,
        {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {"name": "kubernetes", "namespace": "default", "labels": of_service},
            "addressType": "IPv6" if ":" in advertised else "IPv4",
            "endpoints": [{"addresses": [advertised], "conditions": {"ready": True}}],
            "ports": endpoint_ports,
        },
        {
            "apiVersion": "v1",
            "kind": "Endpoints",
            "metadata": {
                "name": "kubernetes",
                "namespace": "default",
                "labels": {"endpointslice.kubernetes.io/skip-mirror": "true"},
            },
            "subsets": [{"addresses": [{"ip": advertised}], "ports": endpoint_ports}],
        },
    ]


def authentication_of_clients(config: Config) -> Object:
    """What an extension server needs to authenticate clients as we do: the authorities, and front proxies' headers."""
    data: dict[str, str] = {}
    if config.client_ca_file:
        data["client-ca-file"] = Path(config.client_ca_file).read_text()
    if config.requestheader_client_ca_file:
        data["requestheader-client-ca-file"] = Path(config.requestheader_client_ca_file).read_text()
        for name, words in (
            ("requestheader-allowed-names", config.requestheader_allowed_names),
            ("requestheader-username-headers", config.requestheader_username_headers),
            ("requestheader-uid-headers", config.requestheader_uid_headers),
            ("requestheader-group-headers", config.requestheader_group_headers),
            ("requestheader-extra-headers-prefix", config.requestheader_extra_headers_prefix),
        ):
            data[name] = json.dumps(words, separators=(",", ":"))
    metadata = {"name": "extension-apiserver-authentication", "namespace": "kube-system"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def priority_classes() -> Iterator[Object]:
    """The classes of what a cluster cannot do without."""
    for name, value in priority.SYSTEM_CLASSES.items():
        yield {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": name},
            "value": value,
            "description": _CLASSES[name],
        }


def rbac_objects() -> Iterator[Object]:
    """Every role and binding of the table."""
    for name, lines in table.CLUSTER_ROLES.items():
        yield _role("ClusterRole", name, lines, table.LABELS.get(name, {}))
    for name, (labels, gathers) in table.AGGREGATED.items():
        role = _role("ClusterRole", name, (), labels)
        selector = {"matchLabels": {f"{_GROUP}/aggregate-to-{gathers}": "true"}}
        yield role | {"aggregationRule": {"clusterRoleSelectors": [selector]}}
    for controller, lines in table.CONTROLLER_ROLES.items():
        name = f"system:controller:{controller}"
        yield _role("ClusterRole", name, lines)
        # Controllers run under one identity until each logs in as its own service account; both are bound
        subjects = (f"ServiceAccount kube-system/{controller}", table.CONTROLLER_MANAGER)
        yield _binding("ClusterRoleBinding", name, "ClusterRole", name, subjects)
    for name, bound in table.CLUSTER_BINDINGS.items():
        yield _binding("ClusterRoleBinding", name, "ClusterRole", name, bound)
    for (namespace, name), lines in table.ROLES.items():
        yield _placed(_role("Role", name, lines), namespace)
    for (namespace, name, role_name), bound in table.BINDINGS.items():
        yield _placed(_binding("RoleBinding", name, "Role", role_name, bound), namespace)


def _namespace(name: str) -> Object:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def _role(kind: str, name: str, lines: Iterable[str], labels: dict[str, str] | None = None) -> Object:
    return {**_head(kind, name, labels or {}), "rules": [table.rule(line) for line in lines]}


def _binding(kind: str, name: str, role_kind: str, role_name: str, subjects: Iterable[str]) -> Object:
    return {
        **_head(kind, name, {}),
        "roleRef": {"apiGroup": _GROUP, "kind": role_kind, "name": role_name},
        "subjects": [table.subject(text) for text in subjects],
    }


def _head(kind: str, name: str, labels: dict[str, str]) -> Object:
    metadata = {"name": name, "labels": {**_LABELS, **labels}, "annotations": {AUTO_UPDATE: "true"}}
    return {"apiVersion": f"{_GROUP}/v1", "kind": kind, "metadata": metadata}


def _placed(obj: Object, namespace: str) -> Object:
    obj["metadata"]["namespace"] = namespace
    return obj

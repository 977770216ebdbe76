"""Service addresses: cluster IPs and node ports, each given to one service only, whichever apiserver gives them.

A cluster IP is claimed by creating its IPAddress object (`networking.k8s.io`, as upstream): etcd lets only one do it.
Node ports are bits of one object that is changed by compare-and-put. `settle` ends a claim: after the service was
written, what it no longer uses is freed; when it was not, what was newly claimed is.
Does not guarantee that a claim of a server that died between claim and write is freed at once: it is taken over when
somebody asks for that very address after a minute, and ports stay taken.
"""

from __future__ import annotations

import base64
import ipaddress
import random
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

import orjson

from apimachinery import clock, errors, gvr
from apimachinery.clock import Clock
from apimachinery.errors import Cause
from apimachinery.objects import Object
from apiserver.registry.strategies.services import WITH_NODE_PORTS
from apiserver.registry.validation import causes
from apiserver.scheme.resources import Resource
from apiserver.storage import types
from apiserver.storage.store import Store
from apiserver.storage.types import Stored

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
CLAIM_TRIES_MAX = 32  # addresses tried at random before the range is searched in order
ABANDONED_AFTER = timedelta(minutes=1)  # a claim whose service still does not exist then was left by a crash
_ADDRESSES = "/registry/ipaddresses/"
_SERVICES = "/registry/services/specs/"
_PORTS = "/registry/ranges/servicenodeports"


class Claim:
    """What one write of a service has taken, and what it gives back if it works."""

    def __init__(self) -> None:
        self.taken_ips: list[str] = []
        self.taken_ports: list[int] = []
        self.freed_ips: list[str] = []
        self.freed_ports: list[int] = []


class Addresses:
    def __init__(
        self, store: Store, clock: Clock, source: random.Random, *, service_cidr: str, node_ports: tuple[int, int]
    ) -> None:
        self._store = store
        self._clock = clock
        self._random = source
        self._network: Network = ipaddress.ip_network(service_cidr)
        self._ports = NodePorts(store, source, node_ports)

    async def claim(self, new: Object | None, old: Object | None, *, dry_run: bool) -> Claim:
        """Fills in the addresses that `new` needs, in place. Raises Invalid, InternalError."""
        claim = Claim()
        before_ips, before_ports = _ips(old), _node_ports(old)
        if new is not None:
            try:
                await self._claim_ip(new, before_ips, claim, dry_run)
                await self._claim_ports(new, before_ports, claim, dry_run)
            except BaseException:
                await self.settle(claim, written=False)
                raise
        claim.freed_ips = [ip for ip in before_ips if ip not in _ips(new)]
        claim.freed_ports = [port for port in before_ports if port not in _node_ports(new)]
        return claim

    async def settle(self, claim: Claim, *, written: bool) -> None:
        """Ends a claim. Never called when it is not known whether the service was written."""
        for ip in claim.freed_ips if written else claim.taken_ips:
            await self._free_ip(ip)
        ports = claim.freed_ports if written else claim.taken_ports
        if ports:
            await self._ports.free(ports)

    async def release(self, resource: Resource, deleted: Stored) -> None:
        """Frees what a deleted service held; other kinds hold nothing."""
        if resource.gvr == gvr.SERVICES:
            await self.settle(await self.claim(None, deleted.object, dry_run=False), written=True)

    # --- cluster IPs

    async def _claim_ip(self, service: Object, had: list[str], claim: Claim, dry_run: bool) -> None:
        spec = service["spec"]
        if spec.get("type") == "ExternalName" or spec.get("clusterIP") == "None":
            return
        asked = spec.get("clusterIP") or ""
        if asked in had and asked:
            return
        ip = await self._take(service, asked, dry_run)
        if not dry_run:
            claim.taken_ips.append(ip)
        spec["clusterIP"], spec["clusterIPs"] = ip, [ip]
        spec["ipFamilies"] = ["IPv6" if ":" in ip else "IPv4"]
        spec["ipFamilyPolicy"] = spec.get("ipFamilyPolicy") or "SingleStack"

    async def _take(self, service: Object, asked: str, dry_run: bool) -> str:
        if asked:
            self._check_in_range(service, asked)
            if not await self._create(asked, service, dry_run) and not await self._take_over(asked, service):
                raise _refused(service, asked, "provided IP is already allocated")
            return asked
        for ip in self._candidates():
            if self._store.cached(_ADDRESSES + ip) is None and await self._create(ip, service, dry_run):
                return ip
        why = f"failed to allocate a serviceIP: range is full ({self._network})"
        raise errors.InternalError(f"Internal error occurred: {why}")

    def _candidates(self) -> Iterable[str]:
        """Random addresses of the upper part, which nobody asks for by number, then every address in order."""
        size = self._network.num_addresses - (2 if self._network.version == 4 else 1)
        base = int(self._network.network_address) + 1
        reserved = min(max(16, size // 16), 256) if size > 16 else 0
        make = ipaddress.IPv4Address if self._network.version == 4 else ipaddress.IPv6Address
        for _ in range(CLAIM_TRIES_MAX):
            yield str(make(base + self._random.randrange(reserved, size)))
        for offset in [*range(reserved, min(size, 65536)), *range(reserved)]:
            yield str(make(base + offset))

    def _check_in_range(self, service: Object, ip: str) -> None:
        address = ipaddress.ip_address(ip)
        if address not in self._network or address in (self._network.network_address, self._network[-1]):
            why = f"the provided IP ({ip}) is not in the valid range. The range of valid IPs is {self._network}"
            raise _refused(service, ip, why)

    async def _create(self, ip: str, service: Object, dry_run: bool) -> bool:
        if dry_run:
            return await self._store.get(_ADDRESSES + ip) is None
        try:
            await self._store.create(_ADDRESSES + ip, types.encode(self._address(ip, service)))
        except types.KeyExists:
            return False
        return True

    def _address(self, ip: str, service: Object) -> Object:
        labels = {
            "ipaddress.kubernetes.io/ip-family": "IPv6" if ":" in ip else "IPv4",
            "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io",
        }
        meta = service["metadata"]
        parent = {"group": "", "resource": "services", "namespace": meta["namespace"], "name": meta["name"]}
        return {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "IPAddress",
            "metadata": {
                "name": ip,
                "uid": f"{self._random.getrandbits(128):032x}",
                "creationTimestamp": clock.rfc3339(self._clock.now()),
                "labels": labels,
            },
            "spec": {"parentRef": parent},
        }

    async def _take_over(self, ip: str, service: Object) -> bool:
        """Takes a claim that a crash left behind: old, and of a service that does not exist or has another address."""
        found = await self._store.get(_ADDRESSES + ip)
        if found is None:
            return await self._create(ip, service, dry_run=False)
        claim = found.object
        age = self._clock.now() - clock.parse_rfc3339(claim["metadata"]["creationTimestamp"])
        parent = (claim.get("spec") or {}).get("parentRef") or {}
        owner = await self._store.get(f"{_SERVICES}{parent.get('namespace')}/{parent.get('name')}")
        if age < ABANDONED_AFTER or (owner is not None and ip in _ips(owner.object)):
            return False
        raw = types.encode(self._address(ip, service))
        try:
            await self._store.update(found.key, lambda _: raw, expected_revision=found.revision)
        except (types.RevisionMismatch, types.KeyMissing):
            return False
        return True

    async def _free_ip(self, ip: str) -> None:
        try:
            await self._store.delete(_ADDRESSES + ip)
        except types.KeyMissing:
            return

    # --- node ports

    async def _claim_ports(self, service: Object, had: list[int], claim: Claim, dry_run: bool) -> None:
        spec = service["spec"]
        if spec.get("type") not in WITH_NODE_PORTS:
            return
        if spec["type"] == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is False:
            return
        ports = spec.get("ports") or []
        asked = [port["nodePort"] for port in ports if port.get("nodePort") and port["nodePort"] not in had]
        missing = [port for port in ports if not port.get("nodePort")]
        if not asked and not missing:
            return
        given = await self._ports.take(service, list(dict.fromkeys(asked)), len(missing), dry_run=dry_run)
        if not dry_run:
            claim.taken_ports += [*dict.fromkeys(asked), *given]
        for port, number in zip(missing, given, strict=True):
            port["nodePort"] = number


class NodePorts:
    """The bitmap of taken node ports, as upstream keeps it (`RangeAllocation`)."""

    def __init__(self, store: Store, source: random.Random, bounds: tuple[int, int]) -> None:
        self._store = store
        self._random = source
        self._low, self._high = bounds

    async def take(self, service: Object, asked: list[int], count: int, *, dry_run: bool) -> list[int]:
        """Takes the asked ports and `count` free ones; returns the latter. Raises Invalid, InternalError."""
        for number in asked:
            if not self._low <= number <= self._high:
                span = f"{self._low}-{self._high}"
                why = f"provided port is not in the valid range. The range of valid ports is {span}"
                raise _bad_port(service, number, why)
        await self._ensure()
        given: list[int] = []

        def change(current: Stored) -> bytes | None:
            bits = _bits(current.object)
            for number in asked:
                if bits >> (number - self._low) & 1:
                    raise _bad_port(service, number, "provided port is already allocated")
                bits |= 1 << (number - self._low)
            given[:] = self._free_ones(bits, count)
            for number in given:
                bits |= 1 << (number - self._low)
            return None if dry_run else self._encode(bits)

        await self._store.update(_PORTS, change)
        return given

    async def free(self, numbers: list[int]) -> None:
        def change(current: Stored) -> bytes:
            bits = _bits(current.object)
            for number in numbers:
                bits &= ~(1 << (number - self._low))
            return self._encode(bits)

        try:
            await self._store.update(_PORTS, change)
        except types.KeyMissing:
            return

    def _free_ones(self, bits: int, count: int) -> list[int]:
        free = [number for number in range(self._low, self._high + 1) if not bits >> (number - self._low) & 1]
        if len(free) < count:
            raise errors.InternalError("Internal error occurred: failed to allocate a nodePort: range is full")
        return self._random.sample(free, count)

    async def _ensure(self) -> None:
        if self._store.cached(_PORTS) is None:
            try:
                await self._store.create(_PORTS, self._encode(0))
            except types.KeyExists:
                return

    def _encode(self, bits: int) -> bytes:
        data = base64.b64encode(bits.to_bytes((bits.bit_length() + 7) // 8, "big")).decode()
        obj = {
            "apiVersion": "v1",
            "kind": "RangeAllocation",
            "metadata": {},
            "range": f"{self._low}-{self._high}",
            "data": data,
        }
        return orjson.dumps(obj)


def _bits(allocation: Object) -> int:
    return int.from_bytes(base64.b64decode(allocation.get("data") or ""), "big")


def _ips(service: Object | None) -> list[str]:
    """The cluster IPs that a service holds."""
    if service is None:
        return []
    spec: dict[str, Any] = service.get("spec") or {}
    return [ip for ip in spec.get("clusterIPs") or () if ip and ip != "None"]


def _node_ports(service: Object | None) -> list[int]:
    if service is None:
        return []
    return [port["nodePort"] for port in (service.get("spec") or {}).get("ports") or () if port.get("nodePort")]


def _refused(service: Object, ip: str, why: str) -> errors.Invalid:
    cause = causes.invalid("spec.clusterIPs", [ip], f"failed to allocate IP {ip}: {why}")
    return _invalid(service, cause)


def _bad_port(service: Object, number: int, why: str) -> errors.Invalid:
    ports = service["spec"].get("ports") or []
    index = next((at for at, port in enumerate(ports) if port.get("nodePort") == number), 0)
    return _invalid(service, causes.invalid(f"spec.ports[{index}].nodePort", number, why))


def _invalid(service: Object, cause: Cause) -> errors.Invalid:
    return errors.invalid("", "Service", service["metadata"].get("name") or "", [cause])

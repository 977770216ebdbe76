"""Cutting a cluster's address range into node ranges of one size, and knowing which are taken. Pure."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class Exhausted(Exception):
    """Every range of the cluster's is taken."""


class Ranges:
    """The node ranges within `cluster`. Kept as a set of numbers: range i starts i sizes after the cluster's start."""

    def __init__(self, cluster: str, mask_size: int) -> None:
        self._cluster: Network = ipaddress.ip_network(cluster)
        self._mask_size = mask_size
        self._shift = self._cluster.max_prefixlen - mask_size
        self._count = 1 << (mask_size - self._cluster.prefixlen)
        self._next = 0  # where the search goes on: a range just freed is not given out again at once

    def __contains__(self, cidr: str) -> bool:
        network = ipaddress.ip_network(cidr, strict=False)
        return network.version == self._cluster.version and network.overlaps(self._cluster)

    def free(self, taken: Iterable[str]) -> str:
        """A range that overlaps none of `taken`. Raises Exhausted."""
        numbers = set[int]()
        for cidr in taken:
            numbers.update(self._numbers(cidr))
        for offset in range(self._count):
            number = (self._next + offset) % self._count
            if number not in numbers:
                self._next = number + 1
                return self._range(number)
        raise Exhausted(f"no range of /{self._mask_size} is left in {self._cluster}")

    def _numbers(self, cidr: str) -> range:
        """The numbers of the ranges that `cidr`, of any size, lies in or covers."""
        network = ipaddress.ip_network(cidr, strict=False)
        if cidr not in self:
            return range(0)
        start = int(self._cluster.network_address)
        first = max(0, int(network.network_address) - start) >> self._shift
        last = (int(network.broadcast_address) - start) >> self._shift
        return range(first, min(last, self._count - 1) + 1)

    def _range(self, number: int) -> str:
        address = ipaddress.ip_address(int(self._cluster.network_address) + (number << self._shift))
        return f"{address}/{self._mask_size}"

"""Pod addresses out of the node's pod CIDR, as the host-local plugin hands them out: in turn, the gateway's never."""

from __future__ import annotations

import ipaddress

# In an IPv6 range more addresses than this are never looked at.
_SPAN_MAX = 1 << 20


class NoAddress(Exception):
    """The range is used up, or there is none yet."""


class Pool:
    """Addresses of one range. `None`: the kubelet has not told the node's CIDR yet."""

    def __init__(self, cidr: str | None = None) -> None:
        self._network = ipaddress.ip_network(cidr) if cidr else None
        self._taken: set[str] = set()
        self._last = 1  # the network's own address is 0, the bridge's 1

    @property
    def is_ready(self) -> bool:
        return self._network is not None

    def configure(self, cidr: str) -> None:
        """A new range; addresses in use stay with their sandboxes. Raises ValueError."""
        network = ipaddress.ip_network(cidr)
        if network != self._network:
            self._network, self._last = network, 1

    def take(self) -> str:
        """The next free address, going round. Raises NoAddress."""
        if self._network is None:
            raise NoAddress("cni plugin not initialized: the node has no pod CIDR yet")
        span = min(self._network.num_addresses, _SPAN_MAX)
        for step in range(1, span):
            offset = (self._last + step) % span
            if offset in (0, 1) or offset == span - 1:  # network, bridge, broadcast
                continue
            address = str(self._network[offset])
            if address not in self._taken:
                self._taken.add(address)
                self._last = offset
                return address
        raise NoAddress(f"no IP addresses available in range set: {self._network}")

    def give_back(self, address: str) -> None:
        self._taken.discard(address)

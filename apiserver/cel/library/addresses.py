"""IP addresses and networks."""

from __future__ import annotations

import ipaddress
import math
from dataclasses import dataclass
from typing import Any

from apiserver.cel import values
from apiserver.cel.declarations import Library
from apiserver.cel.issues import EvaluationError
from apiserver.cel.library import costs
from apiserver.cel.library.costs import TRAVERSAL

IP, CIDR = "net.IP", "net.CIDR"
Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Interface = ipaddress.IPv4Interface | ipaddress.IPv6Interface


@dataclass(frozen=True, slots=True)
class IPAddress:
    address: Address
    cel_type = IP

    @property
    def bytes_size(self) -> int:
        return 4 if self.address.version == 4 else 16

    def __str__(self) -> str:
        return str(self.address)


@dataclass(frozen=True, slots=True)
class Network:
    interface: Interface
    cel_type = CIDR

    @property
    def bytes_size(self) -> int:
        return math.ceil(self.interface.network.prefixlen / 8)

    def __str__(self) -> str:
        return str(self.interface)


def _ip(text: str) -> IPAddress:
    problem = f"IP Address {text!r} parse error during conversion from string: ".replace("'", '"')
    try:
        address = ipaddress.ip_address(text)
    except ValueError as error:
        reason = f'ParseAddr("{text}"): unable to parse IP'
        raise EvaluationError(problem + reason) from error
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            raise EvaluationError(problem + "IPv4-mapped IPv6 address is not allowed")
        if address.scope_id is not None:
            raise EvaluationError(problem + "IP address with zone value is not allowed")
    return IPAddress(address)


def _cidr(text: str) -> Network:
    address, slash, length = text.partition("/")
    refused = EvaluationError(f'network address parse error during conversion from string: netip.ParsePrefix("{text}")')
    if not slash or not length.isdecimal() or (len(length) > 1 and length.startswith("0")):
        raise refused
    try:
        _ip(address)
        return Network(ipaddress.ip_interface(text))
    except ValueError as error:
        raise refused from error


def _valid(read: Any) -> Any:
    def check(text: str) -> bool:
        try:
            read(text)
        except EvaluationError:
            return False
        return True

    return check


def _contains_ip(network: Network, other: IPAddress | str) -> bool:
    address = _ip(other).address if isinstance(other, str) else other.address
    return address.version == network.interface.version and address in network.interface.network


def _contains_cidr(network: Network, other: Network | str) -> bool:
    inner = (_cidr(other) if isinstance(other, str) else other).interface.network
    outer = network.interface.network
    if isinstance(inner, ipaddress.IPv4Network) and isinstance(outer, ipaddress.IPv4Network):
        return inner.subnet_of(outer)
    if isinstance(inner, ipaddress.IPv6Network) and isinstance(outer, ipaddress.IPv6Network):
        return inner.subnet_of(outer)
    return False


def _is_canonical(text: str) -> bool:
    return str(_ip(text)) == text


def _is_global_unicast(ip: IPAddress) -> bool:
    address = ip.address
    broadcast = ipaddress.IPv4Address("255.255.255.255")
    return not (
        address.is_unspecified
        or address.is_loopback
        or address.is_multicast
        or address.is_link_local
        or address == broadcast
    )


def _is_link_local_multicast(ip: IPAddress) -> bool:
    packed = ip.address.packed
    return packed[:3] == b"\xe0\x00\x00" if len(packed) == 4 else packed[0] == 0xFF and packed[1] & 0x0F == 2


def _containment(other_is_text: bool, extra: bool) -> Any:
    def cost(args: tuple[Any, ...], result: Any) -> int:
        width = values.size(args[0])
        units = math.ceil(2 * width * TRAVERSAL)
        if extra:
            units += math.ceil(width * TRAVERSAL) + 1
        return units + (math.ceil(values.size(args[1]) * TRAVERSAL) if other_is_text else 0)

    return cost


LIBRARY = Library()
LIBRARY.function(f"ip(string) -> {IP}", _ip, costs.traversal())
LIBRARY.function("isIP(string) -> bool", _valid(_ip), costs.traversal())
LIBRARY.function("ip.isCanonical(string) -> bool", _is_canonical, costs.traversal(2))
LIBRARY.function(f"cidr(string) -> {CIDR}", _cidr, costs.traversal())
LIBRARY.function("isCIDR(string) -> bool", _valid(_cidr), costs.traversal())
LIBRARY.function(f"string({IP}) -> string", str)
LIBRARY.function(f"string({CIDR}) -> string", str)
LIBRARY.method(f"family({IP}) -> int", lambda ip: ip.address.version)
LIBRARY.method(f"isUnspecified({IP}) -> bool", lambda ip: ip.address.is_unspecified)
LIBRARY.method(f"isLoopback({IP}) -> bool", lambda ip: ip.address.is_loopback)
LIBRARY.method(f"isLinkLocalUnicast({IP}) -> bool", lambda ip: ip.address.is_link_local)
LIBRARY.method(f"isLinkLocalMulticast({IP}) -> bool", _is_link_local_multicast)
LIBRARY.method(f"isGlobalUnicast({IP}) -> bool", _is_global_unicast)
LIBRARY.method(f"ip({CIDR}) -> {IP}", lambda network: IPAddress(network.interface.ip))
LIBRARY.method(f"prefixLength({CIDR}) -> int", lambda network: network.interface.network.prefixlen)
LIBRARY.method(f"masked({CIDR}) -> {CIDR}", lambda network: Network(ipaddress.ip_interface(network.interface.network)))
for other in (IP, "string"):
    LIBRARY.method(f"containsIP({CIDR}, {other}) -> bool", _contains_ip, _containment(other == "string", False))
for other in (CIDR, "string"):
    LIBRARY.method(f"containsCIDR({CIDR}, {other}) -> bool", _contains_cidr, _containment(other == "string", True))

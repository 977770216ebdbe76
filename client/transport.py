"""How bytes reach the server: httpx's interface, over aiohttp in components, over a small transport in minictl.

aiohttp costs a third of a second to import and then a third of the CPU a call; a component pays the first once, a
command line would pay it each time. Both find a peer that vanished: keep-alive probes close the connection after
`KEEPALIVE_IDLE + KEEPALIVE_COUNT * KEEPALIVE_INTERVAL` seconds without an answer (45, as client-go's HTTP/2 pings).
"""

from __future__ import annotations

import socket
import ssl
from typing import Any

import httpx

KEEPALIVE_IDLE = 30
KEEPALIVE_INTERVAL = 5
KEEPALIVE_COUNT = 3
# Longer than a pause between two reconciles, shorter than servers keep an idle connection (uvicorn here: 90)
IDLE_CONNECTION_SECONDS = 75.0


def socket_options() -> list[tuple[int, int, int]]:
    """Keep-alive probes; the options that this system has."""
    options = [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1), (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)]
    timings = (
        ("TCP_KEEPIDLE", KEEPALIVE_IDLE),
        ("TCP_KEEPINTVL", KEEPALIVE_INTERVAL),
        ("TCP_KEEPCNT", KEEPALIVE_COUNT),
        # unacknowledged data: without it a write to a dead peer is repeated for a quarter of an hour
        ("TCP_USER_TIMEOUT", (KEEPALIVE_IDLE + KEEPALIVE_COUNT * KEEPALIVE_INTERVAL) * 1000),
    )
    options += [(socket.IPPROTO_TCP, getattr(socket, name), value) for name, value in timings if hasattr(socket, name)]
    return options


def for_component(context: ssl.SSLContext | None) -> httpx.AsyncBaseTransport:
    """The transport of a long-running process: no limit on connections, since every watch holds one."""
    import aiohttp  # late: see above
    from httpx_aiohttp import AiohttpTransport

    def session() -> aiohttp.ClientSession:
        connector = aiohttp.TCPConnector(
            limit=0,
            ssl=context if context is not None else True,
            keepalive_timeout=IDLE_CONNECTION_SECONDS,
            socket_factory=_socket,
        )
        return aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            # watch lines are small and many; lists are large: the buffer pauses the server, it does not cut
            read_bufsize=1 << 18,
            skip_auto_headers=("Accept-Encoding", "User-Agent", "Content-Type"),
        )

    return AiohttpTransport(verify=context if context is not None else False, client=session)


def for_command(context: ssl.SSLContext | None) -> httpx.AsyncBaseTransport:
    """The transport of a command line: quick to import."""
    from client.commandhttp import CommandTransport

    return CommandTransport(context, socket_options())


def _socket(address: Any) -> socket.socket:
    family, kind, protocol, _, _ = address
    made = socket.socket(family, kind, protocol)
    for level, name, value in socket_options():
        made.setsockopt(level, name, value)
    made.setblocking(False)
    return made


def server_name_extension(name: str) -> dict[str, str]:
    """What makes TLS check the server's certificate for `name` instead of for the host in the URL."""
    return {"sni_hostname": name} if name else {}

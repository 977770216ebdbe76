"""Many watchers of one collection: how many deliveries a second, and how late.

An event's latency counts from the moment its write was sent to the moment a watcher has it. In the burst one client
writes one object after another, as fast as it is answered; paced, it writes ten a second. The watchers share the load
generator's process and this machine's cores with all else.
"""

from __future__ import annotations

import asyncio
import re
import ssl
import time
from dataclasses import dataclass
from typing import cast

from bench import load, objects

WATCHERS, EVENTS = 500, 200
PACED_EVENTS, PACE_SECONDS = 50, 0.1
_PATH = "/api/v1/namespaces/{}/configmaps"
_NAME = re.compile(rb'"name":"event-(\d+)"')
_NAME_BYTES = 32  # no shorter tail may be dropped: a name may be cut by the end of what was received
_OPEN_AT_A_TIME = 50
_END_SECONDS = 60.0


class Deliveries:
    """When each event was sent, and how long each took to each watcher."""

    def __init__(self) -> None:
        self.sent: dict[int, float] = {}
        self.seconds: list[float] = []
        self.last = 0.0

    def received(self, number: int, now: float) -> None:
        self.seconds.append(now - self.sent[number])
        self.last = now

    def percentile(self, share: float) -> float:
        """In milliseconds."""
        ordered = sorted(self.seconds)
        return 1000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))]


class Watcher(asyncio.Protocol):
    """A watch that looks only for names of events: anything more would measure itself."""

    def __init__(self, request: bytes, deliveries: Deliveries) -> None:
        self._request = request
        self._deliveries = deliveries
        self._tail = b""
        self.ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        cast("asyncio.WriteTransport", transport).write(self._request)

    def data_received(self, data: bytes) -> None:
        if not self.ready.done():  # the response's head
            self.ready.set_result(None)
        now = time.perf_counter()
        data = self._tail + data
        end = 0
        for match in _NAME.finditer(data):
            self._deliveries.received(int(match[1]), now)
            end = match.end()
        self._tail = data[max(end, len(data) - _NAME_BYTES) :]


@dataclass(frozen=True)
class Measured:
    what: str
    rate: float
    p50: float
    p99: float

    def __str__(self) -> str:
        return f"| {self.what} | {self.rate:,.0f} | {self.p50:.0f} | {self.p99:.0f} |"


HEADER = "| watchers and events | deliveries/s | p50 ms | p99 ms |\n|---|---|---|---|"


async def measure(port: int, context: ssl.SSLContext, token: str, namespace: str) -> list[Measured]:
    """The burst and the paced run."""
    deliveries = Deliveries()
    path = _PATH.format(namespace)
    head = f"Host: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\nAccept: application/json\r\n\r\n"
    request = f"GET {path}?watch=true HTTP/1.1\r\n{head}".encode()
    transports = await _open(port, context, request, deliveries)
    writer = await load.Connection.open("127.0.0.1", port, token, context)
    try:
        burst = await _events(writer, path, range(EVENTS), 0.0, deliveries)
        deliveries.seconds = []
        paced = await _events(writer, path, range(EVENTS, EVENTS + PACED_EVENTS), PACE_SECONDS, deliveries)
    finally:
        writer.close()
        for transport in transports:
            transport.close()
    what = f"{WATCHERS} watchers"
    return [
        Measured(f"{what}, {EVENTS} events in a burst", *burst),
        Measured(f"{what}, {1 / PACE_SECONDS:.0f} events/s", *paced),
    ]


async def _open(
    port: int, context: ssl.SSLContext, request: bytes, deliveries: Deliveries
) -> list[asyncio.BaseTransport]:
    loop = asyncio.get_running_loop()
    made: list[tuple[asyncio.BaseTransport, Watcher]] = []
    while len(made) < WATCHERS:
        made += await asyncio.gather(
            *(
                loop.create_connection(lambda: Watcher(request, deliveries), "127.0.0.1", port, ssl=context)
                for _ in range(_OPEN_AT_A_TIME)
            )
        )
    for _, watcher in made:
        await watcher.ready
    return [transport for transport, _ in made]


async def _events(
    writer: load.Connection, path: str, numbers: range, pace_seconds: float, deliveries: Deliveries
) -> tuple[float, float, float]:
    started = time.perf_counter()
    for number in numbers:
        deliveries.sent[number] = time.perf_counter()
        await writer.request("POST", path, objects.config_map(f"event-{number}"))
        if pace_seconds:
            await asyncio.sleep(max(0.0, started + (number - numbers.start + 1) * pace_seconds - time.perf_counter()))
    expected = WATCHERS * len(numbers)
    async with asyncio.timeout(_END_SECONDS):
        while len(deliveries.seconds) < expected:
            await asyncio.sleep(0.005)
    assert len(deliveries.seconds) == expected, f"{len(deliveries.seconds)} deliveries of {expected}"
    rate = expected / (deliveries.last - started)
    return rate, deliveries.percentile(0.5), deliveries.percentile(0.99)

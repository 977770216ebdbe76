"""`make bench`: one run, one table. What etcd can take, what the apiserver makes of it, how soon it is there.

    python -m bench [--seconds 3] [--pods 5000] [--workers N]

Load generator, apiserver and etcd share this machine's cores, as when upstream was measured (docs/performance.md).
Machines are noisy: compare ratios within a run, and medians of several runs.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import uvloop

from apiserver.storage.types import TlsFiles
from bench import etcd_client, load, mixed, objects, server, watchers

CLIENTS = (1, 16, 64)
LIST_ROUNDS = 5
JSON, MERGE = "application/json", "application/merge-patch+json"

# docs/performance.md says how these were measured
UPSTREAM = {
    "create ConfigMap": ("414", "1,133", "1,285"),
    "get pod": ("678", "1,717", "2,039"),
    "put ConfigMap": ("370", "841", "923"),
    "merge patch": ("306", "727", "692"),
    "create pod": ("", "490", ""),
}


@dataclass(frozen=True)
class Row:
    """One operation at each number of clients."""

    what: str
    results: tuple[load.Result, ...]

    def __str__(self) -> str:
        ours = " · ".join(f"{r.rate:,.0f} ({r.percentile(0.5):.1f}, {r.percentile(0.99):.0f})" for r in self.results)
        return f"| {self.what} | {ours} | {' · '.join(UPSTREAM[self.what])} |"


class Bench:
    """The operations, against one server."""

    def __init__(self, target: server.Server, seconds: float) -> None:
        self._target = target
        self._seconds = seconds
        self._numbers = itertools.count()

    async def row(self, what: str, make: Callable[[int], load.Request]) -> Row:
        results = []
        for clients in CLIENTS:
            results.append(await self.measure(clients, make, self._seconds))
        return Row(what, tuple(results))

    async def measure(
        self, clients: int, make: Callable[[int], load.Request], seconds: float, most: int = 1_000_000
    ) -> load.Result:
        context = self._target.tls()
        connections = [
            await load.Connection.open("127.0.0.1", self._target.port, server.TOKEN, context) for _ in range(clients)
        ]
        try:
            return await load.run(connections, make, seconds=seconds, most=most)
        finally:
            for connection in connections:
                connection.close()

    async def fill(self, pods: int) -> None:
        """`pods` pods in namespaces of their own."""
        await self._namespace("list")
        await self.measure(
            16, lambda n: ("POST", "/api/v1/namespaces/list/pods", objects.pod(f"pod-{n}"), JSON), 600, pods
        )

    async def rows(self) -> list[Row]:
        await self._namespace("bench")
        maps = "/api/v1/namespaces/bench/configmaps"
        pods = "/api/v1/namespaces/bench/pods"
        kept = 200  # objects that are written again and again: more than clients, so that few writes meet
        for n in range(kept):
            await self.measure(1, lambda _, n=n: ("POST", maps, objects.config_map(f"kept-{n}"), JSON), 5, 1)  # type: ignore[misc]
        await self.measure(1, lambda _: ("POST", pods, objects.pod("one"), JSON), 5, 1)
        await self.measure(16, self._create(maps), 1.0)  # warm up
        return [
            await self.row("create ConfigMap", self._create(maps)),
            await self.row("get pod", lambda _: ("GET", f"{pods}/one", b"", "")),
            await self.row(
                "put ConfigMap",
                lambda n: ("PUT", f"{maps}/kept-{n % kept}", objects.config_map(f"kept-{n % kept}", n), JSON),
            ),
            await self.row(
                "merge patch",
                lambda n: ("PATCH", f"{maps}/kept-{n % kept}", b'{"data":{"round":"p%d"}}' % n, MERGE),
            ),
            await self.row("create pod", lambda _: ("POST", pods, objects.pod(f"p-{next(self._numbers)}"), JSON)),
        ]

    async def lists(self) -> Iterator[str]:
        path = "/api/v1/namespaces/list/pods"
        lines = []
        for what, query in (("from cache", "?resourceVersion=0"), ("consistent", "")):
            took, size = [], 0
            for _ in range(LIST_ROUNDS):
                result = await self.measure(1, lambda _, query=query: ("GET", path + query, b"", ""), 30, 1)  # type: ignore[misc]
                took.append(result.latencies[0] * 1000)
                size = result.bytes_read
            lines.append(f"| list pods, {what} | {statistics.median(took):.0f} ms ({size / 1e6:.0f} MB) |")
        return iter(lines)

    async def gets_beside_lists(self) -> list[mixed.Measured]:
        target, one = self._target, "/api/v1/namespaces/list/pods/pod-0"
        return await mixed.measure(
            lambda: self.measure(mixed.CLIENTS, lambda _: ("GET", one, b"", ""), self._seconds),
            *(target.port, target.pki.ca, server.TOKEN, "/api/v1/namespaces/list/pods?resourceVersion=0"),
        )

    async def watchers(self) -> list[watchers.Measured]:
        await self._namespace("watched")
        return await watchers.measure(self._target.port, self._target.tls(), server.TOKEN, "watched")

    def _create(self, maps: str) -> Callable[[int], load.Request]:
        return lambda _: ("POST", maps, objects.config_map(f"cm-{next(self._numbers)}"), JSON)

    async def _namespace(self, name: str) -> None:
        body = b'{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"%b"}}' % name.encode()
        await self.measure(1, lambda _: ("POST", "/api/v1/namespaces", body, JSON), 5, 1)
        # What a controller would do: without it no pod is admitted
        account = b'{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"default"}}'
        accounts = f"/api/v1/namespaces/{name}/serviceaccounts"
        await self.measure(1, lambda _: ("POST", accounts, account, JSON), 5, 1)


async def run(options: argparse.Namespace) -> None:
    with server.running(options.workers) as target:
        say(f"etcd and apiserver with {options.workers} workers, exec to ready: {target.ready_seconds:.2f} s")
        await asyncio.sleep(2)
        say(memory("idle", target))
        say("\nraw etcd, the same TLS client as the apiserver's:\n" + etcd_client.HEADER)
        async for line in etcd_client.measure(raw_etcd(target), seconds=options.seconds):
            say(str(line))
        bench = Bench(target, options.seconds)
        say("\n| operation: requests/s (p50, p99 in ms) | 1 · 16 · 64 clients | upstream, requests/s |\n|---|---|---|")
        for row in await bench.rows():
            say(str(row))
        started = time.perf_counter()
        await bench.fill(options.pods)
        say(f"\nfilled {options.pods} pods in {time.perf_counter() - started:.1f} s\n\n| list | median |\n|---|---|")
        for text in await bench.lists():
            say(text)
        say("\n" + mixed.HEADER)
        for beside in await bench.gets_beside_lists():
            say(str(beside))
        say("\n" + watchers.HEADER)
        for measured in await bench.watchers():
            say(str(measured))
        say("\n" + memory("after the load", target))


def raw_etcd(target: server.Server) -> etcd_client.Server:
    stem = "apiserver-etcd-client"
    tls = TlsFiles(str(target.pki.etcd_ca), str(target.pki.cert(stem)), str(target.pki.key(stem)))
    return etcd_client.Server(target.etcd_url, target.etcd_pid, tls)


def memory(when: str, target: server.Server) -> str:
    found = target.memory()
    return (
        f"memory {when}: {found['worker']:.0f} MB a worker, {found['all']:.0f} MB in all, etcd {found['etcd']:.0f} MB"
    )


def say(text: str) -> None:
    print(text, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--seconds", type=float, default=3.0, help="of each measurement")
    parser.add_argument("--pods", type=int, default=5000, help="how many pods are listed")
    parser.add_argument("--workers", type=int, default=server.cores())
    uvloop.run(run(parser.parse_args()))
    return 0


if __name__ == "__main__":
    sys.exit(main())

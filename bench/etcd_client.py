"""What a call to etcd costs: latency, calls a second and processor time, ours and etcd's.

    python -m bench.etcd_client [--plain] [--seconds 2]

Starts an etcd of its own, with default settings; with TLS and client certificates, as a cluster has it, or `--plain`.
"raw put" is the least that any client of ours could do: one encoded put, sent again and again, so it shows what etcd
itself can take on this machine.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import os
import shutil
import socket
import statistics
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import uvloop

from apiserver.storage import etcd as etcds
from apiserver.storage import messages, types
from certs import authority
from minictl.cluster import tools

VALUE_BYTES = 1100
CONCURRENCY = (1, 64)
_PUT = "/etcdserverpb.KV/Put"


@dataclass(frozen=True)
class Row:
    """One measurement. Processor times are per call; etcd's is None where its process is not ours."""

    what: str
    concurrency: int
    calls_per_second: float
    p50_ms: float
    p99_ms: float
    client_cpu_us: float
    etcd_cpu_us: float | None

    def __str__(self) -> str:
        server = f"{self.etcd_cpu_us:8.0f}" if self.etcd_cpu_us is not None else "       ?"
        return (
            f"{self.what:<18}{self.concurrency:>4}{self.calls_per_second:>10,.0f}{self.p50_ms:>9.2f}{self.p99_ms:>9.2f}"
            f"{self.client_cpu_us:>10.0f}{server}"
        )


HEADER = f"{'call':<18}{'at':>4}{'calls/s':>10}{'p50 ms':>9}{'p99 ms':>9}{'client µs':>10}{'etcd µs':>8}"


@dataclass(frozen=True)
class Server:
    """An etcd to measure."""

    url: str
    pid: int | None = None
    tls: types.TlsFiles | None = None


@contextlib.contextmanager
def throwaway_etcd(*, plain: bool = False) -> Iterator[Server]:
    """An etcd with its default settings, in a temporary folder."""
    with socket.socket() as first, socket.socket() as second:
        first.bind(("127.0.0.1", 0))
        second.bind(("127.0.0.1", 0))
        url = f"{'http' if plain else 'https'}://127.0.0.1:{first.getsockname()[1]}"
        peer = f"http://127.0.0.1:{second.getsockname()[1]}"
    folder = Path(tempfile.mkdtemp(prefix="armillary-bench-"))
    flags = {
        "--data-dir": folder / "data",
        "--listen-client-urls": url,
        "--advertise-client-urls": url,
        "--listen-peer-urls": peer,
        "--initial-advertise-peer-urls": peer,
        "--initial-cluster": f"default={peer}",
        "--log-level": "error",
    }
    tls = None
    if not plain:
        tls = _identities(folder)
        flags |= {
            "--cert-file": folder / "server.crt",
            "--key-file": folder / "server.key",
            "--trusted-ca-file": tls.ca,
        }
    command = [str(tools.find(["etcd"])["etcd"]), *(str(word) for flag in flags.items() for word in flag)]
    process = subprocess.Popen(
        [*command, *([] if plain else ["--client-cert-auth"])], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        yield Server(url, process.pid, tls)
    finally:
        process.kill()
        process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def _identities(folder: Path) -> types.TlsFiles:
    ca = authority.Authority.create("etcd-ca")
    server = ca.issue_server("etcd", dns_names=[], ip_addresses=["127.0.0.1"])
    client = ca.issue_client("bench", groups=[])
    for name, pair in (("server", server), ("client", client)):
        (folder / f"{name}.crt").write_bytes(pair.cert_pem)
        (folder / f"{name}.key").write_bytes(pair.key_pem)
    (folder / "ca.crt").write_bytes(ca.cert_pem)
    return types.TlsFiles(f"{folder}/ca.crt", f"{folder}/client.crt", f"{folder}/client.key")


async def measure(server: Server, *, seconds: float = 2.0) -> AsyncIterator[Row]:
    """All rows, each after a short warm-up. Writes keys under /bench/."""
    etcd = etcds.Etcd([server.url], tls=server.tls)
    numbers = itertools.count()
    value = types.encode(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": {"a": "x" * VALUE_BYTES}}
    )
    put = messages.rpc.PutRequest(key=b"/bench/raw", value=value).SerializeToString()

    async def create() -> None:
        await etcd.put_if(f"/bench/{os.getpid()}/{next(numbers)}", 0, value)

    async def read() -> None:
        await etcd.get("/bench/raw")

    async def probe() -> None:
        await etcd.revision()

    async def raw_put() -> None:
        await etcd.raw_call(_PUT, put)

    try:
        for what, call in (("raw put", raw_put), ("txn (create)", create), ("range (get)", read), ("probe", probe)):
            for concurrency in CONCURRENCY:
                await _run(call, concurrency, seconds / 10)
                yield await _measure(what, call, concurrency, seconds, server.pid)
    finally:
        await etcd.close()


async def _measure(
    what: str, call: Callable[[], Awaitable[None]], concurrency: int, seconds: float, pid: int | None
) -> Row:
    client, server, started = time.process_time(), _cpu_seconds(pid), time.perf_counter()
    latencies = await _run(call, concurrency, seconds)
    elapsed, client = time.perf_counter() - started, time.process_time() - client
    count = len(latencies)
    cuts = statistics.quantiles(latencies, n=100)
    return Row(
        what,
        concurrency,
        count / elapsed,
        cuts[49] * 1e3,
        cuts[98] * 1e3,
        client / count * 1e6,
        None if pid is None else (_cpu_seconds(pid) - server) / count * 1e6,
    )


async def _run(call: Callable[[], Awaitable[None]], concurrency: int, seconds: float) -> list[float]:
    """The latencies of as many calls as fit, by `concurrency` callers."""
    latencies: list[float] = []
    end = time.perf_counter() + seconds

    async def caller() -> None:
        while (started := time.perf_counter()) < end:
            await call()
            latencies.append(time.perf_counter() - started)

    async with asyncio.TaskGroup() as group:
        for _ in range(concurrency):
            group.create_task(caller())
    return latencies


def _cpu_seconds(pid: int | None) -> float:
    if pid is None:
        return 0.0
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def _print(server: Server, seconds: float) -> None:
    print(HEADER)
    async for row in measure(server, seconds=seconds):
        print(row, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the cost of a call to etcd.")
    parser.add_argument("--plain", action="store_true", help="without TLS")
    parser.add_argument("--seconds", type=float, default=2.0, help="length of each measurement")
    options = parser.parse_args()
    with throwaway_etcd(plain=options.plain) as server:
        uvloop.run(_print(server, options.seconds))


if __name__ == "__main__":
    main()

"""Small reads beside large ones: how late a GET is while somebody lists 30 MB again and again.

Who lists is a process of its own, so that the load generator's reading does not count as the server's lateness.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import ssl
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from bench import load

CLIENTS = 16
HEADER = "| GET of a pod, 16 clients | requests/s | p50 ms | p99 ms |\n|---|---|---|---|"
_STOP_SECONDS = 10.0


@dataclass(frozen=True)
class Measured:
    what: str
    result: load.Result

    def __str__(self) -> str:
        found = self.result
        return f"| {self.what} | {found.rate:,.0f} | {found.percentile(0.5):.1f} | {found.percentile(0.99):.1f} |"


async def measure(
    gets: Callable[[], Awaitable[load.Result]], port: int, ca: Path, token: str, path: str
) -> list[Measured]:
    """`gets` measures; once alone, once while `path` is listed."""
    alone = Measured("alone", await gets())
    async with listing(port, ca, token, path) as lists:
        beside = await gets()
    rise = beside.percentile(0.99) / alone.result.percentile(0.99)
    return [alone, Measured(f"while {lists} lists ran; p99 × {rise:.1f}", beside)]


class Count:
    """How many lists were made, once the process has ended."""

    number = 0

    def __str__(self) -> str:
        return str(self.number)


@contextlib.asynccontextmanager
async def listing(port: int, ca: Path, token: str, path: str) -> AsyncIterator[Count]:
    arguments = ("-m", "bench.mixed", str(port), str(ca), token, path)
    process = await asyncio.create_subprocess_exec(
        sys.executable, *arguments, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    count = Count()
    try:
        await process.stdout.readline()  # the first list is done
        yield count
        process.stdin.close()
        async with asyncio.timeout(_STOP_SECONDS):
            count.number = int(await process.stdout.readline())
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def _list_until_told(port: int, ca: str, token: str, path: str) -> int:
    connection = await load.Connection.open("127.0.0.1", port, token, ssl.create_default_context(cafile=ca))
    told = asyncio.create_task(asyncio.to_thread(sys.stdin.read))
    await connection.request("GET", path)
    print(0, flush=True)
    number = 0
    while not told.done():
        await connection.request("GET", path)
        number += 1
    connection.close()
    print(number, flush=True)
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.mixed")
    for name in ("port", "ca", "token", "path"):
        parser.add_argument(name)
    options = parser.parse_args()
    return asyncio.run(_list_until_told(int(options.port), options.ca, options.token, options.path))


if __name__ == "__main__":
    sys.exit(main())

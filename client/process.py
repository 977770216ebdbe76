"""What the mains of all components share: flags, logging, signals, and the /healthz and /metrics port.

    def main() -> int:
        parser = argparse.ArgumentParser(prog="mini-scheduler", description=__doc__)
        process.add_arguments(parser, healthz_port=10259)
        options = parser.parse_args()
        return process.run("mini-scheduler", lambda: serve(options), options)

SIGTERM and SIGINT cancel the main coroutine, which unwinds its TaskGroup; a second signal ends the process at once.
Every log record is one line: time, level, step name, logger, message.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Mapping

from prometheus_client import CollectorRegistry, generate_latest

from client.kubeconfig import ConfigError

log = logging.getLogger(__name__)

_HEAD_MAX = 8192
_HEAD_SECONDS = 5.0
_LEVELS = {0: logging.INFO, 1: logging.INFO}

Check = Callable[[], bool]


def add_arguments(parser: argparse.ArgumentParser, *, healthz_port: int) -> None:
    """The flags that every component has."""
    parser.add_argument("--kubeconfig", metavar="FILE", help="how to reach the API server, and as whom")
    parser.add_argument("--bind-address", metavar="IP", default="127.0.0.1", help="where /healthz and /metrics listen")
    parser.add_argument(
        "--healthz-port",
        metavar="PORT",
        type=int,
        default=healthz_port,
        help="port of /healthz and /metrics; 0 is off (default %(default)s)",
    )
    parser.add_argument("-v", "--v", metavar="LEVEL", type=int, default=0, help="log level: 2 and more is debug")


def run(name: str, main: Callable[[], Awaitable[None]], options: argparse.Namespace) -> int:
    """Run a component until it ends or is told to stop; the exit code. Configuration errors are one line."""
    configure_logging(options.v)
    try:
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            return runner.run(_until_stopped(name, main))
    except ConfigError as error:
        sys.stderr.write(f"{name}: {error}\n")
        return 1


def configure_logging(verbosity: int) -> None:
    """One handler on stderr, one line a record."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(LineFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(_LEVELS.get(verbosity, logging.DEBUG))
    for noisy in ("asyncio", "httpx", "httpcore", "aiohttp", "grpc"):
        logging.getLogger(noisy).setLevel(logging.WARNING)


class LineFormatter(logging.Formatter):
    """`2026-01-01T12:00:00.123Z INFO S4 scheduler.binding: …`; newlines are written as \\n."""

    def format(self, record: logging.LogRecord) -> str:
        stamp = f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(record.created))}.{int(record.msecs):03d}Z"
        text = record.getMessage()
        if record.exc_info:
            text = f"{text}\n{self.formatException(record.exc_info)}"
        line = text.replace("\\", "\\\\").replace("\n", "\\n") if "\n" in text else text
        return f"{stamp} {record.levelname} {getattr(record, 'step', '-')} {record.name}: {line}"


class StatusServer:
    """GET /healthz, /livez, /readyz and /metrics over plain HTTP; `checks` by name, all must hold.

    Small on purpose: one request a connection, nothing else is served.
    """

    def __init__(self, checks: Mapping[str, Check], registry: CollectorRegistry) -> None:
        self._checks = checks
        self._registry = registry

    async def run(self, host: str, port: int) -> None:
        """Serve until cancelled. Port 0: off."""
        if port == 0:
            return
        server = await asyncio.start_server(self._serve, host, port, limit=_HEAD_MAX)
        async with server:
            await server.serve_forever()

    def answer(self, path: str) -> tuple[int, str, bytes]:
        """Status, content type and body for a path."""
        path = path.partition("?")[0]
        if path == "/metrics":
            return 200, "text/plain; version=0.0.4; charset=utf-8", generate_latest(self._registry)
        if path not in ("/healthz", "/livez", "/readyz"):
            return 404, "text/plain; charset=utf-8", b"404 page not found\n"
        failed = [name for name, check in self._checks.items() if not check()]
        if not failed:
            return 200, "text/plain; charset=utf-8", b"ok"
        body = "".join(f"[{'-' if name in failed else '+'}]{name} {_word(name in failed)}\n" for name in self._checks)
        return 500, "text/plain; charset=utf-8", f"{body}{path.strip('/')} check failed\n".encode()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_HEAD_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
                method, path, _ = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ", 2)
                status, kind, body = self.answer(path) if method in ("GET", "HEAD") else (405, "text/plain", b"")
                writer.write(
                    f"HTTP/1.1 {status} {_PHRASES[status]}\r\nContent-Type: {kind}\r\n"
                    f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode()
                    + (b"" if method == "HEAD" else body)
                )
                await writer.drain()
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError, ConnectionError, ValueError):
            pass  # not a request, or nobody waits for the answer
        finally:
            writer.close()


_PHRASES = {200: "OK", 404: "Not Found", 405: "Method Not Allowed", 500: "Internal Server Error"}


def _word(failed: bool) -> str:
    return "failed" if failed else "ok"


class Ended(Exception):
    """The process has to end, through no fault of its code: one line in the log, and the supervisor starts it anew."""


async def _until_stopped(name: str, main: Callable[[], Awaitable[None]]) -> int:
    task = asyncio.ensure_future(main())
    loop = asyncio.get_running_loop()
    stopping = False

    def stop(number: signal.Signals) -> None:
        nonlocal stopping
        if stopping:
            os._exit(128 + number)  # a second signal: the person does not want to wait
        stopping = True
        log.info("%s: stopping on %s", name, number.name)
        task.cancel()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop, number)
    try:
        await task
    except asyncio.CancelledError:
        if not stopping:
            raise
    except ConfigError:
        raise
    except Exception as error:  # the outermost place of a process: say what ended it, and let the supervisor restart it
        expected = _ended(error)
        if expected is None:
            log.exception("%s: ended by an error", name)
        else:
            log.error("%s: ended: %s", name, expected)
        return 1
    log.info("%s: stopped", name)
    return 0


def _ended(error: Exception) -> Exception | None:
    """The one reason, out of the task groups that it came through, when all there is are expected ends."""
    if isinstance(error, ExceptionGroup):
        reasons = [_ended(each) for each in error.exceptions]
        return None if None in reasons else reasons[0]
    return error if isinstance(error, Ended) else None


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:
        return None  # a platform without it: asyncio's own loop does
    return uvloop.new_event_loop

"""What all mains share: log lines, health answers."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import subprocess
import sys

from client.metrics import Metrics
from client.process import LineFormatter, StatusServer


def record(message: str, **fields: object) -> logging.LogRecord:
    made = logging.LogRecord("scheduler.binding", logging.INFO, __file__, 1, message, (), None)
    made.__dict__.update(fields)
    made.created, made.msecs = 1767225600.25, 250.0
    return made


def test_a_record_is_one_line_with_its_step() -> None:
    line = LineFormatter().format(record("bound\nto n1", step="S4"))
    assert line == "2026-01-01T00:00:00.250Z INFO S4 scheduler.binding: bound\\nto n1"


def test_a_traceback_is_on_the_same_line() -> None:
    try:
        raise ValueError("x")
    except ValueError:
        line = LineFormatter().format(record("failed", exc_info=sys.exc_info()))
    assert "\n" not in line
    assert "ValueError: x" in line


def test_health_names_the_check_that_fails() -> None:
    status = StatusServer({"informers": lambda: True, "lease": lambda: False}, Metrics().registry)
    code, _, body = status.answer("/readyz?verbose")
    assert code == 500
    assert body == b"[+]informers ok\n[-]lease failed\nreadyz check failed\n"
    assert StatusServer({}, Metrics().registry).answer("/healthz")[::2] == (200, b"ok")


def test_metrics_have_upstreams_names() -> None:
    metrics = Metrics()
    metrics.queue("deployment").added(3)
    metrics.reconciled("deployment", "success", 0.1)
    _, _, body = StatusServer({}, metrics.registry).answer("/metrics")
    assert b'workqueue_depth{name="deployment"} 3.0' in body
    assert b'controller_runtime_reconcile_total{controller="deployment",result="success"} 1.0' in body


async def test_a_request_is_answered_over_a_socket_and_rubbish_is_not() -> None:
    status = StatusServer({}, Metrics().registry)
    server = await asyncio.start_server(status._serve, "127.0.0.1", 0, limit=8192)
    port = server.sockets[0].getsockname()[1]
    async with server:
        assert (await exchange(port, b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")).endswith(b"\r\n\r\nok")
        assert (await exchange(port, b"POST /healthz HTTP/1.1\r\n\r\n")).startswith(b"HTTP/1.1 405 ")
        assert await exchange(port, b"rubbish\r\n\r\n") == b""
        assert await exchange(port, b"A" * 20000) == b""


async def exchange(port: int, sent: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(sent)
    answer = b""
    with contextlib.suppress(ConnectionError):
        answer = await reader.read()
    writer.close()
    return answer


ENDING = """
import argparse, asyncio, sys
from client import process
from client.leaderelection import LeadershipLost

async def ending(error):
    raise error

async def main():
    async with asyncio.TaskGroup() as group:
        for error in (%s):
            group.create_task(ending(error))

sys.exit(process.run("mini-thing", main, argparse.Namespace(v=0)))
"""


def last_words(*errors: str) -> str:
    """What a process says that ends with these errors, each out of a task of one group."""
    source = ENDING % "".join(f"{error}, " for error in errors)
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    return done.stderr


def test_an_expected_end_is_one_line_without_a_traceback() -> None:
    words = last_words("LeadershipLost('failed to renew the lease in time')")
    assert words.endswith(" ERROR - client.process: mini-thing: ended: failed to renew the lease in time\n")


def test_an_end_that_nobody_expected_keeps_its_traceback() -> None:
    words = last_words("LeadershipLost('lost')", "ValueError('a bug')")
    assert "mini-thing: ended by an error" in words
    assert "Traceback" in words

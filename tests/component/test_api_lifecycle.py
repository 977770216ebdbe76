"""An apiserver's life: workers killed, etcd killed, restarts, the end, flags that cannot work."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from tests import harness

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


@pytest.fixture
def own() -> Iterator[harness.Server]:
    """A server that the test may hurt."""
    with harness.Server(workers=2) as server:
        yield server


def until(condition: Callable[[], bool], timeout_seconds: float = 15.0) -> float:
    """Waits for what another process does; returns how long it took."""
    started = time.monotonic()
    while not condition():
        assert time.monotonic() - started < timeout_seconds, "it did not happen in time"
        time.sleep(0.02)
    return time.monotonic() - started


def answers(server: harness.Server) -> bool:
    """Whether a new connection is served, which with several workers any of them may get."""
    with server.admin() as client, contextlib.suppress(httpx.TransportError):
        return client.get("/readyz").status_code == 200
    return False


def test_a_killed_worker_is_replaced_and_nothing_is_lost(own: harness.Server) -> None:
    with own.admin() as client:
        for number in range(20):
            assert client.post(CONFIG_MAPS, json={"metadata": {"name": f"c{number}"}}).status_code == 201
    before = own.worker_pids()
    assert len(before) == 2
    os.kill(before[0], signal.SIGKILL)
    until(lambda: len(set(own.worker_pids()) - {before[0]}) == 2)
    until(lambda: all(answers(own) for _ in range(8)))
    with own.admin() as client:
        assert len(client.get(CONFIG_MAPS).json()["items"]) == 20
    assert "ended with signal SIGKILL; starting another" in own.log.read_text()


def test_after_a_restart_objects_are_there_and_old_watches_are_expired(own: harness.Server) -> None:
    with own.admin() as client:
        first = client.post(CONFIG_MAPS, json={"metadata": {"name": "kept"}}).json()
    own.stop()
    own.start()
    own.wait_ready()
    with own.admin() as client:
        assert client.get(f"{CONFIG_MAPS}/kept").json()["metadata"]["uid"] == first["metadata"]["uid"]
        old = first["metadata"]["resourceVersion"]
        with client.stream("GET", CONFIG_MAPS, params={"watch": "1", "resourceVersion": "2"}) as response:
            event = json.loads(next(response.iter_lines()))
        assert int(old) > 2
        assert (event["type"], event["object"]["code"], event["object"]["reason"]) == ("ERROR", 410, "Expired")


def test_without_etcd_writes_are_unavailable_and_nothing_is_half_written(own: harness.Server) -> None:
    with own.admin() as client:
        client.post(CONFIG_MAPS, json={"metadata": {"name": "before"}})
        for member in own.etcd.members:
            member.kill()
        until(lambda: client.get("/readyz").status_code == 500)
        refused = client.post(CONFIG_MAPS, json={"metadata": {"name": "during"}})
        assert refused.status_code in (503, 504)
        assert refused.json()["reason"] in ("ServiceUnavailable", "ServerTimeout")
        assert client.get("/livez/ping").status_code == 200
        for member in own.etcd.members:
            member.start()
        until(lambda: client.get("/readyz").status_code == 200, 30)
        names = [item["metadata"]["name"] for item in client.get(CONFIG_MAPS).json()["items"]]
        assert names == ["before"]
        assert client.post(CONFIG_MAPS, json={"metadata": {"name": "after"}}).status_code == 201


def test_a_stop_ends_watches_and_leaves_no_process(own: harness.Server) -> None:
    with own.admin() as client, client.stream("GET", CONFIG_MAPS, params={"watch": "1"}) as response:
        lines = response.iter_lines()
        workers = own.worker_pids()
        started = time.monotonic()
        stopping = threading.Thread(target=own.stop)
        stopping.start()
        assert list(lines) == []
        stopping.join(20)
    assert time.monotonic() - started < 8
    for pid in workers:
        assert not Path(f"/proc/{pid}").exists()


def test_workers_do_not_outlive_a_killed_supervisor(own: harness.Server) -> None:
    workers = own.worker_pids()
    os.kill(own.pid, signal.SIGKILL)
    until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in workers))


def run(*flags: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "apiserver", *flags]
    return subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)


def replaced(server: harness.Server, name: str, value: str) -> list[str]:
    """The server's flags with one of them changed."""
    flags = [flag for flag in server.command()[3:] if not flag.startswith(f"--{name}=")]
    return [*flags, f"--{name}={value}"]


def test_a_taken_port_is_said_in_one_line(server: harness.Server) -> None:
    done = run(*server.command()[3:])
    assert done.returncode != 0
    assert done.stderr == f"mini-apiserver: cannot listen on 127.0.0.1:{server.port}: Address already in use\n"


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("tls-cert-file", "/nowhere.crt", "--tls-cert-file: cannot read /nowhere.crt: No such file or directory"),
        ("authorization-mode", "RBAC,Magic", "--authorization-mode: 'Magic' is none of AlwaysAllow, AlwaysDeny, RBAC"),
        ("secure-port", "many", "argument --secure-port: invalid int value: 'many'"),
        ("request-timeout", "soon", "argument --request-timeout: 'soon' is not a duration such as 60s"),
        ("no-such-flag", "x", "unrecognized arguments: --no-such-flag=x"),
    ],
)
def test_a_bad_flag_is_said_in_one_line(server: harness.Server, name: str, value: str, message: str) -> None:
    done = run(*replaced(server, name, value))
    assert done.returncode == 2
    assert done.stderr == f"mini-apiserver: {message}\n"


def test_a_bad_file_ends_the_server_with_one_line(server: harness.Server) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    bad = server.folder / "bad.csv"
    bad.write_text("only-a-token\n")
    flags = [flag for flag in replaced(server, "token-auth-file", str(bad)) if not flag.startswith("--secure-port")]
    done = run(*flags, f"--secure-port={port}")
    assert done.returncode == 1
    lines = [line for line in done.stderr.splitlines() if "serving https" not in line]
    assert lines == [f"mini-apiserver: {bad}: line 1: at least three columns are needed (secret,user,uid), found 1"]

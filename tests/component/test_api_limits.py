"""Limits: what one client can ask of the server, and all of them together. One server of its own, with two workers."""

from __future__ import annotations

import concurrent.futures
import contextlib
import signal
import socket
import ssl
import time
from collections.abc import Iterator

import httpx
import pytest

from tests import harness

READERS = 8
LIMIT = 3


@pytest.fixture(scope="module")
def limited() -> Iterator[harness.Server]:
    flags = (f"--max-requests-inflight={LIMIT}", "--max-mutating-requests-inflight=2", "--request-timeout=20s")
    with harness.Server(*flags, workers=2) as server:
        yield server


@contextlib.contextmanager
def stopped_etcd(server: harness.Server) -> Iterator[None]:
    """Reads that must ask etcd wait for as long as this lasts."""
    server.wait_ready()  # again, after the last time
    (member,) = server.etcd.members
    member.signal(signal.SIGSTOP)
    try:
        yield
    finally:
        member.signal(signal.SIGCONT)


def test_reads_beyond_the_limit_are_told_to_come_again_whichever_worker_they_reach(limited: harness.Server) -> None:
    def read(_: int) -> httpx.Response:
        with limited.client(identity="scheduler") as client:
            return client.get("/api/v1/pods?timeout=3s")

    with stopped_etcd(limited), concurrent.futures.ThreadPoolExecutor(READERS) as pool:
        answers = list(pool.map(read, range(READERS)))
    refused = [answer for answer in answers if answer.status_code == 429]
    # Both workers may take the last place at the same moment, so one more than the limit may have got in
    assert READERS - LIMIT - 1 <= len(refused) <= READERS - LIMIT
    assert refused[0].headers["retry-after"] == "1"
    assert refused[0].json()["reason"] == "TooManyRequests"
    assert {answer.status_code for answer in answers} == {429, 504}


def test_masters_are_never_turned_away_and_watches_do_not_count(limited: harness.Server) -> None:
    with (
        limited.client(identity="scheduler") as client,
        limited.admin() as admin,
        stopped_etcd(limited),
        concurrent.futures.ThreadPoolExecutor(LIMIT + 1) as pool,
    ):
        waiting = [pool.submit(client.get, "/api/v1/pods?timeout=3s") for _ in range(LIMIT)]
        until_refused(limited)
        assert admin.get("/api/v1/pods?resourceVersion=0").status_code == 200
        watch = "/api/v1/pods?watch=true&resourceVersion=0&timeoutSeconds=1"
        assert client.get(watch).status_code == 200
        assert [item.result().status_code for item in waiting] == [504] * LIMIT


def until_refused(server: harness.Server) -> None:
    deadline = time.monotonic() + 3
    with server.client(identity="scheduler") as client:
        while client.get("/api/v1/pods?resourceVersion=0").status_code != 429:
            assert time.monotonic() < deadline, "the limit was never reached"


def test_a_deadline_ends_a_read_and_a_write_in_upstreams_words(limited: harness.Server) -> None:
    with limited.admin() as admin, stopped_etcd(limited):
        began = time.monotonic()
        read = admin.get("/api/v1/configmaps?timeout=300ms")
        assert time.monotonic() - began < 3
        assert (read.status_code, read.json()["reason"]) == (504, "Timeout")
        assert read.json()["message"] == "Timeout: request did not complete within the allotted timeout"
        path = "/api/v1/namespaces/default/configmaps?timeout=300ms"
        written = admin.post(path, json={"metadata": {"name": "a"}})
        late = "Timeout: request did not complete within requested timeout - context deadline exceeded"
        assert (written.status_code, written.json()["message"]) == (504, late)


@pytest.mark.parametrize(
    ("text", "problem"), [("soon", 'invalid duration "soon"'), ("10", 'missing unit in duration "10"')]
)
def test_a_timeout_that_is_none_is_refused(limited: harness.Server, text: str, problem: str) -> None:
    with limited.admin() as admin:
        refused = admin.get(f"/api/v1/pods?timeout={text}")
        assert refused.status_code == 400
        assert refused.json()["message"] == f"invalid timeout specified in the request URL - time: {problem}"


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (
            "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
            + "".join(f"{c}: &{c} [{','.join([f'*{p}'] * 10)}]\n" for p, c in zip("abcdefg", "bcdefgh", strict=True)),
            "application/yaml",
        ),
        ('{"metadata":{"name":"a"},"data":' + '{"a":' * 5000 + "1" + "}" * 5001, "application/json"),
        ("[" * 100_000, "application/yaml"),
    ],
    ids=["aliases that multiply", "deep JSON", "deep YAML"],
)
def test_bodies_that_would_grow_without_measure_are_refused_at_once(
    limited: harness.Server, body: str, content_type: str
) -> None:
    with limited.admin() as admin:
        began = time.monotonic()
        path = "/api/v1/namespaces/default/configmaps"
        refused = admin.post(path, content=body.encode(), headers={"content-type": content_type})
        assert refused.status_code == 400, refused.text[:300]
        assert time.monotonic() - began < 5


def test_a_body_of_more_than_3_mib_is_refused_even_when_its_length_is_not_told(limited: harness.Server) -> None:
    with limited.admin() as admin:
        parts = (b"x" * 65536 for _ in range(80))
        refused = admin.post("/api/v1/namespaces/default/configmaps", content=parts)
        assert (refused.status_code, refused.json()["reason"]) == (413, "RequestEntityTooLarge")


def test_a_head_of_more_than_a_mib_is_refused(limited: harness.Server) -> None:
    context = ssl.create_default_context(cafile=str(limited.pki.ca))
    with (
        socket.create_connection(("127.0.0.1", limited.port), timeout=10) as raw,
        context.wrap_socket(raw, server_hostname="127.0.0.1") as tls,
    ):
        received = b""
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            tls.sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\n")
            for number in range(40):
                tls.sendall(b"x-%d: %b\r\n" % (number, b"y" * 32768))
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            received = tls.recv(4096)
    assert received.startswith(b"HTTP/1.1 431 ")

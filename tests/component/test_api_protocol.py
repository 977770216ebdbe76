"""HTTP itself: pipelining, heads without end, clients that dawdle, bodies that stop short."""

from __future__ import annotations

import contextlib
import socket
import ssl
from collections.abc import Iterator

import pytest

from tests import harness


@contextlib.contextmanager
def connection(server: harness.Server) -> Iterator[ssl.SSLSocket]:
    context = ssl.create_default_context(cafile=str(server.pki.ca))
    with (
        socket.create_connection(("127.0.0.1", server.port), timeout=10) as raw,
        context.wrap_socket(raw, server_hostname="127.0.0.1") as tls,
    ):
        yield tls


def read_until_closed(tls: ssl.SSLSocket) -> bytes:
    parts = []
    with contextlib.suppress(ConnectionError, ssl.SSLError):
        while data := tls.recv(65536):
            parts.append(data)
    return b"".join(parts)


def test_pipelined_requests_are_answered_in_order(server: harness.Server) -> None:
    with connection(server) as tls:
        paths = ["/livez", "/version", "/livez"]
        heads = [f"GET {path} HTTP/1.1\r\nHost: x\r\n" for path in paths]
        tls.sendall("\r\n".join(heads).encode() + b"Connection: close\r\n\r\n")
        answer = read_until_closed(tls)
    bodies = [part.partition(b"\r\n\r\n")[2] for part in answer.split(b"HTTP/1.1 200 OK\r\n")[1:]]
    assert bodies[0] == bodies[2] == b"ok"
    assert b"gitVersion" in bodies[1]


def test_a_head_without_end_is_cut_off(server: harness.Server) -> None:
    with connection(server) as tls:
        tls.sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\n")
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            for _ in range(40):
                tls.sendall(b"X-Filler: " + b"x" * 65536 + b"\r\n")
        assert not read_until_closed(tls).startswith(b"HTTP/1.1 200")


def test_a_body_that_stops_short_writes_nothing(server: harness.Server, namespace: str) -> None:
    with connection(server) as tls:
        tls.sendall(
            f"POST /api/v1/namespaces/{namespace}/configmaps HTTP/1.1\r\nHost: x\r\n"
            'Authorization: Bearer admin-token\r\nContent-Length: 100\r\n\r\n{"metadata":{"name":"half"}}'.encode()
        )
    with server.admin() as admin:
        assert admin.get(f"/api/v1/namespaces/{namespace}/configmaps/half").status_code == 404


def test_a_client_that_waits_for_100_continue_gets_it(server: harness.Server, namespace: str) -> None:
    body = b'{"metadata":{"name":"asked-first"}}'
    with connection(server) as tls:
        head = (
            f"POST /api/v1/namespaces/{namespace}/configmaps HTTP/1.1\r\nHost: x\r\n"
            f"Authorization: Bearer admin-token\r\nContent-Length: {len(body)}\r\n"
            "Expect: 100-continue\r\nConnection: close\r\n\r\n"
        )
        tls.sendall(head.encode())
        assert tls.recv(1024) == b"HTTP/1.1 100 Continue\r\n\r\n"
        tls.sendall(body)
        assert read_until_closed(tls).startswith(b"HTTP/1.1 201 Created\r\n")


@pytest.mark.parametrize("method", ["HEAD", "GET"])
def test_head_answers_like_get_without_a_body(server: harness.Server, method: str) -> None:
    with server.admin() as admin:
        response = admin.request(method, "/api/v1/namespaces/default")
        assert response.status_code == 200
        assert int(response.headers["content-length"]) > 100
        assert bool(response.content) is (method == "GET")


def test_http_1_0_is_answered_and_closed(server: harness.Server) -> None:
    with connection(server) as tls:
        tls.sendall(b"GET /livez HTTP/1.0\r\n\r\n")
        answer = read_until_closed(tls)
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
    assert answer.endswith(b"\r\n\r\nok")

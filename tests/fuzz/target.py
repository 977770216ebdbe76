"""The server that is fuzzed, and what must hold of every answer."""

from __future__ import annotations

import contextlib
import re
import socket
import ssl
import time
from collections import Counter
from typing import Any, NamedTuple

import orjson

from tests import harness

WORKERS = 2
NAMESPACE = "fuzz"
TOKEN = "admin-token"
# No request here waits for anything; the machine may be busy
SLOW_SECONDS = 15.0
_AUTHORIZED = f"Authorization: Bearer {TOKEN}\r\n".encode()


class Answer(NamedTuple):
    """What came back, and to what; code 0 when the server closed the connection without a word."""

    code: int
    headers: dict[str, str]
    body: bytes
    seconds: float
    request: bytes = b""


class Target(harness.Server):
    """As `harness.Server`, watched: its workers must be the same ones at the end."""

    def __init__(self) -> None:
        super().__init__(workers=WORKERS)
        self._context: ssl.SSLContext | None = None
        self._socket: ssl.SSLSocket | None = None
        self._pids: set[int] = set()
        self.answers: Counter[int] = Counter()
        """How many of each code; what was learned from depends on it."""

    def __enter__(self) -> Target:
        super().__enter__()
        with self.admin() as client:
            client.post("/api/v1/namespaces", json={"metadata": {"name": NAMESPACE}}).raise_for_status()
        self._context = ssl.create_default_context(cafile=str(self.pki.ca))
        self._pids = set(self.worker_pids())
        return self

    def __exit__(self, *exc: object) -> None:
        self._disconnect()
        super().__exit__(*exc)

    def assert_unharmed(self) -> None:
        """No worker died, none met what it did not expect."""
        assert set(self.worker_pids()) == self._pids, f"a worker died:\n{self.log.read_text()[-4000:]}"
        unexpected = re.search(r"Traceback[\s\S]*", self.log.read_text())
        assert unexpected is None, unexpected and unexpected[0][:4000]

    # --- speaking to it

    def ask(
        self,
        method: str,
        path: str | bytes,
        body: bytes = b"",
        content_type: str = "application/json",
        head: bytes = b"",
    ) -> Answer:
        """A request by hand: the path and `head` (further header lines) are sent byte by byte as they are."""
        line = method.encode() + b" " + (path.encode() if isinstance(path, str) else path) + b" HTTP/1.1\r\n"
        fixed = b"Host: localhost\r\n" + _AUTHORIZED
        if body:
            fixed += b"Content-Type: %b\r\nContent-Length: %d\r\n" % (content_type.encode(), len(body))
        return self.send(line + fixed + head + b"\r\n" + body, method)

    def send(self, request: bytes, method: str = "GET") -> Answer:
        """Raw bytes, on the connection of the last request if it is still open."""
        start = time.monotonic()
        for fresh in (False, True):
            try:
                connection = self._connected()
                connection.sendall(request)
                answer = self._receive(connection, method, start)
            except (ConnectionError, ssl.SSLError):  # it was closed after the last answer, or at this request
                self._disconnect()
                answer = None
            if answer is not None or fresh:
                break
        answer = (answer or Answer(0, {}, b"", time.monotonic() - start))._replace(request=request)
        self.answers[answer.code] += 1
        return answer

    def _receive(self, connection: ssl.SSLSocket, method: str, start: float) -> Answer | None:
        data = bytearray()
        head_end = -1
        while head_end < 0:
            if not (received := connection.recv(65_536)):
                self._disconnect()
                return None
            data += received
            head_end = data.find(b"\r\n\r\n")
        lines = data[:head_end].decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
        body = bytes(data[head_end + 4 :])
        code = int(lines[0].split()[1])
        if method != "HEAD" and code not in (204, 304):
            body = self._rest(connection, headers, body)
        if headers.get("connection", "").lower() == "close" or code == 101:
            self._disconnect()
        return Answer(code, headers, body, time.monotonic() - start)

    def _rest(self, connection: ssl.SSLSocket, headers: dict[str, str], body: bytes) -> bytes:
        length = headers.get("content-length")
        while True:
            if length is not None and len(body) >= int(length):
                return body
            if "chunked" in headers.get("transfer-encoding", "") and body.endswith(b"0\r\n\r\n"):
                return _unchunked(body)
            if not (received := connection.recv(65_536)):
                self._disconnect()
                return body
            body += received

    def _connected(self) -> ssl.SSLSocket:
        if self._socket is None:
            assert self._context is not None
            plain = socket.create_connection(("127.0.0.1", self.port), timeout=SLOW_SECONDS)
            self._socket = self._context.wrap_socket(plain, server_hostname="localhost")
        return self._socket

    def _disconnect(self) -> None:
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.close()
            self._socket = None


def _unchunked(data: bytes) -> bytes:
    body = b""
    while data:
        size, _, data = data.partition(b"\r\n")
        body, data = body + data[: int(size, 16)], data[int(size, 16) + 2 :]
    return body


def check(answer: Answer, *, malformed: bool = False, future: bool = False) -> None:
    """What holds of every answer. `malformed`: the request may not be HTTP at all, and be refused by the HTTP server.

    `future`: a revision that is not there yet may have been asked for, which is told by 504, as upstream does.
    """
    assert answer.seconds < SLOW_SECONDS, f"{answer.seconds:.1f} s"
    assert answer.code != 0 or malformed, "the connection was closed without an answer"
    assert answer.code < 500 or (future and answer.code == 504), answer
    if answer.code >= 400 and answer.headers.get("content-type") == "application/json" and answer.body:
        check_status(orjson.loads(answer.body), answer.code)


def check_status(status: dict[str, Any], code: int) -> None:
    """A refusal is a Status, and says why."""
    assert status["kind"] == "Status", status
    assert status["apiVersion"] == "v1", status
    assert status["status"] == "Failure", status
    assert status["code"] == code, status
    assert status["message"], status
    assert isinstance(status.get("reason", ""), str), status
    assert isinstance(status.get("metadata", {}), dict), status
    for cause in (status.get("details") or {}).get("causes") or []:
        assert set(cause) <= {"reason", "message", "field"}, status

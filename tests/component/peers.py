"""The apiserver's peers for tests: a webhook and a kubelet that do what a test says, over real TLS."""

from __future__ import annotations

import contextlib
import http.server
import json
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from certs.authority import Authority

Review = dict[str, Any]


@contextlib.contextmanager
def webhook(folder: Path, answer: Callable[[Review], Review]) -> Iterator[tuple[str, bytes]]:
    """A webhook server. Gives its URL and its CA; `answer` makes the response's fields from the request."""
    authority = Authority.create("webhook-ca")
    context = _server_context(folder, authority.issue_server("webhook", ["localhost"], ["127.0.0.1"]))

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            review = json.loads(self.rfile.read(int(self.headers["content-length"])))
            request = review["request"]
            response = {"uid": request["uid"], **answer(request)}
            body = json.dumps({**review, "request": None, "response": response}).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            with contextlib.suppress(OSError):
                self.wfile.write(body)

        def log_message(self, *arguments: object) -> None:
            """Quiet."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield f"https://127.0.0.1:{server.server_address[1]}/", authority.cert_pem
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class Kubelet:
    """Accepts connections, notes each request's head, and answers as told; after an upgrade it echoes in capitals."""

    def __init__(self, certificate: Path, key: Path, client_ca: Path) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        context.load_verify_locations(client_ca)
        context.verify_mode = ssl.CERT_REQUIRED
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._context = context
        self.port: int = self._listener.getsockname()[1]
        self.requests: list[str] = []
        self.clients: list[str] = []
        self.answer = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
        self.stream: list[bytes] = []
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Kubelet:
        self._threads.append(threading.Thread(target=self._accept))
        self._threads[0].start()
        return self

    def __exit__(self, *exc: object) -> None:
        # closing alone does not wake a blocked accept
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join(10)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                raw, _ = self._listener.accept()
                thread = threading.Thread(target=self._serve, args=(raw,))
                self._threads.append(thread)
                thread.start()

    def _serve(self, raw: socket.socket) -> None:
        with contextlib.suppress(OSError, ssl.SSLError), self._context.wrap_socket(raw, server_side=True) as tls:
            head = b""
            while b"\r\n\r\n" not in head:
                head += tls.recv(4096)
            subject = dict(pair for part in tls.getpeercert()["subject"] for pair in part)  # type: ignore[index, misc]  # TLS required it
            self.clients.append(str(subject["commonName"]))
            self.requests.append(head.decode())
            tls.sendall(self.answer)
            if self.answer.startswith(b"HTTP/1.1 101"):
                while data := tls.recv(65536):
                    tls.sendall(data.upper())
            for part in self.stream:
                tls.sendall(part)
                time.sleep(0.05)


def _server_context(folder: Path, pair: Any) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    cert, key = folder / "peer.crt", folder / "peer.key"
    cert.write_bytes(pair.cert_pem)
    key.write_bytes(pair.key_pem)
    context.load_cert_chain(cert, key)
    return context

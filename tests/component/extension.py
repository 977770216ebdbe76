"""A real extension API server for tests: HTTPS with a certificate of its own, and front-proxy authentication.

It believes the headers of a client whose certificate is of the front-proxy CA, and refuses all others. It serves one
group-version with one resource, OpenAPI of it, a watch, and an echo after an upgrade.
"""

from __future__ import annotations

import base64
import http.server
import json
import ssl
import threading
from pathlib import Path
from types import TracebackType
from typing import Any

from certs.authority import Authority

GROUP, VERSION = "wardle.example.com", "v1alpha1"
ROOT = f"/apis/{GROUP}/{VERSION}"
SERVICE = {"namespace": "default", "name": "wardle"}
_DEFINITION = "com.example.wardle.v1alpha1.Flunder"


def flunder(name: str) -> dict[str, Any]:
    return {"apiVersion": f"{GROUP}/{VERSION}", "kind": "Flunder", "metadata": {"name": name, "namespace": "default"}}


def resource_list() -> dict[str, Any]:
    verbs = ["create", "get", "list", "watch"]
    entry = {"name": "flunders", "singularName": "flunder", "namespaced": True, "kind": "Flunder", "verbs": verbs}
    scale = {"name": "flunders/scale", "singularName": "", "namespaced": True, "verbs": ["get"]}
    scale |= {"kind": "Scale", "group": "autoscaling", "version": "v1"}
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": f"{GROUP}/{VERSION}",
        "resources": [{**entry, "shortNames": ["fl"]}, scale],
    }


def openapi(version: str) -> dict[str, Any]:
    kind = [{"group": GROUP, "kind": "Flunder", "version": VERSION}]
    schema = {
        "type": "object",
        "description": "A flunder, whatever that is.",
        "properties": {"spec": {"type": "string", "description": "What it should be."}},
        "x-kubernetes-group-version-kind": kind,
    }
    get = {"operationId": "readFlunder", "responses": {"200": {"description": "OK"}}}
    if version == "v2":
        get["responses"] = {"200": {"description": "OK", "schema": {"$ref": f"#/definitions/{_DEFINITION}"}}}
        paths = {f"{ROOT}/namespaces/{{namespace}}/flunders/{{name}}": {"get": get}, "/apis/other/v1/x": {}}
        return {"swagger": "2.0", "paths": paths, "definitions": {_DEFINITION: schema, "unused": {}}}
    paths = {f"{ROOT}/namespaces/{{namespace}}/flunders/{{name}}": {"get": {**get, "x-kubernetes-action": "get"}}}
    paths[f"{ROOT}/namespaces/{{namespace}}/flunders/{{name}}"]["get"]["x-kubernetes-group-version-kind"] = kind[0]
    return {"openapi": "3.0.0", "info": {}, "paths": paths, "components": {"schemas": {_DEFINITION: schema}}}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    seen: list[dict[str, list[str]]]
    statuses: dict[str, int]

    def do_GET(self) -> None:
        self._note()
        path = self.path.partition("?")[0]
        if path in self.statuses:
            self._send(self.statuses[path], {})
        elif self.headers.get("Upgrade"):
            self._upgrade()
        elif path == ROOT:
            self._send(200, resource_list())
        elif path == "/openapi/v2":
            self._send(200, openapi("v2"))
        elif path == "/openapi/v3":
            self._send(200, {"paths": {ROOT[1:]: {"serverRelativeURL": f"/openapi/v3{ROOT}?hash=ABC"}}})
        elif path == f"/openapi/v3{ROOT}":
            self._send(200, openapi("v3"))
        elif path.endswith("/flunders") and "watch=" in self.path:
            self._watch()
        elif path.endswith("/flunders"):
            items = [flunder("a"), flunder("b")]
            self._send(200, {"kind": "FlunderList", "apiVersion": f"{GROUP}/{VERSION}", "metadata": {}, "items": items})
        else:
            self._send(200, flunder(path.rpartition("/")[2]))

    def do_POST(self) -> None:
        self._note()
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self._send(201, body)

    def _note(self) -> None:
        certificate = self.connection.getpeercert()
        subject = {key: value for part in certificate["subject"] for key, value in part}
        headers = {name.lower(): self.headers.get_all(name) or [] for name in self.headers}
        self.seen.append({"path": [self.path], "client": [subject["commonName"]], **headers})

    def _send(self, code: int, body: dict[str, Any]) -> None:
        data = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _watch(self) -> None:
        """One event at once, another when the first has been read, and then nothing until the client goes."""
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for name in ("a", "b"):
            line = json.dumps({"type": "ADDED", "object": flunder(name)}).encode() + b"\n"
            self.wfile.write(b"%x\r\n%b\r\n" % (len(line), line))
            self.wfile.flush()
        self.rfile.read(1)  # b"" once the other side has closed
        self.seen.append({"path": ["the watch is over"]})
        self.close_connection = True

    def _upgrade(self) -> None:
        self.send_response(101)
        self.send_header("Upgrade", "echo")
        self.send_header("Connection", "Upgrade")
        self.end_headers()
        self.wfile.write(self.rfile.read(5).upper())
        self.wfile.flush()
        self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        pass


class _Quiet(http.server.ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """Handshakes that fail are what some tests are about."""


class Extension:
    """The server, on a port of this machine, until the `with` ends."""

    def __init__(self, front_proxy_ca: Path, folder: Path) -> None:
        authority = Authority.create("extension-ca")
        pair = authority.issue_server("wardle", [f"{SERVICE['name']}.{SERVICE['namespace']}.svc"], [])
        (folder / "ext.crt").write_bytes(pair.cert_pem)
        (folder / "ext.key").write_bytes(pair.key_pem)
        self.ca_bundle = base64.b64encode(authority.cert_pem).decode()
        self.seen: list[dict[str, list[str]]] = []
        self.statuses: dict[str, int] = {}
        handler = type("Bound", (Handler,), {"seen": self.seen, "statuses": self.statuses})
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "ext.crt", folder / "ext.key")
        context.load_verify_locations(front_proxy_ca)
        context.verify_mode = ssl.CERT_REQUIRED
        self._server = _Quiet(("127.0.0.1", 0), handler)
        # The handshake is each connection's own, so that a bad one stops nobody
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    def api_service(self, **spec: Any) -> dict[str, Any]:
        return {
            "metadata": {"name": f"{VERSION}.{GROUP}"},
            "spec": {
                "group": GROUP,
                "version": VERSION,
                "groupPriorityMinimum": 2000,
                "versionPriority": 10,
                "service": {**SERVICE, "port": self.port},
                "caBundle": self.ca_bundle,
                **spec,
            },
        }

    def __enter__(self) -> Extension:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

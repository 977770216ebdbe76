"""`nodes/proxy`, `pods/proxy`, `services/proxy`: any path of a kubelet, a pod or a service, with the apiserver's reach.

A name may carry a scheme and a port: `https:web:metrics`. The port is a number or a name that the pod or service gives.
Addresses that are the apiserver's own neighbourhood (loopback, link-local) are refused, as upstream does: whoever may
set a pod's status could otherwise reach them through here.
Source: https://kubernetes.io/docs/tasks/access-application-cluster/access-cluster-services/
"""

from __future__ import annotations

import ipaddress
import random
import ssl
from typing import NamedTuple
from urllib.parse import quote

from apimachinery import errors
from apimachinery.objects import Object
from apiserver.asgi import Receive, Send
from apiserver.backend import Target, ask
from apiserver.handlers import bodies
from apiserver.handlers.connect import relay
from apiserver.handlers.connect.kubelets import Kubelets
from apiserver.handlers.resources import Special
from apiserver.registry.call import Call
from apiserver.request import Request
from apiserver.storage.store import Store

_PODS, _SERVICES, _SLICES = "/registry/pods/", "/registry/services/specs/", "/registry/endpointslices/"
_SERVICE_LABEL = "kubernetes.io/service-name"
_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})


class Named(NamedTuple):
    """What stands in the path for a pod or a service: `[scheme:]name[:port]`."""

    scheme: str
    name: str
    port: str


class Proxies:
    def __init__(self, store: Store, kubelets: Kubelets, source: random.Random) -> None:
        self._store = store
        self._kubelets = kubelets
        self._random = source
        # Pods serve certificates of their own making; upstream does not check them here either
        self._unchecked = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._unchecked.check_hostname = False
        self._unchecked.verify_mode = ssl.CERT_NONE

    def handlers(self) -> dict[tuple[str, str, str], Special]:
        return {
            ("", "nodes", "proxy"): self.node,
            ("", "pods", "proxy"): self.pod,
            ("", "services", "proxy"): self.service,
        }

    async def node(self, request: Request, call: Call, receive: Receive, send: Send) -> None:
        await self._pass(request, self._kubelets.target(call.name, request.method, _path(request)), receive, send)

    async def pod(self, request: Request, call: Call, receive: Receive, send: Send) -> None:
        named = split(call.name)
        pod = self._find(_PODS, "pods", call, named)
        address = (pod.get("status") or {}).get("podIP") or ""
        target = self._target(request, named, address, port_of_pod(pod, named.port))
        await self._pass(request, target, receive, send)

    async def service(self, request: Request, call: Call, receive: Receive, send: Send) -> None:
        named = split(call.name)
        service = self._find(_SERVICES, "services", call, named)
        port_name = name_of_port(service, named)
        choices = [choice for found in self._slices(call, named) for choice in ready(found, port_name)]
        if not choices:
            raise errors.ServiceUnavailable(f'no endpoints available for service "{call.name}"')
        address, port = self._random.choice(choices)
        await self._pass(request, self._target(request, named, address, port), receive, send)

    def _find(self, prefix: str, resource: str, call: Call, named: Named) -> Object:
        stored = self._store.cached(f"{prefix}{call.namespace}/{named.name}")
        if stored is None:
            raise errors.not_found("", resource, named.name)
        return stored.object

    def _slices(self, call: Call, named: Named) -> list[Object]:
        found = (stored.object for stored in self._store.cached_list(f"{_SLICES}{call.namespace}/"))
        return [obj for obj in found if (obj["metadata"].get("labels") or {}).get(_SERVICE_LABEL) == named.name]

    def _target(self, request: Request, named: Named, address: str, port: int) -> Target:
        if not address or not is_proxyable(address):
            raise errors.BadRequest("address not allowed")
        tls = self._unchecked if named.scheme == "https" else None
        return Target(address, port, tls, request.method, _path(request))

    async def _pass(self, request: Request, target: Target, receive: Receive, send: Send) -> None:
        if request.headers.get(b"upgrade"):
            await relay.upgrade(request, await ask(target, relay.passed_headers(request)), send)
            return
        body = await bodies.read(request, receive) if request.method in _WITH_BODY else b""
        headers = [header for header in relay.passed_headers(request) if header[0] != b"connection"]
        backend = await ask(target, [*headers, (b"Connection", b"close")], body)
        try:
            await relay.answer(request, backend, send)
        finally:
            await backend.close()


def split(text: str) -> Named:
    """Raises BadRequest for what is neither `name`, `name:port` nor `scheme:name:port`."""
    match text.split(":"):
        case [name]:
            return Named("http", name, "")
        case [name, port]:
            return Named("http", name, port)
        case ["http" | "https" | "" as scheme, name, port]:
            return Named(scheme or "http", name, port)
    raise errors.BadRequest(f'invalid proxy name "{text}"')


def port_of_pod(pod: Object, asked: str) -> int:
    """A number, a named container port, or by default the first that a container declares."""
    declared = [port for container in pod["spec"]["containers"] for port in container.get("ports") or ()]
    if asked.isdigit():
        return int(asked)
    for port in declared:
        if not asked or port.get("name") == asked:
            return int(port["containerPort"])
    if asked:
        raise errors.BadRequest(f'pod has no port "{asked}"')
    return 80


def name_of_port(service: Object, named: Named) -> str:
    """The name, in the service's slices, of the port that is meant; "" for the only one, which needs none."""
    ports = (service.get("spec") or {}).get("ports") or []
    for port in ports:
        if named.port in (port.get("name"), str(port["port"])) or (not named.port and len(ports) == 1):
            return port.get("name") or ""
    raise errors.ServiceUnavailable(f'no service port "{named.port}" found for service "{named.name}"')


def ready(endpoint_slice: Object, port_name: str) -> list[tuple[str, int]]:
    """The addresses and ports in a slice that take traffic."""
    numbers = [
        port["port"]
        for port in endpoint_slice.get("ports") or ()
        if (port.get("name") or "") == port_name and port.get("port")
    ]
    return [
        (address, number)
        for endpoint in endpoint_slice.get("endpoints") or ()
        if (endpoint.get("conditions") or {}).get("ready") is not False
        for address in endpoint["addresses"]
        for number in numbers
    ]


def is_proxyable(address: str) -> bool:
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return False
    return not (ip.is_loopback or ip.is_link_local or ip.is_multicast or ip.is_unspecified)


def _path(request: Request) -> str:
    raw_query = request.scope["query_string"].decode("latin-1")
    return "/" + quote(request.info.tail) + (f"?{raw_query}" if raw_query else "")

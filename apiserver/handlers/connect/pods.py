"""`pods/log`, `pods/exec`, `pods/attach` and `pods/portforward`: what leads through the apiserver to a pod's kubelet.

Logs are relayed as a response; the others are spliced once the kubelet has agreed to the upgrade. When it does not
agree its answer goes to the client as it is, so that kubectl can fall back from WebSocket to SPDY. Paths and parameters
on the kubelet's side are upstream's (`/containerLogs`, `/exec`, `/attach`, `/portForward`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import quote, urlencode

from apimachinery import errors
from apimachinery.objects import Object
from apiserver import responses
from apiserver.admission.chain import Chain
from apiserver.asgi import Receive, Send
from apiserver.authorization import attributes as questions
from apiserver.authorization.attributes import Authorizer
from apiserver.backend import Head, ask
from apiserver.handlers.connect import relay
from apiserver.handlers.connect.kubelets import Kubelets
from apiserver.handlers.resources import Special
from apiserver.registry.call import Call
from apiserver.registry.registry import Registry
from apiserver.request import Request

_LOG_OPTIONS = ("follow", "previous", "sinceSeconds", "sinceTime", "timestamps", "tailLines", "limitBytes", "stream")
_STREAMS = {"stdin": "input", "stdout": "output", "stderr": "error", "tty": "tty"}
_Query = list[tuple[str, str]]


class Connections:
    def __init__(self, registry: Registry, kubelets: Kubelets, authorizer: Authorizer, admission: Chain) -> None:
        self._registry = registry
        self._kubelets = kubelets
        self._authorizer = authorizer
        self._admission = admission

    def handlers(self) -> dict[tuple[str, str, str], Special]:
        return {
            ("", "pods", "log"): self.log,
            ("", "pods", "exec"): self.exec,
            ("", "pods", "attach"): self.attach,
            ("", "pods", "portforward"): self.port_forward,
        }

    async def log(self, request: Request, call: Call, receive: Receive, send: Send) -> None:
        pod = await self._pod(call)
        container = container_of(pod, request.option("container"))
        node = pod["spec"].get("nodeName")
        if not node:  # upstream answers with an empty log
            await responses.send_text(request, send, 200, "")
            return
        query = [(name, request.option(name)) for name in _LOG_OPTIONS if request.option(name)]
        path = _path("containerLogs", call.namespace, call.name, container, query=query)
        backend = await ask(self._kubelets.target(node, "GET", path), [(b"Connection", b"close")])
        try:
            if backend.head.status >= 400:
                raise refused(backend.head, await backend.text(), call)
            await responses.begin_stream(request, send, 200, "text/plain")
            await relay.body(request, backend, send)
        finally:
            await backend.close()

    async def exec(self, request: Request, call: Call, receive: Receive, send: Send) -> None:
        pod = await self._pod(call)
        container = container_of(pod, request.option("container"))
        query = _stream_query(request.query)
        query += [("command", word) for word in request.query.get("command", ())]
        await self._upgrade(request, call, pod, _path("exec", call.namespace, call.name, container, query=query), send)

    async def attach(self, request: Request, call: Call, receive: Receive, send: Send) -> None:
        pod = await self._pod(call)
        container = container_of(pod, request.option("container"))
        query = _stream_query(request.query)
        await self._upgrade(
            request, call, pod, _path("attach", call.namespace, call.name, container, query=query), send
        )

    async def port_forward(self, request: Request, call: Call, receive: Receive, send: Send) -> None:
        pod = await self._pod(call)
        # WebSocket clients name the ports here, SPDY clients in each stream
        query = [("port", port) for value in request.query.get("ports", ()) for port in value.split(",")]
        await self._upgrade(request, call, pod, _path("portForward", call.namespace, call.name, query=query), send)

    async def _pod(self, call: Call) -> Object:
        plain = Call(call.user, call.resource, "get", call.namespace, call.name)
        return (await self._registry.get(plain)).object

    async def _upgrade(self, request: Request, call: Call, pod: Object, path: str, send: Send) -> None:
        if not request.headers.get(b"upgrade"):
            raise errors.BadRequest("Upgrade request required")
        self._require_create(request)
        node = pod["spec"].get("nodeName")
        if not node:
            raise errors.BadRequest(f"pod {call.name} does not have a host assigned")
        options = _options(request, call)
        await self._admission.mutate(call, "CONNECT", options, None)
        await self._admission.validate(call, "CONNECT", options, None)
        backend = await ask(self._kubelets.target(node, request.method, path), relay.passed_headers(request))
        await relay.upgrade(request, backend, send)

    def _require_create(self, request: Request) -> None:
        """A WebSocket begins with a GET; it needs the same right as SPDY's POST, as upstream since 1.35."""
        question = questions.of_request(request, verb="create")
        decision = self._authorizer.decide(question)
        if not decision.allowed:
            raise questions.forbidden(question, decision.reason)


def container_of(pod: Object, asked: str) -> str:
    """The container that is meant. Raises BadRequest, in upstream's words."""
    spec, name = pod["spec"], pod["metadata"]["name"]
    main, init, ephemeral = (
        [container["name"] for container in spec.get(part) or []]
        for part in ("containers", "initContainers", "ephemeralContainers")
    )
    if asked:
        if asked not in (*main, *init, *ephemeral):
            raise errors.BadRequest(f"container {asked} is not valid for pod {name}")
        return asked
    if len(main) == 1:
        return str(main[0])
    text = f"a container name must be specified for pod {name}, choose one of: [{' '.join(main)}]"
    if init:
        text += f" or one of the init containers: [{' '.join(init)}]"
    if ephemeral:
        text += f" or one of the ephemeral containers: [{' '.join(ephemeral)}]"
    raise errors.BadRequest(text)


def refused(head: Head, text: str, call: Call) -> errors.APIError:
    """The kubelet's refusal as the API's error."""
    if head.status == 400:
        return errors.BadRequest(text)
    if head.status == 404:
        error = errors.not_found("", call.resource.resource, call.name)
        error.message = (
            f"the server could not find the requested resource ( {call.resource.resource} {call.name}): {text}"
        )
        return error
    return errors.InternalError(f"Internal error occurred: {text or f'the kubelet answered {head.status}'}")


def _options(request: Request, call: Call) -> Object:
    """What admission is shown of a connection: the query as the subresource's kind (`PodExecOptions` …)."""
    sub = call.resource.subresource(call.subresource)
    assert sub is not None, "the path was checked against the table"
    assert sub.kind is not None, "the table gives every connection its options' kind"
    options: Object = {"kind": sub.kind.kind, "apiVersion": sub.kind.api_version}
    options |= {flag: True for flag in _STREAMS if request.flag(flag)}
    if request.option("container"):
        options["container"] = request.option("container")
    if "command" in request.query:
        options["command"] = list(request.query["command"])
    if "ports" in request.query:
        options["ports"] = [
            int(port) for value in request.query["ports"] for port in value.split(",") if port.isdigit()
        ]
    return options


def _stream_query(query: Mapping[str, Sequence[str]]) -> _Query:
    """`stdin=true` → `input=1`: the kubelet has names of its own."""
    flags = ("1", "true", "t", "True")
    return [(name, "1") for flag, name in _STREAMS.items() if query.get(flag, [""])[0] in flags]


def _path(*parts: str, query: _Query) -> str:
    path = "/" + "/".join(quote(part, safe="") for part in parts)
    return f"{path}?{urlencode(query)}" if query else path

"""The application (A1): one ordered list of filters around one FastAPI router.

Reads top to bottom as a request goes: `FILTERS`, then `routes`. A filter is a pure ASGI class; the generic resource
path is one endpoint for every collection; everything below it is found in the resource table. `worker.py` wires it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from fastapi import FastAPI
from starlette.routing import Route

from apiserver import asgi, metrics, responses
from apiserver import request as requests
from apiserver.filters import access, authenticate, authorize, chain, deadline, impersonate, inflight, recovery
from apiserver.filters import requests as request_info
from apiserver.handlers import aggregation, discovery, health, index, issuer, openapi, resources, version
from apiserver.request import Request

# Outermost first. Auditing (A8) will stand after Authenticate, so that its records name the user.
FILTERS: list[chain.Filter] = [
    request_info.RequestInfo,
    access.AccessLog,
    recovery.Recovery,
    deadline.Deadline,
    authenticate.Authenticate,
    impersonate.Impersonate,
    inflight.InFlight,
    authorize.Authorize,
]

Endpoint = Callable[[Request, asgi.Send], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Handlers:
    """The endpoints of a worker."""

    resources: resources.Resources
    health: health.Health
    openapi: openapi.OpenAPI
    metrics: metrics.Metrics
    aggregator: aggregation.Aggregator
    issuer: issuer.Issuer
    index: index.Index


class Application(FastAPI):
    """FastAPI with our filters in the place of its middleware, so that one list tells a request's whole way."""

    def __init__(self, handlers: Handlers, wiring: chain.Wiring) -> None:
        # Its own documentation pages would stand between the Kubernetes API's paths
        super().__init__(openapi_url=None, docs_url=None, redoc_url=None)
        self._chain = chain.fold(FILTERS, self._dispatch, wiring)
        self._aggregator = handlers.aggregator
        self._generic = {"api": handlers.resources, "apis": handlers.resources}
        served = routes(handlers)
        self.router.default = served[""]  # what does not even start with a slash
        for path, endpoint in served.items():
            self.mount(path, endpoint)  # what is under it
            self.router.routes.append(Route(path or "/", endpoint))  # itself

    async def __call__(self, scope: asgi.Scope, receive: asgi.Receive, send: asgi.Send) -> None:
        await self._chain(scope, receive, send)

    async def _dispatch(self, scope: asgi.Scope, receive: asgi.Receive, send: asgi.Send) -> None:
        """The innermost step: what extension servers have, then what is here.

        Resources are most of the traffic and need no pattern matching: their prefix tells.
        """
        info = requests.of(scope).info
        remote = self._aggregator.serves(info)
        if remote is not None:
            await self._aggregator.handle(remote, scope, receive, send)
            return
        generic = self._generic.get(info.prefix)
        if generic is not None:
            await generic(scope, receive, send)
        else:
            await self.router(scope, receive, send)


def routes(handlers: Handlers) -> dict[str, asgi.App]:
    """Path prefix → ASGI application."""
    return {
        "/api": handlers.resources,
        "/apis": handlers.resources,
        "/healthz": ReadOnly(handlers.health.handle),
        "/livez": ReadOnly(handlers.health.handle),
        "/readyz": ReadOnly(handlers.health.handle),
        "/version": ReadOnly(version.handle, only="/version"),
        issuer.CONFIGURATION: ReadOnly(handlers.issuer.handle, only=issuer.CONFIGURATION),
        issuer.KEYS: ReadOnly(handlers.issuer.handle, only=issuer.KEYS),  # before what it is under
        "/openapi": ReadOnly(handlers.openapi.handle),
        "/metrics": ReadOnly(_metrics(handlers.metrics), only="/metrics"),
        "": ReadOnly(handlers.index.handle, only="/"),  # every path that nobody serves comes here and is not found
    }


class ReadOnly:
    """A handler of a non-resource path, which only reads. With `only`, of this path and none below it."""

    def __init__(self, handle: Endpoint, *, only: str = "") -> None:
        self._handle = handle
        self._only = only

    async def __call__(self, scope: asgi.Scope, receive: asgi.Receive, send: asgi.Send) -> None:
        request = requests.of(scope)
        if self._only and request.info.path.rstrip("/") != self._only.rstrip("/"):
            raise discovery.not_found()
        if request.method not in ("GET", "HEAD"):
            raise resources.not_allowed()
        await self._handle(request, send)


def _metrics(counted: metrics.Metrics) -> Endpoint:
    async def handle(request: Request, send: asgi.Send) -> None:
        counted.flush()
        await responses.send_bytes(request, send, 200, counted.render().encode(), metrics.CONTENT_TYPE)

    return handle

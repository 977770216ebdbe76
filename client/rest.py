"""One API server, spoken to over HTTP: verbs on collections, watches, and whatever else has a path.

The only owner of the Kubernetes API. Objects are JSON dicts, collections are GVRs; every failure the server reports is
raised as its class of `apimachinery.errors`, every failure to reach it as `ConnectionFailed`.

Guarantees: reads are repeated once when a kept-alive connection turns out to be closed, writes only when the server
asked for it (429, or 5xx with Retry-After); a call waits for its turn when `qps` is set; a watch that is silent past
the end that was asked for is given up. Does not retry conflicts and does not cache: reconcilers and reflectors do.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, NamedTuple, Protocol, Self
from urllib.parse import quote, urlencode

import httpx
import orjson

from apimachinery import errors
from apimachinery.clock import Clock, SystemClock
from apimachinery.gvr import GVR
from apimachinery.objects import Object
from client import credentials, tracing, transport
from client.kubeconfig import ClientConfig
from client.ratelimit import TokenBucket

# Only metadata of objects, where the server can; whole objects elsewhere
METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
PATCH_TYPES = {
    "json": "application/json-patch+json",
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}
# The server's own limit is 60 s (--request-timeout): a little longer, so that its 504 arrives before we give up
REQUEST_SECONDS = 65.0
CONNECT_SECONDS = 10.0
# A watch ends when the server ends it (timeoutSeconds); this much later it is taken for dead
WATCH_GRACE_SECONDS = 15.0
WATCH_SECONDS = 300.0
# As client-go: how often a call is repeated because the server asked for it
MAX_RETRIES = 10
MAX_RETRY_AFTER_SECONDS = 60.0
# One watch event: an object is at most 3 MiB on the wire; its JSON can be somewhat longer
MAX_EVENT_BYTES = 16 << 20


class ConnectionFailed(Exception):
    """The server could not be reached, or the connection broke before the answer was complete."""

    def __init__(self, server: str, cause: BaseException) -> None:
        reason = next((str(e) for e in (cause, cause.__cause__) if e is not None and str(e)), type(cause).__name__)
        super().__init__(f"{server}: {reason}")
        self.server = server


class WatchEvent(NamedTuple):
    """`type` is ADDED, MODIFIED, DELETED or BOOKMARK; ERROR is raised instead."""

    type: str
    object: Object


@dataclass(frozen=True, slots=True)
class Response:
    """An answer, whole. Header names are lower case."""

    status: int
    headers: Mapping[str, str]
    content: bytes

    def json(self) -> Any:
        return orjson.loads(self.content)


class Observer(Protocol):
    """Told of every HTTP exchange: what `minictl -v=8` prints, what metrics count."""

    def sent(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> None: ...

    def answered(self, method: str, url: str, status: int, headers: Mapping[str, str], seconds: float) -> None: ...

    def received(self, content: bytes) -> None: ...


class Client:
    """The API server of `config`. Use as `async with Client(config) as client`."""

    def __init__(
        self,
        config: ClientConfig,
        *,
        qps: float | None = None,
        burst: int | None = None,
        user_agent: str = "armillary",
        clock: Clock | None = None,
        observer: Observer | None = None,
        watch_grace_seconds: float = WATCH_GRACE_SECONDS,
        make_transport: Callable[[Any], httpx.AsyncBaseTransport] = transport.for_component,
    ) -> None:
        self.config = config
        self._clock = clock or SystemClock()
        self._limiter = TokenBucket(qps, burst or max(1, int(qps * 2)), self._clock) if qps else None
        self._observer = observer
        self._watch_grace = watch_grace_seconds
        if len(config.impersonate.groups) > 1 and make_transport is transport.for_component:
            make_transport = transport.for_command  # aiohttp's adapter would join repeated headers into one
        self._make_transport = make_transport
        self._credentials = credentials.Credentials(config, self._clock)
        self._transport: httpx.AsyncBaseTransport | None = None
        self._opening = asyncio.Lock()
        self._base = config.server.rstrip("/")
        self._headers = _constant_headers(config, user_agent)
        self._extensions = transport.server_name_extension(config.tls_server_name)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, e: BaseException | None, t: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close every connection; watches that are open end."""
        opened, self._transport = self._transport, None
        if opened is not None:
            await opened.aclose()

    # -- objects ------------------------------------------------------------------------------------------------

    async def get(
        self,
        gvr: GVR,
        name: str,
        namespace: str | None = None,
        *,
        subresource: str | None = None,
        resource_version: str | None = None,
        metadata_only: bool = False,
    ) -> Object:
        params = _params(resourceVersion=resource_version)
        accept = METADATA if metadata_only else ""
        return await self._json("GET", gvr.path(namespace, name, subresource), params, accept=accept)

    async def list(
        self,
        gvr: GVR,
        namespace: str | None = None,
        *,
        label_selector: str | None = None,
        field_selector: str | None = None,
        resource_version: str | None = None,
        resource_version_match: str | None = None,
        limit: int | None = None,
        continue_token: str | None = None,
        metadata_only: bool = False,
    ) -> Object:
        """The List object, one page of it if `limit` is given; `metadata.continue` leads to the next."""
        params = _params(
            labelSelector=label_selector,
            fieldSelector=field_selector,
            resourceVersion=resource_version,
            resourceVersionMatch=resource_version_match,
            limit=limit,
        )
        if continue_token:
            params["continue"] = continue_token
        accept = METADATA_LIST if metadata_only else ""
        return await self._json("GET", gvr.path(namespace), params, accept=accept)

    async def create(
        self,
        gvr: GVR,
        obj: Object,
        namespace: str | None = None,
        *,
        name: str | None = None,
        subresource: str | None = None,
        dry_run: bool = False,
        field_manager: str | None = None,
        field_validation: str | None = None,
    ) -> Object:
        """Create `obj`; with `name` and `subresource`, post it there (`binding`, `eviction`, `token`)."""
        namespace = namespace or (obj.get("metadata") or {}).get("namespace")
        params = _write_params(dry_run, field_manager, field_validation)
        return await self._json("POST", gvr.path(namespace, name, subresource), params, orjson.dumps(obj))

    async def update(
        self,
        gvr: GVR,
        obj: Object,
        *,
        subresource: str | None = None,
        dry_run: bool = False,
        field_manager: str | None = None,
        field_validation: str | None = None,
    ) -> Object:
        """Replace the object that `obj.metadata` names; with a resourceVersion only if it is still that one."""
        metadata = obj["metadata"]
        path = gvr.path(metadata.get("namespace"), metadata["name"], subresource)
        params = _write_params(dry_run, field_manager, field_validation)
        return await self._json("PUT", path, params, orjson.dumps(obj))

    async def patch(
        self,
        gvr: GVR,
        name: str,
        body: Any,
        namespace: str | None = None,
        *,
        patch_type: str = "merge",
        subresource: str | None = None,
        dry_run: bool = False,
        field_manager: str | None = None,
        field_validation: str | None = None,
        force: bool = False,
    ) -> Object:
        """`patch_type` is merge, strategic, json or apply; `body` is what that type takes."""
        params = _write_params(dry_run, field_manager, field_validation)
        if force:
            params["force"] = "true"
        path = gvr.path(namespace, name, subresource)
        return await self._json("PATCH", path, params, orjson.dumps(body), content_type=PATCH_TYPES[patch_type])

    async def delete(
        self,
        gvr: GVR,
        name: str,
        namespace: str | None = None,
        *,
        grace_period_seconds: int | None = None,
        propagation_policy: str | None = None,
        uid: str | None = None,
        resource_version: str | None = None,
        dry_run: bool = False,
    ) -> Object:
        """What the server answers: the object while it is being deleted, or a Status once it is gone."""
        options = delete_options(grace_period_seconds, propagation_policy, uid, resource_version, dry_run)
        return await self._json("DELETE", gvr.path(namespace, name), {}, orjson.dumps(options))

    async def delete_collection(
        self,
        gvr: GVR,
        namespace: str | None = None,
        *,
        label_selector: str | None = None,
        field_selector: str | None = None,
        grace_period_seconds: int | None = None,
        propagation_policy: str | None = None,
    ) -> Object:
        options = delete_options(grace_period_seconds, propagation_policy, None, None, False)
        params = _params(labelSelector=label_selector, fieldSelector=field_selector)
        return await self._json("DELETE", gvr.path(namespace), params, orjson.dumps(options))

    async def watch(
        self,
        gvr: GVR,
        namespace: str | None = None,
        *,
        resource_version: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
        timeout_seconds: float = WATCH_SECONDS,
        send_initial_events: bool = False,
        bookmarks: bool = True,
        metadata_only: bool = False,
        accept: str = "",
    ) -> AsyncGenerator[WatchEvent, None]:
        """Events after `resource_version`, until the server ends the watch. Close it with `contextlib.aclosing`.

        Raises the server's error (410 Expired: list again) and ConnectionFailed, also when the server is silent
        `WATCH_GRACE_SECONDS` past the end that was asked for.
        """
        params = _params(
            watch="true",
            resourceVersion=resource_version,
            labelSelector=label_selector,
            fieldSelector=field_selector,
            timeoutSeconds=int(timeout_seconds),
            allowWatchBookmarks="true" if bookmarks else None,
        )
        if send_initial_events:
            params |= {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
        silence = timeout_seconds + self._watch_grace
        accept = accept or (METADATA if metadata_only else "")
        headers = {"accept": accept} if accept else {}
        path = gvr.path(namespace)
        async with self.stream("GET", path, params=params, headers=headers, timeout_seconds=silence) as chunks:
            async for line in _lines(chunks, self.config.server):
                event = orjson.loads(line)
                if event["type"] == "ERROR":
                    raise errors.from_status(event["object"], 500)
                yield WatchEvent(event["type"], event["object"])

    # -- paths --------------------------------------------------------------------------------------------------

    async def raw(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
        timeout_seconds: float | None = REQUEST_SECONDS,
    ) -> Response:
        """Any request, read whole. Raises for 4xx and 5xx."""
        response = await self._send(method, self._url(path, params), body, headers or {}, timeout_seconds)
        content = await self._read(response)
        if response.status_code >= 400:
            raise _error(response.status_code, content)
        return Response(response.status_code, dict(response.headers.items()), content)

    @asynccontextmanager
    async def stream(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        timeout_seconds: float | None = REQUEST_SECONDS,
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """The body in pieces as they come; the connection is closed when the block ends. Raises for 4xx and 5xx."""
        response = await self._send(method, self._url(path, params), b"", headers or {}, timeout_seconds)
        if response.status_code >= 400:
            raise _error(response.status_code, await self._read(response))
        try:
            yield self._chunks(response)
        finally:
            # an abandoned stream must not wait for its end: closing it drops the connection
            await response.stream.aclose()  # type: ignore[union-attr]  # transports give async streams

    async def connection(self) -> tuple[str, Mapping[str, str], Any]:
        """URL base, headers and TLS context, for protocols that are not plain HTTP (exec over WebSocket)."""
        await self._credentials.prepare()
        return self._base, self._request_headers({}), self._credentials.tls()

    async def _json(
        self,
        method: str,
        path: str,
        params: Mapping[str, str],
        body: bytes = b"",
        *,
        content_type: str = "application/json",
        accept: str = "",
    ) -> Object:
        headers = {"content-type": content_type} if body else {}
        if accept:
            headers["accept"] = accept
        response = await self._send(method, self._url(path, params), body, headers, REQUEST_SECONDS)
        content = await self._read(response)
        if response.status_code >= 400:
            raise _error(response.status_code, content)
        obj: Object = orjson.loads(content)
        return obj

    # -- one exchange -------------------------------------------------------------------------------------------

    async def _send(
        self, method: str, url: str, body: bytes, headers: Mapping[str, str], timeout_seconds: float | None
    ) -> httpx.Response:
        """Send until there is an answer that stands; its body is not read yet."""
        attempt = 0
        while True:
            response = await self._exchange(method, url, body, headers, timeout_seconds)
            if response.status_code == 401 and self._credentials.refused() and attempt == 0:
                await self._discard(response)
            else:
                delay = _retry_after(response)
                if delay is None or attempt >= MAX_RETRIES:
                    return response
                await self._discard(response)
                await self._clock.sleep(delay)
            attempt += 1

    async def _exchange(
        self, method: str, url: str, body: bytes, headers: Mapping[str, str], timeout_seconds: float | None
    ) -> httpx.Response:
        if self._limiter is not None and (wait := self._limiter.reserve()) > 0:
            await self._clock.sleep(wait)
        opened = await self._open()
        merged = self._request_headers(headers)
        timeout = {"connect": CONNECT_SECONDS, "read": timeout_seconds, "write": timeout_seconds, "pool": None}
        extensions = {"timeout": timeout, **self._extensions}
        repeated = [("impersonate-group", group) for group in self.config.impersonate.groups]
        fields = [*merged.items(), *repeated] if repeated else merged
        request = httpx.Request(method, url, headers=fields, content=body, extensions=extensions)
        started = self._clock.monotonic()
        if self._observer is not None:
            self._observer.sent(method, url, merged, body)
        try:
            response = await self._handle(opened, request)
        except transport_errors() as error:
            raise ConnectionFailed(self.config.server, error) from error
        if self._observer is not None:
            seconds = self._clock.monotonic() - started
            self._observer.answered(method, url, response.status_code, response.headers, seconds)
        return response

    async def _handle(self, opened: httpx.AsyncBaseTransport, request: httpx.Request) -> httpx.Response:
        try:
            return await opened.handle_async_request(request)
        except (httpx.RemoteProtocolError, httpx.ReadError):
            # a server that restarted has closed the connections we kept: reads may simply be asked again
            if request.method != "GET":
                raise
            return await opened.handle_async_request(request)

    async def _open(self) -> httpx.AsyncBaseTransport:
        async with self._opening:
            if await self._credentials.prepare() and self._transport is not None:
                await self.close()  # a new client certificate needs new connections
            if self._transport is None:
                self._transport = self._make_transport(self._credentials.tls())
            return self._transport

    def _request_headers(self, extra: Mapping[str, str]) -> dict[str, str]:
        headers = {**self._headers, **extra}
        authorization = self._credentials.authorization()
        if authorization:
            headers["authorization"] = authorization
        trace = tracing.current.get()
        if trace:
            headers["traceparent"] = trace
        return headers

    async def _read(self, response: httpx.Response) -> bytes:
        try:
            pieces = [chunk async for chunk in self._chunks(response)]
        finally:
            await response.stream.aclose()  # type: ignore[union-attr]  # transports give async streams
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    async def _chunks(self, response: httpx.Response) -> AsyncIterator[bytes]:
        try:
            async for chunk in response.stream:  # type: ignore[union-attr]  # transports give async streams
                if self._observer is not None:
                    self._observer.received(chunk)
                yield chunk
        except transport_errors() as error:
            raise ConnectionFailed(self.config.server, error) from error

    async def _discard(self, response: httpx.Response) -> None:
        await self._read(response)

    def _url(self, path: str, params: Mapping[str, str] | None) -> str:
        return f"{self._base}{path}?{urlencode(params, quote_via=quote)}" if params else f"{self._base}{path}"


def delete_options(
    grace_period_seconds: int | None,
    propagation_policy: str | None,
    uid: str | None,
    resource_version: str | None,
    dry_run: bool,
) -> Object:
    """The `DeleteOptions` body."""
    options: Object = {"kind": "DeleteOptions", "apiVersion": "v1"}
    if grace_period_seconds is not None:
        options["gracePeriodSeconds"] = grace_period_seconds
    if propagation_policy:
        options["propagationPolicy"] = propagation_policy
    preconditions = {"uid": uid, "resourceVersion": resource_version}
    if any(preconditions.values()):
        options["preconditions"] = {key: value for key, value in preconditions.items() if value}
    if dry_run:
        options["dryRun"] = ["All"]
    return options


def transport_errors() -> tuple[type[BaseException], ...]:
    """What a transport raises when the network fails; aiohttp's own where its adapter leaves them untranslated."""
    aiohttp = sys.modules.get("aiohttp")
    own: tuple[type[BaseException], ...] = (aiohttp.ClientError,) if aiohttp is not None else ()
    return (httpx.TransportError, OSError, TimeoutError, *own)


async def _lines(chunks: AsyncIterator[bytes], server: str) -> AsyncIterator[bytes]:
    """Whole lines of a stream. A last line without its end is half an event: it is dropped."""
    rest = b""
    async for chunk in chunks:
        *lines, rest = (rest + chunk if rest else chunk).split(b"\n")
        if len(rest) > MAX_EVENT_BYTES:
            raise ConnectionFailed(server, ValueError("a watch event is larger than any object may be"))
        for line in lines:
            if line:
                yield line


def _constant_headers(config: ClientConfig, user_agent: str) -> dict[str, str]:
    machine = os.uname().machine.replace("x86_64", "amd64").replace("aarch64", "arm64")
    headers = {
        "accept": "application/json",
        # on one machine or one rack, compressing costs more than sending
        "accept-encoding": "identity",
        "user-agent": f"{user_agent}/v0.1.0 ({sys.platform}/{machine})",
    }
    impersonate = config.impersonate
    if impersonate.user:
        headers["impersonate-user"] = impersonate.user
    if impersonate.uid:
        headers["impersonate-uid"] = impersonate.uid
    return headers


def _params(**values: str | int | None) -> dict[str, str]:
    return {name: str(value) for name, value in values.items() if value is not None and value != ""}


def _write_params(dry_run: bool, field_manager: str | None, field_validation: str | None) -> dict[str, str]:
    return _params(dryRun="All" if dry_run else None, fieldManager=field_manager, fieldValidation=field_validation)


def _retry_after(response: httpx.Response) -> float | None:
    """How long the server asks to wait before the same call is made again; None: the answer stands."""
    if response.status_code != 429 and response.status_code < 500:
        return None
    value = response.headers.get("retry-after", "")
    return min(float(value), MAX_RETRY_AFTER_SECONDS) if value.isdigit() else None


def _error(code: int, content: bytes) -> errors.APIError:
    """The server's Status as an exception; an answer that is none (a proxy's page) keeps its first words."""
    try:
        status = orjson.loads(content)
    except orjson.JSONDecodeError:
        status = None
    if isinstance(status, dict) and status.get("kind") == "Status":
        return errors.from_status(status, code)
    text = content[:512].decode(errors="replace").strip()
    return errors.from_status({"message": text or f"the server answered {code}"}, code)

"""One HTTP exchange with the API server: connection, identity, turn, and whether to try again.

`rest.Client` says what to ask; this says how it is asked. Every failure of the network leaves here as
`ConnectionFailed`, every refusal of the server as its class of `apimachinery.errors`.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, Protocol
from urllib.parse import quote, urlencode

import httpx
import orjson

from apimachinery import errors
from apimachinery.clock import Clock, SystemClock
from client import credentials, tracing, transport
from client.kubeconfig import ClientConfig
from client.ratelimit import TokenBucket

CONNECT_SECONDS = 10.0
# As client-go: how often a call is repeated because the server asked for it
MAX_RETRIES = 10
MAX_RETRY_AFTER_SECONDS = 60.0
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")

MakeTransport = Callable[[Any], httpx.AsyncBaseTransport]


class ConnectionFailed(Exception):
    """The server could not be reached, or the connection broke before the answer was complete."""

    def __init__(self, server: str, cause: BaseException) -> None:
        reason = next((str(e) for e in (cause, cause.__cause__) if e is not None and str(e)), type(cause).__name__)
        super().__init__(f"{server}: {reason}")
        self.server = server


class Observer(Protocol):
    """Told of every HTTP exchange: what `minictl -v=8` prints, what metrics count."""

    def sent(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> None: ...

    def answered(self, method: str, url: str, status: int, headers: Mapping[str, str], seconds: float) -> None: ...

    def received(self, content: bytes) -> None: ...


class Exchange:
    """The connections to one server, as one identity."""

    def __init__(
        self,
        config: ClientConfig,
        *,
        limiter: TokenBucket | None = None,
        user_agent: str = "armillary",
        clock: Clock | None = None,
        observer: Observer | None = None,
        make_transport: MakeTransport = transport.for_component,
    ) -> None:
        self._config = config
        self._clock = clock or SystemClock()
        self._limiter = limiter
        self._observer = observer
        if len(config.impersonate.groups) > 1 and make_transport is transport.for_component:
            make_transport = transport.for_command  # aiohttp's adapter would join repeated headers into one
        self._make_transport = make_transport
        self._credentials = credentials.Credentials(config, self._clock)
        self._transport: httpx.AsyncBaseTransport | None = None
        self._opening = asyncio.Lock()
        self._base = config.server.rstrip("/")
        self._headers = _constant_headers(config, user_agent)
        self._extensions = transport.server_name_extension(config.tls_server_name)

    async def close(self) -> None:
        """Close every connection; streams that are open end."""
        opened, self._transport = self._transport, None
        if opened is not None:
            await opened.aclose()

    async def send(
        self,
        method: str,
        path: str,
        params: Mapping[str, str] | None,
        body: bytes,
        headers: Mapping[str, str],
        timeout_seconds: float | None,
    ) -> httpx.Response:
        """Ask until there is an answer that stands; its body is not read yet. Raises for 4xx and 5xx."""
        url = f"{self._base}{path}?{urlencode(params, quote_via=quote)}" if params else f"{self._base}{path}"
        attempt = 0
        while True:
            response = await self._once(method, url, body, headers, timeout_seconds)
            if response.status_code < 400:
                return response
            delay = _retry_after(response)
            stale = response.status_code == 401 and attempt == 0 and self._credentials.refused()
            content = await self.read(response)
            if not stale and (delay is None or attempt >= MAX_RETRIES):
                raise _error(response.status_code, content)
            await self._clock.sleep(delay or 0)
            attempt += 1

    async def read(self, response: httpx.Response) -> bytes:
        """The whole body; the connection is free again."""
        try:
            pieces = [chunk async for chunk in self.chunks(response)]
        finally:
            await release(response)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    async def chunks(self, response: httpx.Response) -> AsyncIterator[bytes]:
        """The body as it comes."""
        try:
            async for chunk in response.stream:  # type: ignore[union-attr]  # transports give async streams
                if self._observer is not None:
                    self._observer.received(chunk)
                yield chunk
        except transport_errors() as error:
            raise ConnectionFailed(self._config.server, error) from error

    async def identity(self) -> tuple[str, Mapping[str, str], Any]:
        """URL base, headers and TLS context, for protocols that are not plain HTTP."""
        await self._credentials.prepare()
        return self._base, self._request_headers({}), self._credentials.tls()

    async def _once(
        self, method: str, url: str, body: bytes, headers: Mapping[str, str], timeout_seconds: float | None
    ) -> httpx.Response:
        if self._limiter is not None and (wait := self._limiter.reserve()) > 0:
            await self._clock.sleep(wait)
        opened = await self._open()
        merged = self._request_headers(headers)
        timeout = {"connect": CONNECT_SECONDS, "read": timeout_seconds, "write": timeout_seconds, "pool": None}
        extensions = {"timeout": timeout, **self._extensions}
        repeated = [("impersonate-group", group) for group in self._config.impersonate.groups]
        fields = [(name.encode(), value.encode()) for name, value in [*merged.items(), *repeated]]
        request = httpx.Request(method, url, headers=fields, content=body, extensions=extensions)
        started = self._clock.monotonic()
        if self._observer is not None:
            self._observer.sent(method, url, merged, body)
        try:
            response = await self._handle(opened, request)
        except transport_errors() as error:
            raise ConnectionFailed(self._config.server, error) from error
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
            headers |= {"traceparent": trace, "tracestate": tracing.STATE}
        self._check(authorization or "")
        return headers

    def _check(self, authorization: str) -> None:
        """What a person or a file gave may not have a line end: more headers would follow it."""
        who = self._config.impersonate
        given = [("Authorization", authorization), ("Impersonate-User", who.user), ("Impersonate-Uid", who.uid)]
        for name, value in [*given, *(("Impersonate-Group", group) for group in who.groups)]:
            if _CONTROL.search(value):
                reason = ValueError(f'invalid header field value for "{name}"')
                raise ConnectionFailed(self._config.server, reason)


async def release(response: httpx.Response) -> None:
    """Let go of an answer, read or not; an abandoned stream does not wait for its end: its connection is dropped."""
    await response.stream.aclose()  # type: ignore[union-attr]  # transports give async streams


def transport_errors() -> tuple[type[BaseException], ...]:
    """What a transport raises when the network fails; aiohttp's own where its adapter leaves them untranslated."""
    aiohttp = sys.modules.get("aiohttp")
    own: tuple[type[BaseException], ...] = (aiohttp.ClientError,) if aiohttp is not None else ()
    return (httpx.TransportError, OSError, TimeoutError, *own)


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

"""One API server, spoken to over HTTP: verbs on collections, watches, and whatever else has a path.

The only owner of the Kubernetes API. Objects are JSON dicts, collections are GVRs; every failure the server reports is
raised as its class of `apimachinery.errors`, every failure to reach it as `ConnectionFailed`.

Guarantees: reads are repeated once when a kept-alive connection turns out to be closed, writes only when the server
asked for it (429, or 5xx with Retry-After); a call waits for its turn when `qps` is set; a watch that is silent past
the end that was asked for is given up. Does not retry conflicts and does not cache: reconcilers and reflectors do.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, NamedTuple, Self

import orjson

from apimachinery import errors
from apimachinery.clock import Clock, SystemClock
from apimachinery.gvr import GVR
from apimachinery.objects import Object
from client import exchange, transport
from client.exchange import ConnectionFailed as ConnectionFailed  # part of this module's face
from client.exchange import Observer as Observer
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
# A watch ends when the server ends it (timeoutSeconds); this much later it is taken for dead
WATCH_GRACE_SECONDS = 15.0
WATCH_SECONDS = 300.0
# One watch event: an object is at most 3 MiB on the wire; its JSON can be somewhat longer
MAX_EVENT_BYTES = 16 << 20


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
        make_transport: exchange.MakeTransport = transport.for_component,
    ) -> None:
        self.config = config
        self._watch_grace = watch_grace_seconds
        clock = clock or SystemClock()
        self._exchange = exchange.Exchange(
            config,
            limiter=TokenBucket(qps, burst or max(1, int(qps * 2)), clock) if qps else None,
            user_agent=user_agent,
            clock=clock,
            observer=observer,
            make_transport=make_transport,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, e: BaseException | None, t: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close every connection; watches that are open end."""
        await self._exchange.close()

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
        response = await self._exchange.send(method, path, params, body, headers or {}, timeout_seconds)
        content = await self._exchange.read(response)
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
        response = await self._exchange.send(method, path, params, b"", headers or {}, timeout_seconds)
        try:
            yield self._exchange.chunks(response)
        finally:
            await exchange.release(response)

    async def connection(self) -> tuple[str, Mapping[str, str], Any]:
        """URL base, headers and TLS context, for protocols that are not plain HTTP (exec over WebSocket)."""
        return await self._exchange.identity()

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
        response = await self._exchange.send(method, path, params, body, headers, REQUEST_SECONDS)
        obj: Object = orjson.loads(await self._exchange.read(response))
        return obj


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


def _params(**values: str | int | None) -> dict[str, str]:
    return {name: str(value) for name, value in values.items() if value is not None and value != ""}


def _write_params(dry_run: bool, field_manager: str | None, field_validation: str | None) -> dict[str, str]:
    return _params(dryRun="All" if dry_run else None, fieldManager=field_manager, fieldValidation=field_validation)

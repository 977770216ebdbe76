"""Discovery (A3, K3): which groups, versions and resources there are, here and on extension servers.

Served as upstream does: `/api`, `/apis`, `/apis/GROUP`, `/api/v1`, `/apis/GROUP/VERSION`, and, where the client accepts
it, the whole in one aggregated document (`apidiscovery.k8s.io/v2`) with an ETag. Documents are made at first use and
kept until the table changes.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from functools import partial
from typing import Any

import orjson

from apimachinery import errors
from apimachinery.gvr import GVK
from apiserver import responses
from apiserver.aggregation.catalog import Catalog
from apiserver.aggregation.documents import Described
from apiserver.asgi import Send
from apiserver.request import Request
from apiserver.scheme.resources import Resource, Subresource

_AGGREGATED = "application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList"


class Discovery:
    def __init__(self, catalog: Catalog, server_address: str) -> None:
        self._catalog = catalog
        self._server_address = server_address
        self._generation = (-1, -1, -1)
        self._documents: dict[str, tuple[bytes, str]] = {}

    async def roots(self, request: Request, send: Send) -> None:
        """`/api` and `/apis`."""
        prefix = request.info.path.strip("/")
        version = aggregated_version(request.header(b"accept"))
        if version:
            build = partial(self._aggregated, prefix, version)
            content_type = _AGGREGATED.format(version=version)
            await self._send(request, send, f"{prefix} {version}", build, content_type)
        elif prefix == "api":
            await self._send(request, send, prefix, self._core_versions)
        else:
            await self._send(request, send, prefix, self._group_list)

    async def group(self, request: Request, send: Send, group: str) -> None:
        """`/apis/GROUP`."""
        if not group or group not in self._catalog.groups():
            raise not_found()
        await self._send(request, send, f"apis/{group}", lambda: self._group(group, top_level=True))

    async def version(self, request: Request, send: Send, group: str, version: str) -> None:
        """`/api/v1` and `/apis/GROUP/VERSION`."""
        rows = self._catalog.groups().get(group, {}).get(version)
        if not isinstance(rows, list):  # an extension server's own is passed on before this
            raise not_found()
        build = partial(_resource_list, group, version, rows, self._catalog.storage_kind)
        await self._send(request, send, f"{group}/{version}", build)

    async def _send(
        self,
        request: Request,
        send: Send,
        key: str,
        build: Callable[[], dict[str, Any]],
        content_type: str = "",
    ) -> None:
        if self._generation != self._catalog.generation:
            self._documents.clear()
            self._generation = self._catalog.generation
        if key not in self._documents:
            body = orjson.dumps(build())
            self._documents[key] = (body, hashlib.sha256(body).hexdigest().upper()[:32])
        body, etag = self._documents[key]
        if not content_type:
            await responses.send_json(request, send, 200, body)
            return
        headers = [(b"etag", f'"{etag}"'.encode()), (b"vary", b"Accept"), (b"cache-control", b"public")]
        if request.header(b"if-none-match").strip('"') == etag:
            await responses.send_not_modified(send, headers)
            return
        await responses.send_bytes(request, send, 200, body, content_type, headers)

    def _core_versions(self) -> dict[str, Any]:
        return {
            "kind": "APIVersions",
            "versions": list(self._catalog.groups().get("", {})),
            "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": self._server_address}],
        }

    def _group_list(self) -> dict[str, Any]:
        groups = [self._group(group) for group in self._catalog.groups() if group]
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}

    def _group(self, group: str, *, top_level: bool = False) -> dict[str, Any]:
        versions = [
            {"groupVersion": f"{group}/{version}", "version": version} for version in self._catalog.groups()[group]
        ]
        body = {"name": group, "versions": versions, "preferredVersion": versions[0]}
        return {"kind": "APIGroup", "apiVersion": "v1", **body} if top_level else body

    def _aggregated(self, prefix: str, version: str) -> dict[str, Any]:
        """Everything under `/api` or `/apis` in one list."""
        items = [
            {
                "metadata": {"name": group, "creationTimestamp": None} if group else {"creationTimestamp": None},
                "versions": [_aggregated_version(name, rows) for name, rows in versions.items()],
            }
            for group, versions in self._catalog.groups().items()
            if bool(group) == (prefix == "apis")
        ]
        return {
            "kind": "APIGroupDiscoveryList",
            "apiVersion": f"apidiscovery.k8s.io/{version}",
            "metadata": {},
            "items": items,
        }


def not_found() -> errors.NotFound:
    """What upstream says for a path that it does not know."""
    return errors.NotFound("the server could not find the requested resource")


def aggregated_version(accept: str) -> str:
    """The version of aggregated discovery that the client likes best; "" when it wants the plain documents."""
    for part in accept.split(","):
        media_type, *parameters = (piece.strip() for piece in part.split(";"))
        wanted = dict(parameter.partition("=")[::2] for parameter in parameters)
        if media_type != "application/json":
            continue
        if wanted.get("as") != "APIGroupDiscoveryList" or wanted.get("g") != "apidiscovery.k8s.io":
            return ""
        if wanted.get("v") in ("v2", "v2beta1"):
            return wanted["v"]
    return ""


def _resource_list(
    group: str, version: str, rows: list[Resource], storage_kind: Callable[[Resource], GVK]
) -> dict[str, Any]:
    resources: list[dict[str, Any]] = []
    for row in rows:
        if row.verbs:
            resources.append(_resource_entry(row, storage_kind(row)))
        resources += [_subresource_entry(row, sub) for sub in row.subresources]
    return {
        "kind": "APIResourceList",
        **({"apiVersion": "v1"} if group else {}),
        "groupVersion": f"{group}/{version}" if group else version,
        "resources": resources,
    }


def _resource_entry(row: Resource, stored: GVK) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "name": row.resource,
        "singularName": row.singular,
        "namespaced": row.namespaced,
        "kind": row.kind,
        "verbs": list(row.verbs),
    }
    if row.short_names:
        entry["shortNames"] = list(row.short_names)
    if row.categories:
        entry["categories"] = list(row.categories)
    if "watch" in row.verbs:
        entry["storageVersionHash"] = _storage_hash(stored)
    return entry


def _subresource_entry(row: Resource, sub: Subresource) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "name": f"{row.resource}/{sub.name}",
        "singularName": "",
        "namespaced": row.namespaced,
        "kind": sub.kind.kind if sub.kind else row.kind,
        "verbs": list(sub.verbs),
    }
    if sub.kind and (sub.kind.group, sub.kind.version) != (row.group, row.version):
        entry |= {"group": sub.kind.group, "version": sub.kind.version}
    return entry


def _aggregated_version(version: str, rows: list[Resource] | Described) -> dict[str, Any]:
    """One version's resources. `Stale` is what an extension server said before it could no longer be reached."""
    if isinstance(rows, list):
        return {"version": version, "resources": [_aggregated_resource(row) for row in rows], "freshness": "Current"}
    return {"version": version, "resources": rows.resources, "freshness": "Current" if rows.fresh else "Stale"}


def _aggregated_resource(row: Resource) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "resource": row.resource,
        "responseKind": {"group": row.group, "version": row.version, "kind": row.kind},
        "scope": "Namespaced" if row.namespaced else "Cluster",
        "singularResource": row.singular,
        "verbs": list(row.verbs),
    }
    if row.short_names:
        entry["shortNames"] = list(row.short_names)
    if row.categories:
        entry["categories"] = list(row.categories)
    if row.subresources:
        entry["subresources"] = [_aggregated_subresource(row, sub) for sub in row.subresources]
    return entry


def _aggregated_subresource(row: Resource, sub: Subresource) -> dict[str, Any]:
    kind = sub.kind or row.gvk
    return {
        "subresource": sub.name,
        "responseKind": {"group": kind.group, "version": kind.version, "kind": kind.kind},
        "verbs": list(sub.verbs),
    }


def _storage_hash(stored: GVK) -> str:
    """As upstream: eight bytes of a hash of the storage version, base64; equal hashes mean an equal stored form."""
    digest = hashlib.sha256(f"{stored.group}/{stored.version}/{stored.kind}".encode()).digest()
    return base64.b64encode(digest[:8]).decode()

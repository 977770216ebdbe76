"""What extension servers say of themselves: their resources, for aggregated discovery, and their OpenAPI.

Each worker asks them for itself: when an APIService has changed, and now and then. Without any, nobody is asked.
Guarantees: a server that cannot be reached keeps what it said last, marked as stale; no answer is taken that is larger
than `_ANSWER_BYTES_MAX`.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from dataclasses import dataclass, field
from typing import Any

import httptools
import orjson

from apimachinery import errors
from apiserver.aggregation import frontproxy, services
from apiserver.aggregation.frontproxy import FrontProxy
from apiserver.aggregation.remotes import Remote, Remotes
from apiserver.backend import ask

_log = logging.getLogger("apiserver.aggregation")

_REFRESH_SECONDS = 60.0
_ANSWER_SECONDS = 10.0
# Upstream's own OpenAPI, by far larger than any extension server's, has 5 MB
_ANSWER_BYTES_MAX = 8 * 1024 * 1024
_ACCEPT_JSON = (b"Accept", b"application/json")


@dataclass(frozen=True, slots=True)
class Described:
    """What one group-version is known to be. `openapi_url` is the server's own, with its hash; "" if it has none."""

    resources: list[dict[str, Any]] = field(default_factory=list)
    fresh: bool = False
    openapi_url: str = ""
    openapi_v2: dict[str, Any] = field(default_factory=dict)


class Documents:
    def __init__(self, remotes: Remotes, front_proxy: FrontProxy) -> None:
        self._remotes = remotes
        self._front_proxy = front_proxy
        self._known: dict[tuple[str, str], Described] = {}
        self._woken = asyncio.Event()
        self.generation = 0
        remotes.on_change(self._woken.set)

    def of(self, group: str, version: str) -> Described:
        return self._known.get((group, version)) or Described()

    async def run(self) -> None:
        while True:
            self._woken.clear()
            await asyncio.gather(*(self._refresh(remote) for remote in self._remotes))
            self._forget()
            try:
                async with asyncio.timeout(_REFRESH_SECONDS if self._remotes else None):
                    await self._woken.wait()
            except TimeoutError:
                continue

    async def _refresh(self, remote: Remote) -> None:
        key = (remote.group, remote.version)
        before = self.of(*key)
        now = await self._describe(remote, before) if remote.available else None
        if now is None:
            now = Described(before.resources, False, before.openapi_url, before.openapi_v2)
        if key not in self._known or now != before:
            self._known[key] = now
            self.generation += 1

    def _forget(self) -> None:
        for key in [key for key in self._known if self._remotes.find(*key) is None]:
            del self._known[key]
            self.generation += 1

    async def _describe(self, remote: Remote, before: Described) -> Described | None:
        listed = await self._get(remote, remote.path)
        if listed is None:
            return None
        index = await self._get(remote, "/openapi/v3") or {}
        entry = (index.get("paths") or {}).get(remote.path.strip("/")) or {}
        whole = await self._get(remote, "/openapi/v2") or {}
        return Described(
            resources_of(remote, listed), True, str(entry.get("serverRelativeURL") or ""), part_of(remote, whole)
        )

    async def _get(self, remote: Remote, path: str) -> dict[str, Any] | None:
        """A JSON document; None when there is none to be had."""
        try:
            target = self._front_proxy.target(remote, "GET", path)
            async with asyncio.timeout(_ANSWER_SECONDS):
                headers = [*frontproxy.identity(frontproxy.AGGREGATOR), _ACCEPT_JSON, (b"Connection", b"close")]
                backend = await ask(target, headers)
                try:
                    text = await backend.text(_ANSWER_BYTES_MAX)
                finally:
                    await backend.close()
            document = orjson.loads(text) if backend.head.status == 200 else None
        except (errors.InternalError, services.Unresolved, TimeoutError, ssl.SSLError, OSError) as error:
            _log.info("A1 %s of %s cannot be read: %s", path, remote.path, error)
            return None
        except (ValueError, httptools.HttpParserError) as error:  # not JSON, or cut off
            _log.info("A1 %s of %s makes no sense: %s", path, remote.path, error)
            return None
        return document if isinstance(document, dict) else None


def resources_of(remote: Remote, listed: dict[str, Any]) -> list[dict[str, Any]]:
    """An APIResourceList as aggregated discovery shows it: subresources within their resource."""
    found: dict[str, dict[str, Any]] = {}
    entries = [entry for entry in listed.get("resources") or () if isinstance(entry, dict) and entry.get("name")]
    for entry in sorted(entries, key=lambda entry: "/" in entry["name"]):
        name, _, sub = entry["name"].partition("/")
        kind = {
            "group": entry.get("group") or remote.group,
            "version": entry.get("version") or remote.version,
            "kind": entry.get("kind") or "",
        }
        if sub:
            nobody = {"group": remote.group, "version": remote.version, "kind": ""}  # only subresources are there
            parent = found.setdefault(name, _resource(name, entry) | {"responseKind": nobody})
            subresource = {"subresource": sub, "responseKind": kind, "verbs": entry.get("verbs") or []}
            parent.setdefault("subresources", []).append(subresource)
        else:
            found[name] = _resource(name, entry) | {"responseKind": kind, "verbs": entry.get("verbs") or []}
    return list(found.values())


def _resource(name: str, entry: dict[str, Any]) -> dict[str, Any]:
    resource: dict[str, Any] = {
        "resource": name,
        "scope": "Namespaced" if entry.get("namespaced") else "Cluster",
        "singularResource": entry.get("singularName") or "",
        "verbs": [],
    }
    return resource | {key: entry[key] for key in ("shortNames", "categories") if entry.get(key)}


def part_of(remote: Remote, document: dict[str, Any]) -> dict[str, Any]:
    """The paths of one group-version of an OpenAPI v2 document, with all definitions, of which the reader picks."""
    start = f"{remote.path}/"
    paths = {path: item for path, item in (document.get("paths") or {}).items() if path.startswith(start)}
    return {"paths": paths, "definitions": document.get("definitions") or {}} if paths else {}

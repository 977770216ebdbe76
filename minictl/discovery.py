"""What the server has: groups, versions, resources (step K3), kept on disk between runs.

One request where the server offers aggregated discovery, else one a group and version. The cached answer is used as it
is for `FRESH_SECONDS`; after that the server is asked whether it has changed (ETag), which costs a 304. A name that the
cache does not know is looked for once more at the server, so a new kind is found at once.
Source: https://kubernetes.io/docs/concepts/overview/kubernetes-api/#discovery-api
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from apimachinery import errors
from apimachinery.gvr import GVR
from client.kubeconfig import ClientConfig
from client.rest import Client

FRESH_SECONDS = 600.0
AGGREGATED = (
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json"
)


@dataclass(frozen=True, slots=True)
class ApiResource:
    """One collection that the server serves. `preferred`: no version that its group prefers more has it."""

    gvr: GVR
    kind: str
    singular: str
    namespaced: bool
    verbs: tuple[str, ...]
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    preferred: bool = True

    @property
    def qualified(self) -> str:
        """`deployments.apps`, `pods`."""
        return f"{self.gvr.resource}.{self.gvr.group}" if self.gvr.group else self.gvr.resource

    @property
    def noun(self) -> str:
        """`deployment.apps`, `pod`: how messages name one object's kind."""
        name = self.singular or self.kind.lower()
        return f"{name}.{self.gvr.group}" if self.gvr.group else name


def cache_folder(flag: str | None, environ: Mapping[str, str]) -> Path:
    """`--cache-dir`, else the user's cache folder."""
    if flag:
        return Path(flag).expanduser()
    base = environ.get("XDG_CACHE_HOME") or str(Path(environ.get("HOME", "/")) / ".cache")
    return Path(base) / "armillary" / "discovery"


class Cache:
    """One file a server; a broken or unwritable one is no cache, never an error."""

    def __init__(self, folder: Path, config: ClientConfig) -> None:
        # two clusters may follow each other on one address: their CA tells them apart
        identity = f"{config.server}|{config.certificate_authority}|{config.certificate_authority_data!r}"
        self._path = folder / f"{hashlib.sha256(identity.encode()).hexdigest()[:24]}.json"

    def read(self) -> dict[str, Any]:
        """`{"at": …, "paths": {path: {"etag": …, "body": …}}}`, or {}."""
        try:
            content = orjson.loads(self._path.read_bytes())
        except (OSError, orjson.JSONDecodeError):
            return {}
        return content if isinstance(content, dict) and isinstance(content.get("paths"), dict) else {}

    def write(self, content: Mapping[str, Any]) -> None:
        """Whole or not at all: another minictl may be reading."""
        import tempfile  # late: most runs only read

        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=self._path.parent, delete=False) as file:
                file.write(orjson.dumps(content))
            os.replace(file.name, self._path)
        except OSError:
            return


class Discovery:
    """The resources of one server."""

    def __init__(self, client: Client, cache: Cache) -> None:
        self._client = client
        self._cache = cache

    async def resources(self, *, refresh: bool = False) -> list[ApiResource]:
        """Every resource, in the order of preference: core first, then the server's order of groups."""
        cached = self._cache.read()
        if not refresh and cached and 0 <= time.time() - cached.get("at", 0) < FRESH_SECONDS:
            return list(parse({path: entry["body"] for path, entry in cached["paths"].items()}))
        paths = await self._fetch(cached.get("paths") or {})
        self._cache.write({"at": time.time(), "paths": paths})
        return list(parse({path: entry["body"] for path, entry in paths.items()}))

    async def _fetch(self, known: Mapping[str, Any]) -> dict[str, Any]:
        paths = {path: await self._get(path, known) for path in ("/api", "/apis")}
        for path in list(legacy_paths({path: entry["body"] for path, entry in paths.items()})):
            try:
                paths[path] = await self._get(path, known)
            except errors.APIError:
                continue  # an aggregated API whose server is away must not hide all others
        return paths

    async def _get(self, path: str, known: Mapping[str, Any]) -> dict[str, Any]:
        headers = {"accept": AGGREGATED}
        if path in known and known[path].get("etag"):
            headers["if-none-match"] = known[path]["etag"]
        response = await self._client.raw("GET", path, headers=headers)
        if response.status == 304:
            entry: dict[str, Any] = known[path]
            return entry
        return {"etag": response.headers.get("etag", ""), "body": response.json()}


def legacy_paths(bodies: Mapping[str, Any]) -> Iterator[str]:
    """The documents still to be read from a server without aggregated discovery."""
    if bodies["/api"].get("kind") == "APIVersions":
        yield from (f"/api/{version}" for version in bodies["/api"].get("versions") or [])
    if bodies["/apis"].get("kind") == "APIGroupList":
        for group in bodies["/apis"].get("groups") or []:
            yield from (f"/apis/{version['groupVersion']}" for version in group["versions"])


def parse(bodies: Mapping[str, Any]) -> Iterator[ApiResource]:
    """The resources in all documents, aggregated or not."""
    for root in ("/api", "/apis"):
        body = bodies.get(root) or {}
        if body.get("kind") == "APIGroupDiscoveryList":
            yield from _aggregated(body)
    core = bodies.get("/api") or {}
    for version in core.get("versions") or [] if core.get("kind") == "APIVersions" else []:
        yield from _legacy(bodies.get(f"/api/{version}") or {}, set())
    groups = bodies.get("/apis") or {}
    for group in groups.get("groups") or [] if groups.get("kind") == "APIGroupList" else []:
        preferred = (group.get("preferredVersion") or group["versions"][0])["groupVersion"]
        seen: set[str] = set()
        names = [version["groupVersion"] for version in group["versions"]]
        for name in sorted(names, key=lambda name: name != preferred):
            yield from _legacy(bodies.get(f"/apis/{name}") or {}, seen)


def _aggregated(body: Mapping[str, Any]) -> Iterator[ApiResource]:
    for group in body.get("items") or []:
        seen: set[str] = set()  # versions come in the order of preference
        for version in group.get("versions") or []:
            for entry in version.get("resources") or []:
                preferred = entry["resource"] not in seen
                seen.add(entry["resource"])
                yield ApiResource(
                    gvr=GVR(group["metadata"].get("name") or "", version["version"], entry["resource"]),
                    kind=(entry.get("responseKind") or {}).get("kind") or "",
                    singular=entry.get("singularResource") or "",
                    namespaced=entry.get("scope") == "Namespaced",
                    verbs=tuple(entry.get("verbs") or ()),
                    short_names=tuple(entry.get("shortNames") or ()),
                    categories=tuple(entry.get("categories") or ()),
                    preferred=preferred,
                )


def _legacy(body: Mapping[str, Any], seen: set[str]) -> Iterator[ApiResource]:
    """One document's resources; those in `seen` were in one that its group prefers."""
    group, _, version = str(body.get("groupVersion") or "").rpartition("/")
    for entry in body.get("resources") or []:
        if "/" in entry["name"]:
            continue
        yield ApiResource(
            gvr=GVR(group, version, entry["name"]),
            kind=entry["kind"],
            singular=entry.get("singularName") or "",
            namespaced=bool(entry.get("namespaced")),
            verbs=tuple(entry.get("verbs") or ()),
            short_names=tuple(entry.get("shortNames") or ()),
            categories=tuple(entry.get("categories") or ()),
            preferred=entry["name"] not in seen,
        )
        seen.add(entry["name"])

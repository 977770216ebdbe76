"""Which collections the server has, for controllers that treat all of them alike (garbage collector, namespaces).

One version a collection: the group's preferred one, or the first that has it. Asks for the aggregated form, one
request for each of `/api` and `/apis`, and takes the per-group form from servers that have no other.
A group that does not answer is listed in `failures`: whoever must be sure to have seen everything looks there.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

from apimachinery import errors
from apimachinery.gvr import GVR
from client.rest import Client

_AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_ACCEPT = {"accept": f"{_AGGREGATED},application/json"}


@dataclass(frozen=True, slots=True)
class ApiResource:
    gvr: GVR
    kind: str
    namespaced: bool
    verbs: frozenset[str]


@dataclass(frozen=True, slots=True)
class Discovered:
    """`resources` one a collection; `kinds` finds the collection of an ownerReference's apiVersion and kind."""

    resources: tuple[ApiResource, ...]
    kinds: dict[tuple[str, str], ApiResource]
    failures: dict[str, str] = field(default_factory=dict)  # apiVersion → what went wrong


async def discover(client: Client) -> Discovered:
    """Asks the server now. Raises when it cannot be asked at all."""
    core, named = await asyncio.gather(_get(client, "/api"), _get(client, "/apis"))
    if core.get("kind") == named.get("kind") == "APIGroupDiscoveryList":
        return _from_aggregated([*core["items"], *named["items"]])
    return await _from_groups(client, core.get("versions") or [], named.get("groups") or [])


def choose(versions: list[tuple[str, list[ApiResource]]], failures: dict[str, str]) -> Discovered:
    """From all versions, preferred first within a group, the first of each collection."""
    chosen: dict[tuple[str, str], ApiResource] = {}
    kinds: dict[tuple[str, str], ApiResource] = {}
    for api_version, resources in versions:
        for resource in resources:
            chosen.setdefault((resource.gvr.group, resource.gvr.resource), resource)
            kinds.setdefault((api_version, resource.kind), resource)
    return Discovered(tuple(chosen.values()), kinds, failures)


def _from_aggregated(groups: list[Any]) -> Discovered:
    versions: list[tuple[str, list[ApiResource]]] = []
    failures: dict[str, str] = {}
    for group in groups:
        name = (group.get("metadata") or {}).get("name") or ""
        for version in group.get("versions") or []:
            gvr = GVR(name, version["version"], "")
            if version.get("freshness") == "Stale":
                failures[gvr.api_version] = "stale discovery"
            versions.append((gvr.api_version, [_aggregated(gvr, item) for item in version.get("resources") or []]))
    return choose(versions, failures)


def _aggregated(gvr: GVR, item: Any) -> ApiResource:
    kind = (item.get("responseKind") or {}).get("kind") or ""
    verbs = frozenset(item.get("verbs") or [])
    return ApiResource(gvr._replace(resource=item["resource"]), kind, item.get("scope") == "Namespaced", verbs)


async def _from_groups(client: Client, core: list[str], groups: list[Any]) -> Discovered:
    wanted = [GVR("", version, "") for version in core]
    for group in groups:
        preferred = (group.get("preferredVersion") or {}).get("version")
        names = [entry["version"] for entry in group["versions"]]
        ordered = sorted(names, key=lambda name: name != preferred)
        wanted += [GVR(group["name"], name, "") for name in ordered]
    answers = await asyncio.gather(*(_version(client, gvr) for gvr in wanted))
    failures = {
        gvr.api_version: str(answer)
        for gvr, answer in zip(wanted, answers, strict=True)
        if isinstance(answer, errors.APIError)
    }
    found = [(gvr.api_version, a) for gvr, a in zip(wanted, answers, strict=True) if isinstance(a, list)]
    return choose(found, failures)


async def _version(client: Client, gvr: GVR) -> list[ApiResource] | errors.APIError:
    path = gvr.path().rstrip("/")
    try:
        listed = await _get(client, path)
    except errors.APIError as error:
        return error
    return [
        ApiResource(
            GVR(entry.get("group") or gvr.group, entry.get("version") or gvr.version, entry["name"]),
            entry["kind"],
            bool(entry.get("namespaced")),
            frozenset(entry.get("verbs") or []),
        )
        for entry in listed.get("resources") or []
        if "/" not in entry["name"]
    ]


async def _get(client: Client, path: str) -> Any:
    return (await client.raw("GET", path, headers=_ACCEPT)).json()

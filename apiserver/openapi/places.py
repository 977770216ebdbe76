"""Which OpenAPI documents there are, and what each depends on.

Version 3 has a document a place: `api/v1`, `apis/apps/v1` … with their rows, and `api`, `apis`, `apis/apps`, `version`
with what discovery answers there.
Guarantees: a place's hash depends on its content alone, so all workers give the same one, and one custom resource's
change leaves the other places' hashes as they were.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

import orjson

from apiserver.openapi import operations
from apiserver.openapi.operations import Operation
from apiserver.scheme.resources import Resource
from apiserver.scheme.scheme import Scheme


@dataclass(frozen=True, slots=True)
class Place:
    """One document: its rows, and the operations besides theirs."""

    rows: tuple[Resource, ...]
    extra: tuple[Operation, ...]


def of(scheme: Scheme) -> dict[str, Place]:
    places = {
        "api": Place((), (operations.of_discovery("api", ""),)),
        "apis": Place((), (operations.of_discovery("apis", ""),)),
        "version": Place((), (operations.of_version(),)),
    }
    for group, versions in scheme.groups().items():
        if group:
            places[f"apis/{group}"] = Place((), (operations.of_discovery(group, ""),))
        for version, rows in versions.items():
            path = f"apis/{group}/{version}" if group else f"api/{version}"
            # Custom resources come to each worker in an order of its own
            ordered = tuple(sorted(rows, key=lambda row: row.resource))
            places[path] = Place(ordered, (operations.of_discovery(group, version),))
    return dict(sorted(places.items()))


def fingerprint(name: str, place: Place, scheme: Scheme, release: str) -> str:
    """Names a document's content without making it."""
    digest = hashlib.sha512(f"{release} {name}".encode())
    for part in _parts(place, scheme):
        digest.update(part)
    return digest.hexdigest().upper()


def _parts(place: Place, scheme: Scheme) -> Iterator[bytes]:
    for row in place.rows:
        subresources = [(sub.name, sub.verbs, [*(sub.kind or ())]) for sub in row.subresources]
        yield orjson.dumps([*row.gvr, row.kind, row.namespaced, row.verbs, subresources])
        schema = scheme.published(row.gvk)
        if schema is not None:
            yield orjson.dumps(schema, option=orjson.OPT_SORT_KEYS)

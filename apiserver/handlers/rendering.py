"""From stored bytes to response bodies: objects, lists, events, and the forms that clients ask for instead.

An object and a list of plain objects are put together from bytes that were encoded when they were stored; only a Table
or partial metadata has to decode them. Nothing here waits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import orjson

from apimachinery import errors, protobuf
from apimachinery.objects import Object
from apiserver import negotiation
from apiserver.negotiation import Representation
from apiserver.registry.options import ListResult
from apiserver.scheme import table_view
from apiserver.scheme.resources import Resource
from apiserver.storage.types import Stored

_META = "meta.k8s.io"
_INCLUDES = ("Metadata", "Object", "None")


class Renderer:
    """How one request's objects are written: the collection's row, the form, the time that ages are counted to."""

    def __init__(self, row: Resource, form: Representation, include: str, now: Callable[[], datetime]) -> None:
        self._row = row
        self._form = form
        self._include = include or "Metadata"
        self._now = now
        if form.transform == "Table" and self._include not in _INCLUDES:
            why = "must be 'Metadata', 'Object', 'None', or empty"
            problem = f"includeObject: Invalid value: {orjson.dumps(include).decode()}: {why}"
            raise errors.BadRequest(f"Unable to convert to Table as requested: {problem}")

    @property
    def is_plain(self) -> bool:
        """Whether objects go out as they are stored."""
        return not self._form.transform

    @property
    def is_binary(self) -> bool:
        """Whether the client takes protobuf; what is written here is JSON all the same."""
        return self._form.media_type == negotiation.PROTOBUF

    @property
    def stream_type(self) -> str:
        """The media type of a watch."""
        return f"{negotiation.PROTOBUF};stream=watch" if self.is_binary else negotiation.JSON

    @property
    def key(self) -> tuple[str, str, str, str]:
        """Equal keys write equal bytes for an event of one collection."""
        return (self._form.media_type, self._form.transform, self._form.version, self._include)

    def object(self, stored: Stored) -> bytes:
        if self.is_plain:
            return stored.encoded
        if self._form.transform == "PartialObjectMetadataList":
            raise self._unfit("is not a list", self._row.kind)
        return orjson.dumps(self._transformed([stored.object], str(stored.revision), single=True))

    def binary_list(self, result: ListResult) -> bytes:
        """A list of plain objects in protobuf, put together object by object."""
        row = self._row
        items = (orjson.loads(stored.encoded) for stored in result.items)
        return protobuf.encode_list(row.gvk.api_version, row.list_kind, _list_metadata(result), items)

    def list(self, result: ListResult) -> bytes:
        metadata = _list_metadata(result)
        if self.is_plain:
            return list_bytes(self._row, metadata, [stored.encoded for stored in result.items])
        if self._form.transform == "PartialObjectMetadata":
            raise self._unfit("is a list", self._row.list_kind)
        return orjson.dumps(self._transformed([stored.object for stored in result.items], "", metadata))

    def event_object(self, stored: Stored, *, with_columns: bool) -> bytes:
        """The object of a watch event. Only a stream's first Table has column definitions, as upstream sends it."""
        if self.is_plain:
            return stored.encoded
        body = self._transformed([stored.object], str(stored.revision), single=True)
        if self._form.transform == "Table" and not with_columns:
            body["columnDefinitions"] = None
        return orjson.dumps(body)

    def _unfit(self, what: str, kind: str) -> errors.NotAcceptable:
        """The answer to who wants the form of one object for a list, or the other way round."""
        go_type = f"*{(self._row.group or 'core').partition('.')[0]}.{kind}"
        asked = self._form.transform
        return errors.NotAcceptable(f"you requested {asked}, but the requested object {what} ({go_type})")

    def _transformed(
        self, items: Sequence[Object], version: str, metadata: Object | None = None, *, single: bool = False
    ) -> Object:
        api_version = f"{_META}/{self._form.version}"
        if self._form.transform == "Table":
            return self._table(items, api_version, metadata or {"resourceVersion": version})
        partial = [_partial(item, api_version) for item in items]
        if single:
            return partial[0]
        return {
            "kind": "PartialObjectMetadataList",
            "apiVersion": api_version,
            "metadata": metadata,
            "items": partial,
        }

    def _table(self, items: Sequence[Object], api_version: str, metadata: Object) -> Object:
        columns = table_view.columns(self._row)
        now = self._now()
        rows = [
            {"cells": table_view.cells(columns, item, now), "object": self._included(item, api_version)}
            for item in items
        ]
        return {
            "kind": "Table",
            "apiVersion": api_version,
            "metadata": metadata,
            "columnDefinitions": table_view.definitions(columns),
            "rows": rows,
        }

    def _included(self, item: Object, api_version: str) -> Any:
        match self._include:
            case "None":
                return None
            case "Object":
                return item
        return _partial(item, api_version)


def _list_metadata(result: ListResult) -> Object:
    metadata: Object = {"resourceVersion": str(result.revision)}
    if result.continue_token:
        metadata["continue"] = result.continue_token
    if result.remaining is not None:
        metadata["remainingItemCount"] = result.remaining
    return metadata


def list_bytes(row: Resource, metadata: Object, items: list[bytes]) -> bytes:
    """A list of encoded objects: one join."""
    api_version = f"{row.group}/{row.version}" if row.group else row.version
    head = orjson.dumps({"kind": row.list_kind, "apiVersion": api_version, "metadata": metadata})
    return b"".join((head[:-1], b',"items":[', b",".join(items), b"]}"))


def _partial(item: Object, api_version: str) -> Object:
    return {"kind": "PartialObjectMetadata", "apiVersion": api_version, "metadata": item["metadata"]}

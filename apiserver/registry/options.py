"""What a read may ask for: selectors, revisions, pages, watch manners; parsed once from a request's query."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from apimachinery import errors, selectors
from apimachinery.errors import Cause
from apimachinery.selectors import FieldRequirement, FieldSelector, Selector
from apiserver.storage.types import Stored

_INTEGER = re.compile(r"[+-]?[0-9]+")
_INT64_DIGITS = 64  # more than any, leading zeros included, that is worth converting


@dataclass(frozen=True, slots=True)
class ListOptions:
    """`meta.k8s.io/v1 ListOptions`. `resource_version`: "" is the newest, "0" whatever is known, else at least that."""

    label_selector: Selector = selectors.EVERYTHING
    field_selector: FieldSelector = ()
    resource_version: str = ""
    resource_version_match: str = ""
    limit: int = 0
    continue_token: str = ""
    timeout_seconds: int | None = None
    allow_watch_bookmarks: bool = False
    send_initial_events: bool | None = None

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> ListOptions:
        """From the query parameters of a list, watch or deletecollection. Raises BadRequest."""
        try:
            labels = selectors.parse_labels(query.get("labelSelector"))
            fields = selectors.parse_fields(query.get("fieldSelector"))
        except selectors.SelectorError as error:
            raise errors.BadRequest(str(error)) from error
        return cls(
            label_selector=labels,
            field_selector=fields,
            resource_version=query.get("resourceVersion", ""),
            resource_version_match=query.get("resourceVersionMatch", ""),
            limit=max(integer(query, "limit") or 0, 0),  # as upstream, a negative limit is none
            continue_token=query.get("continue", ""),
            timeout_seconds=integer(query, "timeoutSeconds"),
            allow_watch_bookmarks=query_flag(query, "allowWatchBookmarks") is True,
            send_initial_events=query_flag(query, "sendInitialEvents"),
        )

    def of_one(self, name: str) -> ListOptions:
        """The same for the one object of this name."""
        named = FieldRequirement("metadata.name", name, equal=True)
        return self if named in self.field_selector else replace(self, field_selector=(*self.field_selector, named))

    @property
    def selects(self) -> bool:
        """Whether some objects may be left out."""
        return bool(self.label_selector) or bool(self.field_selector)


def query_flag(query: Mapping[str, str], name: str) -> bool | None:
    """A boolean parameter as upstream reads it: absent is None, "" true, "0" and "false" false, all else true."""
    value = query.get(name)
    return None if value is None else value.lower() not in ("0", "false")


def integer(query: Mapping[str, str], name: str) -> int | None:
    """A 64-bit parameter; None when it is absent or empty. Raises BadRequest."""
    text = query.get(name)
    if not text:
        return None
    if not _INTEGER.fullmatch(text):  # stricter than Python, which takes spaces, underscores and any digits
        raise errors.BadRequest(f'strconv.ParseInt: parsing "{text}": invalid syntax')
    if len(text) > _INT64_DIGITS or not -(2**63) <= int(text) < 2**63:
        raise errors.BadRequest(f'strconv.ParseInt: parsing "{text}": value out of range')
    return int(text)


def parse_revision(text: str) -> int | None:
    """A resourceVersion: None when empty. Raises BadRequest."""
    if not text:
        return None
    if not (text.isascii() and text.isdigit()) or len(text) > 19:
        raise errors.BadRequest(f'invalid resource version: strconv.ParseUint: parsing "{text}": invalid syntax')
    return int(text)


def check_list(options: ListOptions) -> None:
    """Refuses combinations that upstream refuses. Raises Invalid."""
    causes = []
    match, version = options.resource_version_match, options.resource_version
    if match:
        if options.continue_token:
            causes.append(_forbidden("resourceVersionMatch", "resourceVersionMatch is forbidden for continue"))
        if not version:
            why = "resourceVersionMatch is forbidden unless resourceVersion is provided"
            causes.append(_forbidden("resourceVersionMatch", why))
        if match not in ("Exact", "NotOlderThan"):
            supported = 'Unsupported value: "{}": supported values: "Exact", "NotOlderThan", ""'
            causes.append(Cause("FieldValueNotSupported", supported.format(match), "resourceVersionMatch"))
        if match == "Exact" and version == "0":
            why = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
            causes.append(_forbidden("resourceVersionMatch", why))
    if options.send_initial_events is not None:
        causes.append(_forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    _raise(causes)


def check_watch(options: ListOptions) -> None:
    """As `check_list`, for a watch."""
    causes = []
    match = options.resource_version_match
    if match and options.send_initial_events is None:
        why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
        causes.append(_forbidden("resourceVersionMatch", why))
    if options.send_initial_events is not None and match != "NotOlderThan":
        why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
        causes.append(_forbidden("resourceVersionMatch", why))
    if options.send_initial_events and not options.allow_watch_bookmarks:
        why = "sendInitialEvents requires setting allowWatchBookmarks to true"
        causes.append(_forbidden("sendInitialEvents", why))
    if options.continue_token:
        causes.append(_forbidden("continue", "continue is forbidden for watch"))
    _raise(causes)


def _forbidden(field: str, why: str) -> Cause:
    return Cause("FieldValueForbidden", f"Forbidden: {why}", field)


def _raise(causes: list[Cause]) -> None:
    if causes:
        raise errors.invalid("meta.k8s.io", "ListOptions", "", causes)


@dataclass(frozen=True, slots=True)
class ListResult:
    """One page. `continue_token` is "" on the last; `remaining` is None where it is not known."""

    items: list[Stored]
    revision: int
    continue_token: str = ""
    remaining: int | None = None

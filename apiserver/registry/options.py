"""What a read may ask for: selectors, revisions, pages, watch manners; parsed once from a request's query."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from apimachinery import errors, selectors
from apimachinery.errors import Cause
from apimachinery.selectors import FieldRequirement, FieldSelector, Selector
from apiserver.registry.validation import causes
from apiserver.storage.types import Stored

_INTEGER = re.compile(r"[+-]?[0-9]+")
_REVISION_MAX = 2**63 - 1  # of etcd; what upstream lets through beyond it is as far in the future
_MATCH_WITH_CONTINUE = "resourceVersionMatch is forbidden when continue is provided"
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
    def is_exact(self) -> bool:
        """Whether a list is of that very revision: when it says so, and, of old, when it has pages."""
        if self.resource_version_match:
            return self.resource_version_match == "Exact"
        return bool(self.limit) and self.resource_version not in ("", "0")

    @property
    def wants_state(self) -> bool:
        """Whether a watch begins with what there is, as ADDED events; without a word, when it names no revision."""
        if self.send_initial_events is None:
            return self.resource_version in ("", "0")
        return self.send_initial_events

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
    try:
        return _revision(text)
    except _NoRevision as error:
        raise errors.BadRequest(f"invalid resource version: resourceVersion: {error.cause.message}") from error


def parse_watch_revision(group: str, resource: str, text: str) -> int | None:
    """As `parse_revision`, for a watch, of which upstream tells it so. Raises Invalid."""
    try:
        return _revision(text)
    except _NoRevision as error:
        raise errors.invalid(group, resource, "", [error.cause]) from error


class _NoRevision(ValueError):
    def __init__(self, text: str, why: str) -> None:
        super().__init__(text)
        self.cause = causes.invalid("resourceVersion", text, f'strconv.ParseUint: parsing "{text}": {why}')


def _revision(text: str) -> int | None:
    if not text:
        return None
    if not (text.isascii() and text.isdigit()):
        raise _NoRevision(text, "invalid syntax")
    if len(text) > _INT64_DIGITS or int(text) >= 2**64:
        raise _NoRevision(text, "value out of range")
    return min(int(text), _REVISION_MAX)


def check_list(options: ListOptions) -> None:
    """Refuses combinations that upstream refuses. Raises Invalid."""
    found = []
    match, version = options.resource_version_match, options.resource_version
    if match:
        if not version:
            why = "resourceVersionMatch is forbidden unless resourceVersion is provided"
            found.append(causes.forbidden("resourceVersionMatch", why))
        if options.continue_token:
            found.append(causes.forbidden("resourceVersionMatch", _MATCH_WITH_CONTINUE))
        if match not in ("Exact", "NotOlderThan"):
            supported = 'supported values: "Exact", "NotOlderThan", ""'
            why = f"Unsupported value: {causes.render(match)}: {supported}"
            found.append(Cause("FieldValueNotSupported", why, "resourceVersionMatch"))
        if match == "Exact" and version == "0":
            why = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
            found.append(causes.forbidden("resourceVersionMatch", why))
    if options.send_initial_events is not None:
        found.append(causes.forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    _raise(found)


def check_watch(options: ListOptions) -> None:
    """As `check_list`, for a watch."""
    found = []
    match, initial = options.resource_version_match, options.send_initial_events
    if initial is not None and match != "NotOlderThan":
        why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
        found.append(causes.forbidden("resourceVersionMatch", why))
    if match:
        if initial is None:
            why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
            found.append(causes.forbidden("resourceVersionMatch", why))
        if match != "NotOlderThan":
            found.append(causes.unsupported("resourceVersionMatch", match, ("NotOlderThan",)))
        if options.continue_token:
            found.append(causes.forbidden("resourceVersionMatch", _MATCH_WITH_CONTINUE))
    _raise(found)


def _raise(found: list[Cause]) -> None:
    if found:
        raise errors.invalid("meta.k8s.io", "ListOptions", "", found)


@dataclass(frozen=True, slots=True)
class ListResult:
    """One page. `continue_token` is "" on the last; `remaining` is None where it is not known."""

    items: list[Stored]
    revision: int
    continue_token: str = ""
    remaining: int | None = None

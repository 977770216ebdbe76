"""One HTTP request as the filters and handlers see it: parsed once, kept in the ASGI scope under one key.

Guarantees: `of(scope)` gives the same `Request` to every filter and handler of one request; its fields are typed,
so the scope is no bag of strings. `user` is anonymous until the authentication filter has run.
Does not hold the body: handlers read it themselves, once, with a bound.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import parse_qs, unquote

from apimachinery import selectors
from apiserver import server
from apiserver.asgi import Scope
from apiserver.registry.call import ANONYMOUS, User

_KEY = "armillary.request"
_VERBS = {"GET": "get", "HEAD": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_NAMESPACE_SUBRESOURCES = frozenset({"status", "finalize"})
_STREAMED = frozenset({"log", "exec", "attach", "portforward", "proxy"})
_TRUE = frozenset({"1", "t", "T", "true", "True", "TRUE"})


@dataclass(frozen=True, slots=True)
class RequestInfo:
    """What a request asks for, read from its method, path and query alone (step A3).

    `verb` is the API's word (`list`, `watch`, `deletecollection` …), or the lower-case HTTP method for paths that name
    no resource. Source: https://kubernetes.io/docs/reference/access-authn-authz/authorization/#determine-the-request-verb
    """

    path: str
    verb: str
    is_resource: bool = False
    prefix: str = ""  # "api" or "apis"
    group: str = ""
    version: str = ""
    namespace: str = ""
    resource: str = ""
    subresource: str = ""
    name: str = ""
    tail: str = ""  # what follows the subresource: with proxy, the path on the other side; nothing else has one

    @property
    def long_running(self) -> bool:
        """Whether the request may last: it has no deadline and takes no place in the in-flight limit."""
        return self.verb == "watch" or self.subresource in _STREAMED


@dataclass(slots=True)
class Request:
    """The request on its way through the chain."""

    scope: Scope
    method: str
    headers: dict[bytes, bytes]
    query: dict[str, list[str]]
    info: RequestInfo
    connection: server.Connection | None
    user: User = ANONYMOUS
    impersonator: User | None = None
    id: str = ""
    traceparent: str = ""
    records_trace: bool = False
    status: int = 0  # of the response, once it has begun
    routed: bool = False  # the resource table knows what is asked for
    binary: bool = False  # what is asked for has a protobuf form
    warnings: list[str] = field(default_factory=list)
    audit_annotations: dict[str, str] = field(default_factory=dict)

    def option(self, name: str, default: str = "") -> str:
        """The first value of a query parameter."""
        values = self.query.get(name)
        return values[0] if values else default

    def first_values(self) -> dict[str, str]:
        """The query parameters, each with its first value."""
        return {name: values[0] for name, values in self.query.items()}

    def flag(self, name: str) -> bool:
        return self.option(name) in _TRUE

    def header(self, name: bytes) -> str:
        """A header's value; `name` in lower case. "" when it is absent."""
        return self.headers.get(name, b"").decode("latin-1")


def of(scope: Scope) -> Request:
    """The request that the scope carries; made by the outermost filter."""
    request: Request = scope[_KEY]
    return request


def attach(scope: Scope) -> Request:
    """Parses the request and puts it into the scope."""
    raw_query = scope["query_string"]
    query = parse_qs(raw_query.decode("latin-1"), keep_blank_values=True) if raw_query else {}
    info = parse_info(scope["method"], scope["path"], scope.get("raw_path") or b"", query)
    connection = scope["state"].get("connection") if "state" in scope else None
    request = Request(scope, scope["method"], dict(scope["headers"]), query, info, connection)
    scope[_KEY] = request
    return request


def parse_info(method: str, path: str, raw_path: bytes, query: dict[str, list[str]]) -> RequestInfo:
    """Reads the path as upstream's RequestInfo does. A path that fits no pattern is a non-resource path."""
    # An escaped slash is part of a name, so the parts are taken from the raw path when there is one
    parts = [unquote(part) for part in raw_path.decode("latin-1").split("/")] if b"%" in raw_path else path.split("/")
    parts = [part for part in parts if part]
    prefix = parts[0] if parts else ""
    head = {"api": 2, "apis": 3}.get(prefix, 0)
    if not head or len(parts) <= head:
        return RequestInfo(path, method.lower(), prefix=prefix if head else "")
    group, version = ("", parts[1]) if prefix == "api" else (parts[1], parts[2])
    return _resource_info(method, path, prefix, group, version, parts[head:], query)


def _resource_info(
    method: str, path: str, prefix: str, group: str, version: str, parts: list[str], query: dict[str, list[str]]
) -> RequestInfo:
    verb = _VERBS.get(method, method.lower())
    forced_watch = verb == "get" and parts[0] == "watch" and len(parts) > 1  # the old form: /api/v1/watch/pods
    if forced_watch:
        parts = parts[1:]
    namespace, parts = _split_namespace(parts)
    resource = parts[0]
    name = parts[1] if len(parts) > 1 else ""
    subresource = parts[2] if len(parts) > 2 else ""
    tail = "/".join(parts[3:])
    if forced_watch:
        verb = "watch"
    elif not name:
        verb, name = _collection_verb(verb, query)
    return RequestInfo(path, verb, True, prefix, group, version, namespace, resource, subresource, name, tail)


def _split_namespace(parts: list[str]) -> tuple[str, list[str]]:
    """`namespaces/x/pods/y` → (x, [pods, y]); a namespace itself is a resource in its own namespace."""
    if parts[0] != "namespaces" or len(parts) < 2:
        return "", parts
    if len(parts) > 2 and parts[2] not in _NAMESPACE_SUBRESOURCES:
        return parts[1], parts[2:]
    return parts[1], parts


def _collection_verb(verb: str, query: dict[str, list[str]]) -> tuple[str, str]:
    """The verb on a collection, and the one name that a field selector may narrow it to."""
    if verb == "delete":
        return "deletecollection", ""
    if verb != "get":
        return verb, ""
    watched = query.get("watch", [""])[0]
    # Upstream takes any value but a false one, the empty value included
    is_watch = "watch" in query and watched not in ("0", "false", "f", "F", "False", "FALSE")
    return ("watch" if is_watch else "list"), _selected_name(query)


def _selected_name(query: dict[str, list[str]]) -> str:
    """The name that a field selector demands. Rights may hang on it, so only the real parser may find it."""
    try:
        selected = selectors.parse_fields(query.get("fieldSelector", [""])[0])
    except selectors.SelectorError:
        return ""  # whoever reads the selector refuses it
    return next((item.value for item in selected if item.field == "metadata.name" and item.equal), "")

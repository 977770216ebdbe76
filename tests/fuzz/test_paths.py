"""Paths and queries that nobody should send."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz import target as targets
from tests.fuzz.budget import examples
from tests.fuzz.target import Target

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "get", "LIST")
_WORDS = (
    *("api", "apis", "v1", "apps", "namespaces", "fuzz", "default", "pods", "configmaps", "deployments", "status"),
    *("scale", "watch", "proxy", "exec", "log", "binding", "eviction", "token", "nodes", "openapi", "v2", "v3"),
    *("healthz", "livez", "readyz", "metrics", "version", "customresourcedefinitions", "apiextensions.k8s.io"),
)
_ODD = (
    *("", ".", "..", "%2e%2e", "%2f", "%2F%2F", "%00", "%", "%zz", "%ff", "%c3%28", "~", "*", ";a=b", "a:b", "a b"),
    *("é".encode().decode("latin-1"), "x" * 300, "x" * 5000, "\\", "'", "<script>", "${jndi}", "-", "_", "A", "@", "?"),
)
_segments = st.one_of(st.sampled_from(_WORDS), st.sampled_from(_WORDS), st.sampled_from(_ODD), st.text(max_size=5))
_names = (
    *("limit", "continue", "resourceVersion", "resourceVersionMatch", "labelSelector", "fieldSelector", "pretty"),
    *("fieldManager", "fieldValidation", "dryRun", "force", "gracePeriodSeconds", "propagationPolicy", "timeout"),
    *("sendInitialEvents", "allowWatchBookmarks", "includeObject", "verbose", "exclude", "container", "command"),
)
_values = st.one_of(
    st.sampled_from(
        ("", "0", "1", "-1", "x", "true", "false", "1.5", "1e9", "9" * 30, "%00", "%zz", "a=b", "a in (", "!")
    ),
    st.text(max_size=6),
    st.integers().map(str),
)
_queries = st.lists(st.tuples(st.one_of(st.sampled_from(_names), st.text(max_size=4)), _values), max_size=3)


def raw(text: str) -> bytes:
    """As it may stand in a request's first line: neither space nor line end, everything else."""
    return text.replace(" ", "%20").replace("\r", "%0d").replace("\n", "%0a").encode("utf-8", "surrogatepass")


@given(st.sampled_from(METHODS), st.lists(_segments, max_size=7), _queries)
@examples(240)
def test_any_path_is_answered(target: Target, method: str, segments: list[str], query: list[tuple[str, str]]) -> None:
    path = b"/" + b"/".join(raw(segment) for segment in segments)
    if query:
        path += b"?" + b"&".join(raw(name) + b"=" + raw(value) for name, value in query)
    targets.check(target.ask(method, path), malformed=True, future=True)


_PLACES = (
    "/api/v1/namespaces/fuzz/configmaps",
    "/api/v1/pods",
    "/apis/apps/v1/deployments",
    "/api/v1/namespaces/fuzz/configmaps/nothing",
    "/apis/coordination.k8s.io/v1/leases",
    "/openapi/v3/api/v1",
    "/readyz",
    "/api",
)


@given(st.sampled_from(("GET", "DELETE")), st.sampled_from(_PLACES), _queries)
@examples(200)
def test_any_query_is_answered(target: Target, method: str, place: str, query: list[tuple[str, str]]) -> None:
    text = b"&".join(raw(name) + b"=" + raw(value) for name, value in query)
    targets.check(target.ask(method, place.encode() + b"?" + text), malformed=True, future=True)

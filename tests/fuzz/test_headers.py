"""Headers that nobody should send, and requests that are not quite HTTP."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz import target as targets
from tests.fuzz.budget import examples
from tests.fuzz.target import Target

_NAMES = (
    *("Accept", "Accept-Encoding", "Accept-Language", "Authorization", "Content-Type", "Content-Encoding", "Cookie"),
    *("Connection", "Expect", "Host", "If-Match", "If-None-Match", "If-Modified-Since", "Range", "Transfer-Encoding"),
    *("Impersonate-User", "Impersonate-Group", "Impersonate-Uid", "Impersonate-Extra-a", "Impersonate-Extra-%zz"),
    *("X-Remote-User", "X-Remote-Group", "X-Forwarded-For", "Traceparent", "Tracestate", "Upgrade", "User-Agent"),
    *("Sec-WebSocket-Key", "Sec-WebSocket-Version", "Sec-WebSocket-Protocol", "Audit-ID", "Content-Length"),
)
_VALUES = (
    *(
        "",
        "*/*",
        "application/json;as=Table;v=v1;g=meta.k8s.io",
        "application/json;as=Nothing;v=v9;g=x",
        "gzip",
        "br;q=x",
    ),
    *(
        "application/vnd.kubernetes.protobuf",
        "application/json;q=0",
        "text/html",
        ";;;",
        "a/b;q=1;q=2",
        "Bearer",
        "Basic",
    ),
    *(
        "Bearer x y",
        "Basic %%%",
        "Basic " + "A" * 5000,
        "upgrade",
        "websocket",
        "SPDY/3.1",
        "100-continue",
        "bytes=0-1",
    ),
    *(
        "chunked",
        "identity",
        "0",
        "-1",
        "1",
        "99999999999999999999",
        "13",
        "v4.channel.k8s.io",
        "system:masters",
        "root",
    ),
    *(
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "00-xx-yy-zz",
        "armillary=record",
        "x" * 9000,
        "é",
        "\x80",
    ),
)
_header_values = st.one_of(
    st.sampled_from(_VALUES), st.text(st.characters(max_codepoint=255, exclude_characters="\r\n"), max_size=12)
)
_headers = st.lists(st.tuples(st.sampled_from(_NAMES), _header_values), min_size=1, max_size=4)
_PLACES = ("/api", "/apis", "/api/v1/namespaces/fuzz/configmaps", "/openapi/v2", "/openapi/v3", "/version", "/metrics")


@given(st.sampled_from(("GET", "POST", "DELETE")), st.sampled_from(_PLACES), _headers)
@examples(240)
def test_any_headers_are_answered(target: Target, method: str, place: str, headers: list[tuple[str, str]]) -> None:
    # A length that is not met would only wait for the rest
    headers = [(name, value) for name, value in headers if not _waits(name, value)]
    head = b"".join(f"{name}: {value}\r\n".encode("latin-1", "replace") for name, value in headers)
    targets.check(target.ask(method, place, head=head), malformed=True)


def _waits(name: str, value: str) -> bool:
    return (name == "Content-Length" and value.strip().isdigit() and value.strip() != "0") or (
        name == "Transfer-Encoding" and "chunked" in value.lower()
    )


@given(st.binary(min_size=1, max_size=200))
@examples(200)
def test_any_bytes_are_refused(target: Target, data: bytes) -> None:
    """With an end, so that the server does not wait for more."""
    answer = target.send(data + b"\r\n\r\n\r\n\r\n")
    assert answer.code in (0, 400, 404, 431, 505), answer


@given(st.data())
@examples(200)
def test_a_request_with_bytes_changed_is_answered(target: Target, data: st.DataObject) -> None:
    request = bytearray(
        b"GET /api/v1/namespaces/fuzz/configmaps?limit=1 HTTP/1.1\r\nHost: localhost\r\n"
        b"Authorization: Bearer admin-token\r\nAccept: application/json\r\n\r\n"
    )
    for _ in range(data.draw(st.integers(1, 4))):
        request[data.draw(st.integers(0, len(request) - 5))] = data.draw(st.integers(0, 255))
    targets.check(target.send(bytes(request)), malformed=True)

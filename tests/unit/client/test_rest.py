"""The REST client at the HTTP seam: what is sent, what is raised, what is tried again."""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import Any

import httpx
import pytest

from apimachinery import errors
from apimachinery.gvr import DEPLOYMENTS, NODES, PODS
from client import exchange, kubeconfig, rest, tracing
from tests.unit.client import server

pytestmark = pytest.mark.looptime


async def test_an_object_is_asked_for_at_its_path() -> None:
    script = server.Script(server.answer(server.pod("a", "1")), server.answer({"kind": "Node"}))
    async with server.client(script) as client:
        assert await client.get(PODS, "a", "default") == server.pod("a", "1")
        await client.get(NODES, "n1", subresource="status")
    assert [str(request.url) for request in script.asked] == [
        "http://api.test/api/v1/namespaces/default/pods/a",
        "http://api.test/api/v1/nodes/n1/status",
    ]


async def test_a_selector_is_escaped_in_the_query() -> None:
    script = server.Script(server.listing("1"))
    async with server.client(script) as client:
        await client.list(PODS, label_selector="app in (a,b)", field_selector="spec.nodeName=n1", limit=5)
    assert script.asked[0].url.query == b"labelSelector=app%20in%20%28a%2Cb%29&fieldSelector=spec.nodeName%3Dn1&limit=5"


async def test_a_patch_says_its_type() -> None:
    script = server.Script(server.answer({}))
    async with server.client(script) as client:
        await client.patch(
            DEPLOYMENTS, "a", {"spec": {}}, "ns", patch_type="strategic", field_manager="me", dry_run=True
        )
    request = script.asked[0]
    assert (request.method, request.headers["content-type"]) == ("PATCH", "application/strategic-merge-patch+json")
    assert script.query(0) == {"dryRun": "All", "fieldManager": "me"}


async def test_a_delete_carries_its_preconditions() -> None:
    script = server.Script(server.answer({"kind": "Status", "status": "Success"}))
    async with server.client(script) as client:
        await client.delete(PODS, "a", "ns", grace_period_seconds=0, uid="u1", propagation_policy="Background")
    assert json.loads(script.asked[0].content) == {
        "kind": "DeleteOptions",
        "apiVersion": "v1",
        "gracePeriodSeconds": 0,
        "propagationPolicy": "Background",
        "preconditions": {"uid": "u1"},
    }


async def test_a_status_is_raised_as_its_class() -> None:
    script = server.Script(server.refusal(errors.not_found("", "pods", "a")))
    async with server.client(script) as client:
        with pytest.raises(errors.NotFound, match='pods "a" not found'):
            await client.get(PODS, "a", "default")


async def test_an_answer_that_is_no_status_keeps_its_code_and_first_words() -> None:
    script = server.Script(lambda _: httpx.Response(502, content=b"<html>bad gateway</html>"))
    async with server.client(script) as client:
        with pytest.raises(errors.APIError, match="bad gateway") as caught:
            await client.get(PODS, "a", "default")
    assert caught.value.status_code == 502


async def test_an_unreachable_server_is_one_error() -> None:
    async with server.client(server.Script(server.unreachable)) as client:
        with pytest.raises(rest.ConnectionFailed, match=r"http://api\.test: Connection refused"):
            await client.create(PODS, server.pod("a", ""))


async def test_too_many_requests_are_tried_again_when_the_server_says() -> None:
    busy = server.refusal(errors.TooManyRequests("busy"), {"retry-after": "3"})
    script = server.Script(busy, busy, server.answer({}, 201))
    async with server.client(script) as client:
        await client.create(PODS, server.pod("a", ""))
    assert asyncio.get_running_loop().time() == 6
    assert len(script.asked) == 3


async def test_a_server_error_without_retry_after_is_final() -> None:
    script = server.Script(server.refusal(errors.InternalError("etcd")), server.answer({}))
    async with server.client(script) as client:
        with pytest.raises(errors.InternalError):
            await client.create(PODS, server.pod("a", ""))


async def test_patience_with_a_busy_server_ends() -> None:
    script = server.Script(*[server.refusal(errors.TooManyRequests("busy"), {"retry-after": "1"})] * 20)
    async with server.client(script) as client:
        with pytest.raises(errors.TooManyRequests):
            await client.get(PODS, "a", "default")
    assert len(script.asked) == exchange.MAX_RETRIES + 1


async def test_calls_wait_for_their_turn() -> None:
    script = server.Script(*[server.answer({})] * 12)
    async with server.client(script, qps=5, burst=2) as client:
        for _ in range(12):
            await client.get(PODS, "a", "default")
    assert asyncio.get_running_loop().time() == pytest.approx(2.0)  # ten beyond the burst, at five a second


async def test_a_watch_gives_events_and_raises_the_error_in_it() -> None:
    gone = errors.Expired("too old resource version: 1 (5)").to_status()
    script = server.Script(server.events(("ADDED", server.pod("a", "2")), ("ERROR", gone)))
    async with server.client(script) as client, contextlib.aclosing(client.watch(PODS)) as events:
        event = await anext(events)
        with pytest.raises(errors.Expired):
            await anext(events)
    assert (event.type, event.object["metadata"]["name"]) == ("ADDED", "a")


async def test_events_are_whole_however_the_bytes_are_cut() -> None:
    text = b'{"type":"ADDED","object":{"n":1}}\n\n{"type":"MODIFIED","object":{"n":2}}\n{"type":"DEL'

    async def cut() -> object:
        for byte in text:
            yield bytes([byte])

    script = server.Script(lambda _: httpx.Response(200, content=cut()))
    async with server.client(script) as client:
        seen = [event async for event in client.watch(PODS)]
    assert seen == [("ADDED", {"n": 1}), ("MODIFIED", {"n": 2})]


async def test_identity_travels_in_headers() -> None:
    config = kubeconfig.ClientConfig(
        "http://api.test", token="secret", impersonate=kubeconfig.Impersonation(user="jane", groups=("a", "b"))
    )
    script = server.Script(server.answer({}))
    async with server.client(script, config=config) as client:
        await client.get(PODS, "a", "default")
    headers = script.asked[0].headers
    assert headers["authorization"] == "Bearer secret"
    assert headers["impersonate-user"] == "jane"
    assert headers.get_list("impersonate-group") == ["a", "b"]


async def test_names_in_any_script_travel_as_utf_8() -> None:
    config = kubeconfig.ClientConfig(
        "http://api.test", token="schlüssel", impersonate=kubeconfig.Impersonation(user="Ünal", groups=("größe", "店"))
    )
    script = server.Script(server.answer({}))
    async with server.client(script, config=config) as client:
        await client.get(PODS, "a", "default")
    raw = [(name.lower(), value) for name, value in script.asked[0].headers.raw]
    assert (b"authorization", "Bearer schlüssel".encode()) in raw
    assert (b"impersonate-user", "Ünal".encode()) in raw
    assert [value.decode() for name, value in raw if name == b"impersonate-group"] == ["größe", "店"]


@pytest.mark.parametrize(
    ("field", "config"),
    [
        ("Authorization", {"token": "a\r\nx-remote-user: admin"}),
        ("Impersonate-User", {"impersonate": kubeconfig.Impersonation(user="a\nb")}),
        ("Impersonate-Group", {"impersonate": kubeconfig.Impersonation(user="a", groups=("b", "c\0"))}),
    ],
)
async def test_a_value_that_would_end_its_header_is_not_sent(field: str, config: Any) -> None:
    script = server.Script()
    async with server.client(script, config=kubeconfig.ClientConfig("http://api.test", **config)) as client:
        with pytest.raises(exchange.ConnectionFailed, match=f'invalid header field value for "{field}"'):
            await client.get(PODS, "a", "default")
    assert script.asked == []


async def test_trace_context_travels_only_when_there_is_one() -> None:
    script = server.Script(server.answer({}), server.answer({}))
    async with server.client(script) as client:
        await client.get(PODS, "a", "default")
        trace = tracing.start()
        token = tracing.current.set(trace)
        await client.get(PODS, "a", "default")
        tracing.current.reset(token)
    assert "traceparent" not in script.asked[0].headers
    assert script.asked[1].headers["traceparent"] == trace
    assert tracing.is_valid(trace)

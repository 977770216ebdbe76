"""Watches over HTTP: events in order, bookmarks, initial state, ends and refusals, slow readers."""

from __future__ import annotations

import json
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx

from tests import harness

Event = dict[str, Any]


@contextmanager
def watching(client: httpx.Client, path: str, **query: str) -> Iterator[Iterator[Event]]:
    """An open watch; iterating waits for the next event."""
    with client.stream("GET", path, params={"watch": "1", "timeoutSeconds": "15", **query}) as response:
        assert response.status_code == 200, response.read()
        yield (json.loads(line) for line in response.iter_lines())


def short(event: Event) -> tuple[str, str]:
    return event["type"], event["object"]["metadata"]["name"]


def test_changes_arrive_in_order_with_their_type(admin: httpx.Client, namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    start = admin.get(path).json()["metadata"]["resourceVersion"]
    with watching(admin, path, resourceVersion=start) as events, httpx.Client() as _:
        created = admin.post(path, json={"metadata": {"name": "a"}}).json()
        assert short(next(events)) == ("ADDED", "a")
        admin.patch(f"{path}/a", json={"data": {"x": "1"}}, headers={"content-type": "application/merge-patch+json"})
        changed = next(events)
        assert short(changed) == ("MODIFIED", "a")
        assert int(changed["object"]["metadata"]["resourceVersion"]) > int(created["metadata"]["resourceVersion"])
        admin.delete(f"{path}/a")
        deleted = next(events)
        assert short(deleted) == ("DELETED", "a")
        assert deleted["object"]["data"] == {"x": "1"}


def test_a_watch_without_a_version_begins_with_what_there_is(admin: httpx.Client, namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    for name in ("a", "b"):
        admin.post(path, json={"metadata": {"name": name}})
    with watching(admin, path) as events:
        assert [short(next(events)) for _ in range(2)] == [("ADDED", "a"), ("ADDED", "b")]


def test_a_streaming_list_ends_with_a_bookmark(admin: httpx.Client, namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    admin.post(path, json={"metadata": {"name": "a"}})
    query = {"sendInitialEvents": "true", "allowWatchBookmarks": "true", "resourceVersionMatch": "NotOlderThan"}
    with watching(admin, path, **query) as events:
        assert short(next(events)) == ("ADDED", "a")
        bookmark = next(events)
    assert bookmark["type"] == "BOOKMARK"
    assert bookmark["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert int(bookmark["object"]["metadata"]["resourceVersion"]) > 0


def test_selectors_turn_changes_into_comings_and_goings(admin: httpx.Client, namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    start = admin.get(path).json()["metadata"]["resourceVersion"]
    merge = {"content-type": "application/merge-patch+json"}
    with watching(admin, path, resourceVersion=start, labelSelector="on=yes") as events:
        admin.post(path, json={"metadata": {"name": "a"}})
        admin.patch(f"{path}/a", json={"metadata": {"labels": {"on": "yes"}}}, headers=merge)
        assert short(next(events)) == ("ADDED", "a")
        admin.patch(f"{path}/a", json={"metadata": {"labels": {"on": "no"}}}, headers=merge)
        assert short(next(events)) == ("DELETED", "a")


def test_a_list_of_a_version_from_the_future_times_out(admin: httpx.Client, namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    response = admin.get(path, params={"resourceVersion": "999999999", "resourceVersionMatch": "NotOlderThan"})
    assert response.status_code == 504
    assert "Too large resource version" in response.json()["message"]


def test_a_watch_ends_after_its_timeout(admin: httpx.Client, namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    response = admin.get(path, params={"watch": "1", "timeoutSeconds": "1", "resourceVersion": "0"})
    assert response.status_code == 200
    assert response.text == ""


def test_the_head_of_a_watch_has_no_events(admin: httpx.Client, namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    admin.post(path, json={"metadata": {"name": "a"}})
    for _ in range(2):  # the second one reads what the first one may have left on the connection
        assert admin.head(path, params={"watch": "1", "timeoutSeconds": "1"}).status_code == 200
    assert admin.get(f"{path}/a").json()["metadata"]["name"] == "a"


def test_a_table_watch_names_its_columns_once(admin: httpx.Client, namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    admin.post(path, json={"metadata": {"name": "a"}})
    admin.post(path, json={"metadata": {"name": "b"}})
    accept = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
    with admin.stream("GET", path, params={"watch": "1", "timeoutSeconds": "10"}, headers=accept) as response:
        lines = response.iter_lines()
        first, second = json.loads(next(lines)), json.loads(next(lines))
    assert first["object"]["kind"] == "Table"
    assert [column["name"] for column in first["object"]["columnDefinitions"]] == ["Name", "Data", "Age"]
    assert first["object"]["rows"][0]["cells"][:2] == ["a", 0]
    assert second["object"]["columnDefinitions"] is None


def test_a_watcher_that_does_not_read_is_dropped_and_others_go_on(server: harness.Server, namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    context = ssl.create_default_context(cafile=str(server.pki.ca))
    with (
        socket.create_connection(("127.0.0.1", server.port), timeout=10) as raw,
        context.wrap_socket(raw, server_hostname="127.0.0.1") as slow,
        server.admin() as admin,
    ):
        head = f"GET {path}?watch=1&resourceVersion=0 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer admin-token\r\n\r\n"
        slow.sendall(head.encode())
        assert slow.recv(1024).startswith(b"HTTP/1.1 200")
        fast: list[str] = []
        reader = threading.Thread(target=_count, args=(server, path, fast, 16))
        reader.start()
        body = "x" * 900_000
        admin.post(path, json={"metadata": {"name": "a"}, "data": {"fill": body}})
        for number in range(15):
            admin.put(f"{path}/a", json={"metadata": {"name": "a"}, "data": {"fill": body, "n": str(number)}})
        reader.join(20)
        assert fast == ["ADDED", *["MODIFIED"] * 15]
        received = _drain(slow)
    assert received < 15 * 900_000, "the slow reader was cut off, not fed for ever"


def _count(server: harness.Server, path: str, types: list[str], wanted: int) -> None:
    with server.admin() as client, watching(client, path, resourceVersion="0") as events:
        for event in events:
            types.append(event["type"])
            if len(types) == wanted:
                return


def _drain(sock: ssl.SSLSocket) -> int:
    """Reads to the end of the connection, orderly or not."""
    size = 0
    try:
        while data := sock.recv(1 << 20):
            size += len(data)
    except (ssl.SSLError, ConnectionError):
        pass
    return size


def test_many_watchers_see_every_event(server: harness.Server, namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    results: list[list[str]] = [[] for _ in range(10)]
    threads = [threading.Thread(target=_count, args=(server, path, result, 20)) for result in results]
    with server.admin() as admin:
        for thread in threads:
            thread.start()
        for number in range(20):
            admin.post(path, json={"metadata": {"name": f"c{number}"}})
        for thread in threads:
            thread.join(20)
    assert all(result == ["ADDED"] * 20 for result in results)

"""The reflector: its step function as a table, and whole runs against a scripted server in virtual time."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import random
from collections.abc import Sequence
from typing import Any

import pytest

from apimachinery import errors
from apimachinery.gvr import PODS
from client import rest
from client.reflector import INITIAL_EVENTS_END, Listing, Outcome, Reflector, State, Step, Watching, step
from tests.unit.client import server

DOWN = rest.ConnectionFailed("http://api.test", OSError("refused"))
EXPIRED = errors.Expired("too old resource version: 5 (9)")
TOO_LARGE = errors.from_status(
    {"reason": "Timeout", "code": 504, "details": {"causes": [{"reason": "ResourceVersionTooLarge"}]}}, 504
)
PAGED, STREAMED = Listing("0", streaming=False), Listing("0", streaming=True)


@pytest.mark.parametrize(
    ("state", "outcome", "expected"),
    [
        (PAGED, Outcome("7"), Step(Watching("7"), wait=False)),
        (PAGED, Outcome("", DOWN), Step(PAGED, wait=True)),
        (PAGED, Outcome("", errors.Forbidden("no")), Step(PAGED, wait=True)),
        (Listing("5", False), Outcome("", EXPIRED), Step(Listing("", False), wait=False)),
        (Listing("5", False), Outcome("", TOO_LARGE), Step(Listing("", False), wait=False)),
        (Listing("", False), Outcome("", EXPIRED), Step(Listing("", False), wait=True)),
        (STREAMED, Outcome("", errors.Invalid("no sendInitialEvents")), Step(PAGED, wait=False)),
        (STREAMED, Outcome("", DOWN), Step(STREAMED, wait=True)),
        (Watching("7"), Outcome("9"), Step(Watching("9"), wait=False)),
        (Watching("7"), Outcome("9", DOWN), Step(Watching("9"), wait=True)),
        (Watching("7"), Outcome("9", errors.TooManyRequests("slow")), Step(Watching("9"), wait=True)),
        (Watching("7"), Outcome("9", errors.InternalError("etcd")), Step(Watching("9"), wait=True)),
        (Watching("7"), Outcome("9", EXPIRED), Step(Listing("9", False), wait=False)),
        (Watching("7"), Outcome("9", errors.Forbidden("revoked")), Step(Listing("9", False), wait=True)),
    ],
)
def test_what_follows_what(state: State, outcome: Outcome, expected: Step) -> None:
    assert step(state, outcome, streaming=False) == expected


class Log:
    """A sink that remembers."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def replace(self, items: Sequence[Any]) -> None:
        self.seen.append(("replace", [item["metadata"]["name"] for item in items]))

    def apply(self, obj: Any) -> None:
        self.seen.append(("apply", obj["metadata"]["name"], obj["metadata"]["resourceVersion"]))

    def delete(self, obj: Any) -> None:
        self.seen.append(("delete", obj["metadata"]["name"]))


async def follow(script: server.Script, seconds: float = 3600, **options: Any) -> tuple[Log, Reflector]:
    log = Log()
    async with server.client(script) as client:
        reflector = Reflector(client, PODS, log, rng=random.Random(1), **options)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await reflector.run()
    return log, reflector


@pytest.mark.looptime
async def test_it_lists_from_the_cache_and_watches_from_there() -> None:
    script = server.Script(
        server.listing("5", server.pod("a", "3")),
        server.events(("ADDED", server.pod("b", "6")), ("DELETED", server.pod("a", "7")), then_hang=True),
    )
    log, _ = await follow(script)
    assert log.seen == [("replace", ["a"]), ("apply", "b", "6"), ("delete", "a")]
    assert script.query(0) == {"resourceVersion": "0"}
    assert script.query(1)["resourceVersion"] == "5"
    assert script.query(1)["allowWatchBookmarks"] == "true"
    assert 300 <= int(script.query(1)["timeoutSeconds"]) <= 600


@pytest.mark.looptime
async def test_a_watch_that_ends_is_asked_for_again_after_the_newest_bookmark() -> None:
    bookmark = {"kind": "Pod", "apiVersion": "v1", "metadata": {"resourceVersion": "40"}}
    script = server.Script(server.listing("5"), server.events(("BOOKMARK", bookmark)))
    log, _ = await follow(script)
    assert script.query(2)["resourceVersion"] == "40"
    assert log.seen == [("replace", [])]


@pytest.mark.looptime
async def test_an_expired_watch_is_followed_by_a_list_that_is_not_older() -> None:
    error = EXPIRED.to_status()
    script = server.Script(
        server.listing("5"),
        server.events(("ADDED", server.pod("a", "6")), ("ERROR", error)),
        server.listing("20", server.pod("b", "19")),
    )
    log, _ = await follow(script)
    assert script.query(2)["resourceVersion"] == "6"
    assert log.seen == [("replace", []), ("apply", "a", "6"), ("replace", ["b"])]


@pytest.mark.looptime
async def test_it_survives_a_server_that_is_away_for_a_while_without_listing_again() -> None:
    script = server.Script(
        server.listing("5"),
        *[server.unreachable] * 6,
        server.events(("ADDED", server.pod("a", "6")), then_hang=True),
    )
    log, _ = await follow(script)
    assert log.seen == [("replace", []), ("apply", "a", "6")]
    assert [script.query(i).get("watch") for i in range(1, 8)] == ["true"] * 7


@pytest.mark.looptime
async def test_tries_are_further_and_further_apart_but_never_more_than_a_minute() -> None:
    times: list[float] = []

    def refuse(request: Any) -> Any:
        times.append(asyncio.get_running_loop().time())
        return server.unreachable(request)

    await follow(server.Script(*[refuse] * 30), seconds=1200)
    gaps = [after - before for before, after in itertools.pairwise(times)]
    assert 0.8 <= gaps[0] <= 1.6
    assert all(30 <= gap <= 60 for gap in gaps[7:])


@pytest.mark.looptime
async def test_a_newest_list_is_read_in_pages() -> None:
    script = server.Script(
        server.refusal(EXPIRED),
        server.listing("9", server.pod("a", "1"), token="next"),
        server.listing("9", server.pod("b", "2")),
    )
    log, _ = await follow(script)
    assert log.seen == [("replace", ["a", "b"])]
    assert script.query(1) == {"limit": "500"}
    assert script.query(2) == {"limit": "500", "continue": "next"}


@pytest.mark.looptime
async def test_a_streamed_list_is_whole_at_its_bookmark() -> None:
    end = {"metadata": {"resourceVersion": "30", "annotations": {INITIAL_EVENTS_END: "true"}}}
    script = server.Script(
        server.events(("ADDED", server.pod("a", "3")), ("ADDED", server.pod("b", "4")), ("BOOKMARK", end)),
    )
    log, reflector = await follow(script, streaming=True)
    assert log.seen == [("replace", ["a", "b"])]
    assert script.query(0)["sendInitialEvents"] == "true"
    assert script.query(0)["resourceVersionMatch"] == "NotOlderThan"
    assert reflector.state == Watching("30")


@pytest.mark.looptime
async def test_a_server_without_streamed_lists_is_asked_for_pages_and_never_again_for_a_stream() -> None:
    script = server.Script(
        server.refusal(errors.Invalid("sendInitialEvents is forbidden")),
        server.listing("9"),
        server.events(("ERROR", EXPIRED.to_status())),
        server.listing("12"),
    )
    log, _ = await follow(script, streaming=True)
    assert log.seen == [("replace", []), ("replace", [])]
    assert "sendInitialEvents" not in script.query(3)


@pytest.mark.looptime
async def test_a_watch_that_closes_at_once_is_not_asked_again_without_a_pause() -> None:
    script = server.Script(server.listing("5"), *[server.events()] * 50)
    await follow(script, seconds=10)
    assert len(script.asked) < 8

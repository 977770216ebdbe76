"""Events: what is written about repeats and floods, and that a recorder never troubles its caller."""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import Any

import pytest

from apimachinery import errors
from apimachinery.clock import FixedClock
from client.correlation import SIMILAR_MAX, SPAM_BURST, Correlator, Create, Drop, Repeat
from client.events import QUEUE_MAX, EventRecorder
from tests.unit.client import server

POD = server.pod("a", "7")


async def make(message: str, clock: Any = None) -> dict[str, Any]:
    recorder = EventRecorder(server.client(server.Script()), "scheduler", clock=clock or FixedClock())
    return recorder._make(POD, "Warning", "FailedScheduling", message, "")


async def test_the_same_event_again_raises_the_count_of_the_first() -> None:
    correlator = Correlator(FixedClock())
    first = correlator.correlate(await make("no nodes"))
    second = correlator.correlate(await make("no nodes"))
    third = correlator.correlate(await make("no nodes"))
    assert isinstance(first, Create)
    assert isinstance(second, Repeat)
    assert isinstance(third, Repeat)
    assert (second.name, second.patch["count"], third.patch["count"]) == (first.event["metadata"]["name"], 2, 3)


async def test_many_that_differ_in_their_message_become_one() -> None:
    correlator = Correlator(FixedClock())
    plans = [correlator.correlate(await make(f"message {number}")) for number in range(SIMILAR_MAX + 2)]
    assert all(isinstance(plan, Create) for plan in plans[:SIMILAR_MAX])
    combined = plans[SIMILAR_MAX - 1]
    assert isinstance(combined, Create)
    assert combined.event["message"] == f"(combined from similar events): message {SIMILAR_MAX - 1}"
    assert all(isinstance(plan, Repeat) for plan in plans[SIMILAR_MAX:])


async def test_a_flood_about_one_object_is_cut_and_thins_out() -> None:
    clock = FixedClock()
    correlator = Correlator(clock)
    plans = [correlator.correlate(await make("again")) for _ in range(SPAM_BURST + 5)]
    assert sum(isinstance(plan, Drop) for plan in plans) == 5
    clock.advance(300)
    assert isinstance(correlator.correlate(await make("again")), Repeat)
    assert isinstance(correlator.correlate(await make("again")), Drop)


async def send(script: server.Script, count: int) -> EventRecorder:
    async with server.client(script) as client:
        recorder = EventRecorder(client, "kubelet", "n1")
        for _ in range(count):
            recorder.event(POD, "Normal", "Pulled", "image is here")
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(1000):
                await recorder.run()
    return recorder


@pytest.mark.looptime
async def test_an_event_says_who_said_what_about_which_object() -> None:
    script = server.Script(server.answer({}, 201))
    await send(script, 1)
    sent = json.loads(script.asked[0].content)
    assert str(script.asked[0].url) == "http://api.test/api/v1/namespaces/default/events"
    assert sent["involvedObject"] == {
        "kind": "Pod",
        "namespace": "default",
        "name": "a",
        "uid": "uid-a",
        "apiVersion": "v1",
        "resourceVersion": "7",
    }
    assert (sent["type"], sent["reason"], sent["message"], sent["count"]) == ("Normal", "Pulled", "image is here", 1)
    assert sent["source"] == {"component": "kubelet", "host": "n1"}
    assert sent["metadata"]["name"].startswith("a.")


@pytest.mark.looptime
async def test_a_repeat_whose_event_has_expired_is_written_anew_and_counted_there() -> None:
    gone = server.refusal(errors.not_found("", "events", "a.1"))
    script = server.Script(server.answer({}, 201), gone, server.answer({}, 201), server.answer({}))
    await send(script, 3)
    methods = [request.method for request in script.asked]
    assert methods == ["POST", "PATCH", "POST", "PATCH"]
    again = json.loads(script.asked[2].content)
    assert again["count"] == 2
    assert str(script.asked[3].url.path).endswith(f"/events/{again['metadata']['name']}")


@pytest.mark.looptime
async def test_a_refused_event_is_let_go_and_an_unreachable_server_waited_for() -> None:
    refused = server.refusal(errors.forbidden("", "events", "", "namespace is being terminated"))
    script = server.Script(refused, server.unreachable, server.answer({}))
    recorder = await send(script, 2)
    assert len(script.asked) == 3
    assert recorder.dropped == 0


async def test_more_events_than_may_wait_are_dropped_and_counted() -> None:
    recorder = EventRecorder(server.client(server.Script()), "kubelet")
    for _ in range(QUEUE_MAX + 3):
        recorder.event(POD, "Normal", "Pulled", "image is here")
    assert recorder.dropped == 3

"""Leader election: the decision as a table, and whole lives against a scripted server in virtual time."""

from __future__ import annotations

import asyncio
import json
from functools import partial
from typing import Any

import pytest

from apimachinery import errors
from client.leaderelection import LeaderElector, LeadershipLost, Observed, Timing, Wait, Write, decide
from tests.unit.client import server

STAMP = "2026-01-01T00:00:00.000000Z"


def lease(holder: str, seconds: int = 15, transitions: int = 3) -> dict[str, Any]:
    spec = {"holderIdentity": holder, "leaseDurationSeconds": seconds, "leaseTransitions": transitions}
    return {
        "metadata": {"name": "l", "namespace": "ns", "resourceVersion": "5"},
        "spec": spec | {"acquireTime": "then"},
    }


def plan(found: dict[str, Any] | None, seen_for: float) -> Wait | Write:
    observed = Observed(found["spec"], 100 - seen_for) if found else None
    return decide(found, observed, "me", 100.0, STAMP, 15)


def test_a_lease_that_is_not_there_is_made() -> None:
    decided = plan(None, 0)
    assert isinstance(decided, Write)
    assert decided.spec["holderIdentity"] == "me"
    assert decided.spec["leaseTransitions"] == 0


def test_a_lease_seen_unchanged_for_less_than_it_lasts_is_respected() -> None:
    assert plan(lease("other"), seen_for=14.9) == Wait("other")


def test_a_lease_seen_unchanged_for_longer_is_taken() -> None:
    decided = plan(lease("other"), seen_for=15)
    assert isinstance(decided, Write)
    assert (decided.spec["leaseTransitions"], decided.spec["acquireTime"]) == (4, STAMP)


def test_a_released_lease_is_taken_at_once() -> None:
    assert isinstance(plan(lease(""), seen_for=0), Write)


def test_ones_own_lease_is_renewed_without_a_transition() -> None:
    decided = plan(lease("me"), seen_for=0)
    assert isinstance(decided, Write)
    assert (decided.spec["leaseTransitions"], decided.spec["acquireTime"]) == (3, "then")
    assert decided.spec["renewTime"] == STAMP


@pytest.mark.parametrize("timing", [{"lease_duration": 10.0}, {"renew_deadline": 2.0}])
def test_timings_that_cannot_work_are_refused(timing: dict[str, float]) -> None:
    with pytest.raises(ValueError):
        Timing(**timing)


class Leases:
    """One lease as a server keeps it; `down` makes it unreachable."""

    def __init__(self, stored: dict[str, Any] | None = None) -> None:
        self.stored = stored
        self.down = False
        self.version = 5

    def script(self) -> server.Script:
        script = server.Script()
        script.answers = _Endless(self._answer)  # type: ignore[assignment]  # every request gets the same function
        return script

    def _answer(self, request: Any) -> Any:
        if self.down:
            return server.unreachable(request)
        if request.method == "GET":
            if self.stored is None:
                return server.refusal(errors.not_found("", "leases", "l"))(request)
            return server.answer(self.stored)(request)
        sent = json.loads(request.content)
        if self.stored and sent["metadata"].get("resourceVersion") != self.stored["metadata"]["resourceVersion"]:
            return server.refusal(errors.conflict("", "leases", "l"))(request)
        self.version += 1
        self.stored = sent | {"metadata": sent["metadata"] | {"resourceVersion": str(self.version)}}
        return server.answer(self.stored)(request)

    @property
    def holder(self) -> str:
        assert self.stored is not None
        return str(self.stored["spec"]["holderIdentity"])


class _Endless(list[Any]):
    def __init__(self, answer: Any) -> None:
        super().__init__([answer])

    def pop(self, index: Any = 0) -> Any:
        return self[0]


async def forever() -> None:
    await asyncio.Event().wait()


@pytest.mark.looptime
async def test_a_leader_keeps_its_lease_and_releases_it_when_stopped() -> None:
    leases = Leases()
    async with server.client(leases.script()) as client:
        task = asyncio.ensure_future(LeaderElector(client, "ns", "l", "me").run(forever))
        await asyncio.sleep(60)
        assert leases.holder == "me"
        assert leases.version >= 30  # renewed every two seconds
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert leases.holder == ""


@pytest.mark.looptime
async def test_a_leader_cut_off_from_the_server_stops_before_another_may_start() -> None:
    leases = Leases()
    stopped: list[float] = []

    async def lead() -> None:
        try:
            await asyncio.sleep(20)
            leases.down = True
            await asyncio.Event().wait()
        finally:
            stopped.append(asyncio.get_running_loop().time())

    async with server.client(leases.script()) as client:
        with pytest.raises(LeadershipLost):
            await LeaderElector(client, "ns", "l", "me").run(lead)
    assert 20 < stopped[0] <= 20 + 10 + 2


@pytest.mark.looptime
async def test_a_follower_takes_over_once_the_leader_is_silent_for_the_leases_time() -> None:
    leases = Leases(lease("dead"))
    began: list[float] = []

    async def lead() -> None:
        began.append(asyncio.get_running_loop().time())

    async with server.client(leases.script()) as client:
        await LeaderElector(client, "ns", "l", "me").run(lead)
    assert 15 <= began[0] <= 15 + 2 * 2.2 + 0.1
    assert leases.holder == ""  # leading ended by itself: released


@pytest.mark.looptime
async def test_of_two_candidates_one_leads_at_a_time() -> None:
    leases = Leases()
    leading: list[str] = []

    async def lead(name: str) -> None:
        leading.append(name)
        assert len(leading) == 1
        try:
            await asyncio.sleep(30)
        finally:
            leading.remove(name)

    async with server.client(leases.script()) as client, asyncio.TaskGroup() as group:
        for name in ("a", "b"):
            group.create_task(LeaderElector(client, "ns", "l", name).run(partial(lead, name)))
    assert 60 <= asyncio.get_running_loop().time() <= 66

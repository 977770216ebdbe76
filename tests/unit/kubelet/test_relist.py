"""L15: when a runtime that does not answer takes the node out of service, and when one that answers brings it back."""

from __future__ import annotations

from typing import cast

from prometheus_client import CollectorRegistry

from apimachinery.clock import FixedClock
from kubelet import errors
from kubelet.cri import Runtime, Snapshot
from kubelet.metrics import Metrics
from kubelet.relist import OUTAGE_SECONDS, Relist


class Silent:
    """A runtime each of whose calls takes `seconds` and then answers, or not."""

    def __init__(self, clock: FixedClock) -> None:
        self._clock = clock
        self.seconds = 0.0
        self.answers = True

    async def snapshot(self) -> Snapshot:
        self._clock.advance(self.seconds)
        if not self.answers:
            raise errors.RuntimeTimeout("rpc error: code = DeadlineExceeded desc = Deadline Exceeded")
        return Snapshot({}, {})


def relist_of() -> tuple[Relist, Silent, FixedClock]:
    clock = FixedClock()
    runtime = Silent(clock)
    metrics = Metrics(CollectorRegistry())
    return Relist(cast(Runtime, runtime), clock, metrics, lambda _: None, lambda: None), runtime, clock


async def test_a_runtime_that_hangs_is_down_when_the_first_call_has_timed_out() -> None:
    relist, runtime, _ = relist_of()
    await relist.look()
    runtime.answers, runtime.seconds = False, 30.0
    await relist.look()
    assert "DeadlineExceeded" in relist.outage


async def test_a_runtime_that_restarts_is_not_down() -> None:
    relist, runtime, clock = relist_of()
    await relist.look()
    runtime.answers = False
    clock.advance(OUTAGE_SECONDS / 2)
    await relist.look()
    assert (bool(relist.problem), relist.outage) == (True, "")
    clock.advance(OUTAGE_SECONDS / 2)
    await relist.look()
    assert relist.outage != ""


async def test_one_answer_ends_the_outage() -> None:
    relist, runtime, _ = relist_of()
    runtime.answers, runtime.seconds = False, 30.0
    await relist.look()
    runtime.answers = True
    await relist.look()
    assert (relist.problem, relist.outage) == ("", "")

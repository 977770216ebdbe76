"""Makes a history: starts the world, lets clients work while faults come, brings all to rest, writes the fence."""

from __future__ import annotations

import asyncio
import itertools
import random
import time
from collections import deque
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.history import entries as e
from tests.history import faults, objects, watchers
from tests.history.journal import Journal
from tests.history.readers import Reader
from tests.history.sessions import Session
from tests.history.watchers import Watcher
from tests.history.world import World
from tests.history.writers import REMEMBERED, Writer, plan

WRITERS, READERS, WATCHERS = 4, 3, 4
FENCE = "fence"
_REST_SECONDS = 30.0
_ASK_AGAIN_SECONDS = 0.2
_CLOSE_SECONDS = 0.05  # for the transports that were cut to close


@dataclass(frozen=True, slots=True)
class Plan:
    """How long, how fast, and what is broken how often. `seconds` counts from the first write to the last fault."""

    seconds: float
    seed: int = 1
    think_seconds: float = 0.01
    between_faults_seconds: tuple[float, float] = (0.5, 3.0)
    pauses_seconds: tuple[float, float] = (0.3, 4.0)
    """How long something is held: the longer ones reach time-outs inside the apiserver."""
    quiet_seconds: float = 0.0
    """After each round of all faults, so that it also shows whether all is well again."""


class Run:
    """One history in the making."""

    def __init__(self, world: World, plan: Plan, path: Path) -> None:
        self._world = world
        self._plan = plan
        self._recorder = e.Recorder(path)
        self._memory: deque[e.Version] = deque(maxlen=REMEMBERED)
        self._numbers = itertools.count(1)
        self._sessions: list[Session] = []
        self._working = asyncio.Event()
        self._random = random.Random(plan.seed)

    async def history(self) -> list[e.Entry]:
        journal = Journal(self._world.etcd.endpoints[0], self._recorder)
        watching = [self._watcher(number) for number in range(WATCHERS)]
        self._working.set()
        async with asyncio.TaskGroup() as group:
            standing = [group.create_task(work) for work in (journal.run(), *(watcher.run() for watcher in watching))]
            await self._namespace()
            workers = [group.create_task(work) for work in self._clients()]
            await self._break_things(journal)
            self._working.clear()
            await asyncio.wait(workers)
            await self._come_to_rest(journal, watching)
            for task in standing:
                task.cancel()
        for session in self._sessions:
            session.close()
        await asyncio.sleep(_CLOSE_SECONDS)
        self._recorder.close()
        return self._recorder.entries

    def _clients(self) -> list[Coroutine[Any, Any, None]]:
        writers = [self._writer(f"w{number}") for number in range(WRITERS)]
        readers = [self._reader(f"r{number}") for number in range(READERS)]
        steps = [writer.step for writer in writers] + [reader.step for reader in readers]
        return [self._keep_working(step) for step in steps]

    async def _keep_working(self, step: Callable[[], Coroutine[Any, Any, None]]) -> None:
        while self._working.is_set():
            await step()
            await asyncio.sleep(self._plan.think_seconds)

    async def _break_things(self, journal: Journal) -> None:
        """Every fault at least once, then again until the time is over."""
        scene = faults.Scene(self._world, journal, self._seed(), self._plan.pauses_seconds)
        deadline = self._now() + self._plan.seconds
        for fault in faults.one_round(self._random):
            await self._break(fault, scene)
        while self._now() < deadline:
            await asyncio.sleep(self._plan.quiet_seconds)
            for fault in faults.one_round(self._random):
                if self._now() < deadline:
                    await self._break(fault, scene)

    async def _break(self, fault: faults.Fault, scene: faults.Scene) -> None:
        await asyncio.sleep(self._random.uniform(*self._plan.between_faults_seconds))
        start = self._now()
        await fault(scene)
        self._recorder.add(e.Fault(faults.name(fault), start, self._now()))

    async def _come_to_rest(self, journal: Journal, watching: list[Watcher]) -> None:
        """A last write, last reads, and time for everyone to get there."""
        writer = self._writer("f0")
        data = {e.MARKER: "f0-1"}
        fence = await writer.write(plan("apply", FENCE, None, data, objects.ON))
        while fence.rv is None:
            await asyncio.sleep(_ASK_AGAIN_SECONDS)
            data = {e.MARKER: f"f0-{next(self._numbers)}-again"}
            fence = await writer.write(plan("apply", FENCE, None, data, objects.ON))
        await self._reader("r-last").list(e.CONSISTENT, paged=False)
        rv, deadline = fence.rv, self._now() + _REST_SECONDS
        while self._now() < deadline and (journal.rv < rv or any((w.rv or 0) < rv for w in watching)):
            await asyncio.sleep(0.05)
        assert journal.rv >= rv, "the journal has not come to the end: nothing can be checked"
        self._recorder.add(e.Fence(rv, self._now(), [watcher.name for watcher in watching]))

    def _writer(self, name: str) -> Writer:
        reader = self._reader(f"{name}-reader")
        return Writer(self._session(name), reader.read_back, self._seed(), self._memory, self._recorder)

    def _reader(self, name: str) -> Reader:
        return Reader(self._session(name), self._seed(), self._memory, self._recorder)

    def _watcher(self, number: int) -> Watcher:
        connect = watchers.opener(self._world.port, self._world.context)
        phase = objects.ON if number % 2 else ""
        numbers = self._numbers
        return Watcher(f"v{number}", phase, connect, self._now, self._seed(), self._recorder, lambda: next(numbers))

    async def _namespace(self) -> None:
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": objects.NAMESPACE}}
        made = await self._session("setup").ask("POST", "/api/v1/namespaces", body)
        assert made.code == 201, made

    def _session(self, name: str) -> Session:
        self._sessions.append(Session(name, self._world.port, self._world.context, self._now))
        return self._sessions[-1]

    def _seed(self) -> random.Random:
        return random.Random(self._random.random())

    @staticmethod
    def _now() -> float:
        return time.monotonic()


async def make(plan: Plan, path: Path) -> list[e.Entry]:
    """The history of one run; it is also in the file at `path`."""
    async with World() as world:
        return await Run(world, plan, path).history()

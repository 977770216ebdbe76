"""What goes wrong: one row a fault. Each breaks something, waits, and mends it again before it returns."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from tests.history.journal import Journal
from tests.history.world import WORKERS, World

# How many revisions behind the newest a compaction leaves: fewer than what a watcher that pauses may have missed
_KEPT_REVISIONS = 20


@dataclass(frozen=True, slots=True)
class Scene:
    world: World
    journal: Journal
    random: random.Random
    pauses_seconds: tuple[float, float]

    async def pause(self) -> None:
        await asyncio.sleep(self.random.uniform(*self.pauses_seconds))


async def kill_etcd(scene: Scene) -> None:
    member = scene.world.etcd.members[0]
    await asyncio.to_thread(member.kill)
    await asyncio.sleep(scene.random.uniform(0, 1))
    member.start()


async def pause_etcd(scene: Scene) -> None:
    member = scene.world.etcd.members[0]
    member.signal(signal.SIGSTOP)
    await scene.pause()
    member.signal(signal.SIGCONT)


async def kill_worker(scene: Scene) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(scene.random.choice(scene.world.worker_pids()), signal.SIGKILL)


async def kill_all_workers(scene: Scene) -> None:
    for pid in scene.world.worker_pids():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


async def pause_worker(scene: Scene) -> None:
    pid = scene.random.choice(scene.world.worker_pids())
    os.kill(pid, signal.SIGSTOP)
    await scene.pause()
    os.kill(pid, signal.SIGCONT)


async def kill_apiserver(scene: Scene) -> None:
    await asyncio.to_thread(scene.world.kill_apiserver)
    scene.world.start()
    await scene.world.wait_serving()


async def restart_apiserver(scene: Scene) -> None:
    """In peace: SIGTERM, so that requests are finished and watches ended."""
    await asyncio.to_thread(scene.world.stop)
    scene.world.start()
    await scene.world.wait_serving()


async def cut_etcd(scene: Scene) -> None:
    scene.world.proxy.cut()


async def part_from_etcd(scene: Scene) -> None:
    """Connections break, and new ones are refused for a while."""
    scene.world.proxy.refusing = True
    scene.world.proxy.cut()
    await scene.pause()
    scene.world.proxy.refusing = False


async def delay_answers(scene: Scene) -> None:
    """etcd does what it is asked, and the answers come late."""
    scene.world.proxy.hold_answers()
    await scene.pause()
    scene.world.proxy.release_answers()


async def delay_one_workers_answers(scene: Scene) -> None:
    """One worker falls behind while the others go on: what it says meanwhile must not be the past."""
    scene.world.proxy.hold_one(scene.random.randrange(WORKERS))
    await scene.pause()
    scene.world.proxy.release_answers()


async def lose_answers(scene: Scene) -> None:
    """etcd does what it is asked, and the answers never come."""
    scene.world.proxy.hold_answers()
    await asyncio.sleep(scene.random.uniform(0.1, 0.5))
    scene.world.proxy.cut()
    scene.world.proxy.release_answers()


async def compact_etcd(scene: Scene) -> None:
    """Old revisions are gone: lists of them and watches from them must say so."""
    await scene.journal.compact(max(1, scene.journal.rv - _KEPT_REVISIONS))


Fault = Callable[[Scene], Awaitable[None]]
FAULTS: tuple[Fault, ...] = (
    kill_etcd,
    pause_etcd,
    kill_worker,
    kill_all_workers,
    pause_worker,
    kill_apiserver,
    restart_apiserver,
    cut_etcd,
    part_from_etcd,
    delay_answers,
    delay_one_workers_answers,
    lose_answers,
    compact_etcd,
)


def name(fault: Fault) -> str:
    return getattr(fault, "__name__", "?").replace("_", " ")


def one_round(seed: random.Random) -> list[Fault]:
    """Every fault once, in some order."""
    return seed.sample(FAULTS, len(FAULTS))

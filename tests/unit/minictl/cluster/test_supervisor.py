"""What the supervisor starts, adopts, restarts and ends, on a machine whose processes are made up, in virtual time."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from minictl.cluster import host, state, supervisor
from minictl.cluster.plan import Check, ClusterPlan, Namespaces, Process
from minictl.cluster.processes import Identity
from minictl.cluster.state import Running, State
from minictl.cluster.supervisor import Supervisor

pytestmark = pytest.mark.looptime


class Machine:
    """Processes that live until the test kills them, and are ready unless the test says not."""

    def __init__(self) -> None:
        self.started: list[str] = []
        self.ended: list[int] = []
        self.entered: dict[str, int] = {}
        self.refuses: set[str] = set()
        self.unready: set[str] = set()
        self._living: dict[Identity, asyncio.Event] = {}
        self._how: dict[Identity, str] = {}
        self._next_pid = 100

    def running(self) -> Identity:
        """A process from before."""
        self._next_pid += 1
        identity = Identity(self._next_pid, 7)
        self._living[identity] = asyncio.Event()
        return identity

    def launch(self, process: Process, inside_pid: int) -> Identity:
        if process.name in self.refuses:
            raise host.LaunchFailed(f"{process.argv[0]}: no such file")
        self.started.append(process.name)
        self.entered[process.name] = inside_pid
        return self.running()

    def kill(self, identity: Identity | None, how: str = "by SIGKILL") -> None:
        assert identity is not None
        self._how[identity] = how
        self._living.pop(identity).set()

    def is_alive(self, identity: Identity) -> bool:
        return identity in self._living

    async def died(self, identity: Identity) -> str:
        if identity in self._living:
            await self._living[identity].wait()
        return self._how[identity]

    def end(self, identities: Sequence[Identity]) -> None:
        for identity in identities:
            self.ended.append(identity.pid)
            self.kill(identity)

    async def tidy(self, leader: Identity, token: str) -> None: ...

    async def check(self, check: Check, pids: dict[str, int]) -> str:
        return "not yet" if check.target in self.unready else ""


def process(name: str, *, after: tuple[str, ...] = (), inside: str = "", flag: str = "") -> Process:
    return Process(
        name=name,
        argv=(name, flag),
        env={},
        log=Path("/dev/null"),
        check=Check("http", name),
        after=after,
        namespaces=Namespaces(inside=inside),
    )


def cluster(*processes: Process) -> ClusterPlan:
    return ClusterPlan(Path("/srv/demo"), "token", processes)


@asynccontextmanager
async def supervised(planned: ClusterPlan, machine: Machine, known: State | None = None) -> AsyncIterator[State]:
    """The state that a supervisor of this plan keeps, while it works."""
    watched = Supervisor(planned, known or State(), machine, lambda _: None)
    work = asyncio.create_task(watched.run())
    try:
        yield watched.state
    finally:
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(600):  # virtual seconds
        while not holds():
            await asyncio.sleep(0.1)


def running(known: State, *names: str) -> bool:
    return all(known.processes[name].phase == state.RUNNING for name in names)


async def test_a_process_starts_once_those_it_needs_are_ready() -> None:
    machine = Machine()
    machine.unready.add("etcd")
    planned = cluster(process("etcd"), process("apiserver", after=("etcd",)), process("other"))
    async with supervised(planned, machine) as known:
        await until(lambda: running(known, "other"))
        assert machine.started == ["etcd", "other"]
        machine.unready.clear()
        await until(lambda: running(known, "apiserver"))
    assert machine.started == ["etcd", "other", "apiserver"]


async def test_a_killed_process_is_started_again_and_counted() -> None:
    machine = Machine()
    async with supervised(cluster(process("scheduler")), machine) as known:
        scheduler = known.processes["scheduler"]
        await until(lambda: running(known, "scheduler"))
        machine.kill(scheduler.identity)
        await until(lambda: len(machine.started) == 2 and running(known, "scheduler"))
    assert scheduler.restarts == 1
    assert scheduler.healthy


async def test_what_needed_a_killed_process_is_left_alone() -> None:
    machine = Machine()
    async with supervised(cluster(process("etcd"), process("apiserver", after=("etcd",))), machine) as known:
        await until(lambda: running(known, "apiserver"))
        machine.kill(known.processes["etcd"].identity)
        await until(lambda: len(machine.started) == 3 and running(known, "etcd"))
    assert machine.started == ["etcd", "apiserver", "etcd"]


async def test_one_that_dies_at_birth_is_started_later_and_later(looptime: object) -> None:
    machine = Machine()
    machine.unready.add("apiserver")
    starts: list[float] = []
    async with supervised(cluster(process("apiserver")), machine) as known:
        apiserver = known.processes["apiserver"]
        for count in range(1, 11):
            await until(lambda: len(machine.started) == count)  # noqa: B023 - called before the next turn
            starts.append(asyncio.get_running_loop().time())
            machine.kill(apiserver.identity, "with exit code 2")
            await until(lambda: apiserver.phase == state.BACKOFF)
        assert apiserver.message == "ended with exit code 2"
        assert apiserver.failures == 10
    waits = [later - earlier for earlier, later in itertools.pairwise(starts)]
    assert waits == sorted(waits)
    assert waits[0] < 1
    assert waits[-1] == pytest.approx(supervisor.LAST_BACKOFF_SECONDS, abs=1)


async def test_having_been_ready_ends_the_row_of_failures() -> None:
    machine = Machine()
    async with supervised(cluster(process("etcd")), machine) as known:
        for count in range(1, 6):
            await until(lambda: len(machine.started) == count and running(known, "etcd"))  # noqa: B023
            machine.kill(known.processes["etcd"].identity)
            await until(lambda: known.processes["etcd"].phase == state.BACKOFF)
            assert known.processes["etcd"].failures == 0


async def test_a_program_that_cannot_be_started_is_tried_again() -> None:
    machine = Machine()
    machine.refuses.add("etcd")
    async with supervised(cluster(process("etcd")), machine) as known:
        await until(lambda: known.processes["etcd"].failures == 3)
        assert known.processes["etcd"].message == "etcd: no such file"
        machine.refuses.clear()
        await until(lambda: running(known, "etcd"))
    assert known.processes["etcd"].restarts == 0


async def test_a_living_process_of_an_earlier_supervisor_is_adopted() -> None:
    machine, planned = Machine(), cluster(process("etcd"), process("apiserver", after=("etcd",)))
    alive = machine.running()
    before = State(
        processes={"etcd": Running(identity=alive, fingerprint=planned.processes[0].fingerprint, restarts=4)}
    )
    async with supervised(planned, machine, before) as known:
        await until(lambda: running(known, "etcd", "apiserver"))
        assert known.processes["etcd"].identity == alive
        assert known.processes["etcd"].restarts == 4
        assert machine.started == ["apiserver"]
        machine.kill(alive)
        await until(lambda: machine.started == ["apiserver", "etcd"])


async def test_one_that_died_while_nobody_watched_is_started_and_counted() -> None:
    machine, planned = Machine(), cluster(process("etcd"))
    gone = Running(identity=Identity(4242, 1), fingerprint=planned.processes[0].fingerprint, restarts=4)
    async with supervised(planned, machine, State(processes={"etcd": gone})) as known:
        await until(lambda: running(known, "etcd"))
    assert known.processes["etcd"].restarts == 5


async def test_one_that_runs_with_other_flags_is_ended_and_started_as_planned() -> None:
    machine = Machine()
    alive = machine.running()
    old = Running(identity=alive, fingerprint=process("apiserver", flag="--port=1").fingerprint)
    async with supervised(
        cluster(process("apiserver", flag="--port=2")), machine, State(processes={"apiserver": old})
    ) as known:
        await until(lambda: running(known, "apiserver"))
    assert machine.ended == [alive.pid]
    assert machine.started == ["apiserver"]


async def test_one_that_is_no_longer_planned_is_ended() -> None:
    machine = Machine()
    alive = machine.running()
    async with supervised(
        cluster(process("etcd")), machine, State(processes={"old": Running(identity=alive)})
    ) as known:
        await until(lambda: running(known, "etcd"))
    assert machine.ended == [alive.pid]
    assert "old" not in known.processes


async def test_a_process_inside_a_node_waits_for_the_node_and_enters_its_present_one() -> None:
    machine = Machine()
    planned = cluster(process("node-1"), process("runtime", inside="node-1", after=("node-1",)))
    async with supervised(planned, machine) as known:
        await until(lambda: running(known, "runtime"))
        machine.unready.add("node-1")
        machine.kill(known.processes["node-1"].identity)
        machine.kill(known.processes["runtime"].identity)  # as the kernel does
        await until(lambda: machine.started.count("node-1") == 2)
        await asyncio.sleep(60)
        assert machine.started.count("runtime") == 1
        machine.unready.clear()
        await until(lambda: running(known, "node-1", "runtime"))
        node = known.processes["node-1"].identity
        assert node is not None
        assert machine.entered["runtime"] == node.pid


async def test_one_failed_check_is_a_hiccup_and_more_are_told() -> None:
    machine = Machine()
    async with supervised(cluster(process("apiserver")), machine) as known:
        apiserver = known.processes["apiserver"]
        await until(lambda: running(known, "apiserver"))
        machine.unready.add("apiserver")
        await until(lambda: not apiserver.healthy)
        assert apiserver.message == "not yet"
        machine.unready.clear()
        await until(lambda: apiserver.healthy)
    assert apiserver.restarts == 0
    assert machine.started == ["apiserver"]


async def test_a_state_that_cannot_be_saved_stops_nothing() -> None:
    def full(_: State) -> None:
        raise OSError(28, "No space left on device")

    machine = Machine()
    work = asyncio.create_task(Supervisor(cluster(process("etcd")), State(), machine, full).run())
    await until(lambda: machine.started == ["etcd"])
    work.cancel()
    assert await asyncio.gather(work, return_exceptions=True)

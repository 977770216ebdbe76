"""Real processes of this machine: told apart by pid and start time, started in the background, found by their mark."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from minictl.cluster import host, logs, plan, processes
from minictl.cluster.plan import Check, Process
from minictl.cluster.processes import Identity

TOKEN = "a-token-of-this-test"


def planned(log: Path, *argv: str) -> Process:
    env = {plan.TOKEN_VARIABLE: TOKEN, "PATH": os.defpath}
    return Process("probe", argv, env, log, Check("file", str(log)))


@pytest.fixture
def sleeper(tmp_path: Path) -> Iterator[Identity]:
    identity = host.Host().launch(planned(tmp_path / "log", "/bin/sleep", "60"), 0)
    yield identity
    processes.end([identity], grace_seconds=0)


def test_the_name_of_a_program_cannot_confuse_its_stat_line() -> None:
    line = "77 (evil) R (1) 9 9 9) S 5 77 77 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 123456 1 1 1"
    assert processes.parse_stat(line) == processes.Stat("S", 5, 77, 123456)


def test_a_started_process_leads_a_session_of_its_own_and_carries_the_mark(sleeper: Identity) -> None:
    assert os.getsid(sleeper.pid) == sleeper.pid
    assert sleeper in processes.marked(plan.TOKEN_VARIABLE, TOKEN)
    assert processes.is_alive(sleeper)


def test_the_same_pid_with_another_start_time_is_another_process(sleeper: Identity) -> None:
    other = Identity(sleeper.pid, sleeper.start + 1)
    assert not processes.is_alive(other)
    assert not processes.send(other, signal.SIGKILL)
    assert processes.is_alive(sleeper)


def test_an_ended_process_is_dead_also_before_it_is_buried() -> None:
    child = subprocess.Popen(["/bin/sleep", "60"])
    identity = processes.identify(child.pid)
    assert identity is not None
    assert processes.end([identity], grace_seconds=5) == []
    assert not processes.is_alive(identity)  # a zombie: nobody waited for it yet
    child.wait()


def test_one_that_ignores_sigterm_is_killed(tmp_path: Path) -> None:
    script = (
        "import signal, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True); time.sleep(60)"
    )
    child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
    assert child.stdout is not None
    assert child.stdout.readline()
    identity = processes.identify(child.pid)
    assert identity is not None
    assert processes.end([identity], grace_seconds=0.1) == []
    assert child.wait() == -signal.SIGKILL
    child.stdout.close()


def test_what_a_process_says_goes_to_its_log(tmp_path: Path) -> None:
    log = tmp_path / "log"
    identity = host.Host().launch(planned(log, "/bin/sh", "-c", "echo out; echo err >&2"), 0)
    assert processes.wait(identity, 5)
    assert logs.tail(log, 10) == ["out", "err"]


def test_a_program_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(host.LaunchFailed, match=r"/no/such/program: .*No such file"):
        host.Host().launch(planned(tmp_path / "log", "/no/such/program"), 0)


def test_what_a_dead_leader_left_in_its_group_is_found_and_nothing_else(tmp_path: Path, sleeper: Identity) -> None:
    script = "sleep 61 & echo started; exit 0"
    log = tmp_path / "log2"
    leader = host.Host().launch(planned(log, "/bin/sh", "-c", script), 0)
    assert processes.wait(leader, 5)
    left = processes.group_of(leader.pid, plan.TOKEN_VARIABLE, TOKEN)
    assert len(left) == 1
    assert sleeper not in left
    assert processes.end(left, grace_seconds=5) == []


async def test_how_an_adopted_process_ended_is_not_known(sleeper: Identity) -> None:
    processes.send(sleeper, signal.SIGKILL)
    assert "not known" in await host.Host().died(sleeper)

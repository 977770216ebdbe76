"""The supervisor's record: resumed from when it fits, and harmless when it does not."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from minictl.cluster import processes, state
from minictl.cluster.processes import Identity
from minictl.cluster.state import Running, State


def recorded(folder: Path) -> State:
    """A record of this very process, which is alive."""
    own = processes.identify(os.getpid())
    known = State(own, "digest", {"etcd": Running(state.RUNNING, own, "print", True, "", 3)})
    state.save(folder, known)
    return known


def test_a_record_comes_back_as_it_was_saved(tmp_path: Path) -> None:
    known = recorded(tmp_path)
    read = state.load(tmp_path)
    assert read == known
    assert read.supervisor_is_alive
    assert read.processes["etcd"].is_alive


def test_what_ran_before_the_machine_was_booted_is_dropped_but_counted(tmp_path: Path) -> None:
    recorded(tmp_path)
    path = state.file_of(tmp_path)
    path.write_text(json.dumps({**json.loads(path.read_text()), "boot": "another"}))
    read = state.load(tmp_path)
    assert not read.supervisor_is_alive
    assert not read.processes["etcd"].is_alive
    assert read.processes["etcd"].restarts == 3


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"processes": {"etcd": 1}}'])
def test_a_damaged_record_is_no_record(tmp_path: Path, content: str) -> None:
    state.file_of(tmp_path).write_text(content)
    assert state.load(tmp_path) == State()


def test_another_process_with_the_recorded_pid_is_not_ours() -> None:
    own = processes.identify(os.getpid())
    assert own is not None
    assert not Running(identity=Identity(own.pid, own.start + 1)).is_alive

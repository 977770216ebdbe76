"""What `exec` can do where no process runs: the few commands whose outcome follows from their words. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kubelet.hollow import behaviour


class Result(NamedTuple):
    exit_code: int
    stdout: bytes
    stderr: bytes


class CannotRun(Exception):
    """The command is not one of those that can be answered without running it."""


def run(command: Sequence[str]) -> Result:
    """`echo`, `true`, `false`, `exit N`, `sleep 0`, and `sh -c` of these. Raises CannotRun."""
    done = behaviour.of(command, "", has_stdin=True)
    if not done.understood or done.runs_seconds is None or done.runs_seconds > 0:
        program = command[0] if command else ""
        raise CannotRun(f'hollow containers run no processes: "{program}" cannot be executed')
    return Result(done.exit_code, _text(done, "stdout"), _text(done, "stderr"))


def _text(done: behaviour.Behaviour, stream: str) -> bytes:
    return "".join(f"{line.text}\n" for line in done.lines if line.stream == stream).encode()

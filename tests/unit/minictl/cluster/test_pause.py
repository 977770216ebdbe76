from __future__ import annotations

import os
import platform
import signal
import subprocess
import time
from pathlib import Path

import pytest

from minictl.cluster import pause


@pytest.mark.parametrize(("machine", "number"), [("x86_64", 62), ("aarch64", 183)])
def test_the_program_is_a_small_static_elf_for_its_machine(machine: str, number: int) -> None:
    program = pause.program(machine)
    assert len(program) < 1024
    assert program[:4] == b"\x7fELF"
    assert int.from_bytes(program[18:20], "little") == number


def test_an_unknown_machine_is_refused() -> None:
    with pytest.raises(pause.UnknownMachine, match="riscv64"):
        pause.program("riscv64")


@pytest.mark.skipif(platform.machine() != "x86_64" or os.name != "posix", reason="runs the x86_64 program")
def test_it_ignores_sigchld_and_ends_cleanly_on_sigterm(tmp_path: Path) -> None:
    path = tmp_path / "pause"
    path.write_bytes(pause.program("x86_64"))
    path.chmod(0o755)
    with subprocess.Popen([path]) as process:
        assert ignores(process.pid, signal.SIGCHLD)
        process.send_signal(signal.SIGCHLD)
        process.terminate()
        assert process.wait(10) == 0


def ignores(pid: int, number: signal.Signals) -> bool:
    """Whether the process has come so far as to ignore the signal; it needs a few microseconds after its start."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        status = Path(f"/proc/{pid}/status").read_text()
        mask = next(line for line in status.splitlines() if line.startswith("SigIgn:")).split()[1]
        if int(mask, 16) >> (number - 1) & 1:
            return True
        time.sleep(0.01)
    return False

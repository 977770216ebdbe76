"""A local cluster for tests: the real `minictl` and `kubectl`, as processes, on a folder of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from minictl.cluster import settings as settings_module
from minictl.cluster.settings import Settings
from tests.cluster import traces

COMMAND_SECONDS = 240.0
POLL_SECONDS = 0.2


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str


@dataclass
class LocalCluster:
    """One folder, with or without a cluster in it."""

    folder: Path
    settings: Settings | None = None  # once it was up; kept when it is gone

    @property
    def kubeconfig(self) -> Path:
        return self.folder / "kubeconfig"

    def minictl(self, *words: str, check: bool = True) -> Ran:
        """A command of the local cluster: `--dir` is added."""
        return self._run([sys.executable, "-m", "minictl", *words, "--dir", str(self.folder)], check)

    def up(self, *words: str, check: bool = True) -> Ran:
        ran = self.minictl("up", *words, check=False)
        if (self.folder / "cluster.json").exists():
            self.settings = settings_module.load(self.folder)
        assert not check or ran.code == 0, ran.err
        return ran

    def kubectl(self, *words: str, check: bool = True) -> Ran:
        return self._run(
            [str(Path(sys.executable).with_name("kubectl")), "--kubeconfig", str(self.kubeconfig), *words], check
        )

    def client(self, *words: str, check: bool = True) -> Ran:
        """A command of minictl that speaks to the apiserver."""
        return self._run([sys.executable, "-m", "minictl", "--kubeconfig", str(self.kubeconfig), *words], check)

    def get(self, *words: str) -> Any:
        return json.loads(self.kubectl("get", *words, "-o", "json").out)

    def processes(self) -> dict[str, Any]:
        """The rows of `status -o json` by name."""
        rows = json.loads(self.minictl("status", "-o", "json", check=False).out)["processes"]
        return {row["name"]: row for row in rows}

    def wait_until_healthy(self, seconds: float = 60.0) -> None:
        eventually(
            lambda: self.minictl("status", check=False).code == 0,
            seconds,
            lambda: self.minictl("status", check=False).out,
        )

    def traces(self) -> list[str]:
        assert self.settings is not None
        return traces.of_cluster(self.settings.name, self.settings.short, self.settings.token, self.folder)

    def _run(self, command: list[str], check: bool) -> Ran:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            timeout=COMMAND_SECONDS,
            env={**os.environ, "PYTHONWARNINGS": "default"},
        )
        assert not check or done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        return Ran(done.returncode, done.stdout, done.stderr)


def eventually(holds: Callable[[], bool], seconds: float, told: Callable[[], str] = str) -> None:
    """Wait for something that has no event to wait for; `told` says what was seen instead."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"not within {seconds:.0f} s; {told()}"
        time.sleep(POLL_SECONDS)

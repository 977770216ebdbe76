"""L15: keep containers' logs from filling the disk: a file beyond 10 MiB is renamed and the runtime opens a new one.

Five files a container are kept, as upstream does by default. Nothing is lost: the runtime goes on writing to the
renamed file until it has opened the new one. `kubectl logs` shows the newest file only.
Source: https://kubernetes.io/docs/concepts/cluster-administration/logging/#log-rotation
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from pathlib import Path

from apimachinery.clock import Clock
from kubelet import errors
from kubelet.cri import Runtime

log = logging.getLogger(__name__)
MAX_BYTES = 10 * 1024 * 1024
MAX_FILES = 5  # with the one being written
PERIOD_SECONDS = 10.0


class LogRotation:
    """`logs` gives the log file of every running container, by container id."""

    def __init__(self, runtime: Runtime, clock: Clock, logs: Callable[[], Mapping[str, Path]]) -> None:
        self._runtime = runtime
        self._clock = clock
        self._logs = logs

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            await self._clock.sleep(PERIOD_SECONDS)
            for container_id, path in dict(self._logs()).items():
                try:
                    if await asyncio.to_thread(_is_large, path):
                        await self._rotate(container_id, path)
                except (OSError, errors.NodeError) as error:
                    log.warning("log %s not rotated: %s", path, error, extra={"step": "L15"})

    async def _rotate(self, container_id: str, path: Path) -> None:
        rotated = path.with_name(f"{path.name}.{self._clock.now():%Y%m%d-%H%M%S}")
        await asyncio.to_thread(path.rename, rotated)
        try:
            await self._runtime.reopen_log(container_id)
        except errors.NodeError:
            await asyncio.to_thread(rotated.rename, path)  # the runtime still writes there
            raise
        await asyncio.to_thread(remove_old, path)


def remove_old(path: Path) -> None:
    """All but the newest rotated files; their names sort by time."""
    for old in sorted(path.parent.glob(f"{path.name}.*"))[: -(MAX_FILES - 1)]:
        old.unlink(missing_ok=True)


def remove_all(path: Path) -> None:
    """The log of a container that has been removed."""
    for old in path.parent.glob(f"{path.name}*"):
        old.unlink(missing_ok=True)


def _is_large(path: Path) -> bool:
    return path.exists() and path.stat().st_size > MAX_BYTES

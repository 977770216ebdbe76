"""The log files of a cluster, DIR/logs/NAME.log: bounded, the older part beside it as NAME.log.1.

Processes write them directly, opened for appending, so a file that grows too large can be emptied under their hands.
Does not guarantee: a few lines written in the instant between copy and truncation may be lost.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

ROTATE_BYTES = 4 << 20  # at a start: what the last run said is still there, in one of the two files
LIMIT_BYTES = 64 << 20  # while running: two files a process, so that a year's chatter does not fill a disk
TAIL_BYTES = 64 << 10


def rotate(path: Path) -> None:
    """Before a start: begin a new file if the present one is large."""
    if path.exists() and path.stat().st_size > ROTATE_BYTES:
        os.replace(path, _older(path))


def bound(path: Path) -> None:
    """While its process runs: keep a copy, empty the file."""
    if path.exists() and path.stat().st_size > LIMIT_BYTES:
        shutil.copyfile(path, _older(path))
        os.truncate(path, 0)


def tail(path: Path, lines: int) -> list[str]:
    """The last lines, for a person who wonders why it failed."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - TAIL_BYTES))
            return file.read().decode(errors="replace").splitlines()[-lines:]
    except OSError:
        return []


def _older(path: Path) -> Path:
    return path.with_name(path.name + ".1")

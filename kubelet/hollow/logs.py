"""Container logs on disk in CRI's format: `2026-01-01T00:00:00.000000000Z stdout F text`.

No file stays open: a thousand quiet containers hold no descriptor, and rotation needs no reopening.
"""

from __future__ import annotations

import logging
from pathlib import Path

from apimachinery.clock import Clock

log = logging.getLogger(__name__)


class LogFiles:
    """Writes lines; a log that cannot be written is said once a line and holds nothing up."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def write(self, path: str, stream: str, text: str) -> None:
        stamp = self._clock.now().strftime("%Y-%m-%dT%H:%M:%S.%f000Z")
        try:
            file = Path(path)
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("a", encoding="utf-8") as out:
                out.write(f"{stamp} {stream} F {text}\n")
        except OSError as error:
            log.warning("the log %s cannot be written: %s", path, error, extra={"step": "L13"})

    def reopen(self, path: str) -> None:
        """After a rotation: the new file exists, empty."""
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).touch()

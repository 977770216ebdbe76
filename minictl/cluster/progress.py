"""What `up` and `down` say while they work: one line a step with the seconds so far; on a terminal also what is waited
for.
"""

from __future__ import annotations

import time
from typing import TextIO

CLEAR_LINE = "\r\x1b[2K"


class Progress:
    """Lines on a stream. `waiting` replaces itself on a terminal and says nothing elsewhere."""

    def __init__(self, stream: TextIO, *, quiet: bool = False) -> None:
        self._stream = stream
        self._quiet = quiet
        self._is_terminal = stream.isatty()
        self._started = time.monotonic()
        self._shown = ""

    def step(self, text: str) -> None:
        """Something is done, or begins to take long."""
        if self._quiet:
            return
        self._clear()
        self._stream.write(f"{time.monotonic() - self._started:6.1f}s  {text}\n")
        self._stream.flush()

    def waiting(self, text: str) -> None:
        if self._quiet or not self._is_terminal or text == self._shown:
            return
        self._clear()
        self._stream.write(f"         {text} …"[:100])
        self._stream.flush()
        self._shown = text

    def _clear(self) -> None:
        if self._shown:
            self._stream.write(CLEAR_LINE)
            self._shown = ""

"""The user's terminal: raw mode, its size, and standard input read without blocking the loop."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import sys
import termios
import threading
import tty
from collections.abc import AsyncIterator, Callable, Iterator

BLOCK = 32 * 1024
# Blocks read ahead of the network: enough to keep it busy, little enough to push back on a pipe
AHEAD = 4


@contextlib.contextmanager
def raw(descriptor: int) -> Iterator[None]:
    """The terminal in raw mode: keys go to the container, Ctrl-C too. Restored afterwards, whatever happens."""
    before = termios.tcgetattr(descriptor)
    tty.setraw(descriptor)
    try:
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


@contextlib.contextmanager
def on_resize(call: Callable[[], None]) -> Iterator[None]:
    """Call whenever the terminal's size changes."""
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGWINCH, call)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGWINCH)


def size() -> tuple[int, int]:
    """Columns and lines."""
    found = shutil.get_terminal_size()
    return found.columns, found.lines


async def blocks(descriptor: int | None = None) -> AsyncIterator[bytes]:
    """What standard input holds, until its end.

    A daemon thread reads: files cannot be polled, and a read that waits must not keep the process from ending.
    """
    source = sys.stdin.fileno() if descriptor is None else descriptor
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[bytes] = asyncio.Queue()
    room = threading.Semaphore(AHEAD)

    def read() -> None:
        while True:
            room.acquire()
            try:
                data = os.read(source, BLOCK)
            except OSError:
                data = b""
            with contextlib.suppress(RuntimeError):  # the loop has ended: nobody reads on
                loop.call_soon_threadsafe(queue.put_nowait, data)
            if not data:
                return

    threading.Thread(target=read, name="stdin", daemon=True).start()
    while data := await queue.get():
        room.release()
        yield data

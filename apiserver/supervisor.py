"""The parent process: takes the port, forks the workers, forks again when one dies, passes the end on.

Guarantees: a worker that dies is replaced at once (slower and slower if it keeps dying at birth); a SIGTERM reaches
every worker, and those that have not stopped in time are killed; workers end when the parent is gone, because each
holds the reading end of a pipe that only the parent can write to.
It loads the worker's code once and forks it (nothing runs in it that a fork could break: no thread, no loop, no
connection), so that N workers cost the imports once, share their pages, and are back at once after a crash.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import gc
import os
import select
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from types import FrameType
from typing import NoReturn

from apiserver.config import Config

# What a worker exits with when trying again cannot help (sysexits.h: EX_CONFIG)
EXIT_CONFIG = 78
_HANDLED = (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD)
# Longer than a worker's own graceful shutdown takes
_STOP_SECONDS = 20.0
# A worker that lived this long was well; one that did not is restarted with a growing delay
_HEALTHY_SECONDS = 10.0
_FIRST_DELAY_SECONDS = 0.1
_LAST_DELAY_SECONDS = 5.0
# How long the workers of a killed predecessor may take to let go of the port, on a busy machine
PATIENCE_SECONDS = 3.0
_PROBE_SECONDS = 0.05


class PortTaken(Exception):
    """The port cannot be had; the message says which and why."""


Serve = Callable[[Config, int, int, int, int], int]
"""A worker's life: settings, its number, the port, the pipe that ends with us, the file of the metrics → exit code."""


class Worker:
    """One place among the workers, and the process that holds it now."""

    def __init__(self, index: int) -> None:
        self.index = index
        self.pid: int | None = None
        self.start_at = 0.0
        self._started_at = 0.0
        self._delay_seconds = 0.0

    def start(self, live: Callable[[], int], not_for_it: Sequence[int]) -> None:
        """Fork; the child closes the descriptors that are not for it, and lives."""
        self._started_at = time.monotonic()
        # A signal meant for the child must not be taken by the handlers that it still has from us
        signal.pthread_sigmask(signal.SIG_BLOCK, _HANDLED)
        self.pid = os.fork()
        if self.pid == 0:
            _become_worker(live, not_for_it)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _HANDLED)

    def bury(self) -> None:
        """Forgets the dead process and decides when the next is due."""
        now = time.monotonic()
        lived_well = now - self._started_at > _HEALTHY_SECONDS
        self._delay_seconds = _FIRST_DELAY_SECONDS if lived_well else max(_FIRST_DELAY_SECONDS, self._delay_seconds * 2)
        self._delay_seconds = min(self._delay_seconds, _LAST_DELAY_SECONDS)
        self.start_at = now + self._delay_seconds
        self.pid = None


class Supervisor:
    """Runs the workers of one apiserver."""

    def __init__(self, config: Config, load: Callable[[], Serve]) -> None:
        """`load` imports the worker's code; only then is it paid for, after flags and port were found good."""
        self._config = config
        self._load = load
        self._workers = [Worker(index) for index in range(config.workers)]
        self._stopping = False

    def run(self) -> int:
        """Runs until told to stop, or until a worker says that it never can run. Returns the exit code."""
        with ExitStack() as stack:
            port, sockets = self._config.secure_port, list[socket.socket]()
            for address in self._config.bind_address:
                sockets.append(stack.enter_context(reserve(address, port)))
                port = sockets[-1].getsockname()[1]
            alive_read, alive_write = os.pipe()
            stack.callback(os.close, alive_write)
            shared = stack.enter_context(tempfile.TemporaryFile())  # the workers' metrics (apiserver.metrics)
            woken = self._listen_for_signals(stack)
            sockets.append(woken)
            urls = ", ".join(f"https://{address}:{port}" for address in self._config.bind_address)
            _say(f"serving {urls} with {self._config.workers} worker(s)")
            serve = self._load()
            gc.freeze()  # what is loaded stays: the workers' collectors must not touch, and so copy, its pages

            def start_due() -> None:
                self._start_due(
                    lambda index: serve(self._config, index, port, alive_read, shared.fileno()),
                    [alive_write, *(sock.fileno() for sock in sockets)],
                )

            code = 0
            while not self._stopping and not code:
                start_due()
                select.select([woken], [], [], self._seconds_until_due())
                _drain(woken)
                code = self._reap()
            self._stop_workers()
            return code

    def _listen_for_signals(self, stack: ExitStack) -> socket.socket:
        """A socket that becomes readable at every signal, so that `select` cannot miss one."""
        woken, waker = socket.socketpair()
        stack.enter_context(woken)
        stack.enter_context(waker)
        woken.setblocking(False)
        waker.setblocking(False)
        signal.set_wakeup_fd(waker.fileno(), warn_on_full_buffer=False)
        stack.callback(signal.set_wakeup_fd, -1)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_stop)
        signal.signal(signal.SIGCHLD, _on_child)
        return woken

    def _on_stop(self, number: int, frame: FrameType | None) -> None:
        self._stopping = True

    def _start_due(self, live: Callable[[int], int], not_for_it: Sequence[int]) -> None:
        now = time.monotonic()
        for worker in self._workers:
            if worker.pid is None and worker.start_at <= now:
                worker.start(functools.partial(live, worker.index), not_for_it)

    def _seconds_until_due(self) -> float | None:
        due = [worker.start_at for worker in self._workers if worker.pid is None]
        return max(0.0, min(due) - time.monotonic()) if due else None

    def _reap(self) -> int:
        """Buries the dead. Returns an exit code if one of them says that no other could live."""
        for worker in self._workers:
            code = _exit_code(worker.pid, os.WNOHANG) if worker.pid is not None else None
            if code is None:
                continue
            if code == EXIT_CONFIG:
                return 1
            if not self._stopping:
                _say(f"worker {worker.index} (pid {worker.pid}) ended with {_ending(code)}; starting another")
            worker.bury()
        return 0

    def _stop_workers(self) -> None:
        running = {worker.pid for worker in self._workers if worker.pid is not None}
        for pid in running:
            _signal(pid, signal.SIGTERM)
        deadline = time.monotonic() + _STOP_SECONDS + self._config.shutdown_delay_duration
        while running and time.monotonic() < deadline:
            running = {pid for pid in running if _exit_code(pid, os.WNOHANG) is None}
            time.sleep(0.01)
        for pid in running:
            _signal(pid, signal.SIGKILL)
            _exit_code(pid, 0)


def reserve(address: str, port: int, patience_seconds: float = PATIENCE_SECONDS) -> socket.socket:
    """Binds the port for all workers without listening, so that it stays ours. Raises PortTaken.

    Every worker binds it again with SO_REUSEPORT. That option would also let a second apiserver of the same user in,
    unseen, so first a listener without it proves that the port is free. Workers of a supervisor that was killed listen
    until they have noticed: they are waited for.
    """
    until = time.monotonic() + patience_seconds
    while True:
        try:
            if port:
                _prove_free(address, port)
            return bind_shared(address, port)
        except OSError as error:
            if error.errno != errno.EADDRINUSE or time.monotonic() >= until:
                raise PortTaken(f"cannot listen on {address}:{port}: {error.strerror}") from error
        time.sleep(_PROBE_SECONDS)


def _prove_free(address: str, port: int) -> None:
    with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((address, port))
        probe.listen(1)


def bind_shared(address: str, port: int) -> socket.socket:
    """A bound socket that shares its port with its siblings."""
    sock = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    try:
        sock.bind((address, port))
    except OSError:
        sock.close()
        raise
    return sock


def _become_worker(live: Callable[[], int], not_for_it: Sequence[int]) -> NoReturn:
    """In the child: drop what was the parent's, live, and never return into the parent's code."""
    code = 1
    try:
        signal.set_wakeup_fd(-1)
        for number in _HANDLED:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _HANDLED)
        for descriptor in not_for_it:
            os.close(descriptor)
        code = live()
    except BaseException:  # noqa: BLE001  # the outermost place of this process: as the interpreter would end it
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stderr.flush()
        os._exit(code)


def _exit_code(pid: int, options: int) -> int | None:
    """The child's exit code, negative for a signal; None while it runs."""
    try:
        found, status = os.waitpid(pid, options)
    except ChildProcessError:  # buried already
        return 0
    return os.waitstatus_to_exitcode(status) if found else None


def _signal(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def _on_child(number: int, frame: FrameType | None) -> None:
    """Only its arrival matters: it makes the wake-up socket readable."""


def _drain(woken: socket.socket) -> None:
    try:
        while woken.recv(4096):
            pass
    except BlockingIOError:
        pass


def _ending(code: int) -> str:
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"


def _say(text: str) -> None:
    sys.stderr.write(f"mini-apiserver: {text}\n")
    sys.stderr.flush()

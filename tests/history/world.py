"""What is put to the test: an etcd with fsync, a proxy before it, an apiserver of several workers. All can be hurt."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import ssl
import time

import httpx

from tests import harness
from tests import proxy as proxies

WORKERS = 3
_START_SECONDS = 30.0


class World(harness.Server):
    """As `harness.Server`, but asynchronous, and with its connections to etcd through `proxy`."""

    def __init__(self) -> None:
        # Real fsync: a member that is killed must not lose what it acknowledged
        super().__init__(workers=WORKERS, etcd_flags=["--unsafe-no-fsync=false"])
        self.proxy = proxies.Proxy(self.etcd.members[0].port)
        self.context = ssl.create_default_context(cafile=str(self.pki.ca))

    async def __aenter__(self) -> World:
        await self.proxy.__aenter__()
        try:
            self.etcd.__enter__()
            self.start()
            await self.wait_serving()
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def __aexit__(self, *exc: object) -> None:
        self.release()
        await asyncio.to_thread(self.__exit__)
        await self.proxy.__aexit__()

    def command(self) -> list[str]:
        return [*super().command(), f"--etcd-servers={self.proxy.url}"]

    async def wait_serving(self) -> None:
        """Until some worker says that it is ready."""
        deadline = time.monotonic() + _START_SECONDS
        async with httpx.AsyncClient(base_url=self.url, verify=self.context, timeout=5, trust_env=False) as client:
            while time.monotonic() < deadline:
                with contextlib.suppress(httpx.TransportError):
                    if (await client.get("/readyz")).status_code == 200:
                        return
                await asyncio.sleep(0.05)
        raise AssertionError(f"the apiserver is not ready:\n{self.log.read_text()[-4000:]}")

    def kill_apiserver(self) -> None:
        """The supervisor, by kill -9; its workers find out by themselves."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()
        self._process = None

    def release(self) -> None:
        """Lets go on whatever is held."""
        self.proxy.refusing = False
        self.proxy.release_answers()
        with contextlib.suppress(ProcessLookupError, AssertionError):
            self.etcd.members[0].signal(signal.SIGCONT)
        if self._process is not None:
            for pid in self.worker_pids():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)

"""Clients that watch, and take up where they stood whatever ended the last stream."""

from __future__ import annotations

import asyncio
import random
import ssl
from collections.abc import Callable
from typing import Any

from tests.history import entries as e
from tests.history import objects
from tests.history.connection import Answer, Broken, Connection

# A stream ends by itself after so long, so that there are many
STREAM_SECONDS = (2, 12)
# How often a watcher forgets where it stood and begins with the state
FORGETS = 0.15
_RETRY_SECONDS = 0.1
_OPEN_SECONDS = 40.0


class Watcher:
    """One client. It stands at `rv`: everything up to there has been told."""

    def __init__(
        self,
        name: str,
        phase: str,
        open_connection: Callable[[], Any],
        now: Callable[[], float],
        seed: random.Random,
        recorder: e.Recorder,
        streams: Callable[[], int],
    ) -> None:
        self.name = name
        self.rv: int | None = None
        self._phase = phase
        self._open = open_connection
        self._now = now
        self._random = seed
        self._recorder = recorder
        self._streams = streams
        self._stream = 0

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            try:
                why = await self._one_stream()
            except Broken as broken:
                why = str(broken)
            if self._stream:
                self._recorder.add(e.Closed(self._stream, self._now(), why))
                self._stream = 0
            await asyncio.sleep(_RETRY_SECONDS)

    async def _one_stream(self) -> str:
        if self._random.random() < FORGETS:
            self.rv = None
        connection: Connection = await self._open()
        try:
            start = self._now()
            async for answer in connection.lines(self._path()):
                if answer.code != 200:
                    return f"{answer.code} {answer.body.get('reason')}"
                if not self._stream:
                    self._stream = self._streams()
                    stream = e.Stream(self._stream, self.name, start, self.rv, self._phase, connection.number)
                    self._recorder.add(stream)
                if answer.body["type"] == "ERROR":
                    self.rv = None  # too old, or worse: begin anew
                    return f"ERROR {answer.body['object'].get('reason')}"
                self._take(answer)
            return "end"
        finally:
            connection.close()

    def _take(self, answer: Answer) -> None:
        kind, obj = answer.body["type"], answer.body["object"]
        rv = int(obj["metadata"]["resourceVersion"])
        version = e.Version("", rv, "", {}) if kind == "BOOKMARK" else objects.version(obj)
        told = self.rv is not None or kind == "BOOKMARK"
        if told:  # before, the state is being told: nothing to take up from
            self.rv = rv
        self._recorder.add(e.Event(self._stream, self._now(), kind, version))

    def _path(self) -> str:
        path = (
            f"{objects.PATH}?watch=true&allowWatchBookmarks=true&timeoutSeconds={self._random.randint(*STREAM_SECONDS)}"
        )
        if self._phase:
            path += f"&labelSelector={objects.PHASE}%3D{self._phase}"
        if self.rv is None:
            return path + "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
        return path + f"&resourceVersion={self.rv}"


def opener(port: int, context: ssl.SSLContext) -> Callable[[], Any]:
    return lambda: Connection.open(port, context)

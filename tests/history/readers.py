"""Clients that read: gets and lists in every mode, whole and in pages."""

from __future__ import annotations

import random
from collections import deque
from dataclasses import replace

from tests.history import entries as e
from tests.history import objects
from tests.history.sessions import Result, Session
from tests.history.writers import NAMES

PAGE = 7  # a list of all names takes four


class Reader:
    def __init__(self, session: Session, seed: random.Random, memory: deque[e.Version], recorder: e.Recorder) -> None:
        self._session = session
        self._random = seed
        self._memory = memory
        self._recorder = recorder

    async def step(self) -> None:
        if self._random.random() < 0.6:
            await self.get(self._random.choice(NAMES), self._random.choice((e.CONSISTENT, e.CACHED, e.NOT_OLDER)))
        else:
            mode = self._random.choice((e.CONSISTENT, e.CACHED, e.NOT_OLDER, e.EXACT))
            await self.list(mode, paged=self._random.random() < 0.5)

    async def read_back(self, name: str) -> None:
        """What has just been written, or is newer."""
        await self.get(name, e.CONSISTENT)

    async def get(self, name: str, mode: str) -> e.Get:
        mode, rv = self._revision(mode)
        query = {e.CONSISTENT: "", e.CACHED: "?resourceVersion=0"}.get(mode, f"?resourceVersion={rv}")
        result = await self._session.ask("GET", f"{objects.PATH}/{name}{query}")
        absent = result.code == 404
        got = e.Get(
            *(self._session.name, name, mode, result.start, result.end, e.OK if absent else result.outcome),
            *(result.code, rv, objects.version(result.body) if result.outcome == e.OK else None, result.connection),
        )
        self._recorder.add(got)
        return got

    async def list(self, mode: str, *, paged: bool) -> e.List:
        """All pages; a token that has expired, or any other failure, makes it an incomplete one, which is refused."""
        mode, rv = self._revision(mode)
        query = _QUERIES[mode].format(rv) + (f"&limit={PAGE}" if paged else "")
        result = await self._session.ask("GET", f"{objects.PATH}?{query}")
        found = self._page(result, mode, rv)
        while token := result.body.get("metadata", {}).get("continue"):
            result = await self._session.ask("GET", f"{objects.PATH}?limit={PAGE}&continue={token}")
            page = self._page(result, mode, rv)
            found = replace(
                found,
                end=page.end,
                outcome=page.outcome,
                code=page.code,
                page_rvs=found.page_rvs + page.page_rvs,
                items=found.items + page.items,
            )
        self._recorder.add(found)
        return found

    def _revision(self, mode: str) -> tuple[str, int | None]:
        """A revision to ask for, where the mode wants one and one is known."""
        if mode not in (e.NOT_OLDER, e.EXACT):
            return mode, None
        if not self._memory:
            return e.CONSISTENT, None
        return mode, self._random.choice(self._memory).rv

    def _page(self, result: Result, mode: str, rv: int | None) -> e.List:
        ok = result.outcome == e.OK
        return e.List(
            *(self._session.name, mode, result.start, result.end, result.outcome, result.code, rv),
            page_rvs=[int(result.body["metadata"]["resourceVersion"])] if ok else [],
            items=[objects.version(item) for item in result.body["items"]] if ok else [],
            connection=result.connection,
        )


_QUERIES = {
    e.CONSISTENT: "",
    e.CACHED: "resourceVersion=0",
    e.NOT_OLDER: "resourceVersion={}&resourceVersionMatch=NotOlderThan",
    e.EXACT: "resourceVersion={}&resourceVersionMatch=Exact",
}

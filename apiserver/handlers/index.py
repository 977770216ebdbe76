"""`/`: every path that leads somewhere, as upstream lists them; `kubectl get --raw /` shows it."""

from __future__ import annotations

from collections.abc import Iterable

from apiserver import responses
from apiserver.aggregation.catalog import Catalog
from apiserver.asgi import Send
from apiserver.handlers.health import Health
from apiserver.request import Request


class Index:
    def __init__(self, catalog: Catalog, health: Health, others: Iterable[str]) -> None:
        """`others` are paths that neither discovery nor health knows."""
        self._catalog = catalog
        self._health = health
        self._others = tuple(others)

    async def handle(self, request: Request, send: Send) -> None:
        await responses.send_object(request, send, 200, {"paths": sorted(self._paths())})

    def _paths(self) -> set[str]:
        found = {"/", "/api", "/apis", *self._others, *self._health.paths()}
        for group, versions in self._catalog.groups().items():
            root = f"/apis/{group}" if group else "/api"
            found |= {root, *(f"{root}/{version}" for version in versions)}
        return found

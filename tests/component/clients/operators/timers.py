"""An operator after kopf's examples of timers, daemons and indices: it counts, for as long as the object lives."""

from __future__ import annotations

import asyncio
from typing import Any

import kopf


@kopf.index("kopfexamples")
def fields(name: str, spec: Any, **_: Any) -> dict[str, str]:
    return {str(spec.get("field")): name}


@kopf.timer("kopfexamples", interval=0.1)
def tick(patch: kopf.Patch, status: Any, fields: kopf.Index, spec: Any, **_: Any) -> None:
    patch.status["ticks"] = status.get("ticks", 0) + 1
    patch.status["peers"] = sorted(fields[str(spec.get("field"))])


@kopf.daemon("kopfexamples", cancellation_polling=0.2)  # how often a deletion looks whether it has ended
async def live(stopped: kopf.DaemonStopped, body: kopf.Body, name: str, **_: Any) -> None:
    kopf.info(body, reason="Living", message=f"{name} is looked after")
    while not stopped:
        await asyncio.sleep(0.05)
    kopf.info(body, reason="Ended", message=f"{name} is left alone")

"""An operator after kopf's example of exceptions: one handler succeeds at its third try, another never does."""

from __future__ import annotations

from typing import Any

import kopf


@kopf.on.create("kopfexamples", backoff=0.1)
def eventually(retry: int, **_: Any) -> str:
    if retry < 2:
        raise kopf.TemporaryError("not yet", delay=0.1)
    return f"at try {retry + 1}"


@kopf.on.create("kopfexamples")
def never(spec: Any, **_: Any) -> None:
    raise kopf.PermanentError(f"nothing to be done about {spec.get('field')!r}")


@kopf.on.delete("kopfexamples")
def goodbye(name: str, body: Any, **_: Any) -> None:
    kopf.info(body, reason="Goodbye", message=f"{name} may go")

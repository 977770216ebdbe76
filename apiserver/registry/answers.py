"""Answers that are no stored object: a Status, or an object of a dry run, which has no revision yet."""

from __future__ import annotations

from typing import Any

import orjson

from apimachinery.objects import Object
from apiserver.storage.types import Stored


class Answer(Stored):
    """Goes out as it is, without a resourceVersion."""

    __slots__ = ()

    def __init__(self, raw: bytes) -> None:
        super().__init__("", raw, 0)

    @property
    def encoded(self) -> bytes:
        return self.raw

    @property
    def object(self) -> Object:
        return self.decode()

    def decode(self) -> Object:
        obj: Any = orjson.loads(self.raw)
        return obj  # type: ignore[no-any-return]


def success(code: int = 201) -> Answer:
    """`metav1.Status` of a request that worked and has no object to show."""
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": code}
    return Answer(orjson.dumps(status))

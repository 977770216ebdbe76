from __future__ import annotations

from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st

from apiserver.storage import types
from apiserver.storage.types import Stored

text = st.text(max_size=12)
metadata = st.dictionaries(text.filter(lambda key: key != "resourceVersion"), st.none() | text, max_size=4)


def raw_of(metadata: dict[str, Any], spec: Any) -> bytes:
    return types.encode({"apiVersion": "v1", "kind": "X", "metadata": metadata, "spec": spec})


@given(metadata, st.dictionaries(text, text, max_size=3), st.integers(1, 2**62))
def test_the_bytes_of_etcd_come_back_from_those_of_readers(metadata: Any, spec: Any, revision: int) -> None:
    raw = raw_of(metadata, spec)
    stored = Stored("k", raw, revision)
    assert orjson.loads(stored.encoded)["metadata"] == metadata | {"resourceVersion": str(revision)}
    assert stored.raw == raw
    assert stored.object == orjson.loads(stored.encoded)


def test_the_bytes_are_held_once() -> None:
    stored = Stored("k", raw_of({"name": "a"}, {}), 7)
    assert stored.held is stored.raw
    encoded = stored.encoded
    assert stored.held is encoded
    assert stored.encoded is encoded
    assert stored.size == len(stored.raw)

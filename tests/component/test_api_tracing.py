"""Trace context: an object remembers the request that created it, when that asked for it."""

from __future__ import annotations

import httpx
import pytest

TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
ANNOTATION = "armillary.dev/traceparent"


@pytest.mark.parametrize(
    ("headers", "recorded"),
    [
        ({"traceparent": TRACE, "tracestate": "vendor=x,armillary=record"}, TRACE),
        ({"traceparent": TRACE}, None),
        ({"tracestate": "armillary=record"}, None),
        ({"traceparent": "garbage", "tracestate": "armillary=record"}, None),
        ({}, None),
    ],
    ids=["asked for", "a trace alone", "asked without a trace", "a bad trace", "nothing"],
)
def test_the_trace_is_kept_only_when_asked_for(
    admin: httpx.Client, namespace: str, headers: dict[str, str], recorded: str | None
) -> None:
    answer = admin.post(f"/api/v1/namespaces/{namespace}/configmaps", json={"metadata": {"name": "a"}}, headers=headers)
    assert answer.status_code == 201
    assert answer.json()["metadata"].get("annotations", {}).get(ANNOTATION) == recorded

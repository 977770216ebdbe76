"""Between a version of the history and the ConfigMap that it is in the API."""

from __future__ import annotations

from typing import Any

from tests.history import entries as e

NAMESPACE = "history"
PATH = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
PREFIX = f"/registry/configmaps/{NAMESPACE}/"
PHASE = "phase"
ON, OFF = "on", "off"


def body(name: str, data: dict[str, str], phase: str) -> dict[str, Any]:
    labels = {"labels": {PHASE: phase}} if phase else {}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **labels}, "data": data}


def version(obj: dict[str, Any], rv: int | None = None) -> e.Version:
    """`rv`: for what etcd stores, which has no resourceVersion in it."""
    meta = obj["metadata"]
    found = int(meta["resourceVersion"]) if rv is None else rv
    phase = meta.get("labels", {}).get(PHASE, "")
    return e.Version(meta["name"], found, meta["uid"], obj.get("data", {}), phase)

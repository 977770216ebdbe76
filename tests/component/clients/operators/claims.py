"""An operator after kopf's walk-through: each EphemeralVolumeClaim has a claim of its own, which follows its size."""

from __future__ import annotations

from typing import Any

import kopf
from kubernetes import client, config

config.load_kube_config()


@kopf.on.create("ephemeralvolumeclaims")
def create(body: kopf.Body, spec: Any, name: str, namespace: str, logger: Any, **_: Any) -> dict[str, str]:
    size = spec.get("size")
    if not size:
        kopf.warn(body, reason="SizeMissing", message="Size must be set")
        raise kopf.PermanentError(f"Size must be set. Got {size!r}.")
    claim: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}},
    }
    kopf.adopt(claim)
    made = client.CoreV1Api().create_namespaced_persistent_volume_claim(namespace, claim)
    logger.info("claim %s is made", made.metadata.name)
    return {"pvc-name": made.metadata.name}


@kopf.on.field("ephemeralvolumeclaims", field="metadata.labels")
def relabel(diff: Any, status: Any, namespace: str, **_: Any) -> None:
    # Without a path: all labels came at once
    changed = {
        name: value for _, path, _, new in diff for name, value in ({path[0]: new} if path else new or {}).items()
    }
    name = status.get("create", {}).get("pvc-name")
    if changed and name:
        client.CoreV1Api().patch_namespaced_persistent_volume_claim(name, namespace, {"metadata": {"labels": changed}})

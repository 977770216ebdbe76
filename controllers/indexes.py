"""The indexes that controllers keep on shared caches: by owner, by node. One name each, so that they are shared too."""

from __future__ import annotations

from collections.abc import Callable

from apimachinery import objects
from apimachinery.objects import Object

Indexers = dict[str, Callable[[Object], list[str]]]

CONTROLLER = "controller"
NODE = "node"


def orphans(namespace: str) -> str:
    """The value of the CONTROLLER index for what no controller owns in `namespace`."""
    return f"orphans/{namespace}"


def _controller(obj: Object) -> list[str]:
    reference = objects.controller_of(obj)
    return [orphans(objects.namespace_of(obj)) if reference is None else str(reference.get("uid"))]


def _node(pod: Object) -> list[str]:
    node = (pod.get("spec") or {}).get("nodeName")
    return [node] if node else []


BY_CONTROLLER: Indexers = {CONTROLLER: _controller}
PODS: Indexers = {CONTROLLER: _controller, NODE: _node}

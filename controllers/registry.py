"""The controllers there are: one line each. A new one is its file and its line here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from controllers.context import Context, Runnable
from controllers.deployment.controller import DeploymentController
from controllers.garbagecollector.controller import GarbageCollector
from controllers.replicaset.controller import ReplicaSetController


@dataclass(frozen=True, slots=True)
class Entry:
    """`name` is upstream's, as `--controllers` and events know it."""

    name: str
    make: Callable[[Context], Runnable]


CONTROLLERS: tuple[Entry, ...] = (
    Entry("deployment-controller", DeploymentController),
    Entry("replicaset-controller", ReplicaSetController),
    Entry("garbage-collector-controller", GarbageCollector),
)

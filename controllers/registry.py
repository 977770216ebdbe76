"""The controllers there are: one line each. A new one is its file and its line here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from controllers.context import Context, Runnable
from controllers.deployment.controller import DeploymentController
from controllers.endpoints.controllers import EndpointsController, EndpointSliceController
from controllers.garbagecollector.controller import GarbageCollector
from controllers.job.controller import JobController
from controllers.namespace.controller import NamespaceController
from controllers.nodeipam.controller import NodeIPAMController
from controllers.nodelifecycle.controller import NodeLifecycleController
from controllers.podgc import PodGarbageCollector
from controllers.replicaset.controller import ReplicaSetController
from controllers.rootca import RootCAPublisher
from controllers.serviceaccount import ServiceAccountController
from controllers.tainteviction import TaintEvictionController
from controllers.ttlafterfinished import TTLAfterFinishedController


@dataclass(frozen=True, slots=True)
class Entry:
    """`name` is upstream's, as `--controllers` and events know it."""

    name: str
    make: Callable[[Context], Runnable]


CONTROLLERS: tuple[Entry, ...] = (
    Entry("deployment-controller", DeploymentController),
    Entry("replicaset-controller", ReplicaSetController),
    Entry("job-controller", JobController),
    Entry("ttl-after-finished-controller", TTLAfterFinishedController),
    Entry("endpointslice-controller", EndpointSliceController),
    Entry("endpoints-controller", EndpointsController),
    Entry("garbage-collector-controller", GarbageCollector),
    Entry("namespace-controller", NamespaceController),
    Entry("node-lifecycle-controller", NodeLifecycleController),
    Entry("taint-eviction-controller", TaintEvictionController),
    Entry("node-ipam-controller", NodeIPAMController),
    Entry("serviceaccount-controller", ServiceAccountController),
    Entry("root-ca-certificate-publisher-controller", RootCAPublisher),
    Entry("pod-garbage-collector-controller", PodGarbageCollector),
)

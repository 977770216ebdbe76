"""The controllers there are (steps C2 to C5): one line each. A new one is its file and its line here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from controllers.context import Context, Runnable
from controllers.deployment.controller import DeploymentController
from controllers.disruption.controller import DisruptionController
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
    """`name` is upstream's, as `--controllers` knows it; `alias` the shorter one it had before, which still counts."""

    name: str
    alias: str
    make: Callable[[Context], Runnable]


CONTROLLERS: tuple[Entry, ...] = (
    Entry("deployment-controller", "deployment", DeploymentController),
    Entry("replicaset-controller", "replicaset", ReplicaSetController),
    Entry("job-controller", "job", JobController),
    Entry("ttl-after-finished-controller", "ttl-after-finished", TTLAfterFinishedController),
    Entry("endpointslice-controller", "endpointslice", EndpointSliceController),
    Entry("endpoints-controller", "endpoint", EndpointsController),
    Entry("garbage-collector-controller", "garbagecollector", GarbageCollector),
    Entry("namespace-controller", "namespace", NamespaceController),
    Entry("node-lifecycle-controller", "nodelifecycle", NodeLifecycleController),
    Entry("taint-eviction-controller", "taint-eviction", TaintEvictionController),
    Entry("node-ipam-controller", "nodeipam", NodeIPAMController),
    Entry("serviceaccount-controller", "serviceaccount", ServiceAccountController),
    Entry("root-ca-certificate-publisher-controller", "root-ca-cert-publisher", RootCAPublisher),
    Entry("pod-garbage-collector-controller", "podgc", PodGarbageCollector),
    Entry("disruption-controller", "disruption", DisruptionController),
)

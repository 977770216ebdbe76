"""`mini-scheduler`: the wiring of the process, by hand.

Order: leader election → caches → loop. A standby keeps nothing warm; taking over costs one list of pods and nodes.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import random
import secrets
import socket
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from apimachinery import gvr, objects
from apimachinery.clock import SystemClock
from apimachinery.objects import Key
from client import kubeconfig, process
from client import metrics as client_metrics
from client.events import EventRecorder
from client.informer import InformerFactory
from client.leaderelection import LeaderElector
from client.rest import Client
from scheduler import config, configfile, preemption
from scheduler.cache import Cache
from scheduler.config import Settings
from scheduler.metrics import Metrics
from scheduler.plugins import registry
from scheduler.podinfo import DEFAULT_SCHEDULER
from scheduler.queue import Queue, WakesOn
from scheduler.scheduler import Scheduler
from scheduler.writer import Writer

LEASE_NAMESPACE, LEASE_NAME = "kube-system", "kube-scheduler"
HEALTHZ_PORT = 10259  # upstream's
# Finished pods use nothing; not to hold them keeps the cache small.
_UNFINISHED = "status.phase!=Succeeded,status.phase!=Failed"
log = logging.getLogger(__name__)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command. Returns its exit code."""
    options = _parser().parse_args(arguments)
    try:
        settings = configfile.load(Path(options.config)) if options.config else config.default()
    except config.ConfigError as error:
        sys.stderr.write(f"mini-scheduler: --config {options.config}: {error}\n")
        return 1
    return process.run("mini-scheduler", lambda: serve(options, settings), options)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="mini-scheduler", description="Gives pods their nodes.")
    process.add_arguments(parser, healthz_port=HEALTHZ_PORT)
    parser.add_argument("--config", metavar="FILE", help="a KubeSchedulerConfiguration")
    parser.add_argument(
        "--leader-elect",
        metavar="BOOL",
        nargs="?",
        const=True,
        default=True,
        type=_boolean,
        help="only one of several instances is active (default true)",
    )
    parser.add_argument("--kube-api-qps", metavar="N", type=float, default=0, help="requests a second; 0: no limit")
    return parser


def _boolean(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise argparse.ArgumentTypeError(f"{text!r} is neither true nor false")
    return text.lower() == "true"


async def serve(options: argparse.Namespace, settings: Settings) -> None:
    """Runs until cancelled, or until the lease is lost."""
    clock, counted = SystemClock(), client_metrics.Metrics()
    for warning in settings.warnings:
        log.warning("%s", warning)
    connection = kubeconfig.load(options.kubeconfig)
    elects = options.leader_elect if settings.leader_elect is None else settings.leader_elect
    own = Metrics(counted.registry)
    async with (
        Client(
            connection,
            user_agent="mini-scheduler",
            qps=options.kube_api_qps or None,
            clock=clock,
            observer=counted.requests(),
        ) as client,
        # a connection pool of its own, so that renewing never waits behind a storm of bindings
        Client(connection, user_agent="mini-scheduler/leader-election", clock=clock) as lease_client,
        asyncio.TaskGroup() as group,
    ):
        identity = f"{socket.gethostname()}_{os.getpid()}_{secrets.token_hex(4)}"
        elector = LeaderElector(lease_client, LEASE_NAMESPACE, LEASE_NAME, identity, clock=clock)
        server = process.StatusServer({"ping": lambda: True}, counted.registry)
        serving = group.create_task(server.run(options.bind_address, options.healthz_port), name="healthz")
        try:
            if elects:
                await elector.run(lambda: lead(client, settings, clock, own))
            else:
                await lead(client, settings, clock, own)
        finally:
            serving.cancel()


async def lead(client: Client, settings: Settings, clock: SystemClock, metrics: Metrics) -> None:
    """Schedules, until cancelled."""
    factory = InformerFactory(client, clock=clock)
    pods = factory.informer(gvr.PODS, field_selector=_UNFINISHED)
    nodes = factory.informer(gvr.NODES)
    namespaces = factory.informer(gvr.NAMESPACES)
    budgets = factory.informer(gvr.POD_DISRUPTION_BUDGETS)

    def namespace_labels(name: str) -> Mapping[str, str]:
        namespace = namespaces.store.get(Key("", name))
        return objects.labels_of(namespace) if namespace is not None else {}

    recorder = EventRecorder(client, DEFAULT_SCHEDULER, clock=clock)
    scheduler = Scheduler(
        settings.profiles,
        Cache(namespace_labels),
        Queue(
            clock,
            wakes_on(),
            initial_backoff_seconds=settings.initial_backoff_seconds,
            max_backoff_seconds=settings.max_backoff_seconds,
        ),
        Writer(client, recorder, clock),
        pods.store.get,
        lambda: [preemption.budget_of(budget) for budget in budgets.store.list()],
        clock=clock,
        chance=random.Random(),
        metrics=metrics,
    )
    # Nodes before pods: the first pods then find a whole cluster
    nodes.add_handler(scheduler.node_changed, lambda _, new: scheduler.node_changed(new), scheduler.node_deleted)
    namespaces.add_handler(on_update=lambda _, new: scheduler.namespace_changed(new))
    pods.add_handler(scheduler.pod_changed, lambda _, new: scheduler.pod_changed(new), scheduler.pod_deleted)
    async with asyncio.TaskGroup() as group:
        group.create_task(recorder.run(), name="events")
        group.create_task(factory.run(), name="informers")
        await factory.wait_synced()
        log.info("scheduling as %s", ", ".join(p.scheduler_name for p in settings.profiles), extra={"step": "S1"})
        await scheduler.run()


def wakes_on() -> WakesOn:
    """What each plugin waits for, by its name."""
    events = {entry.name: entry.make({}).wakes_on for entry in registry.PLUGINS}
    return lambda name: events[name]


if __name__ == "__main__":
    sys.exit(main())

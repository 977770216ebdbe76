"""`mini-controllers`, the controller manager: the wiring of the process, by hand (step C5).

Order: leader election → caches → controllers. An instance that loses its lease ends, and starts again as a follower:
no controller of it may outlive the lease.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import secrets
import socket
import sys
from collections.abc import Sequence

from apimachinery.clock import SystemClock
from client import kubeconfig, leaderelection, process
from client.informer import InformerFactory
from client.leaderelection import LeaderElector
from client.metrics import Metrics
from client.rest import Client
from controllers import options, registry
from controllers.context import Context
from controllers.options import Options

LEASE_NAMESPACE, LEASE_NAME = "kube-system", "kube-controller-manager"
log = logging.getLogger(__name__)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command. Returns its exit code."""
    chosen = options.parse(arguments)
    problem = unknown_controllers(chosen)
    if problem:
        options.parser().error(problem)
    return process.run("mini-controllers", lambda: serve(chosen), argparse.Namespace(v=chosen.v))


def unknown_controllers(chosen: Options) -> str:
    """What `--controllers` names and nobody has; "" when all is well."""
    known = sorted(entry.name for entry in registry.CONTROLLERS)
    aliases = {entry.alias for entry in registry.CONTROLLERS}
    unknown = sorted({name.removeprefix("-") for name in chosen.controllers} - set(known) - aliases - {"*"})
    return f"--controllers: {', '.join(unknown)}: not in {', '.join(known)}" if unknown else ""


async def serve(chosen: Options) -> None:
    """Runs until cancelled, or until the lease is lost."""
    clock, metrics = SystemClock(), Metrics()
    config = kubeconfig.load(chosen.kubeconfig)
    qps = chosen.kube_api_qps or None
    async with (
        Client(config, user_agent="mini-controllers", qps=qps, clock=clock, observer=metrics.requests()) as client,
        # a connection pool of its own, so that renewing never waits behind a storm of writes
        Client(config, user_agent="mini-controllers/leader-election", clock=clock) as lease_client,
        asyncio.TaskGroup() as group,
    ):
        elector = _elector(lease_client, chosen, clock)
        checks = {"ping": lambda: True}
        server = process.StatusServer(checks, metrics.registry)
        serving = group.create_task(server.run(chosen.bind_address, chosen.healthz_port), name="healthz")
        try:
            if chosen.leader_elect:
                await elector.run(lambda: lead(client, chosen, clock, metrics))
            else:
                await lead(client, chosen, clock, metrics)
        finally:
            serving.cancel()


async def lead(client: Client, chosen: Options, clock: SystemClock, metrics: Metrics) -> None:
    """All enabled controllers, once their caches are filled, until cancelled."""
    context = Context(client, InformerFactory(client, clock=clock), clock, chosen, metrics)
    entries = [entry for entry in registry.CONTROLLERS if chosen.enables(entry.name, entry.alias)]
    controllers = {entry.name: entry.make(context) for entry in entries}
    try:
        async with asyncio.TaskGroup() as group:
            for recorder in context.recorders:
                group.create_task(recorder.run(), name="events")
            group.create_task(context.informers.run(), name="informers")
            await context.informers.wait_synced()
            log.info("caches are filled; starting %s", ", ".join(controllers), extra={"step": "C1"})
            for name, controller in controllers.items():
                group.create_task(controller.run(), name=name)
    finally:
        await asyncio.gather(*(recorder.flush() for recorder in context.recorders))


def _elector(client: Client, chosen: Options, clock: SystemClock) -> LeaderElector:
    timing = leaderelection.Timing(
        lease_duration=chosen.leader_elect_lease_duration,
        renew_deadline=chosen.leader_elect_renew_deadline,
        retry_period=chosen.leader_elect_retry_period,
    )
    identity = f"{socket.gethostname()}_{os.getpid()}_{secrets.token_hex(4)}"
    return LeaderElector(client, LEASE_NAMESPACE, LEASE_NAME, identity, timing=timing, clock=clock)


if __name__ == "__main__":
    sys.exit(main())

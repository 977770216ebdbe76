"""One request followed across processes: from a Deployment to its pods."""

from __future__ import annotations

from apimachinery import gvr, objects
from client import tracing
from client.rest import Client
from tests.component.controllers import workloads
from tests.component.controllers.conftest import items, until


async def test_pods_carry_the_trace_of_the_request_that_made_their_deployment(client: Client, namespace: str) -> None:
    trace = tracing.start()
    token = tracing.current.set(trace)
    await client.create(gvr.DEPLOYMENTS, workloads.deployment(replicas=2), namespace)
    tracing.current.reset(token)

    async def traced() -> bool:
        pods = await items(client, gvr.PODS, namespace)
        return [objects.annotations_of(pod).get(tracing.ANNOTATION) for pod in pods] == [trace, trace]

    await until(traced, "both pods carry the trace")

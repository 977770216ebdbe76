"""Whether an APIService works: what its Service and endpoints say, and then what the server itself answers.

The plan is pure; `Prober` asks. Reasons and wording are upstream's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from apimachinery import errors
from apimachinery.objects import Object
from apiserver.aggregation import frontproxy, services
from apiserver.aggregation.frontproxy import FrontProxy
from apiserver.aggregation.remotes import AVAILABLE, Remote
from apiserver.backend import ask

# As upstream: several at once, of which one must succeed, so that one dead endpoint of many does no harm
_ATTEMPTS = 5
_ATTEMPT_SECONDS = 5.0


class Verdict(NamedTuple):
    status: str
    reason: str
    message: str


LOCAL = Verdict("True", "Local", "Local APIServices are always available")
PASSED = Verdict("True", "Passed", "all checks passed")


def of_service(remote: Remote, service: Object | None, slices: Sequence[Object]) -> Verdict | None:
    """Why the server cannot even be asked; None when it can."""
    named = f'service/{remote.service.name} in "{remote.service.namespace}"'
    if service is None:
        return Verdict("False", "ServiceNotFound", f"{named} is not present")
    if (service.get("spec") or {}).get("type") not in (None, "", "ClusterIP"):
        return None
    port = services.port_of(service, remote.service.port)
    if port is None:
        return Verdict("False", "ServicePortError", f"{named} is not listening on port {remote.service.port}")
    if not slices:
        return Verdict("False", "EndpointsNotFound", f"cannot find endpointslices for {named}")
    port_name = port.get("name") or ""
    if not services.ready(slices, port_name):
        message = f'endpointslices for {named} have no addresses with port name "{port_name}"'
        return Verdict("False", "MissingEndpoints", message)
    return None


def condition(verdict: Verdict, previous: Object | None, now: str) -> Object:
    """The condition to write; the time of the transition stays while the status does."""
    same = previous is not None and previous.get("status") == verdict.status
    since = previous["lastTransitionTime"] if same and previous and previous.get("lastTransitionTime") else now
    return {
        "type": AVAILABLE,
        "status": verdict.status,
        "lastTransitionTime": since,
        "reason": verdict.reason,
        "message": verdict.message,
    }


class Prober:
    """Asks a server for what every extension server must serve: the discovery of its group-version."""

    def __init__(self, front_proxy: FrontProxy) -> None:
        self._front_proxy = front_proxy

    async def ask(self, remote: Remote) -> Verdict:
        attempts = [asyncio.create_task(self._attempt(remote)) for _ in range(_ATTEMPTS)]
        problem = ""
        try:
            for attempt in asyncio.as_completed(attempts):
                problem = await attempt
                if not problem:
                    return PASSED
        finally:
            for task in attempts:
                task.cancel()
        return Verdict("False", "FailedDiscoveryCheck", problem)

    async def _attempt(self, remote: Remote) -> str:
        """What went wrong; nothing when it answers."""
        try:
            # Who may answer is not the question here: the certificate is checked when requests are passed on
            target = self._front_proxy.target(remote, "GET", remote.path, insecure=True)
        except services.Unresolved as error:
            return str(error)
        url = f"https://{target.host}:{target.port}{remote.path}"
        try:
            async with asyncio.timeout(_ATTEMPT_SECONDS):
                headers = [*frontproxy.identity(frontproxy.AGGREGATOR), (b"Connection", b"close")]
                backend = await ask(target, headers)
                await backend.close()
        except TimeoutError:
            return f'failing or missing response from {url}: Get "{url}": context deadline exceeded'
        except errors.InternalError as error:
            return f'failing or missing response from {url}: Get "{url}": {error}'
        if not 200 <= backend.head.status < 300:
            return f"failing or missing response from {url}: bad status from {url}: {backend.head.status}"
        return ""

"""L15: the last resort for a pod that is deleted and whose usual way out fails again and again.

Does only what a deletion cannot do without: nothing of the pod runs any more. Whatever else there is to tidy up is
tried once; what fails is left to the sweep of orphans. Raises what the runtime says: while a container may still run,
the pod must not leave the API, or another of its name would run beside it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

from apimachinery import objects
from apimachinery.objects import Object
from kubelet.cleanup import Cleanup
from kubelet.cri import Runtime
from kubelet.probes.probes import Probes

log = logging.getLogger(__name__)


async def end(pod: Object, runtime: Runtime, probes: Probes, cleanup: Cleanup) -> None:
    """Kill what runs, then tidy up as far as possible."""
    uid = objects.uid_of(pod)
    observed = await runtime.observe(uid)
    for container in observed.running():
        await runtime.stop_container(container.id, 0)
    for sandbox in observed.sandboxes:
        await runtime.stop_sandbox(sandbox.id)
    log.warning("%s: ended by force", objects.key_of(pod), extra={"step": "L15"})
    await _try(pod, _release(probes, uid))
    await _try(pod, cleanup.volumes(pod))
    await _try(pod, cleanup.everything(pod, observed))


async def _release(probes: Probes, uid: str) -> None:
    probes.release(uid)


async def _try(pod: Object, tidy: Coroutine[Any, Any, None]) -> None:
    failure = (await asyncio.gather(tidy, return_exceptions=True))[0]
    if isinstance(failure, Exception):
        log.error("%s: left behind: %s", objects.key_of(pod), failure, exc_info=failure, extra={"step": "L15"})

"""What a filter is: an ASGI application around another one, built from the worker's wiring.

The order of the filters is a list in `apiserver.app`; `fold` makes it one application.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from apimachinery.clock import Clock
from apiserver import asgi
from apiserver.authentication.union import Authenticator
from apiserver.authorization.attributes import Authorizer
from apiserver.config import Config
from apiserver.inflight import Running
from apiserver.metrics import Metrics


@dataclass(frozen=True, slots=True)
class Wiring:
    """What filters need of the worker."""

    config: Config
    clock: Clock
    metrics: Metrics
    running: Running
    authenticator: Authenticator
    authorizer: Authorizer


Filter = Callable[[asgi.App, Wiring], asgi.App]


def fold(filters: Sequence[Filter], app: asgi.App, wiring: Wiring) -> asgi.App:
    """The application with all filters around it, the first one outermost."""
    for wrap in reversed(filters):
        app = wrap(app, wiring)
    return app

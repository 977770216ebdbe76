"""What fields default to: upstream's `SetDefaults_*` by hand, one function a kind (step A7).

Each function fills one object in place, touches only fields that are absent, and gives the same object when run twice.
"""

from __future__ import annotations

from collections.abc import Callable

from apimachinery.gvr import GVK
from apimachinery.objects import Object

TABLE: dict[GVK, Callable[[Object], None]] = {}

"""What every component needs to talk to a Kubernetes API server: client-go's role.

The data flow, left to right; each module is one box and is usable without those right of it:

    kubeconfig → rest → reflector → store → informer → workqueue → controller
                   ├─ events          (writes core/v1 Events, aggregated)
                   ├─ leaderelection  (one active instance, by Lease)
                   └─ process         (logging, signals, /healthz and /metrics of a component's main)

Works against any conforming API server; nothing here knows ours.
"""

from __future__ import annotations

import sys

# httpx imports its command line with the library unless it cannot: 100 ms of start-up that nobody here uses.
# Here, because it must come before the first `import httpx` of any module below.
sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]  # None is how Python marks a forbidden import

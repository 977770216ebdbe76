"""etcd's protobuf messages, as the `etcd3` package generated them: `rpc` (requests, answers) and `kv` (stored pairs).

Importing `etcd3` itself would bring its client and with it grpc: 90 ms and 20 MB that no worker here uses. So only the
generated modules are loaded; while they are, bare packages stand in for `etcd3` and `etcd3.etcdrpc`, so that the real
ones stay importable afterwards.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from typing import Any

_PACKAGES = ("etcd3", "etcd3.etcdrpc")


def _load(name: str) -> Any:
    qualified = f"etcd3.etcdrpc.{name}"
    if "etcd3.etcdrpc" in sys.modules:
        return importlib.import_module(qualified)
    for package in _PACKAGES:
        spec = importlib.util.find_spec(package)
        assert spec is not None, f"{package} is not installed"
        sys.modules[package] = importlib.util.module_from_spec(spec)
    try:
        return importlib.import_module(qualified)
    finally:
        for package in _PACKAGES:
            del sys.modules[package]


rpc = _load("rpc_pb2")
kv = _load("kv_pb2")

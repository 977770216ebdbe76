from __future__ import annotations

from apiserver.scheme.resources import Column

CONFIG_MAP: tuple[Column, ...] = ()
EVENT: tuple[Column, ...] = ()
EVENT_V1: tuple[Column, ...] = ()
LEASE: tuple[Column, ...] = ()
NAMESPACE: tuple[Column, ...] = ()
NODE: tuple[Column, ...] = ()
RUNTIME_CLASS: tuple[Column, ...] = ()
SECRET: tuple[Column, ...] = ()
SERVICE_ACCOUNT: tuple[Column, ...] = ()
SIGNING_REQUEST: tuple[Column, ...] = ()

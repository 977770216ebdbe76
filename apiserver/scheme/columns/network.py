from __future__ import annotations

from apiserver.scheme.resources import Column

ENDPOINTS: tuple[Column, ...] = ()
ENDPOINT_SLICE: tuple[Column, ...] = ()
INGRESS: tuple[Column, ...] = ()
INGRESS_CLASS: tuple[Column, ...] = ()
IP_ADDRESS: tuple[Column, ...] = ()
NETWORK_POLICY: tuple[Column, ...] = ()
SERVICE: tuple[Column, ...] = ()
SERVICE_CIDR: tuple[Column, ...] = ()

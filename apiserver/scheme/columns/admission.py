from __future__ import annotations

from apiserver.scheme.resources import Column

API_SERVICE: tuple[Column, ...] = ()
DEFINITION: tuple[Column, ...] = ()
POLICY: tuple[Column, ...] = ()
POLICY_BINDING: tuple[Column, ...] = ()
WEBHOOKS: tuple[Column, ...] = ()

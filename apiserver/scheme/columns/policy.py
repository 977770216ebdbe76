from __future__ import annotations

from apiserver.scheme.resources import Column

DISRUPTION_BUDGET: tuple[Column, ...] = ()
LIMIT_RANGE: tuple[Column, ...] = ()
PRIORITY_CLASS: tuple[Column, ...] = ()
RESOURCE_QUOTA: tuple[Column, ...] = ()
ROLE: tuple[Column, ...] = ()
ROLE_BINDING: tuple[Column, ...] = ()

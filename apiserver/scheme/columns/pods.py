from __future__ import annotations

from apiserver.scheme.resources import Column

POD: tuple[Column, ...] = ()

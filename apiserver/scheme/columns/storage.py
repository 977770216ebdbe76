from __future__ import annotations

from apiserver.scheme.resources import Column

ATTACHMENT: tuple[Column, ...] = ()
CAPACITY: tuple[Column, ...] = ()
CLAIM: tuple[Column, ...] = ()
CSI_DRIVER: tuple[Column, ...] = ()
CSI_NODE: tuple[Column, ...] = ()
STORAGE_CLASS: tuple[Column, ...] = ()
VOLUME: tuple[Column, ...] = ()

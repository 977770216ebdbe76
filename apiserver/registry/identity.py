"""What the server itself writes into metadata: uid, creation time, generated names."""

from __future__ import annotations

import random
import uuid
from datetime import datetime

from apimachinery import clock
from apimachinery.objects import Object

SUFFIX_LENGTH = 5
GENERATED_MAX = 63 - SUFFIX_LENGTH
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"  # no vowels, no look-alikes: upstream's choice
NAME_TRIES_MAX = 8  # generated names tried before AlreadyExists is told


class Identity:
    """Gives out uids and names. The randomness is injected, so that tests can foretell them."""

    def __init__(self, source: random.Random) -> None:
        self._random = source

    def uid(self) -> str:
        return str(uuid.UUID(int=self._random.getrandbits(128), version=4))

    def name(self, prefix: str) -> str:
        """`prefix`, cut to fit, and five random characters."""
        return prefix[:GENERATED_MAX] + "".join(self._random.choices(_ALPHABET, k=SUFFIX_LENGTH))

    def stamp(self, obj: Object, now: datetime) -> None:
        """Makes `obj` new: what a client cannot say of itself is set or removed."""
        metadata = obj["metadata"]
        for field in ("deletionTimestamp", "deletionGracePeriodSeconds", "resourceVersion", "selfLink", "generation"):
            metadata.pop(field, None)
        metadata["uid"] = self.uid()
        metadata["creationTimestamp"] = clock.rfc3339(now)

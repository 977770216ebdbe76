"""How many requests run at this moment, in all workers together.

Each worker writes its own numbers into a page of memory that all share, and reads everybody's: no lock, no message. So
the server's limits are the server's: a worker that the kernel gives more connections than its sibling may use what that
one leaves. Does not guarantee: exactness. Two workers that ask at the same moment may both take the last place, so the
limit can be passed by as many requests as there are other workers.
"""

from __future__ import annotations

import mmap
import os

READ_ONLY, MUTATING = 0, 1
# A worker's numbers lie in a cache line of their own, so that counting does not slow its siblings down
_LINE = 8  # numbers of 8 bytes


class Running:
    """The numbers of all workers, of which `index` is ours. The file is the one that workers inherit."""

    def __init__(self, descriptor: int, offset: int, index: int, count: int) -> None:
        size = -(-count * _LINE * 8 // mmap.PAGESIZE) * mmap.PAGESIZE
        if os.fstat(descriptor).st_size < offset + size:
            os.ftruncate(descriptor, offset + size)
        self._numbers = memoryview(mmap.mmap(descriptor, size, offset=offset)).cast("q")
        self._own = index * _LINE
        self._places = [[worker * _LINE + kind for worker in range(count)] for kind in (READ_ONLY, MUTATING)]
        for kind in (READ_ONLY, MUTATING):  # what a worker that died in our place has left
            self._numbers[self._own + kind] = 0

    def add(self, kind: int, change: int) -> None:
        self._numbers[self._own + kind] += change

    def total(self, kind: int) -> int:
        numbers, total = self._numbers, 0
        for place in self._places[kind]:
            total += numbers[place]
        return total

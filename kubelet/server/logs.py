"""L15: a container's log as `kubectl logs` shows it, from the CRI log file.

Each record is `TIME STREAM TAGS CONTENT`: TAGS is F for a whole line and P for a part of one that was longer than the
runtime's limit; parts are joined again. Following ends when the container has ended and everything is told; a rotated
or truncated file is opened anew.
Source: https://github.com/kubernetes/design-proposals-archive/blob/main/node/kubelet-cri-logging.md
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import BinaryIO, NamedTuple

from apimachinery import clock as clocks
from apimachinery.clock import Clock

CHUNK_BYTES = 64 * 1024
POLL_SECONDS = 0.25  # inotify would be quicker but costs a descriptor a follower; nobody sees a quarter of a second


@dataclass(frozen=True, slots=True)
class Options:
    """`PodLogOptions`, parsed."""

    follow: bool = False
    timestamps: bool = False
    tail_lines: int | None = None
    limit_bytes: int | None = None
    since: datetime | None = None
    stream: str = ""  # "stdout", "stderr", or both

    @classmethod
    def parse(cls, query: dict[str, str], now: datetime) -> Options:
        """From the query of a request. Raises ValueError with what is wrong."""
        since = None
        if query.get("sinceSeconds"):
            since = now - timedelta(seconds=_number(query, "sinceSeconds", least=1))
        elif query.get("sinceTime"):
            since = clocks.parse_rfc3339(query["sinceTime"])
        return cls(
            follow=_flag(query, "follow"),
            timestamps=_flag(query, "timestamps"),
            tail_lines=_number(query, "tailLines", least=0) if query.get("tailLines") else None,
            limit_bytes=_number(query, "limitBytes", least=1) if query.get("limitBytes") else None,
            since=since,
            stream=query["stream"].lower() if query.get("stream", "All") != "All" else "",
        )


class Record(NamedTuple):
    stamp: str
    stream: str
    whole: bool
    content: bytes


def parse_record(line: bytes) -> Record | None:
    """One line of the file; None for what is no record (a line that is being written)."""
    parts = line.split(b" ", 3)
    if len(parts) != 4:
        return None
    stamp, stream, tags, content = parts
    return Record(stamp.decode(), stream.decode(), tags.split(b":")[0] == b"F", content)


async def read(path: Path, options: Options, is_running: Callable[[], bool], clock: Clock) -> AsyncIterator[bytes]:
    """The log's bytes as they are to be sent."""
    sender = _Sender(options)
    with path.open("rb") as file:
        file.seek(start_of_tail(file, options.tail_lines))
        rest = b""
        while not sender.is_full:
            running = is_running()  # asked before the read: what is written before the end is read after it
            chunk = file.read(CHUNK_BYTES)
            if chunk:
                *lines, rest = (rest + chunk).split(b"\n")
                text = b"".join(sender.render(lines))
                if text:
                    yield text
                await asyncio.sleep(0)
            elif not options.follow or not running:
                return
            elif not _same_file(path, file):
                break
            else:
                await clock.sleep(POLL_SECONDS)
    if options.follow and not sender.is_full and path.exists():
        rotated = Options(True, options.timestamps, None, None, options.since, options.stream)
        async for text in read(path, rotated, is_running, clock):
            yield text


class _Sender:
    """Turns records into output, within the limit of bytes."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._left = options.limit_bytes
        self._begun = False  # in the middle of a line that came in parts

    @property
    def is_full(self) -> bool:
        return self._left is not None and self._left <= 0

    def render(self, lines: list[bytes]) -> Iterator[bytes]:
        for line in lines:
            record = parse_record(line)
            if record is None or not self._wanted(record):
                continue
            text = record.content + (b"\n" if record.whole else b"")
            if self._options.timestamps and not self._begun:
                text = record.stamp.encode() + b" " + text
            self._begun = not record.whole
            if self._left is not None:
                text = text[: max(0, self._left)]
                self._left -= len(text)
            yield text

    def _wanted(self, record: Record) -> bool:
        if self._options.stream and record.stream != self._options.stream:
            return False
        return self._options.since is None or clocks.parse_rfc3339(record.stamp) >= self._options.since


def start_of_tail(file: BinaryIO, lines: int | None) -> int:
    """Where the last `lines` lines begin; read backwards, so that a long log costs nothing."""
    if lines is None:
        return 0
    end = file.seek(0, os.SEEK_END)
    if lines == 0:
        return end
    position, missing = end, lines
    first = True
    while position > 0:
        size = min(CHUNK_BYTES, position)
        position -= size
        file.seek(position)
        chunk = file.read(size)
        index = len(chunk)
        while (index := chunk.rfind(b"\n", 0, index)) >= 0:
            if first and position + index == end - 1:
                first = False  # the newline that ends the last line
                continue
            first = False
            # Parts of one line count as one: only a newline after a whole record separates
            missing -= _ends_whole(file, position + index)
            if missing == 0:
                return position + index + 1
    return 0


def _ends_whole(file: BinaryIO, newline: int) -> int:
    """1 when the record that ends at `newline` is whole. Its head says so, and parts are short: read its line."""
    back = min(newline, 20 * 1024)  # a record is at most 16 KiB and its head
    here = file.tell()
    file.seek(newline - back)
    line = file.read(back).rpartition(b"\n")[2]
    file.seek(here)
    record = parse_record(line)
    return 0 if record is not None and not record.whole else 1


def tail_text(path: Path, lines: int, limit_bytes: int) -> str:
    """The last lines of a log, for a termination message."""
    try:
        with path.open("rb") as file:
            file.seek(start_of_tail(file, lines))
            text = b"".join(_Sender(Options()).render(file.read().split(b"\n")))
    except OSError:
        return ""
    return text[-limit_bytes:].decode(errors="replace")


def _same_file(path: Path, file: BinaryIO) -> bool:
    try:
        there, here = path.stat(), os.fstat(file.fileno())
    except OSError:
        return True  # renamed a moment ago: the new one comes
    return there.st_ino == here.st_ino and there.st_size >= file.tell()


def _flag(query: dict[str, str], name: str) -> bool:
    return query.get(name, "").lower() in ("true", "1", "t")


def _number(query: dict[str, str], name: str, *, least: int) -> int:
    value = int(query[name])
    if value < least:
        raise ValueError(f"{name} must be at least {least}")
    return value

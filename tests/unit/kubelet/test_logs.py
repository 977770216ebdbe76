"""A CRI log file as `kubectl logs` shows it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from apimachinery.clock import FixedClock, SystemClock
from kubelet import logrotation
from kubelet.server import logs
from kubelet.server.logs import Options

LINES = [
    "2026-01-01T00:00:01.5Z stdout F one",
    "2026-01-01T00:00:02.5Z stderr F two",
    "2026-01-01T00:00:03.5Z stdout P thr",
    "2026-01-01T00:00:03.6Z stdout F ee",
    "2026-01-01T00:00:04.5Z stdout F ",
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "0.log"
    file.write_text("\n".join(LINES) + "\n")
    return file


async def read(path: Path, options: Options, is_running: Callable[[], bool] = lambda: False) -> str:
    return b"".join([piece async for piece in logs.read(path, options, is_running, FixedClock())]).decode()


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({}, "one\ntwo\nthree\n\n"),
        ({"tailLines": "1"}, "\n"),
        ({"tailLines": "2"}, "three\n\n"),
        ({"tailLines": "3"}, "two\nthree\n\n"),
        ({"tailLines": "99"}, "one\ntwo\nthree\n\n"),
        ({"tailLines": "0"}, ""),
        ({"limitBytes": "5"}, "one\nt"),
        ({"sinceTime": "2026-01-01T00:00:03Z"}, "three\n\n"),
        ({"sinceSeconds": "4"}, "two\nthree\n\n"),
        ({"stream": "Stderr"}, "two\n"),
        ({"timestamps": "true", "tailLines": "2"}, "2026-01-01T00:00:03.5Z three\n2026-01-01T00:00:04.5Z \n"),
    ],
)
async def test_options_choose_what_is_shown(path: Path, query: dict[str, str], expected: str) -> None:
    assert await read(path, Options.parse(query, datetime(2026, 1, 1, 0, 0, 6, tzinfo=UTC))) == expected


@pytest.mark.parametrize(
    "query", [{"tailLines": "-1"}, {"sinceSeconds": "0"}, {"limitBytes": "x"}, {"sinceTime": "now"}]
)
def test_nonsense_is_refused(query: dict[str, str]) -> None:
    with pytest.raises(ValueError):
        Options.parse(query, datetime(2026, 1, 1, tzinfo=UTC))


async def test_a_half_written_line_is_not_shown(path: Path) -> None:
    with path.open("a") as file:
        file.write("2026-01-01T00:00:05Z stdout F half")
    assert (await read(path, Options())).endswith("three\n\n")


async def test_the_tail_of_a_long_log_is_found_from_its_end(tmp_path: Path) -> None:
    path = tmp_path / "0.log"
    path.write_text("".join(f"2026-01-01T00:00:00Z stdout F {n:06}{'x' * 200}\n" for n in range(2000)))
    shown = await read(path, Options(tail_lines=700))
    assert shown.count("\n") == 700
    assert shown.startswith("001300x")


async def test_following_tells_what_comes_until_the_container_ends(path: Path) -> None:
    running = True
    pieces: list[bytes] = []

    async def follow() -> None:
        async for piece in logs.read(path, Options(follow=True, tail_lines=0), lambda: running, SystemClock()):
            pieces.append(piece)

    task = asyncio.create_task(follow())
    await asyncio.sleep(0)
    with path.open("a") as file:
        file.write("2026-01-01T00:00:05Z stdout F more\n")
    running = False
    await asyncio.wait_for(task, 5)
    assert b"".join(pieces) == b"more\n"


async def test_following_goes_on_in_the_new_file_after_a_rotation(path: Path, tmp_path: Path) -> None:
    looks = 0

    def is_running() -> bool:
        nonlocal looks
        looks += 1
        if looks == 3:
            path.rename(tmp_path / "0.log.1")
            path.write_text("2026-01-01T00:00:09Z stdout F fresh\n")
        return looks < 6

    assert await read(path, Options(follow=True), is_running) == "one\ntwo\nthree\n\nfresh\n"


def test_the_end_of_a_log_can_stand_for_the_termination_message(path: Path) -> None:
    assert logs.tail_text(path, 2, 100) == "three\n\n"
    assert logs.tail_text(path, 80, 4) == "ee\n\n"
    assert logs.tail_text(path.with_name("missing"), 80, 100) == ""


def test_only_the_newest_rotated_logs_are_kept(tmp_path: Path) -> None:
    current = tmp_path / "0.log"
    for name in ("0.log", "10.log", *(f"0.log.2026010{n}-000000" for n in range(1, 8))):
        (tmp_path / name).touch()
    logrotation.remove_old(current)
    kept = [f"0.log.2026010{n}-000000" for n in range(4, 8)]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["0.log", *kept, "10.log"]
    logrotation.remove_all(current)
    assert [p.name for p in tmp_path.iterdir()] == ["10.log"]
